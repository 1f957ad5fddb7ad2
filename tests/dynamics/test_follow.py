"""Loads that grow in steps: buckling of chains and columns with known critical loads."""

import warnings

import numpy as np
import pytest

import limber as lb

TOLERANCE = 1e-9
G = 9.81


def close(actual, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def column(links, stiffness=1.0, length=1.0):
    """A column of rigid links along z with the same spring under each, one degree of freedom a link."""
    h = length / links
    link = lb.RigidBody(1.0 / links, com=(0, 0, h), nodes={"end": (0, 0, h)})
    a = lb.Assembly("column")
    to, at = "world", None
    for i in range(links):
        spring = lb.Revolute("y", stiffness=stiffness * links / length)
        a.attach(f"link{i}", link, spring, to, at)
        to, at = f"link{i}", "end"
    return a.build()


def tip(s):
    return (list(s.layout)[-1], "end")


def test_an_inverted_pendulum_buckles_where_its_weight_takes_up_the_spring():
    """k = f m g l, and below that omega^2 = k/(m l^2) - f g/l."""
    a = lb.Assembly("mast", gravity=(0, 0, -G))
    a.attach("mast", lb.RigidBody(2.0, com=(0, 0, 0.5)), lb.Revolute("y", stiffness=30.0))
    path = lb.follow(a.build(), np.linspace(0.0, 5.0, 11), gravity=True)
    critical = 30.0 / (2.0 * G * 0.5)
    assert path.kind == "buckling"
    close(path.critical, critical, 1e-11)
    close(path.factors[-1], critical, 1e-11)
    below = path.factors[:-1]
    close(path.omega[:-1] ** 2, (30.0 / 0.5) * (1.0 - below / critical))
    assert not path.q.any() and not path.growth[:-1].any()
    assert str(path).splitlines()[-1] == f"buckling at {critical:.8g}"


@pytest.mark.parametrize("links", [1, 2, 5])
def test_a_chain_of_links_buckles_at_its_lowest_eigenvalue(links):
    """A load on the tip: P = c/h (2 - 2 cos(pi/(2 n + 1))), c the spring, h the length of a link."""
    s = column(links)
    c = h = 1.0 / links
    expected = (1.0 / c) / h * (2.0 - 2.0 * np.cos(np.pi / (2 * links + 1)))
    path = lb.follow(s, np.linspace(0.0, 4.0, 9), external={tip(s): [0, 0, 0, 0, 0, -1.0]})
    close(path.critical, expected, 1e-10)
    # the shape is the one of the eigenvalue, phi_i ~ sin(i pi/(2 n + 1)) with phi the angles in space
    angles = np.cumsum(path.shape)
    i = np.arange(1, links + 1)
    close(
        angles / angles[-1],
        np.sin(i * np.pi / (2 * links + 1)) / np.sin(links * np.pi / (2 * links + 1)),
        1e-5,
    )


def test_a_finer_chain_tends_to_the_load_of_euler():
    """pi^2 EI/(4 L^2), with an error of first order in the links: the springs sit at their lower ends."""
    errors = []
    for links in (8, 16):
        s = column(links)
        path = lb.follow(s, [0.0, 2.0, 3.0], external={tip(s): [0, 0, 0, 0, 0, -1.0]})
        errors.append(1.0 - path.critical / (np.pi**2 / 4.0))
    assert 0.0 < errors[1] < 0.07
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


def test_a_stiffened_column_buckles_at_the_load_of_euler():
    """The shape 1 - cos(pi x/(2 L)) with the shortening of its axis is exact: P = pi^2 EI/(4 L^2)."""
    L, EI, n = 2.0, 30.0, 9
    x = np.linspace(0.0, L, n)
    k = np.pi / (2.0 * L)
    translation, rotation = np.zeros((n, 3, 1)), np.zeros((n, 3, 1))
    translation[:, 1, 0], rotation[:, 2, 0] = 1.0 - np.cos(k * x), k * np.sin(k * x)
    second = np.zeros((n, 3, 1, 1))
    second[:, 0, 0, 0] = -(k**2) * (x / 2.0 - np.sin(2.0 * k * x) / (4.0 * k))
    body = lb.FlexibleBody.from_nodes(
        mass=np.full(n, 0.1),
        position=np.outer(x, [1.0, 0.0, 0.0]),
        translation=translation,
        rotation=rotation,
        stiffness=[[EI * k**4 * L / 2.0]],
        second=second,
    )
    s = lb.Assembly("column").attach("column", body, lb.Fixed()).build()
    path = lb.follow(s, np.linspace(0, 40, 5), external={("column", n - 1): [0, 0, 0, -1.0, 0, 0]})
    close(path.critical, np.pi**2 * EI / (4.0 * L**2), 1e-10)


@pytest.mark.parametrize("modes", [1, 2, 3])
def test_a_stiffened_beam_buckles_from_above(modes):
    """Modes of a cantilever in the place of the exact shape: 7.8, 0.58 and 0.27 % too high."""
    b = lb.beam(2.0, 3.0, EI=(30.0, 60.0), modes=modes, geometric_stiffening=True)
    s = lb.Assembly("column").attach("column", b, lb.Fixed()).build()
    wrench = {("column", "tip"): [0, 0, 0, -1.0, 0, 0]}
    path = lb.follow(s, np.linspace(0.0, 30.0, 4), external=wrench)
    error = path.critical / (np.pi**2 * 30.0 / (4.0 * 2.0**2)) - 1.0
    assert 0.0 < error < (0.079, 0.006, 0.003)[modes - 1]
    assert np.abs(path.shape).argmax() == 1  # it bends in the x-z plane, which is softer


def cantilever(modes, **options):
    """A cantilever along x, softer in the x-z plane, its tip, and the load of Euler."""
    b = lb.beam(2.0, 3.0, EI=(30.0, 60.0), modes=modes, **options)
    s = lb.Assembly("column").attach("column", b, lb.Fixed()).build()
    return s, ("column", "tip"), np.pi**2 * 30.0 / (4.0 * 2.0**2)


def test_a_bent_column_of_many_modes_buckles_out_of_its_plane():
    """A load off the axis bends it in the stiff plane; it buckles in the soft one, which no force leads it into."""
    s, tip, euler = cantilever(12, geometric_stiffening=True)
    path = lb.follow(s, [0.0, 10.0, 20.0], external={tip: [0, 0, 0, -1.0, 0.02, 0]})
    assert path.kind == "buckling" and path.bracket is None
    assert 0.0 < path.critical / euler - 1.0 < 0.002
    assert np.abs(path.shape).argmax() == 1
    again = {tip: path.critical * np.array([0, 0, 0, -1.0, 0.02, 0])}
    rest = np.zeros(s.nv)
    close(lb.inverse_dynamics(s, path.q[-1], rest, rest, external=again), 0.0, 1e-8)


@pytest.mark.parametrize(
    ("last", "why"), [(20.0, "bodies deform"), (40.0, "no equilibrium was found between them")]
)
def test_a_column_that_bends_without_bound_is_unresolved(last, why):
    """One body under a load off its axis in the soft plane: its deflection grows as 1/(1 - P/P_E), beyond any limit.

    Far beyond that load, there is a small deflection to the other side.
    """
    s, tip, euler = cantilever(3, geometric_stiffening=True)
    with (
        pytest.warns(lb.ModelWarning, match=f"lies between the factors .* stopped: {why}"),
        pytest.warns(lb.TheoryWarning, match="node 'tip' turns by .* rad at the load factor 1"),
    ):
        path = lb.follow(s, [0.0, 10.0, last], external={tip: [0, 0, 0, -1.0, 0, 0.02]})
    low, high = path.bracket
    assert path.kind == "unresolved" and path.critical == low == path.factors[-1]
    assert 0.9 * euler < low < euler < high == last
    assert str(path).endswith(f"unresolved between {low:.8g} and {last:g}")


def test_warnings_come_once_for_a_path():
    """Of a plain beam under a load along it, and of nodes that turn too far, at the load where that is worst."""
    s, tip, _ = cantilever(2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        lb.follow(s, np.linspace(0.0, 15.0, 16), external={tip: [0, 0, 0, -1.0, 0, 0.3]})
    texts = [str(x.message) for x in said]
    assert len(texts) == 2
    assert "under compression of 15 N" in texts[0] and "at the load factor 15." in texts[1]


def test_a_column_off_its_axis_bends_and_does_not_buckle():
    s = column(3)
    wrench = {tip(s): [0, 0, 0, 0.05, 0, -1.0]}
    path = lb.follow(s, np.linspace(0.0, 4.0, 17), external=wrench)
    assert path.critical is None and path.kind == "" and path.shape is None
    assert not path.growth.any() and str(path).endswith("stable throughout")
    assert 0 < path.omega.argmin() < 16
    for factor, q in zip(path.factors, path.q):
        again = {key: factor * np.asarray(x) for key, x in wrench.items()}
        rest = np.zeros(s.nv)
        close(lb.inverse_dynamics(s, q, rest, rest, external=again), 0.0)


def test_a_pendulum_under_a_torque_reaches_its_limit():
    """m g l sin(angle) = tau has its limit at tau = m g l, a right angle."""
    a = lb.Assembly("pendulum", gravity=(0, 0, -G))
    s = a.attach("rod", lb.RigidBody(2.0, com=(0, 0, -0.5)), lb.Revolute("y")).build()
    path = lb.follow(s, [0.0, 5.0, 9.0, 12.0], tau=[1.0])
    assert path.kind == "limit point"
    close(path.critical, 2.0 * G * 0.5, 1e-6)
    close(path.q[-1], np.pi / 2, 1e-3)


def test_a_system_that_is_unstable_from_the_start_is_said():
    a = lb.Assembly("mast", gravity=(0, 0, -G))
    s = a.attach("mast", lb.RigidBody(2.0, com=(0, 0, 0.5)), lb.Revolute("y")).build()
    path = lb.follow(s, [1.0, 2.0], gravity=True)
    assert path.critical == 1.0 and path.kind == "buckling" and path.growth[0] > 0.0


def test_wrong_loads_are_refused():
    s = column(2)
    with pytest.raises(ValueError, match="no load to follow"):
        lb.follow(s, [0.0, 1.0])
    with pytest.raises(TypeError, match="gravity must be True or False, got 'no'"):
        lb.follow(s, [0.0, 1.0], gravity="no")
    with pytest.raises(ValueError, match="must be strictly increasing"):
        lb.follow(s, [1.0, 0.0], tau=[1.0, 0.0])
    with pytest.raises(ValueError, match=r"list of finite numbers.*got shape \(\)"):
        lb.follow(s, 2.0, tau=[1.0, 0.0])
