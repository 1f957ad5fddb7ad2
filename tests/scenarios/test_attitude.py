"""Attitude controllers in scenario files."""

from pathlib import Path

import numpy as np
import pytest

import limber as lb

EXAMPLE = Path(__file__).parents[2] / "examples" / "spacecraft_slew.yaml"


def test_the_example_has_what_its_file_says():
    case = lb.io.load_scenario(EXAMPLE)
    c = case.torque.controller.controller
    assert isinstance(c, lb.control.AttitudeController)
    assert len(c.filters) == 5 and c.unloading.above == 5.0
    assert c.reference.angle == pytest.approx(0.349066)
    assert c.reference.duration > 90.0  # the shaper makes it longer


@pytest.mark.slow
def test_the_example_slews_and_unloads():
    case = lb.io.load_scenario(EXAMPLE)
    r = lb.simulate(case.system, case.duration, **case.settings)
    stored = np.linalg.norm(r.signals["stored momentum"].y, axis=1)
    assert stored.max() == pytest.approx(5.0, abs=0.1)
    unloaded = r.signals["stored momentum"].t > 170.0
    assert stored[unloaded].min() < 1.01  # then the disturbance fills the wheels again
    assert np.abs(r.signals["attitude error"].y).max() < 1e-3


def test_an_unknown_hub_is_told_with_its_place(tmp_path):
    text = EXAMPLE.read_text(encoding="utf-8").replace("    hub: hub\n", "    hub: bus\n")
    (tmp_path / "x.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(lb.LimberError, match=r"controller\.attitude\.hub: 'bus' is not a body"):
        lb.io.load_scenario(tmp_path / "x.yaml")
