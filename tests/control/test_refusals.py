"""Arguments of the control laboratory that would give a wrong answer or an error of NumPy are refused in words."""

import numpy as np
import pytest

import limber as lb
from limber import control


@pytest.fixture(scope="module")
def link():
    a = lb.Assembly("link")
    beam = lb.beam(1.0, 1.0, EI=50.0, modes={"y": 1}, damping=0.01)
    return a.attach("link", beam, lb.Revolute("z", armature=0.1)).build()


class Still(control.Controller):
    """No torque, at 100 Hz."""

    sample_time = 0.01

    def command(self, t, measured):
        return [0.0]


def observed(link, **options):
    """A loop with a Kalman filter."""
    kalman = control.Kalman(0.1, **options)
    lqr = control.LQR(1.0, 1.0, sample_time=0.01, about=link.neutral(), observer=kalman)
    return control.Loop(link, lqr, sensors=[control.Encoder(rate=100.0, noise=1e-4)], seed=0)


MODEL = control.LinearModel.of(-np.eye(2), np.eye(2), np.eye(2), inputs=["a", "b"])

REFUSED = {
    "a gauge at nan, which would read zero": (
        lambda s: control.StrainGauge("link", at=0.1, y=np.nan, rate=10.0),
        "y of sensor 'strain gauge'",
    ),
    "noise of a sensor that there is not": (
        lambda s: observed(s, noise={"encodr": 1e-3}),
        "noise has 'encodr'.*Did you mean 'encoder'",
    ),
    "noise that is not by sensor": (lambda s: observed(s, noise=1e-3), "noise must be {sensor"),
    "a disturbance that is nan": (lambda s: control.Kalman(np.nan), "disturbance must be finite"),
    "a reference that is nan": (
        lambda s: control.Loop(s, control.PD(1.0, 1.0, sample_time=0.01, reference=[np.nan])),
        "reference must be finite",
    ),
    "an age of a sensor that there is not": (
        lambda s: control.Loop(
            s,
            control.Guard(Still(), oldest={"tacho": 0.1}),
            sensors=[control.Tachometer(rate=100.0)],
        ),
        "oldest has 'tacho'.*Did you mean 'tachometer'",
    ),
    "limits that do not fit the command": (
        lambda s: lb.simulate(s, 0.02, torque=control.Guard(Still(), limit=[1.0, 2.0])),
        "limit of the guard must be one number or 1",
    ),
    "a negative walk": (lambda s: control.AttitudeEstimator(bias_walk=-1.0), "bias_walk must be"),
    "biases of two axes": (lambda s: control.AttitudeEstimator([0.0, 1.0]), "bias must be"),
    "noise of three kinds": (
        lambda s: control.OptimalAttitude("hub", sample_time=0.1, noise=(1.0, 1.0, 1.0)),
        "noise must have shape",
    ),
    "weights that are nan": (lambda s: control.lqr_gain(MODEL, np.nan, 1.0), "Q must be finite"),
    "an observer that is none": (
        lambda s: control.LQR(1.0, 1.0, sample_time=0.01, about=s.neutral(), observer=True),
        "observer must have prepare, start and update",
    ),
    "a span that is none": (
        lambda s: control.Encoder(rate=10.0, outages=0.5),
        "outages of sensor 'encoder'",
    ),
    "a range in words": (lambda s: control.Encoder(rate=10.0, range="far"), "range of sensor"),
    "a torque that is a list": (
        lambda s: control.ReactionWheel("w", "z", inertia=0.1, mass=1.0, torque=[]),
        "torque of wheel",
    ),
    "outputs that are no names": (lambda s: MODEL.select(outputs=[0]), "outputs must be a list"),
    "another model of another size": (
        lambda s: MODEL.bode(against={"one": MODEL.select(inputs=["a"])}),
        "against: 'one' has",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused(link, case):
    make, said = REFUSED[case]
    with pytest.raises(lb.LimberError, match=said):
        make(link)


def test_models_are_compared_by_the_names_of_their_inputs():
    """The lines of a model with its inputs in another order are the same."""
    omega = np.array([0.5, 1.0, 2.0])
    turned = MODEL.select(inputs=["b", "a"])
    figure = MODEL.bode(omega, against={"turned": turned})
    lines = [line.get_ydata() for line in figure.axes[0].get_lines()]
    assert len(lines) == 4
    np.testing.assert_allclose(lines[0], lines[2])
    assert figure.axes[0].get_lines()[0].get_color() == figure.axes[0].get_lines()[2].get_color()


@pytest.mark.parametrize("made", ["loop", "lqr", "about", "active damping", "computed torque"])
def test_models_with_their_modes_in_other_places_are_refused(made):
    """The coordinates of one would be read as others, such as a mode as the angle of a joint."""

    def arm(first, second):
        a = lb.Assembly("arm")
        for name, count, to in (("upper", first, "world"), ("fore", second, "upper")):
            beam = lb.beam(1.0, 1.0, EI=100.0, modes={"y": count}, damping=0.01)
            a.attach(
                name, beam, lb.Revolute("z", armature=0.5), to, None if to == "world" else "tip"
            )
        return a.build()

    s, other = arm(1, 2), arm(2, 1)
    options = {"sample_time": 0.01}
    still = lb.simulate(other, 0.1, every=0.05)
    pd = control.PD(100.0, 10.0, **options)
    tries = {
        "loop": lambda: lb.simulate(other, 0.1, torque=control.Loop(s, pd)),
        "lqr": lambda: control.LQR(1.0, 1.0, about=s.neutral(), system=other, **options),
        "about": lambda: control.LQR(1.0, 1.0, about=still, **options),
        "active damping": lambda: control.ActiveDamping(100.0, 10.0, system=other, **options),
        "computed torque": lambda: control.ComputedTorque(
            100.0, 10.0, model="flexible", system=other, **options
        ),
    }
    with pytest.raises(
        lb.LimberError, match=r"other bodies, joints or modes|must have the|differs"
    ):
        control.Loop(s, tries[made]())
