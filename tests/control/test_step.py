"""Figures of step responses against closed forms."""

import numpy as np
import pytest

import limber as lb
from limber.control import step_info


@pytest.mark.parametrize("size", [0.5, -3.0])
def test_figures_of_a_second_order_system(size):
    w, zeta = 5.0, 0.4
    t = np.linspace(0.0, 8.0, 20001)
    wd, phi = w * np.sqrt(1.0 - zeta**2), np.arccos(zeta)
    y = 1.0 - np.exp(-zeta * w * t) * np.sin(wd * t + phi) / np.sin(phi)
    found = step_info(t + 2.0, 1.0 + size * y, 1.0 + size)
    assert found.overshoot == pytest.approx(np.exp(-np.pi * zeta / np.sqrt(1.0 - zeta**2)), 1e-6)
    assert found.peak == pytest.approx(np.pi / wd, abs=4e-4)
    outside = t[np.abs(y - 1.0) > 0.02]
    assert found.settling == pytest.approx(outside[-1], abs=4e-4)
    assert found.rise == pytest.approx(t[y >= 0.9][0] - t[y >= 0.1][0], abs=1e-3)
    assert abs(found.error) < 1e-6 and "overshoot 25.4 %" in str(found)


def test_what_never_happens_is_nan_and_first_order_has_no_overshoot():
    t = np.linspace(0.0, 1.0, 1001)
    slow = step_info(t, (1.0 - np.exp(-t))[:, None], 1.0)
    assert slow.overshoot == 0.0 and np.isnan(slow.rise) and np.isnan(slow.settling)
    assert "never settles" in str(slow)
    assert slow.error == pytest.approx(-np.exp(-1.0))
    ramp = step_info([0.0, 1.0, 2.0], [0.0, 1.0, 1.0], within=0.1)
    assert (ramp.rise, ramp.settling) == (pytest.approx(0.8), pytest.approx(0.9))


def test_responses_without_a_step_are_rejected():
    with pytest.raises(lb.LimberError, match="there is no step"):
        step_info([0.0, 1.0], [1.0, 1.0])
    with pytest.raises(lb.LimberError, match=r"y must have shape \(2,\)"):
        step_info([0.0, 1.0], np.zeros((2, 3)))
