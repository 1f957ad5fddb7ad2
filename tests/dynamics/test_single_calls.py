"""Calls on one state, which go straight into compiled code: the numbers and the refusals of the careful way,
whatever comes in, with the compiled dispatcher and without it."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

import limber as lb
from helpers.arrays import over_foreign_memory
from helpers.loops import for_each
from helpers.random_systems import quaternion_slices, random_assembly, random_state
from helpers.refusals import SPOILT, with_entry
from limber import native
from limber.dynamics import evaluate, forward, sweep
from limber.kernels.functions import BY_STEPS, ROWS, SLOPES
from limber.kernels.layout import WORK_SIZE
from limber.native import calls, dispatcher, slope_entries
from limber.native.status import OK, SIZES


def random_system(seed, fidelity="full", **options):
    return random_assembly(np.random.default_rng(seed), **options).build(fidelity=fidelity)


def many_modes():
    """Ruthless, of so many modes that D_f is inverted beforehand."""
    beam = lb.beam(1.0, 1.0, EI=(10.0, 20.0), modes=sweep.PRECOMPUTED_FROM // 2)
    a = lb.Assembly("many modes").attach("first", beam, lb.Revolute([0, 0, 1]))
    a.attach("last", beam, lb.Revolute([0, 1, 0]), to="first", at="tip")
    return a.build(fidelity="ruthless")


def no_freedom():
    body = lb.RigidBody(1.0, nodes={"tip": (1, 0, 0)})
    return lb.Assembly("still", gravity=(0, 0, -9.81)).attach("b", body, lb.Fixed()).build()


def one_freedom():
    body = lb.RigidBody(1.0, inertia=np.eye(3), nodes={"tip": (1, 0, 0)})
    return lb.Assembly("wheel").attach("b", body, lb.Revolute([0, 0, 1])).build()


def one_closure():
    """Two wheels, one geared to the other."""
    body = lb.RigidBody(1.0, inertia=np.eye(3))
    a = lb.Assembly("gear").attach("pinion", body, lb.Revolute([0, 0, 1]))
    return a.attach("wheel", body, lb.Revolute([0, 0, 1])).gear("wheel", "pinion", -0.5).build()


SYSTEMS = {
    "rigid": lambda: random_system(1, flexible=0.0, kinds=["Revolute", "Prismatic"]),
    "quaternions": lambda: random_system(2, flexible=0.3, kinds=["Spherical", "Free"]),
    "flexible": lambda: random_system(3, flexible=1.0, rotary=True),
    "ruthless": lambda: random_system(4, "ruthless", flexible=0.7),
    "ruthless, many modes": many_modes,
    "one freedom": one_freedom,
    "no freedom": no_freedom,
}
WRENCH = np.arange(1.0, 7.0)


def last(s):
    return list(s.bodies)[-1]


def named_node(s):
    return s.bodies[last(s)].node_set.names[-1]


#: f(s, q, v, x, w): w is an external wrench.
FUNCTIONS = {
    "forward": lambda s, q, v, x, w: lb.forward_dynamics(s, q, v, x),
    "forward, loaded": lambda s, q, v, x, w: lb.forward_dynamics(
        s, q, v, x, external={(last(s), named_node(s)): w}
    ),
    "inverse": lambda s, q, v, x, w: lb.inverse_dynamics(s, q, v, x),
    "inverse, loaded": lambda s, q, v, x, w: lb.inverse_dynamics(
        s, q, v, x, external={(last(s), 0): w}
    ),
    "bias": lambda s, q, v, x, w: lb.bias(s, q, v),
    "mass matrix": lambda s, q, v, x, w: lb.mass_matrix(s, q),
    "kinetic energy": lambda s, q, v, x, w: lb.kinetic_energy(s, q, v),
    "potential energy": lambda s, q, v, x, w: lb.potential_energy(s, q),
    "momentum": lambda s, q, v, x, w: lb.momentum(s, q, v),
    "qdot": lambda s, q, v, x, w: lb.qdot(s, q, v),
    "integrate": lambda s, q, v, x, w: lb.integrate(s, q, v, 0.1),
    "integrate, NumPy's float": lambda s, q, v, x, w: lb.integrate(s, q, v, np.float64(0.1)),
    "orientation": lambda s, q, v, x, w: lb.pose(s, q, last(s))[0],
    "position": lambda s, q, v, x, w: lb.pose(s, q, last(s), named_node(s))[1],
    "jacobian": lambda s, q, v, x, w: lb.jacobian(s, q, last(s)),
    "jacobian of a node": lambda s, q, v, x, w: lb.jacobian(s, q, last(s), 0),
    "acceleration": lambda s, q, v, x, w: lb.acceleration(s, q, v, x, last(s), 0),
}


@pytest.fixture(scope="module", params=["dispatcher", "Numba"], autouse=True)
def through(request):
    """Through the compiled dispatcher, and as where there is no C compiler."""
    if request.param == "dispatcher":
        if dispatcher.dispatcher() is None:
            pytest.skip("no C compiler here, or no headers of Python")
        yield
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(calls, "dispatcher", lambda: None)
            yield


@pytest.fixture(scope="module", params=SYSTEMS.values(), ids=SYSTEMS)
def case(request):
    s = request.param()
    return s, (*random_state(np.random.default_rng(5), s), WRENCH)


@contextmanager
def only_ready():
    """The careful way is refused."""

    def refuse(*args, **kwargs):
        raise AssertionError("the careful way was taken")

    with pytest.MonkeyPatch.context() as patch:
        for module in (evaluate, forward):
            patch.setattr(module, "vectors", refuse)
        yield


@for_each("f", FUNCTIONS)
def test_the_answer_is_that_of_a_batch_of_one(case, f):
    s, state = case
    first, (careful,) = f(s, *state), f(s, *(a[None] for a in state))
    with only_ready():
        second, third = f(s, *state), f(s, *state)
    for answer in (first, second, third):
        assert type(answer) is type(careful) and answer.dtype == np.float64
        assert answer.shape == careful.shape
        assert np.array_equal(answer, careful)


@for_each("f", FUNCTIONS)
def test_answers_are_fresh(case, f):
    s, state = case
    f(s, *state)
    one, other = np.asarray(f(s, *state)), np.asarray(f(s, *state))
    assert not np.shares_memory(one, other)
    if isinstance(f(s, *state), np.ndarray):
        one[...] = 7.0
        assert np.array_equal(f(s, *state), other)


def test_both_parts_of_a_pose(case):
    s, (q, *_) = case
    (R,), (p,) = lb.pose(s, q[None], last(s), 0)
    lb.pose(s, q, last(s), 0)
    with only_ready():
        pose = lb.pose(s, q, last(s), 0)
    assert isinstance(pose, tuple)
    assert np.array_equal(pose[0], R) and np.array_equal(pose[1], p)
    assert [part.shape for part in pose] == [(3, 3), (3,)]


# --- other arrays -----------------------------------------------------------------------------------


class Plain(np.ndarray):
    """A class of arrays that means nothing more."""


def read_only(a):
    a = a.copy()
    a.setflags(write=False)
    return a


def unaligned(a):
    memory = np.zeros(a.nbytes + 1, dtype=np.uint8)
    result = memory[1:].view(np.float64)
    result[:] = a
    return result


AS_GOOD = {
    "read-only": read_only,
    "pickled": lambda a: pickle.loads(pickle.dumps(a)),
    "part of another": lambda a: np.concatenate([a, a])[: len(a)],
    "foreign memory": over_foreign_memory,
}
OTHERWISE = {
    "list": lambda a: a.tolist(),
    "tuple": tuple,
    "every other": lambda a: np.repeat(a, 2)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "column": lambda a: np.tile(a[:, None], 3)[:, 1],
    "unaligned": unaligned,
    "other byte order": lambda a: a.astype(">f8"),
    "objects": lambda a: a.astype(object),
    "subclass": lambda a: a.copy().view(Plain),
    "nothing masked": np.ma.array,
}


@for_each("way", AS_GOOD)
@for_each("f", FUNCTIONS)
def test_such_arrays_go_straight_into_compiled_code(case, f, way):
    s, state = case
    expected = f(s, *state)
    with only_ready():
        assert np.array_equal(f(s, *(way(a) for a in state)), expected)


@for_each("way", OTHERWISE)
@for_each("f", FUNCTIONS)
def test_other_arrays_give_the_same_numbers(case, f, way):
    s, state = case
    expected = f(s, *state)
    answer = f(s, *(way(a) for a in state))
    assert type(answer) is type(expected) and np.array_equal(answer, expected)
    for i in range(len(state)):
        mixed = [way(a) if i == j else a for j, a in enumerate(state)]
        assert np.array_equal(f(s, *mixed), expected)


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, np.longdouble, np.int64, np.int8, np.uint64]
)
@for_each("f", FUNCTIONS)
def test_other_numbers_are_converted(f, dtype):
    s = random_system(1, flexible=0.0, kinds=["Revolute", "Prismatic"])
    state = [np.arange(float(n)) for n in (s.nq, s.nv, s.nv, 6)]
    expected = f(s, *state)
    assert np.array_equal(f(s, *(a.astype(dtype) for a in state)), expected)


def test_whole_numbers_as_time():
    s, (q, v, *_) = one_freedom(), (np.zeros(1), np.ones(1))
    for dt in (1.0, 1, np.int64(1), np.float32(1.0), np.array(1.0)):
        for _ in range(2):
            assert lb.integrate(s, q, v, dt)[0] == 1.0


# --- refusals: a system that has been used says the same as a new one -----------------------------------


def refusal(call):
    with pytest.raises(lb.LimberError) as caught:
        call()
    return type(caught.value), str(caught.value)


def check_refusal(make, warm, call):
    """`call` is refused by a new system and by one that has answered `warm`, in the same words."""
    used = make()
    for _ in range(2):
        warm(used)
    assert refusal(lambda: call(used)) == refusal(lambda: call(make()))
    warm(used)


WRONG = {
    "short": lambda a: a[:-1].copy(),
    "long": lambda a: np.append(a, 0.5),
    "twice": lambda a: np.concatenate([a, a]),
    "nothing": lambda a: np.empty(0),
    "number": lambda a: 0.5,
    "0-d": lambda a: np.array(0.5),
    "masked": lambda a: np.ma.array(a, mask=np.arange(len(a)) == 0),
    **{name: spoil for name, (spoil, *_) in SPOILT.items() if name != "one axis more"},
}


@pytest.fixture(scope="module")
def two_bodies():
    return random_assembly(
        np.random.default_rng(2), flexible=0.5, kinds=["Spherical", "Revolute"], bodies=2
    )


@for_each("spoil", WRONG)
@for_each("f", FUNCTIONS)
def test_refusals_are_those_of_the_careful_way(two_bodies, f, spoil):
    used = two_bodies.build()
    state = [*random_state(np.random.default_rng(6), used), WRENCH]
    good = f(used, *state)
    assert np.array_equal(f(used, *state), good)
    for i in range(len(state)):
        bad = [spoil(a) if i == j else a for j, a in enumerate(state)]
        try:
            f(two_bodies.build(), *bad)
        except lb.LimberError as error:
            assert refusal(lambda bad=bad: f(used, *bad)) == (type(error), str(error))
        else:  # the function does not take this argument
            assert np.array_equal(f(used, *bad), good)
        assert np.array_equal(f(used, *state), good)


@for_each("spoil", {name: WRONG[name] for name in ("long", "nan", "masked", "text")})
@for_each("f", FUNCTIONS)
def test_a_system_without_freedoms_refuses_vectors(f, spoil):
    nothing = np.empty(0)
    bad = spoil(np.ones(1))
    for state in ((bad, nothing, nothing), (nothing, bad, nothing), (nothing, nothing, bad)):
        try:
            f(no_freedom(), *state, WRENCH)
        except lb.LimberError:
            check_refusal(
                no_freedom,
                lambda s: f(s, nothing, nothing, nothing, WRENCH),
                lambda s, state=state: f(s, *state, WRENCH),
            )


@for_each("f", FUNCTIONS)
def test_quaternions_must_be_unit(f):
    def make():
        return random_system(2, flexible=0.3, kinds=["Spherical", "Free"], bodies=2)

    s = make()
    q, *rest = (*random_state(np.random.default_rng(6), s), WRENCH)
    at = quaternion_slices(s)[-1].start
    for bad in (with_entry(q, at, q[at] + 1e-3), with_entry(q, slice(at, at + 4), 0.0)):
        check_refusal(make, lambda s: f(s, q, *rest), lambda s, bad=bad: f(s, bad, *rest))


@for_each("f", FUNCTIONS)
def test_overflow_is_refused(f):
    s = random_system(1, flexible=0.0, kinds=["Revolute", "Prismatic"])
    state = (*random_state(np.random.default_rng(6), s), WRENCH)
    huge = [np.full_like(a, 1e300) for a in state[:3]]

    def make():
        return random_system(1, flexible=0.0, kinds=["Revolute", "Prismatic"])

    try:
        f(make(), state[0], *huge[1:], WRENCH)
    except lb.LimberError:
        check_refusal(make, lambda s: f(s, *state), lambda s: f(s, state[0], *huge[1:], WRENCH))
    else:
        f(s, *state)
        assert np.isfinite(f(s, state[0], *huge[1:], WRENCH)).all()


Q0 = np.zeros(1)
TIMES = {
    "nan": np.nan,
    "inf": np.inf,
    "bool": True,
    "text": "1",
    "None": None,
    "vector": np.ones(1),
}


@for_each("dt", {name: (dt,) for name, dt in TIMES.items()})
def test_times_are_refused(dt):
    check_refusal(
        one_freedom,
        lambda s: lb.integrate(s, Q0, Q0, 1.0),
        lambda s: lb.integrate(s, Q0, Q0, *dt),
    )
    if dt != (True,):
        nothing = np.empty(0)
        check_refusal(
            no_freedom,
            lambda s: lb.integrate(s, nothing, nothing, 1.0),
            lambda s: lb.integrate(s, nothing, nothing, *dt),
        )


NODES = {
    "unknown body": ("c", None),
    "no body": (None, None),
    "unknown node": ("b", "top"),
    "truth": ("b", False),
    "fraction": ("b", 0.0),
    "too far": ("b", 1),
    "list": ("b", [0]),
    "array": ("b", np.zeros(1)),
    "body in a list": (["b"], 0),
    "world": ("world", None),
}


@for_each("where", {name: (where,) for name, where in NODES.items()})
def test_nodes_are_refused(where):
    for function in (lb.pose, lb.jacobian):

        def warm(s, function=function):
            for node in (None, 0, "tip", np.int64(0)):
                function(s, Q0, "b", node)

        check_refusal(one_freedom, warm, lambda s, g=function: g(s, Q0, *where[0]))


FORCES = {
    **{
        name: {where: WRENCH}
        for name, where in NODES.items()
        if not any(isinstance(part, (list, np.ndarray)) for part in where)
    },
    "key of text": {"bt": WRENCH},
    "key of three": {("b", 0, 0): WRENCH},
    "key of one": {("b",): WRENCH},
    "number for a key": {0: WRENCH},
    "not a dictionary": [("b", 0), WRENCH],
    "infinite": {("b", 0): with_entry(WRENCH, 5, np.inf)},
    "too short": {("b", 0): np.ones(5)},
    "two in one": {("b", 0): np.ones(12)},
    "number": {("b", 0): 1.0},
    "second is bad": {("b", 0): WRENCH, ("b", "tip"): np.ones(5)},
}


@for_each("external", {name: (external,) for name, external in FORCES.items()})
@pytest.mark.parametrize("make", [one_freedom, no_freedom])
def test_external_forces_are_refused(external, make):
    zero = np.zeros(make().nv)
    for function in (lb.forward_dynamics, lb.inverse_dynamics):

        def warm(s, function=function):
            for node in (None, 0, "tip", np.int64(0)):
                function(s, zero, zero, zero, external={("b", node): WRENCH})

        check_refusal(
            make, warm, lambda s, g=function: g(s, zero, zero, zero, external=external[0])
        )


def test_no_force_and_many_forces(case):
    s, (q, v, x, w) = case
    for function in (lb.forward_dynamics, lb.inverse_dynamics):
        free = function(s, q, v, x)
        assert np.array_equal(function(s, q, v, x, external={}), free)
        one = function(s, q, v, x, external={(last(s), 0): w})
        split = {(last(s), 0): 0.25 * w, (last(s), s.bodies[last(s)].node_set.names[0]): 0.75 * w}
        assert np.allclose(function(s, q, v, x, external=split), one, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("system", [None, "arm", {}, lb.Assembly("a"), np.zeros(3)], ids=repr)
@for_each("f", FUNCTIONS)
def test_only_systems_are_taken(f, system, monkeypatch):
    monkeypatch.setitem(globals(), "last", lambda s: "b")
    monkeypatch.setitem(globals(), "named_node", lambda s: 0)
    kind, message = refusal(lambda: f(system, Q0, Q0, Q0, WRENCH))
    assert issubclass(kind, TypeError) and message.startswith("system must be a limber System")


# --- the compiled functions by themselves -------------------------------------------------------------


#: For a system of one freedom: the sizes of inputs and of the output of each row.
ENTRIES = {
    "articulated_sweep": ((1, 1, 1), 1),
    "precomputed_sweep": ((1, 1, 1, 6), 1),
    "composite_sweep": ((1, 1, 1), 1),
    "hybrid_dynamics": ((1, 1, 1), 2),
    "inverse_dynamics": ((1, 1, 1), 1),
    "bias": ((1, 1), 1),
    "mass_matrix": ((1,), 1),
    "potential_energy": ((1,), 1),
    "pose": ((1,), 12),
    "jacobian": ((1,), 6),
    "acceleration": ((1, 1, 1), 6),
    "kinetic_energy": ((1, 1), 1),
    "momentum": ((1, 1), 6),
    "qdot": ((1, 1), 1),
    "integrate": ((1, 1, 1), 1),
    "dissipation": ((1, 1), 1),
    "joint_forces": ((1, 1), 1),
    "joint_slopes": ((1, 1), 2),
    "armatures": ((1,), 1),
}
#: The same for a system of two freedoms and one closure of one row.
CLOSED_ENTRIES = {
    "closed_sweep": ((2, 2, 2), 2),
    "closed_hybrid_dynamics": ((2, 2, 2), 4),
    "violations": ((2,), 1),
    "row_rates": ((2, 2), 1),
    "row_accelerations": ((2, 2, 2), 1),
    "correction": ((2, 1), 2),
    "wrenches": ((2, 1), 6),
}
#: These need a node or constants that they have not here: they are not run.
NOT_RUN = ("precomputed_sweep", "pose", "jacobian", "acceleration")


@pytest.mark.parametrize(
    "name, sizes, size",
    [(name, *sizes) for name, sizes in (ENTRIES | CLOSED_ENTRIES).items()],
    ids=ENTRIES | CLOSED_ENTRIES,
)
def test_entries_refuse_wrong_sizes(name, sizes, size):
    s = one_closure() if name in CLOSED_ENTRIES else one_freedom()
    packed = s.dynamics
    room = int(packed.topo[WORK_SIZE]) + 2
    nodes = np.zeros(2 if name in NOT_RUN else 0, dtype=np.int64)
    compiled = calls.Call(s, name, packed.topo, packed.const, nodes)

    def call(sizes, size, room, stop):
        given = [np.zeros(n) for n in sizes]
        return compiled.run(given, np.zeros(room), np.zeros(size), 0, stop)

    if name not in NOT_RUN:
        assert call(sizes, size, room, 1) == OK
        assert call([2 * n for n in sizes], 2 * size, room, 2) == OK
    for i, right in enumerate(sizes):
        for wrong in {0, right + 1, 2 * right} - {right}:
            assert call([*sizes[:i], wrong, *sizes[i + 1 :]], size, room, 1) == SIZES
    assert call(sizes, size - 1, room, 1) == SIZES
    assert call(sizes, size + 1, room, 1) == SIZES
    assert call(sizes, size, room - 3, 1) == SIZES
    assert call(sizes, size, room, 2) == SIZES


def test_every_row_has_an_entry():
    # called by other parts of Limber alone
    elsewhere = {"motions", "wrench_sweep", "carried_wrenches", "cut_coordinates"}
    # of ends, which these systems have not
    elsewhere |= {"operational_motion", "operational_responses"}
    # with scratch of their own
    elsewhere |= set(SLOPES | BY_STEPS)
    assert all(native.address(name) > 0 for name in elsewhere - set(BY_STEPS))
    assert all(callable(getattr(slope_entries, name)) for name in BY_STEPS)  # slow to compile
    assert set(ENTRIES | CLOSED_ENTRIES) == set(ROWS) - elsewhere


NO_VECTORS = {
    "matrix": np.zeros((1, 1)),
    "many axes": np.zeros((1,) * 30),
    "0-d": np.array(0.0),
    "integers": np.zeros(1, dtype=np.int64),
    "float32": np.zeros(1, dtype=np.float32),
    "other byte order": np.zeros(1, dtype=">f8"),
    "every other": np.zeros(4)[::2],
    "subclass": np.zeros(1).view(Plain),
    "masked": np.ma.zeros(1),
    "unaligned": unaligned(np.zeros(1)),
    "scalar": np.float64(0.0),
    "number": 0.0,
    "whole number": 0,
    "None": None,
    "list": [0.0],
    "text": "0",
    "class": np.ndarray,
}


@for_each("bad", {name: (bad,) for name, bad in NO_VECTORS.items()})
def test_entries_take_nothing_but_vectors(bad):
    s = one_freedom()
    packed = s.dynamics
    work, out = np.empty(int(packed.topo[WORK_SIZE])), np.empty(1)
    call = calls.Call(s, "qdot", packed.topo, packed.const)
    good = [np.zeros(1), np.zeros(1), work, out]

    def qdot(q, v, work, out):
        return call.run((q, v), work, out, 0, 1)

    assert qdot(*good) == OK
    for i in range(len(good)):
        with pytest.raises(TypeError, match="not a contiguous vector of"):
            qdot(*good[:i], *bad, *good[i + 1 :])


# --- what is kept ---------------------------------------------------------------------------------------


def test_unpickled_systems_keep_nothing(case):
    s, state = case
    expected = [f(s, *state) for f in FUNCTIONS.values()]
    twin = pickle.loads(pickle.dumps(s))
    assert s._ready and not twin._ready
    for f, answer in zip(FUNCTIONS.values(), expected):
        for _ in range(2):
            assert np.array_equal(f(twin, *state), answer)
    assert twin._ready.keys() <= s._ready.keys()


class Counter:
    """A node number that changes."""

    value = 0

    def __index__(self):
        return self.value


def test_nodes_that_change_are_not_kept():
    s, node = random_system(1, flexible=0.0), Counter()
    q = s.neutral()
    first = lb.jacobian(s, q, "b0", node)
    node.value = 1
    assert np.array_equal(lb.jacobian(s, q, "b0", node), lb.jacobian(s, q, "b0", 1))
    assert not np.array_equal(lb.jacobian(s, q, "b0", node), first)


def test_refused_calls_are_not_kept():
    s = one_freedom()
    for node in ("top", True, 7):
        refusal(lambda node=node: lb.pose(s, Q0, "b", node))
    refusal(lambda: lb.qdot(s, Q0, Q0[:0]))
    assert not s._ready


def test_threads_do_not_share_scratch(case):
    """All functions at once, on systems that no one has used."""
    s, state = case
    expected = {name: f(s, *state) for name, f in FUNCTIONS.items()}
    fresh = pickle.loads(pickle.dumps(s))

    def work(turn):
        names = list(FUNCTIONS)
        names = names[turn:] + names[:turn]
        return [
            np.array_equal(FUNCTIONS[name](fresh, *state), expected[name])
            for _ in range(50)
            for name in names
        ]

    with ThreadPoolExecutor(4) as executor:
        assert all(all(result) for result in executor.map(work, range(8)))
