"""Burns: Tsiolkovsky's equation, the masses of tanks, energy that leaves, and what is refused."""

import numpy as np
import pytest

import limber as lb
from helpers.flyers import bus
from limber.errors import ArgumentTypeError, ArgumentValueError

#: A planet that hardly pulls.
FAR = lb.orbit.circular(1e6, planet=lb.orbit.Planet(mu=1e-6, radius=1.0))
LOW = lb.orbit.circular(400e3, 0.9)
TIGHT = {"rtol": 1e-12, "atol": 1e-12}


def ship(flexible=False):
    """A body with a thruster, a tank that is off its centre, and perhaps a panel."""
    a = lb.Assembly("ship")
    a.attach(
        "bus",
        lb.RigidBody(40.0, inertia=np.diag([8.0, 9.0, 7.0]), nodes={"nozzle": (-1.0, 0.0, 0.0)}),
        lb.Free(),
    )
    tank = lb.RigidBody(60.0, com=(0.2, 0.0, 0.0), inertia=np.diag([3.0, 3.0, 2.0]))
    a.attach("tank", tank, lb.Fixed(), to="bus", offset=(0.4, 0.0, 0.0))
    if flexible:
        panel = lb.beam(5.0, 6.0, EI=(60.0, 90.0), modes=1, damping=0.01)
        a.attach(
            "panel",
            panel,
            lb.Fixed(),
            to="bus",
            offset=(0.0, 0.5, 0.0),
            rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]],
        )
    return a.build()


def burn(**more):
    return lb.orbit.Burn(
        **{
            "body": "bus",
            "node": "nozzle",
            "thrust": (300.0, 0.0, 0.0),
            "start": 2.0,
            "duration": 300.0,
            "isp": 250.0,
            "tank": "tank",
        }
        | more
    )


@pytest.mark.parametrize("method", ["dop853", "sdirk4"])
def test_a_burn_gives_the_speed_of_tsiolkovsky(method):
    s, b = ship(), burn()
    env = lb.orbit.Environment(FAR, burns=b)
    tight = TIGHT if method == "dop853" else {"rtol": 1e-10, "atol": 1e-10}
    r = lb.simulate(s, 400.0, environment=env, method=method, t_eval=[0.0, 50.0, 400.0], **tight)
    left = 100.0 - b.flow * b.duration
    expected = b.isp * lb.orbit.G0 * np.log(100.0 / left)
    _, speed = lb.orbit.track.centre_of_mass(r)
    np.testing.assert_allclose(r.v[-1, 3], expected, rtol=1e-8)
    np.testing.assert_allclose(speed[-1], [expected, 0.0, 0.0], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(r.masses["tank"][[0, -1]], [60.0, left - 40.0])
    np.testing.assert_allclose(r.momentum[-1, 3], left * expected, rtol=1e-8)


def test_a_spinning_flexible_ship_balances_its_energy(tmp_path):
    s = ship(flexible=True)
    env = lb.orbit.Environment(
        LOW, burns=[burn(duration=20.0), burn(start=30.0, duration=5.0, thrust=(0.0, 4.0, 0.0))]
    )
    v = np.zeros(s.nv)
    v[:3] = 0.05, -0.1, 0.2
    r = lb.simulate(
        s,
        40.0,
        v0=v,
        environment=env,
        t_eval=[0.0, 9.999, 10.0, 10.001, 40.0],
        method="dop853",
        **TIGHT,
    )
    assert r.power_audit().accuracy < 1e-8
    np.testing.assert_allclose(
        r.vdot[2], (r.v[3] - r.v[1]) / 0.002, atol=1e-4 * np.abs(r.vdot[2]).max()
    )
    r.save(tmp_path / "burn.h5")
    back = lb.Result.load(tmp_path / "burn.h5")
    np.testing.assert_array_equal(back.masses["tank"], r.masses["tank"])
    np.testing.assert_array_equal(back.kinetic_energy, r.kinetic_energy)


def test_thrust_follows_the_node_and_turns_the_ship():
    s = bus()
    off = lb.orbit.Burn("bus", (0.0, 1.0, 0.0), start=0.0, duration=5.0)
    env = lb.orbit.Environment(FAR, burns=[off])
    half = np.sqrt(0.5)
    q = np.array([half, 0.0, 0.0, half, 0.0, 0.0, 0.0])  # turned by 90 degrees about z
    r = lb.simulate(s, 10.0, q0=q, environment=env, **TIGHT)
    np.testing.assert_allclose(r.momentum[-1], [0.0, 0.0, 0.0, -5.0, 0.0, 0.0], atol=1e-9)
    assert r.masses == {}


def test_a_reboost_raises_the_orbit():
    s = ship()
    env = lb.orbit.Environment(LOW, burns=burn(thrust=(30.0, 0.0, 0.0), duration=60.0))
    q, v = env.start(s, attitude=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    r = lb.simulate(s, 200.0, q0=q, v0=v, environment=env, t_eval=[0.0, 200.0], **TIGHT)
    a = env.track(r).elements.semi_major
    speed = np.linalg.norm(LOW.velocity)
    left = 100.0 - 60.0 * 30.0 / (250.0 * lb.orbit.G0)
    gain = 250.0 * lb.orbit.G0 * np.log(100.0 / left)
    np.testing.assert_allclose(a[-1] - a[0], 2.0 * a[0] * gain / speed, rtol=0.02)


def test_actions_of_events_are_accounted_with_the_mass_of_the_moment():
    s = ship()
    env = lb.orbit.Environment(FAR, burns=burn(duration=100.0))

    def stop(t, q, v):
        return q, 0.5 * v

    r = lb.simulate(s, 120.0, environment=env, events=lb.Event(60.0, stop), every=20.0, **TIGHT)
    assert r.power_audit().accuracy < 1e-8
    assert r.power_audit().actions[-1] < -1e5


def test_topology_and_masses_do_not_change_in_one_run():
    a = lb.Assembly("pair")
    for name in ("one", "two"):
        a.attach(name, lb.RigidBody(10.0, inertia=np.eye(3)), lb.Free())
    s = a.build()
    env = lb.orbit.Environment(
        FAR, burns=lb.orbit.Burn("one", (1.0, 0.0, 0.0), 0.0, 1.0, isp=100.0, tank="one")
    )
    grip = lb.attach((("one", None), ("two", None), lb.Fixed(), "grip"), in_place=True)
    with pytest.raises(ArgumentValueError, match="one run cannot do both"):
        lb.simulate(s, 2.0, environment=env, events=lb.Event(0.5, grip, name="dock"))


def test_wrong_burns_are_refused():
    s = ship(flexible=True)
    with pytest.raises(ArgumentTypeError, match="isp and tank belong together"):
        burn(isp=None)
    with pytest.raises(
        ArgumentValueError, match=r"they use 122.* kg from tank 'tank', which has 60 kg"
    ):
        lb.simulate(s, 1.0, environment=lb.orbit.Environment(LOW, burns=burn(duration=1000.0)))
    with pytest.raises(ArgumentTypeError, match="tank 'panel' is a flexible body"):
        lb.simulate(s, 1.0, environment=lb.orbit.Environment(LOW, burns=burn(tank="panel")))
    with pytest.raises(ArgumentValueError, match='use engine="general" instead of'):
        lb.simulate(s, 1.0, environment=lb.orbit.Environment(LOW, burns=burn()), engine="generated")
    with pytest.raises(ArgumentTypeError, match=r"burns must be lb\.orbit\.Burn objects"):
        lb.orbit.Environment(LOW, burns=3)
