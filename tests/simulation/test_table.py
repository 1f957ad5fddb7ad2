"""Tables of torques over time."""

import numpy as np
import pytest

import limber as lb
from helpers.arrays import over_foreign_memory


def test_table_is_linear_between_and_held_outside():
    table = lb.Table([0.0, 1.0, 3.0], [[0.0, 1.0], [2.0, 1.0], [4.0, -1.0]])
    assert table([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 9.0]).tolist() == [
        *([0.0, 1.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 0.0], [4.0, -1.0], [4.0, -1.0])
    ]
    assert table(0.5).shape == (2,)
    assert lb.Table([1.0], [[5.0]])([0.0, 2.0]).tolist() == [[5.0], [5.0]]


def test_jump_is_two_times_next_to_each_other():
    table = lb.Table([0.0, 1.0, np.nextafter(1.0, 2.0), 2.0], [[0.0], [0.0], [1.0], [1.0]])
    assert table([1.0, 1.0 + 1e-12]).tolist() == [[0.0], [1.0]]


def test_held_commands_act_until_the_next_one():
    table = lb.Table.held([0.0, 0.1, 0.2, 0.3], [[1.0], [1.0], [3.0], [2.0]])
    found = table([0.0, 0.15, 0.1999, 0.2, 0.25, 0.2999, 0.3, 9.0]).ravel()
    assert np.allclose(found, [1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 2.0, 2.0], rtol=1e-15)
    assert len(table.t) == 6  # nothing is added where the command stays
    assert lb.Table.held([1.0], [[5.0]])(2.0).tolist() == [5.0]
    with pytest.raises(lb.LimberError, match="strictly increasing"):
        lb.Table.held([0.0, 0.0], [[1.0], [2.0]])


def test_recorded_commands_repeat_a_run_with_a_controller():
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    s = a.attach("arm", lb.RigidBody(2.0, (0.3, 0, 0), (0.1, 0.1, 0.1)), lb.Revolute("y")).build()
    pd = lb.control.PD(60.0, 6.0, sample_time=0.01, reference=0.5)
    first = lb.simulate(s, 1.0, torque=pd, every=0.01, rtol=1e-9)
    sent = first.signals["command"]
    again = lb.simulate(s, 1.0, torque=lb.Table.held(sent.t, sent.y), every=0.01, rtol=1e-9)
    assert np.abs(again.q - first.q).max() < 1e-6
    # a row at the time of a sample has the command that was in effect until then
    assert np.allclose(first.tau[1:-1], sent.y[: len(first.tau) - 2])


@pytest.mark.parametrize(
    "t, tau, message",
    [
        ([], np.zeros((0, 1)), "t is empty"),
        ([0.0, 0.0], np.zeros((2, 1)), "t must be strictly increasing"),
        ([0.0, 1.0], np.zeros((3, 1)), r"tau must have shape \(2, nv\)"),
        ([0.0, np.nan], np.zeros((2, 1)), "t.1. is nan"),
        ([0.0, 1.0], [[0.0], [np.inf]], "tau.1, 0. is inf"),
    ],
)
def test_bad_tables_are_refused(t, tau, message):
    with pytest.raises(lb.LimberError, match=message):
        lb.Table(t, tau)


def test_table_cannot_be_changed():
    table = lb.Table([0.0], [[1.0]])
    with pytest.raises(ValueError, match="read-only"):
        table.tau[0] = 0.0
    with pytest.raises(AttributeError):
        table.t = None


@pytest.mark.parametrize("way", [over_foreign_memory, lambda a: a.astype(">f8")])
def test_arrays_of_other_memory_and_byte_order_drive_a_simulation(way):
    body = lb.RigidBody(1.0, inertia=np.eye(3))
    s = lb.Assembly("wheel").attach("wheel", body, lb.Revolute([0, 0, 1])).build()
    one, times = np.ones(1), np.array([0.0, 0.5, 1.0])
    for torque in (lambda x: x(one), lambda x: lb.Table(x(times), x(np.ones((3, 1))))):
        expected = lb.simulate(s, 1.0, q0=one, v0=one, torque=torque(np.copy), t_eval=times)
        given = {"q0": way(one), "v0": way(one), "torque": torque(way), "t_eval": way(times)}
        assert np.array_equal(lb.simulate(s, 1.0, **given).q, expected.q)
