"""The example of many Canadarms that the controller does not know."""

import numpy as np
import pytest

from helpers.files import EXAMPLES
from limber.cli.examples import loaded


def test_corners_come_first_and_all_cases_stay_within_the_ranges():
    rows = loaded(EXAMPLES / "robust_canadarm.py").factors(100)
    assert set(rows) == {"link3.mass", "link1.EI", "link2.EI", "link3.EI"}
    values = np.array(list(rows.values()))
    assert values.shape == (4, 100) and len({tuple(x) for x in values.T[:16]}) == 16
    most = np.array([0.5, 0.2, 0.2, 0.2])
    assert np.allclose(np.abs(values.T[:16] - 1.0), most)
    assert (np.abs(values.T - 1.0) <= most + 1e-12).all()


@pytest.mark.slow
def test_corners_are_damped(tmp_path, capsys):
    made = loaded(EXAMPLES / "robust_canadarm.py")
    made.main(tmp_path, cases=16)
    said = capsys.readouterr().out
    assert "16 of 16 cases are stable" in said
    assert (tmp_path / "robust_canadarm.png").stat().st_size > 10_000
    assert (tmp_path / "robust_canadarm.html").stat().st_size > 10_000
