"""Arguments that no run can serve are refused by their names."""

import re

import numpy as np
import pytest

import limber as lb


@pytest.fixture(scope="module")
def cart():
    a = lb.Assembly("cart")
    a.attach("c", lb.RigidBody(1.0), lb.Prismatic("x"))
    return a.build()


@pytest.mark.parametrize("method", ["auto", "rk45", "RK45"])
@pytest.mark.parametrize("name", ["step", "max_step"])
def test_steps_too_short_for_the_run_are_refused_by_name(cart, name, method):
    for value in (1e-300, 1e-15):
        with pytest.raises(lb.LimberError, match=f"^{name}={value:g} requires .* use a larger"):
            lb.simulate(cart, 1.0, method=method, **{name: value})


def test_a_run_whose_length_overflows_is_refused(cart):
    with pytest.raises(lb.LimberError, match=r"t_end=1e\+308 is so far from t0=-1e\+308"):
        lb.simulate(cart, 1e308, t0=-1e308)


@pytest.mark.parametrize("save", [5, b"run.h5", "", "a\0b.h5"])
def test_a_bad_file_to_save_to_is_refused_by_the_name_of_the_argument(cart, save):
    with pytest.raises(
        lb.LimberError, match=rf"^save must be the path of a file, got {re.escape(repr(save))}"
    ):
        lb.simulate(cart, 1.0, save=save)


@pytest.mark.parametrize("modes", [10**6, {"bending": 2, "torsion": 10**6}, 101])
def test_more_modes_than_memory_are_refused(modes):
    kind = "torsion" if isinstance(modes, dict) else "bending"
    with pytest.raises(lb.LimberError, match=rf"modes\['{kind}'\] must be 100 at most, got "):
        lb.beam(length=1.0, mass=1.0, EI=1.0, GJ=1.0, polar_inertia=1.0, modes=modes)


@pytest.mark.parametrize("size", [1e160, -1e300])
def test_huge_coordinates_are_not_taken_for_a_singular_inertia(size):
    a = lb.Assembly("arm")
    a.attach("turn", lb.RigidBody(1.0, com=(0.1, 0, 0)), lb.Revolute("z"))
    a.attach("slide", lb.RigidBody(1.0), lb.Prismatic("x"), to="turn")
    s = a.build()
    with pytest.raises(lb.LimberError, match=r"q\[1\] = .*'slide', is so large") as caught:
        lb.forward_dynamics(s, [0.0, size], np.zeros(2), np.zeros(2))
    assert "singular" not in str(caught.value)
