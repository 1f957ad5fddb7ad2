"""Data sheets: the numbers as published agree with the options, and every sheet makes its device."""

import numpy as np
import pytest

import limber as lb

PLACES = {
    "servo": (("link",), {}),
    "wheel": (("wheel", "z"), {}),
    "gyro": (("link",), {"rate": 100.0}),
    "accelerometer": (("link",), {"rate": 100.0}),
    "star_tracker": (("link",), {"rate": 5.0}),
}


@pytest.mark.parametrize("name", lb.control.datasheets())
def test_every_sheet_makes_its_device_and_names_its_source(name):
    sheet = lb.control.datasheet(name)
    assert sheet.source and sheet.read and sheet.published
    arguments, options = PLACES[sheet.kind]
    sheet.make(*arguments, **options)


def test_options_are_the_published_numbers_in_si_units():
    def options(name):
        return lb.control.datasheet(name).options

    motor = options("maxon-ec90-flat-24v")
    assert motor["rotor_inertia"] == pytest.approx(3060e-3 * 1e-4)  # g cm^2
    # the published no-load speed is that of voltage and torque constant, less friction
    assert motor["voltage"] / motor["torque_constant"] == pytest.approx(3190 * np.pi / 30, rel=0.03)
    assert options("stim300-gyro")["noise_density"] == pytest.approx(
        np.radians(0.15) / 60, rel=1e-4
    )
    assert options("stim300-accelerometer")["noise_density"] == pytest.approx(0.06 / 60)
    arcsec = np.radians(1 / 3600)
    assert np.allclose(
        options("st5000-star-tracker")["noise"], arcsec * np.array([0.54, 0.54, 17]), rtol=1e-3
    )
    for momentum in (50, 75, 100):
        wheel = options(f"honeywell-hr16-{momentum}")
        assert wheel["inertia"] * 6000 * np.pi / 30 == pytest.approx(momentum, rel=1e-5)


def test_motor_and_gear_together_make_a_servo():
    motor, gear = (
        lb.control.datasheet(x) for x in ("maxon-ec90-flat-24v", "harmonic-drive-csg-25-100")
    )
    servo = lb.control.Servo("link", **(motor.options | gear.options), efficiency=0.7)
    assert servo.armature == pytest.approx(3.06)
    assert servo.limit == 204.0
    assert servo.stall == pytest.approx(100 * 0.0705 * 24 / 0.363 * 0.7)


def test_files_of_users_are_read_and_checked(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: x\nkind: encoder\nsource: measured\noptions: {counts: 1000, noise: 1.0e-4}\n"
    )
    sensor = lb.control.datasheet(path).make("link", rate=10.0, seed=1)
    assert sensor.noise == 1e-4
    for text, message in (
        ("name: x\n", "lacks kind, source, options"),
        ("name: x\nkind: oven\nsource: y\noptions: {}\n", "kind must be one of"),
        ("name: x\nkind: gyro\nsource: y\noptions: 3\n", "options must be a mapping"),
        ("nmae: x\n", "'nmae' is not a known key"),
        ("[1, 2\n", "is not YAML"),
        ("3", "must be a mapping"),
    ):
        path.write_text(text)
        with pytest.raises(lb.LimberError, match=message):
            lb.control.datasheet(path)
    with pytest.raises(lb.LimberError, match="cannot be read"):
        lb.control.datasheet(tmp_path / "none.yaml")
    with pytest.raises(lb.LimberError, match="is not a data sheet"):
        lb.control.datasheet("honeywell-hr17")
