"""Grasp models, grasp matrix, squeeze forces, load sharing, friction cones."""

import numpy as np
import pytest

import limber as lb
from constraints.holding import GRASPS, held

ROWS = {"rigid": 6, "hard point": 3, "soft finger": 4, "frictionless point": 1, "sliding line": 2}
TOLERANCE = 1e-9
PUSH = np.array([0.3, -0.2, 0.4, 0.5, 1.0, -0.7])


def local(s, q, name, wrench):
    """The wrench of a closure at its contact, in the axes of the object's frame."""
    c = s.closures[name]
    R, p = lb.pose(s, q, c.b.body, c.b.node)
    Ra, pa = lb.pose(s, q, c.a.body, c.a.node)
    arm = p + R @ c.b.offset - pa - Ra @ c.a.offset
    axes = R @ c.b.rotation
    return np.concatenate([axes.T @ (wrench[:3] + np.cross(arm, wrench[3:])), axes.T @ wrench[3:]])


@pytest.mark.parametrize("name", GRASPS)
def test_grasp_models_exert_what_they_say(name):
    s, q, v = held(GRASPS[name], flexible=True)
    assert s.rows == 2 * ROWS[name]
    forces = lb.constraint_forces(s, q, v, np.zeros(s.nv))
    for side in ("left", "right"):
        w = local(s, q, side, forces[side])
        free = {
            "rigid": [], "hard point": [0, 1, 2], "soft finger": [0, 1], "frictionless point": [0, 1, 2, 3, 4],
            "sliding line": [0, 2, 3, 4],
        }[name]  # fmt: skip
        assert np.abs(w).max() > 0.1
        assert np.abs(w[free]).max(initial=0.0) < TOLERANCE * np.abs(w).max()


@pytest.mark.parametrize("name", ["frictionless point", "sliding line", "soft finger"])
def test_sliding_contacts_keep_to_their_plane(name):
    """Away from the neutral position: the contact has slid and turned."""
    s, q, v = held(GRASPS[name])
    q, v = lb.project(s, lb.integrate(s, q, v, 0.1), v)
    assert np.abs(lb.constraint_residual(s, q)).max() < 1e-9
    w = local(s, q, "left", lb.constraint_forces(s, q, v, np.zeros(s.nv))["left"])
    if name == "frictionless point":
        assert np.abs(w[:5]).max() < TOLERANCE * abs(w[5])
    elif name == "sliding line":
        assert np.abs(w[2:5]).max() < TOLERANCE * np.abs(w).max()
        assert lb.SlidingLine(0.1).needed(w) == pytest.approx(20.0 * np.hypot(w[0], w[1]))


def test_cones():
    w = np.array([0.01, 0.0, 0.03, 3.0, -4.0, 12.0])
    assert lb.HardPoint(0.5).margin(w) == pytest.approx(12.0 - 10.0)
    assert lb.SoftFinger(0.5, 0.01).margin(w) == pytest.approx(12.0 - np.hypot(10.0, 3.0))
    assert lb.FrictionlessPoint().margin(w) == pytest.approx(12.0)
    assert lb.SlidingLine(0.1).margin(w * [1, 1, 0, 1, 1, 1]) == pytest.approx(12.0 - 0.2)
    assert lb.RigidGrasp().margin(-w) == np.inf
    assert lb.FrictionlessPoint().margin(-w) < 0.0
    assert lb.HardPoint(0.5).margin(np.stack([w, -w])).shape == (2,)
    with pytest.raises(lb.LimberError, match="friction of HardPoint must be greater than 0"):
        lb.HardPoint(0.0)
    assert repr(lb.SoftFinger(0.5, 0.01)) == "SoftFinger(0.5, 0.01)"


@pytest.mark.parametrize("name", GRASPS)
def test_squeeze_forces_do_not_move_a_rigid_object(name):
    s, q, _ = held(GRASPS[name])
    g = lb.grasp_map(s, q)
    assert g.matrix.shape == (6, s.rows)
    assert g.squeeze.shape[1] == s.rows - np.linalg.matrix_rank(g.matrix)
    assert np.abs(g.matrix @ g.squeeze).max(initial=0.0) < 1e-12
    # the generalized forces on the free object are G^T in its own axes
    A = lb.freedoms(s, q).jacobian[:, s.layout["object/box"].v_joint]
    order = np.concatenate([np.arange(s.rows)[s.closure_rows[n]] for n in g.columns])
    assert np.abs(A[order].T @ g.squeeze).max(initial=0.0) < 1e-12
    R, p = lb.pose(s, q, "object/box")
    np.testing.assert_allclose(g.point, p)
    turned = np.vstack([R @ A[order].T[:3], R @ A[order].T[3:]])
    np.testing.assert_allclose(turned, g.matrix, atol=1e-12)


def test_forces_are_split_into_moving_and_squeezing_ones():
    s, q, v = held(GRASPS["soft finger"])
    forces = lb.constraint_forces(s, q, v, np.zeros(s.nv))
    g = lb.grasp_map(s, q)
    moving, squeezing = g.split(forces)
    for name in forces:
        np.testing.assert_allclose(moving[name] + squeezing[name], forces[name], atol=1e-10)
    assert np.abs(g.matrix @ g.multipliers(squeezing)).max() < 1e-10
    again = g.split(moving)[1]
    assert max(np.abs(w).max() for w in again.values()) < 1e-10
    with pytest.raises(lb.LimberError, match="the closure cannot exert this wrench"):
        g.multipliers({"left": [1.0, 2.0, 3.0, 0, 0, 0]})


