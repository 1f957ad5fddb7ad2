"""Bodies on which many closures end: accelerations and forces stay exact, and the cost grows linearly."""

import numpy as np
import pytest

import limber as lb
from constraints.known import arms_on_object, four_bar, pinned_chain, rod, scissor_boom
from constraints.placing import close_here
from constraints.random_closed import Case, random_closed
from constraints.reference import freedoms
from constraints.test_forward import compare, sweep
from helpers.compare import assert_close
from limber.assembly import loops
from limber.codegen import graph
from limber.kernels import layout as L
from limber.kernels import plain


def check(assembly, q, v):
    s = assembly.build()
    compare(Case(assembly, s, q, v, np.linspace(-1.0, 1.0, s.nv), {}))
    return s.dynamics.loops


@pytest.fixture
def everywhere(monkeypatch):
    """Every body on which a closure ends is a hub."""
    monkeypatch.setattr(loops, "HUB", 0)


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("seed", sweep(10, 200))
def test_random_systems_equal_the_block_solution(seed):
    compare(random_closed(seed))


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("seed", sweep(5, 100))
def test_ruthless_systems_equal_the_block_solution(seed):
    compare(random_closed(1000 + seed, "ruthless"))


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("seed", sweep(8, 40))
def test_redundant_closures_have_the_accelerations_of_the_reduced_system(seed):
    compare(random_closed(3000 + seed, redundant=True, bodies=4, closures=4))


@pytest.mark.parametrize("flexible", [False, True], ids=["rigid", "flexible"])
@pytest.mark.parametrize("links", [3, 6])
def test_arms_of_any_rank_on_an_object(links, flexible):
    """Arms of three joints allow the object some motions only."""
    grasp = None if links > 3 else lb.Spherical()
    found = check(*arms_on_object(5, links, flexible=flexible, grasp=grasp))
    assert found.hubs and len(set(found.part)) == 6  # five arms, and the object


def held(joint, panel, lid=False):
    """Four arms that hold a panel, or its lid, which is on this joint."""
    a = lb.Assembly("held", gravity=(0, 0, -9.81))
    a.attach("panel", panel, joint, offset=(0, 0, 0.5))
    ends = ["panel"] * 4
    if lid:
        a.attach("lid", panel, lb.Universal("x", "y"), "panel", "tip")
        ends = ["lid"] * 4 + ["panel"] * 4
    axes = "zyxzyx"
    for k in range(len(ends)):
        for i in range(6):
            on = {"to": f"arm{k}.{i - 1}", "at": "tip"} if i else {"offset": (k, 1, 0)}
            a.attach(f"arm{k}.{i}", rod(0.6, 1.0, 0.05), lb.Revolute(axes[i]), **on)
    tree = a.build()
    rng = np.random.default_rng(5)
    q = lb.integrate(tree, tree.neutral(), 0.8 * rng.normal(size=tree.nv), 1.0)
    for where in tree.layout.values():
        q[where.q_modes] *= 0.05
    for k, body in enumerate(ends):
        close_here(a, tree, q, (f"arm{k}.5", "tip"), (body, "tip"), lb.Fixed(), name=f"grasp{k}")
    F = freedoms(a.build(), q)
    return a, q, F @ (F.T @ rng.normal(size=tree.nv))


def beam():
    return lb.beam(
        1.0, 2.0, EI=(50.0, 80.0), modes={"bending": 1}, elements=2, polar_inertia=0.05
    )  # fmt: skip


@pytest.mark.parametrize("joint", [lb.Free(), lb.Revolute("z"), lb.Universal("x", "y")])
@pytest.mark.parametrize("flexible", [False, True], ids=["rigid", "flexible"])
def test_objects_on_any_joint(joint, flexible):
    assert check(*held(joint, beam() if flexible else rod(1.0, 2.0, 0.1))).hubs


def test_articulated_objects():
    assert len(check(*held(lb.Free(), beam(), lid=True)).hubs) == 2


def test_operational_inertia_of_an_object_that_arms_hold():
    assembly, q, _ = arms_on_object(4, links=7)
    s = assembly.build()
    ends = [("object", None), ("arm1.link3", "tip")]
    J = np.vstack([lb.jacobian(s, q, *end) for end in ends])
    expected = J @ lb.constrained_inverse(s, q) @ J.T
    assert_close(lb.operational_inertia(s, q, ends).inverse, expected, 1e-9)


def test_mechanisms_that_share_nothing_are_eliminated_apart():
    a = lb.Assembly("four-bars", gravity=(0, -9.81, 0))
    q, v = [], []
    for i in range(3):
        one, qi, vi = four_bar(angle=1.0 + 0.2 * i)
        for item in one.attachments.values():
            on = {} if item.to == "world" else {"to": f"{item.to}{i}", "at": "tip"}
            shift = (0.0, 0.0, float(i)) if item.to == "world" else (0.0, 0.0, 0.0)
            a.attach(
                f"{item.name}{i}", item.body, item.joint, offset=np.add(item.offset, shift), **on
            )
        a.close((f"coupler{i}", "tip"), (f"rocker{i}", "tip"), lb.Revolute("z"), f"pin{i}")
        q.append(qi)
        v.append(vi)
    found = check(a, np.concatenate(q), np.concatenate(v))
    assert len(set(found.part)) == 3


KERNELS = plain.load(graph.sin, graph.cos, graph.sqrt, graph.log)


def operations(s) -> int:
    """The number of operations of forward dynamics, traced."""
    trace, topo = graph.Graph(), s.dynamics.topo.tolist()
    q, v, tau = (trace.inputs(i, n) for i, n in enumerate((s.nq, s.nv, s.nv)))
    work, out = [None] * topo[L.WORK_SIZE], [None] * s.nv
    KERNELS.closed.forward_dynamics(
        topo, s.dynamics.const.tolist(), work, q, v, tau, 0, [], [], out
    )
    return len(graph.needed(out))


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (lambda k: arms_on_object(k, 3), (4, 6, 8)),
        (lambda n: pinned_chain(n, planar=True), (5, 8, 11)),
        (scissor_boom, (3, 5, 7)),
    ],
    ids=["arms", "chain", "boom"],
)
def test_operations_grow_linearly(make, sizes):
    counts = [operations(make(n)[0].build()) for n in sizes]
    first, second = np.diff(counts)
    assert second <= 1.03 * first, counts  # terms that are zero by chance vary
