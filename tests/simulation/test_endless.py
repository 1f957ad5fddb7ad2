"""Sequences of events without end are told from honest ones."""

import numpy as np
import pytest

import limber as lb
from limber.simulation.endless import FEWEST, PileUp


def piles_up(times):
    """The time at which events are said to pile up, and the number of events after which this is known."""
    pile = PileUp()
    for count, t in enumerate(times, 1):
        end = pile.joined(t)
        if np.isfinite(end):
            return end, count
    return np.inf, len(times)


N = np.arange(1, 20_001)


@pytest.mark.parametrize("power", [1.25, 1.5, 2.0, 3.0])
def test_gaps_that_fall_as_a_power_pile_up_where_their_sum_is(power):
    gaps = N**-power
    end, count = piles_up(np.cumsum(gaps))
    left = FEWEST ** (1.0 - power) / (power - 1.0)
    assert count == FEWEST
    assert end == pytest.approx(gaps[:FEWEST].sum() + left, abs=0.1 * left)


@pytest.mark.parametrize(
    "times",
    [
        1e-6 * N,
        np.sqrt(N),
        np.log(N + 10.0),  # the turns of a rotor whose speed grows exponentially
        np.cumsum(1.0 / np.log(N + 1.0)),
        np.cumsum(0.99**N),
        np.cumsum(0.9999**N),
        np.concatenate([N[:3000], 3000 + 1e-3 * N]),  # seldom, then often
        np.cumsum(np.random.default_rng(0).exponential(size=20_000)),
        np.cumsum(np.random.default_rng(0).pareto(1.5, size=20_000)),
    ],
)
def test_other_sequences_do_not_pile_up(times):
    assert piles_up(times)[0] == np.inf


def test_events_that_pile_up_while_the_state_grows_end_with_a_message():
    """The cart is pushed by v_y^2.  Where v_x comes up through 0, it loses 1 and v_y gains 1: gaps of 1 / n^2."""
    a = lb.Assembly("two")
    a.attach("x", lb.RigidBody(1.0), lb.Prismatic("x"))
    a.attach("y", lb.RigidBody(1.0), lb.Prismatic("y"))
    kick = lb.Event(
        lambda t, q, v: v[0], lambda t, q, v: (q, [-1.0, v[1] + 1.0]), direction=1, name="kick"
    )
    run = {"v0": [-1.0, 1.0], "torque": lambda t, q, v: [v[1] ** 2, 0.0], "events": kick}
    s = a.build()
    with pytest.raises(lb.SimulationError, match=r"without end at t = 1\.644.*'kick'") as caught:
        lb.simulate(s, 3.0, **run)
    n = np.arange(1, len(caught.value.result.events) + 1)
    assert np.allclose([e.t for e in caught.value.result.events], np.cumsum(1.0 / n**2), atol=1e-6)
    assert len(lb.simulate(s, 1.6, **run).events) == 21  # it ends before they pile up


def test_thousands_of_events_spread_over_a_run_pass():
    a = lb.Assembly("chatter")
    a.attach("c", lb.RigidBody(1.0), lb.Prismatic("x"))
    walls = [
        lb.Event(lambda t, q, v: q[0] - 1e-3, lambda t, q, v: (q, -v), direction=1, name="right"),
        lb.Event(lambda t, q, v: q[0] + 1e-3, lambda t, q, v: (q, -v), direction=-1, name="left"),
    ]
    r = lb.simulate(a.build(), 5.0, v0=[1.0], events=walls)
    assert np.allclose([e.t for e in r.events], 1e-3 + 2e-3 * np.arange(2500), atol=1e-9)
