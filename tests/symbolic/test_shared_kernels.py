"""All models and joints share the kernels on polynomials, from any number of threads."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import sympy as sp

import limber as lb
from limber.symbolic.kernels import KERNELS

THREADS = 4
TURN = [[0], [0], [1], [0], [0], [0]]
#: three turns with a common point, a screw, a turn and a slide along x, two turns that do not close
MAPS = [
    sp.eye(6)[:, :3].tolist(),
    [[0], [0], [1], [0], [0], [sp.Symbol("s")]],
    sp.eye(6)[:, [0, 3]].tolist(),
    sp.eye(6)[:, :2].tolist(),
    sp.eye(6).tolist(),
]


@pytest.fixture
def many_switches():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def joint(i):
    return lb.symbolic.simple_joint(MAPS[i], [f"q{i}{j}" for j in range(len(MAPS[i][0]))])


def arm(i):
    """A bent link, a joint of MAPS[i] and a body; the rotation of the node is exact, or a series."""
    a = lb.Assembly(f"arm{i}", gravity=(0, 0, -9.81))
    modes = {"bending": 1} if i % 2 else {"torsion": 1}
    beam = lb.beam(1.0 + i, 2.0, EI=3.0, GJ=1.0, EA=1e3, modes=modes, elements=1)
    a.attach("beam", beam, lb.Revolute([0, 0, 1]))
    a.attach("tip", lb.RigidBody(1.0, (0.1, 0, 0)), joint(i), "beam", "tip")
    return a


def kinematics(made):
    return made.X, made.Gamma, made.H


def parts(equations):
    return equations.M, equations.G, equations.V, equations.pose("tip")


def at_once(work):
    """The results of work(0), ..., work(THREADS - 1), begun together."""
    start = Barrier(THREADS)

    def begin(i):
        start.wait()
        return work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def test_joints_and_equations_load_no_modules():
    kinematics(joint(0))
    parts(lb.symbolic.equations(arm(0)))
    before = set(sys.modules)
    for i in range(len(MAPS)):
        kinematics(joint(i))
        parts(lb.symbolic.equations(arm(i), order=1))
    ours = {name for name in set(sys.modules) - before if name.startswith("limber")}
    assert not ours


def test_derivations_leave_the_kernels_as_they_were():
    def content():
        return {name: dict(vars(module)) for name, module in vars(KERNELS).items()}

    before = content()
    parts(lb.symbolic.equations(arm(0)))
    kinematics(joint(4))
    assert content() == before


def test_models_derived_at_the_same_time_do_not_disturb_each_other(many_switches):
    expected = [parts(lb.symbolic.equations(arm(i))) for i in range(THREADS)]
    assert at_once(lambda i: parts(lb.symbolic.equations(arm(i)))) == expected


def test_joints_derived_at_the_same_time_do_not_disturb_each_other(many_switches):
    expected = [kinematics(joint(i)) for i in range(THREADS)]
    assert at_once(lambda i: kinematics(joint(i))) == expected


def test_threads_may_share_equations(many_switches):
    """Every thread begins with another part; generators that two of them need are made once."""
    expected = lb.symbolic.equations(arm(0))
    names = ["M", "G", "C", "potential"]
    values = {s: 0.3 + 0.1 * i for i, s in enumerate([*expected.q, *expected.p])}
    shared = lb.symbolic.equations(arm(0))
    found = at_once(lambda i: getattr(shared, names[i]))
    for name, part in zip(names, found):
        difference = (sp.Matrix([part]) - sp.Matrix([getattr(expected, name)])).subs(values)
        assert max(map(abs, difference)) < 1e-12
    ring = shared.poincare.model.ring
    assert len(set(ring.expressions)) == len(ring.expressions)
