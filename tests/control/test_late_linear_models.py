"""Readings that arrive late are part of a loop: margins know of them, as a run does."""

import numpy as np
import pytest

import limber as lb
from limber import control

T = 0.01


@pytest.fixture(scope="module")
def link():
    a = lb.Assembly("link")
    body = lb.RigidBody(1.0, inertia=[0.1] * 3)
    return a.attach("link", body, lb.Revolute("z", armature=0.4, damping=0.1)).build()


def left_over(poles, y):
    """What is left of free motion (n,) in the recursion that has these poles, as a fraction of it."""
    c = np.poly(poles)
    rows = np.lib.stride_tricks.sliding_window_view(y, len(c)) @ c[::-1]
    return np.abs(rows).max() / np.abs(y).max()


# each: rate and delay of the encoder, rate and delay of the tachometer, integral gain, filter time, delay of commands
CASES = [
    (100.0, 0.02, None, 0.0, 0.0, 0.0, 0.0),
    (100.0, 0.013, None, 0.0, 50.0, 0.01, 0.004),
    (300.0, 0.02, 400.0, 0.01, 0.0, 0.0, 0.01),
    (200.0, 0.0, 100.0, 0.025, 50.0, 0.01, 0.004),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_poles_are_those_of_the_run(link, case):
    rate, late, speed_rate, speed_late, ki, filter_time, delay = case
    c = control.PID(60.0, ki, 5.0, sample_time=T, filter_time=filter_time, reference=0.0)
    sensors = [control.Encoder(rate=rate, delay=late)]
    outputs = ["link"]
    if speed_rate is not None:
        sensors.append(control.Tachometer(rate=speed_rate, delay=speed_late))
        outputs.append(("speed", "link"))
    loop = control.Loop(link, c, sensors=sensors, delay=delay)
    plant = lb.linearize(link, inputs=["link"], outputs=outputs)
    found = control.margins(plant, c, delay=delay)
    r = lb.simulate(link, 1.0, q0=[0.1], torque=loop, every=T, rtol=1e-11, atol=1e-13)
    assert left_over(found.poles, r.q[20:, 0]) < 1e-11


def test_a_loop_that_late_readings_make_unstable_is_told(link):
    plant = lb.linearize(link, inputs=["link"], outputs=["link", ("speed", "link")])
    for late, stable in ((0.0, True), (0.05, False)):
        c = control.PD(100.0, 12.0, sample_time=T, reference=0.0)
        sensors = [
            control.Encoder(rate=100.0, delay=late),
            control.Tachometer(rate=100.0, delay=late),
        ]
        loop = control.Loop(link, c, sensors=sensors)
        assert control.margins(plant, c).stable == stable
        r = lb.simulate(link, 2.0, q0=[0.1], torque=loop, every=T)
        assert (np.abs(r.q[-20:]).max() < 0.05) == stable


def test_regulators_count_late_readings_too(link):
    plant = lb.linearize(link, inputs=["link"])
    c = control.LQR([400.0, 1.0], 0.05, sample_time=T, about=[0.0])
    sensors = [control.Encoder(rate=100.0, delay=0.02), control.Tachometer(rate=100.0, delay=0.02)]
    loop = control.Loop(link, c, sensors=sensors)
    found = control.margins(plant, c)
    r = lb.simulate(link, 1.0, q0=[0.1], torque=loop, every=T, rtol=1e-11, atol=1e-13)
    assert left_over(found.poles, r.q[20:, 0]) < 1e-11


def test_the_age_of_readings_between_samples_is_rounded_up(link):
    c = control.PD(100.0, sample_time=T)
    control.Loop(link, c, sensors=[control.Encoder(rate=300.0, delay=0.012)])  # 13.3 ms
    assert c.linear().order == 1 + 2  # the last error, and two readings
    control.Loop(link, c, sensors=[control.Encoder(rate=170.0)])
    assert c.linear().order == 1 + 1


def test_a_sensor_that_is_slower_than_the_loop_is_told(link):
    c = control.PD(100.0, 1.0, sample_time=T)
    loop = control.Loop(link, c, sensors=[control.Encoder(rate=50.0)])
    lb.simulate(link, 0.1, torque=loop)  # it runs
    with pytest.raises(lb.LimberError, match=r"not read at every sample .*50 Hz and 100 Hz"):
        c.linear()