@pytest.mark.parametrize("name", ["rigid", "hard point", "soft finger"])
@pytest.mark.parametrize(
    ("flexible", "kind", "fidelity"),
    [
        (False, "rigid", "full"),
        (True, "flexible", "full"),
        (True, "articulated", "full"),
        (True, "flexible", "ruthless"),
    ],
)
def test_shared_loads_are_exact(name, flexible, kind, fidelity):
    s, q, v = held(GRASPS[name], flexible, kind, fidelity)
    push = PUSH
    if (
        name == "hard point"
    ):  # nothing turns the object about the line between two points, but its own motion
        some = np.zeros(s.nv)
        for body in list(s.bodies)[:6]:
            some[s.layout[body].v_joint] = 3.0
        push = lb.acceleration(s, q, v, lb.forward_dynamics(s, q, v, some), "object/box")
    share = lb.share_load(s, q, v, push, squeeze={("left", "right"): 25.0})
    assert not share.tau[s.layout["object/box"].v_joint].any()
    for body in s.bodies:
        assert not share.tau[s.layout[body].v_modes].any()
    vdot = lb.forward_dynamics(s, q, v, share.tau)
    np.testing.assert_allclose(vdot, share.vdot, rtol=TOLERANCE, atol=1e-9)
    a = lb.acceleration(s, q, v, vdot, "object/box")
    np.testing.assert_allclose(a, push, atol=TOLERANCE * max(1.0, np.abs(push).max()))
    forces = lb.constraint_forces(s, q, v, share.tau)
    for side in forces:
        scale = np.abs(forces[side]).max()
        np.testing.assert_allclose(forces[side], share.forces[side], atol=TOLERANCE * scale)
    at = q.copy()
    if fidelity == "ruthless":
        for where in s.layout.values():
            at[where.q_modes] = 0.0
    g = lb.grasp_map(s, at)
    line = g._places[1] - g._places[0]
    line /= np.linalg.norm(line)
    press = 0.5 * (forces["left"][3:] - forces["right"][3:]) @ line
    assert press == pytest.approx(25.0, rel=TOLERANCE)


def test_squeeze_wrenches_of_all_closures_are_held():
    s, q, v = held(GRASPS["rigid"])
    g = lb.grasp_map(s, q)
    wanted = g.forces(g.squeeze @ np.array([3.0, -2.0, 1.0, 0.5, 4.0, -1.0]))
    share = lb.share_load(s, q, v, PUSH, squeeze=wanted)
    _, squeezing = g.split(share.forces)
    for side in wanted:
        np.testing.assert_allclose(squeezing[side], wanted[side], atol=1e-8)
    with pytest.raises(lb.LimberError, match="do not cancel on the object"):
        lb.share_load(s, q, v, PUSH, squeeze={"left": [0, 0, 0, 1.0, 0, 0]})


def test_torques_are_the_least_weighted_ones():
    s, q, v = held(GRASPS["rigid"])
    least = lb.share_load(s, q, v, PUSH)
    lazy = lb.share_load(s, q, v, PUSH, weights={"left": 100.0})
    arms = {
        side: np.concatenate([np.arange(s.nv)[s.layout[b].v_joint] for b in s.bodies if b.startswith(side)])
        for side in ("left", "right")
    }  # fmt: skip
    assert np.linalg.norm(lazy.tau[arms["left"]]) < 0.9 * np.linalg.norm(least.tau[arms["left"]])
    assert np.linalg.norm(lazy.tau) > np.linalg.norm(least.tau)
    # no squeeze force makes it smaller: the torques of squeeze forces are orthogonal to the least ones
    g = lb.grasp_map(s, q)
    A = lb.freedoms(s, q).jacobian
    order = np.concatenate([np.arange(s.rows)[s.closure_rows[n]] for n in g.columns])
    squeezing = A[order].T @ g.squeeze
    assert np.abs(squeezing.T @ least.tau).max() < 1e-8 * np.linalg.norm(least.tau)


def test_slipping_grasps_are_named():
    s, q, v = held(GRASPS["soft finger"])
    v = np.zeros(s.nv)
    loose = lb.share_load(s, q, v, np.zeros(6), squeeze={("left", "right"): 1.0})
    assert not loose.grasps.holds
    assert set(loose.grasps.slipping) <= {"left", "right"}
    assert "slipping: 'left'" in str(loose.grasps)
    firm = lb.share_load(s, q, v, np.zeros(6), squeeze={("left", "right"): 2000.0})
    assert firm.grasps.holds
    assert "all contacts hold" in str(firm.grasps)
    checked = lb.check_grasps(s, q, lb.constraint_forces(s, q, v, firm.tau))
    assert checked.margins["left"] == pytest.approx(firm.grasps.margins["left"], rel=1e-9)
    with pytest.raises(lb.LimberError, match="forces has no 'right'"):
        lb.check_grasps(s, q, {"left": np.zeros(6)})


def test_motions_that_no_torques_make_are_refused():
    s, q, v = held(GRASPS["frictionless point"])
    with pytest.raises(lb.LimberError, match="share_load: no torques of the actuated joints"):
        lb.share_load(s, q, v, PUSH)
    with pytest.raises(lb.LimberError, match="weights must be positive"):
        lb.share_load(s, q, v, PUSH, weights=0.0)
    with pytest.raises(lb.LimberError, match="has no object or body"):
        lb.grasp_map(s, q, "box")
    with pytest.raises(lb.LimberError, match="is not a closure of the object"):
        lb.share_load(s, q, v, PUSH, squeeze={("left", "top"): 1.0})


@pytest.mark.parametrize("name", GRASPS)
def test_grasps_round_trip_through_files(name, tmp_path):
    s, _, _ = held(GRASPS[name])
    lb.save(s, tmp_path / "held.yaml")
    again = lb.load(tmp_path / "held.yaml")
    assert repr(again.closures["left"].joint) == repr(GRASPS[name])
    assert list(again.build().bodies) == list(s.bodies)
