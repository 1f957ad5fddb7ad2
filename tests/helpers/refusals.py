"""What the tests of bad input share: good things, ways to spoil them, how a refusal looks."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

import limber as lb
from helpers.loops import for_each

V, T = ValueError, TypeError
NAN, INF = np.nan, np.inf
X, Y, Z = np.eye(3)
EYE = np.eye(3)
GOOD = lb.RigidBody(1.0, (0.1, 0.2, 0.3), EYE, nodes={"tip": X, "side": Y})


@contextmanager
def refused(kind, pattern):
    """A LimberError, also of `kind`, whose message (one line) begins as `pattern` says."""
    with pytest.raises(kind, match=f"^{pattern}") as caught:
        yield
    message = str(caught.value)
    assert isinstance(caught.value, lb.LimberError)
    assert message.endswith((".", "?")) and "\n" not in message


def with_entry(value, i, entry):
    value = np.array(value, dtype=float)
    value.reshape(-1)[i] = entry
    return value


# Ways to spoil an array argument with the good value g: (spoil, exception, message after its name).
# Where the argument may be None, "None" is left out.
SPOILT = {
    "text": (lambda g: "abc", T, "must be real numbers of shape .*got text: 'abc'"),
    "None": (lambda g: None, T, "must be real numbers of shape .*got None"),
    "digits": (lambda g: np.asarray(g).astype(str), T, "must be real numbers.*got text"),
    "bytes": (lambda g: b"1", T, "must be real numbers.*got bytes"),
    "complex": (lambda g: np.asarray(g) + 0j, T, "must be real.*got complex numbers"),
    "bool": (lambda g: np.ones_like(g, dtype=bool), T, "must be real.*got booleans"),
    "ragged": (lambda g: [[1], [1, 2]], T, "must be real.*got \\[\\[1\\], \\[1, 2\\]\\]"),
    "object": (lambda g: {"a": 1}, T, "must be real numbers.*got {'a': 1}"),
    "Nones": (lambda g: np.full(np.shape(g), None), T, "must be real numbers.*None"),
    "dates": (lambda g: np.zeros(np.shape(g), "M8[D]"), T, "must be real.*1970"),
    "too big": (lambda g: 10**400, T, "must be real numbers.*got 1000"),
    "empty": (lambda g: [], V, r"must have shape .*got \(0,\)"),
    "one axis more": (lambda g: np.asarray(g)[None], V, r"must have shape .*got \(1,"),
    "nan": (lambda g: with_entry(g, 0, NAN), V, "is nan: .*must be finite"),
    "inf": (lambda g: with_entry(g, -1, -INF), V, "is -inf: .*must be finite"),
}


def spoilt(table):
    """Every argument (name, good value, call[, may be None]) of `table`, spoilt in every way."""
    rows = {}
    for row, (name, g, call, *optional) in table.items():
        for way, how in SPOILT.items():
            if not (way == "None" and optional):
                rows[f"{row}-{way}"] = (name, g, call, *how)
    return for_each("name, g, call, spoil, kind, pattern", rows)


NODES = {
    "mass": [1.0, 2.0],
    "position": np.arange(6.0).reshape(2, 3),
    "translation": np.arange(12.0).reshape(2, 3, 2) % 5,
    "rotation": np.arange(12.0).reshape(2, 3, 2) % 7,
    "stiffness": np.diag([4.0, 9.0]),
    "damping": np.eye(2),
    "inertia": np.array([EYE, EYE]),
    "com": np.full((2, 3), 0.1),
    "names": ["root", "tip"],
}

BEAM = {
    "length": 2.0,
    "mass": 3.0,
    "EI": (5.0, 6.0),
    "GJ": 4.0,
    "EA": 9.0,
    "modes": {"bending": 1, "torsion": 1, "stretch": 1},
    "elements": 2,
    "damping": [0.1, 0.2, 0.3, 0.4],
    "polar_inertia": 0.5,
    "load": (1.0, 0.5),
}


def flexible(**changes):
    return lb.FlexibleBody.from_nodes(**(NODES | changes))


def make_beam(**changes):
    return lb.beam(**(BEAM | changes))


BALL = lb.CompoundJoint([lb.Prismatic(X), lb.Spherical()])


def stub(name="stub"):
    return lb.Assembly(name).attach("base", GOOD, lb.Revolute(Z))


THIN = lb.beam(1.0, 1.0, EI=1.0, modes=1)

TURN, ROLL, SLIDE, WELD = lb.Revolute(Z), lb.Revolute(X), lb.Prismatic(X), lb.Fixed()


def chain(*bodies, **where):
    """A chain a, b, c, ... of (body, joint); `where` goes to the first."""
    assembly = lb.Assembly("chain")
    for name, before, (body, joint) in zip("abcd", ("world", *"abc"), bodies):
        extra = where if name == "a" else {"offset": Y}
        assembly.attach(name, body, joint, to=before, **extra)
    return assembly


@cache
def craft() -> lb.System:
    """nq = 19, nv = 16: quaternions of three joints, and two modes."""
    assembly = lb.Assembly("craft", gravity=-Z)
    assembly.attach("hull", GOOD, lb.Free())
    assembly.attach("dish", GOOD, lb.Spherical(), to="hull", at="tip")
    assembly.attach("arm", THIN, TURN, to="hull", at="side")
    return assembly.attach("hand", GOOD, BALL, to="arm", at="tip").build()


QUATERNIONS = {"hull": 0, "dish": 7, "hand": 15}
Q, ZERO = np.zeros(19), np.zeros(16)
Q[list(QUATERNIONS.values())] = 1.0
