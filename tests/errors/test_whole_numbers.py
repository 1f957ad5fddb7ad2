"""Whole numbers of any library are taken wherever one is asked for; what is none is refused by name."""

import numpy as np
import pytest

import limber as lb
from limber.checks import integer, whole
from limber.errors import ArgumentValueError


@pytest.fixture(scope="module")
def assembly():
    a = lb.Assembly("arm")
    link = lb.beam(1.0, 2.0, EI=80.0, modes=1)
    a.attach("upper", link, lb.Revolute([0, 1, 0]))
    a.attach("lower", link, lb.Revolute([0, 1, 0]), to="upper", at="tip")
    return a


#: Public arguments: what is made with one, and a value that must do.
TAKERS = {
    "lanes": (lambda a, n: lb.compile(a.build(), "qdot", lanes=n), 2),
    "threads": (lambda a, n: lb.compile(a.build(), "qdot", threads=n), 2),
    "elements": (lambda a, n: lb.beam(1.0, 2.0, EI=80.0, elements=n), 4),
    "modes": (lambda a, n: lb.beam(1.0, 2.0, EI=80.0, modes=n), 2),
    "modes['bending']": (lambda a, n: lb.beam(1.0, 2.0, EI=80.0, modes={"bending": n}), 2),
    "node": (lambda a, n: lb.pose(a.build(), a.build().neutral(), "upper", n), 1),
    "at": (lambda a, n: attached(a, n), 1),
    "power": (lambda a, n: lb.operators(a.build(), a.build().neutral()).phi ** n, 2),
    "block": (lambda a, n: lb.operators(a.build(), a.build().neutral()).phi.block(n, 0), 1),
}


def attached(assembly, at):
    fresh = lb.Assembly("fresh")
    fresh.attach("upper", assembly.attachments["upper"].body, lb.Revolute([0, 1, 0]))
    fresh.attach("tool", lb.RigidBody(1.0), lb.Prismatic([1, 0, 0]), to="upper", at=at)
    return fresh.build()


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.array])
@pytest.mark.parametrize("name", TAKERS)
def test_integers_of_numpy_are_integers(assembly, name, kind):
    make, value = TAKERS[name]
    make(assembly, kind(value))


@pytest.mark.parametrize("bad", [1.0, np.float64(2.0), True, np.True_, "2", [1]], ids=repr)
@pytest.mark.parametrize("name", TAKERS)
def test_what_is_no_integer_is_refused(assembly, name, bad):
    with pytest.raises(lb.LimberError, match=name.split("[")[0]):
        TAKERS[name][0](assembly, bad)


def test_integers_of_plots(assembly):
    result = lb.simulate(assembly.build(), 0.1, every=0.05)
    assert len(result.plot(["joints", "energy"], columns=np.int64(2)).axes) >= 2
    lb.plotting.mode_shapes(assembly.build(), count=np.int64(1), columns=np.int64(1))
    for bad in (0, 1.0, True):
        with pytest.raises(lb.LimberError, match="columns must be a whole number, at least 1"):
            result.plot(columns=bad)
        with pytest.raises(lb.LimberError, match="count must be a whole number, at least 1"):
            lb.plotting.mode_shapes(assembly.build(), count=bad)


def test_whole_says_what_it_wants():
    assert whole("n", np.int32(3), 1) == 3 and type(whole("n", np.int32(3), 1)) is int
    assert integer(np.uint64(2**63)) == 2**63 and integer(2.0) is None and integer(None) is None
    with pytest.raises(
        ArgumentValueError, match=r"^n must be None or a whole number, at least 1, got 0. Why.$"
    ):
        whole("n", 0, 1, optional=True, hint="Why.")
