"""Linear models against differences of the nonlinear functions, for every kind of input and output."""

import numpy as np
import pytest

import limber as lb
from constraints.random_closed import random_closed
from helpers.closed import four_bar
from helpers.compare import assert_close
from helpers.random_systems import random_assembly, random_flexible_body, random_state
from limber.control.kernel_slopes import along_tangent, slopes_of
from limber.dynamics.carried import to_body_frame
from limber.dynamics.evaluate import evaluated
from limber.dynamics.following import follows
from limber.dynamics.stiffness import WEIGHTS

#: of differences of order eight
TOLERANCE = 1e-8
#: of equal formulas
EXACT = 1e-10


def difference(f, size):
    """The slope of f(h) at zero by differences of order eight."""
    steps = enumerate(WEIGHTS, start=1)
    return sum(w * (f(i * size) - f(-i * size)) for i, w in steps) / size


def gauged_arm(fidelity="full"):
    """A chain with all that outputs can be of: beams, gauges, second-order shapes, several joint kinds."""
    rng = np.random.default_rng(5)
    a = lb.Assembly("arm", gravity=(1.0, -2.0, -9.0))
    a.attach("base", lb.RigidBody(3.0, (0.1, 0.0, 0.2), np.diag([0.3, 0.4, 0.5])), lb.Spherical())
    beam = lb.beam(
        1.2, 2.0, EI=(90.0, 60.0), GJ=40.0, EA=1e4, elements=4, damping=0.02,
        modes={"bending": 2, "torsion": 1, "stretch": 1}, geometric_stiffening=True,
    )  # fmt: skip
    a.attach("beam", beam, lb.Universal([0, 0, 1], [0, 1, 0], friction=0.1), to="base")
    gauged = lb.FlexibleBody.from_nodes(
        mass=[0.3, 0.4, 0.5], position=[[0.2, 0, 0], [0.5, 0.1, 0], [0.9, 0, 0.1]],
        translation=0.3 * rng.normal(size=(3, 3, 2)), rotation=0.3 * rng.normal(size=(3, 3, 2)),
        stiffness=np.diag([50.0, 80.0]), names=["a", "b", "c"],
        strain={"left": [0.1, 0.2], "right": [-0.3, 0.4]},
    )  # fmt: skip
    a.attach("panel", gauged, lb.Revolute([1, 0, 0], stiffness=3.0), to="beam", at="tip")
    return a.build(fidelity)


OUTPUTS = [
    "base", ("coordinate", "beam", 1), ("speed", "beam"), ("torque", "beam"), ("torque", "panel"),
    ("mode", "beam"), ("mode_speed", "panel", 1), ("position", "panel", "c"),
    ("rotation", "panel", None), ("velocity", "beam", "tip"), ("angular_velocity", "panel", "b"),
    ("acceleration", "panel", "c"), ("angular_acceleration", "beam", "tip"),
    ("deflection", "beam", "tip"), ("deflection", "panel", 1), ("joint_force", "beam"),
    ("joint_force", "panel", "fy"), ("strain", "panel", "right"), ("strain", "beam", 0.3, 0.01, -0.02),
    ("section_force", "beam", "root", "moment_z"), ("section_force", "beam", 0.6, "axial"),
]  # fmt: skip
INPUTS = [
    ("torque", "base", 2), "panel", ("force", "panel", "c"), ("moment", "beam", "tip", "z"),
    ("mode_force", "beam", 1),
]  # fmt: skip


def turned(R, R0):
    """The small rotations (n, 3) from R0 to R (n, 3, 3), world axes, to first order."""
    S = 0.5 * (R @ R0.T - R0 @ np.swapaxes(R, 1, 2))
    return np.stack([S[:, 2, 1], S[:, 0, 2], S[:, 1, 0]], axis=1)


def measured(s, q, v, tau, external, motion, vdot, R0):
    """OUTPUTS of the arm in n states by the functions of the library, (n, outputs), those of `base` left out."""
    some = lb.Result(s, np.zeros(len(q)), q, v, tau)
    rates = {
        key: np.einsum("nij,nj->ni", lb.jacobian(s, q, *key), v)
        for key in (("beam", "tip"), ("panel", "b"))
    }
    wrench = evaluated(s, "carried_wrenches", (q, v, vdot), external=external)[1]
    per_mode = lb.structures.beam_forces(s.bodies["beam"], [0.0, 0.3, 0.6])
    forces = per_mode.at(some.modal("beam"))
    taken = lb.inverse_dynamics(s, q, v, vdot, external=external)
    at = s.layout
    torque = {b: (taken if b in motion else tau)[:, at[b].v_joint] for b in ("beam", "panel")}
    return np.hstack([
        q[:, at["beam"].q_joint][:, 1:], v[:, at["beam"].v_joint], torque["beam"], torque["panel"],
        q[:, at["beam"].q_modes], v[:, at["panel"].v_modes][:, 1:], lb.pose(s, q, "panel", "c")[1],
        turned(lb.pose(s, q, "panel")[0], R0), rates["beam", "tip"][:, 3:], rates["panel", "b"][:, :3],
        lb.acceleration(s, q, v, vdot, "panel", "c")[:, 3:],
        lb.acceleration(s, q, v, vdot, "beam", "tip")[:, :3],
        some.deflection("beam", "tip"), some.deflection("panel", 1),
        wrench[:, s.number("beam") - 1], wrench[:, s.number("panel") - 1, 4:5],
        some.strain("panel", "right")[:, None], forces.strain_at(0.01, -0.02)[:, 1:2],
        forces.moment_z[:, :1], forces.axial[:, 2:],
    ])  # fmt: skip


@pytest.mark.parametrize("driven", [False, True])
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_every_kind_of_input_and_output_against_differences(fidelity, driven):
    s = gauged_arm(fidelity)
    rng = np.random.default_rng(2)
    q, v, tau = random_state(rng, s, eta_scale=0.05)
    external = {("panel", "c"): rng.normal(size=6)}
    motion = {"beam": np.array([0.7, -0.4])} if driven else {}
    inputs = [*INPUTS, ("motion", "beam", 1)] if driven else [*INPUTS, ("torque", "beam", 1)]
    m = lb.linearize(s, q, v, tau, inputs, OUTPUTS, external=external, motion=motion or None)
    nv, R0 = s.nv, lb.pose(s, q, "panel")[0]
    assert m.states[0] == "base.joint0"
    assert m.inputs[1:4] == ("torque panel", "force panel c x", "force panel c y")
    columns = 2 * nv + len(m.inputs)

    def rates(h):
        """[vdot, y] (columns, ...) with each of x and u changed by h."""
        change = h * np.eye(columns)
        dq, dv, u = change[:, :nv], change[:, nv : 2 * nv], change[:, 2 * nv :]
        q_, v_ = lb.integrate(s, q, dq, 1.0), v + dv
        forces = tau + np.zeros((columns, nv))
        forces[:, s.layout["base"].v_joint.start + 2] += u[:, 0]
        forces[:, s.layout["panel"].v_joint] += u[:, 1:2]
        forces[:, s.layout["beam"].v_modes.start + 1] += u[:, 6]
        none = np.zeros((columns, 3))
        wrenches = {
            ("panel", "c"): external["panel", "c"] + np.hstack([none, u[:, 2:5]]),
            ("beam", "tip"): np.hstack([none[:, :2], u[:, 5:6], none]),
        }
        moved = {b: x + np.hstack([none[:, :1], u[:, 7:]]) for b, x in motion.items()}
        if not driven:
            forces[:, s.layout["beam"].v_joint.start + 1] += u[:, 7]
        vdot = lb.forward_dynamics(s, q_, v_, forces, external=wrenches, motion=moved or None)
        return np.hstack([vdot, measured(s, q_, v_, forces, wrenches, motion, vdot, R0)])

    slopes = difference(rates, 2e-3).T
    assert_close(m.A[nv:], slopes[:nv, : 2 * nv], TOLERANCE, "A")
    assert_close(m.B[nv:], slopes[:nv, 2 * nv :], TOLERANCE, "B")
    # the coordinates of the spherical joint come first: their slopes are those of dq itself
    assert_close(m.C[:3], np.eye(3, 2 * nv), EXACT, "coordinates")
    for i, name in enumerate(m.outputs[3:]):
        assert_close(m.C[3 + i], slopes[nv + i, : 2 * nv], TOLERANCE, f"C of {name}")
        assert_close(m.D[3 + i], slopes[nv + i, 2 * nv :], TOLERANCE, f"D of {name}")


@pytest.mark.filterwarnings("ignore:linearize. the friction")
@pytest.mark.parametrize("seed", range(4))
def test_random_trees_against_differences(seed):
    rng = np.random.default_rng(seed)
    s = random_assembly(rng, bodies=5, physics=True, second=True).build()
    q, v, tau = random_state(rng, s)
    m = lb.linearize(s, q, v, tau)
    nv, unit = s.nv, np.eye(s.nv)
    by_q = [
        difference(lambda h, e=e: lb.forward_dynamics(s, lb.integrate(s, q, e, h), v, tau), 1e-3)
        for e in unit
    ]
    by_v = [
        difference(lambda h, e=e: lb.forward_dynamics(s, q, v + h * e, tau), 1e-3) for e in unit
    ]
    assert_close(m.A[nv:], np.array([*by_q, *by_v]).T, 1e-7)
    assert_close(m.B[nv:] @ lb.mass_matrix(s, q), unit, EXACT)
    assert_close(m.C, np.eye(2 * nv), 0.0)
    assert m.inputs[0].split()[0] in ("torque", "mode_force") and len(m.inputs) == nv


@pytest.mark.parametrize("seed", range(6))
def test_displacements_turn_with_the_motion_as_the_brackets_of_speeds_say(seed):
    """With G x = qdot(q, x), the variation of qdot = G(q) v is G xdot + (dG v) x."""
    rng = np.random.default_rng(seed)
    s = random_assembly(rng, bodies=4, flexible=0.2).build()
    q, v, tau = random_state(rng, s)
    m = lb.linearize(s, q, v, tau)
    unit, still = np.eye(s.nv), np.zeros((s.nv, s.nv))
    along = along_tangent(s, q, unit)
    _, varied = slopes_of(s, "qdot", {"q": along, "v": (v, still)})["qdot"]
    forward = along_tangent(s, q, v[:, None])
    carried = [
        slopes_of(s, "qdot", {"q": forward, "v": (e, still[:, :1])})["qdot"][1][:, 0] for e in unit
    ]
    G = along[1]
    found = np.linalg.lstsq(G, varied - np.array(carried).T, rcond=None)[0]
    assert_close(m.A[: s.nv, : s.nv], found, EXACT)


@pytest.mark.filterwarnings("ignore:the closures of 'random' are redundant")
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("seed, redundant", [(0, False), (1, False), (2, True), (5, True)])
def test_closed_systems_against_differences_along_the_closures(seed, redundant, fidelity):
    case = random_closed(seed, fidelity, bodies=4, closures=1 + redundant, redundant=redundant)
    s, q, v, tau = case.system, case.q, case.v, case.tau
    if lb.freedoms(s, q).number == 0:
        pytest.skip("this one cannot move")
    body, closure = list(s.bodies)[-1], next(iter(s.closures))
    outputs = [("acceleration", body, None), ("joint_force", body), ("closure_force", closure)]
    inputs = [next(b for b in s.joints if s.joints[b].dofs), ("force", body, None)]
    m = lb.linearize(s, q, v, tau, inputs, outputs, external=case.external)
    n = m.order // 2
    places = [lb.control.channels.speed_names(s).index(name) for name in m.states[:n]]

    def observed(q, v, u):
        forces, wrenches = tau.copy(), dict(case.external)
        k = s.joints[inputs[0]].dofs
        forces[s.layout[inputs[0]].v_joint] += u[:k]
        wrenches[body, None] = wrenches.get((body, None), np.zeros(6)) + np.append(
            np.zeros(3), u[k:]
        )
        vdot = lb.forward_dynamics(s, q, v, forces, external=wrenches)
        exerted = lb.constraint_forces(s, q, v, forces, external=wrenches)
        loads = lb.dynamics.closure_loads.loads_in_motion(
            s, q[None], v[None], vdot[None], forces[None], {k: x[None] for k, x in wrenches.items()}
        )
        wrench = evaluated(s, "carried_wrenches", (q[None], v[None], vdot[None]), external=loads)[1]
        a = lb.acceleration(s, q, v, vdot, body)[3:]
        carried = to_body_frame(s, body) @ wrench[0, -1]
        return np.concatenate([v[places], vdot[places], a, carried, np.ravel(exerted[closure])])

    none = np.zeros(len(m.inputs))
    x = np.hstack([m.T[: s.nv, :n], np.zeros((s.nv, n))]), m.T[s.nv :]

    def path(h, i):
        state = lb.integrate(s, q, x[0][:, i], h), v + h * x[1][:, i]
        # the closures of a ruthless system are those of its undeformed bodies, which project does not know
        return observed(*(lb.project(s, *state) if fidelity == "full" else state), none)

    for i in range(2 * n):
        slope = difference(lambda h, i=i: path(h, i), 1e-3)
        # the least change of speeds that meets the closures changes independent ones as well
        state = np.append(x[0][places, i], slope[:n])
        assert_close(m.A[n:] @ state, slope[n : 2 * n], 1e-6, "A")
        assert_close(m.C @ state, slope[2 * n :], 1e-6, "C")
    for i, e in enumerate(np.eye(len(none))):
        slope = difference(lambda h, e=e: observed(q, v, h * e), 1e-2)
        assert_close(m.B[n:, i], slope[n : 2 * n], TOLERANCE, "B")
        assert_close(m.D[:, i], slope[2 * n :], TOLERANCE, "D")


def drivable(s, q):
    """The first joint of a closed system whose motion the closures allow."""
    for body, joint in s.joints.items():
        if joint.dofs and follows(s, q[None], (s.number(body),)).all():
            return body
    pytest.skip("the closures of this one allow the motion of no joint")


@pytest.mark.filterwarnings("ignore:the closures of 'random' are redundant")
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("seed, redundant", [(0, False), (3, False), (4, False), (5, True)])
def test_driven_joints_of_closed_systems_against_differences_along_the_closures(
    seed, redundant, fidelity
):
    case = random_closed(seed, fidelity, bodies=4, closures=1 + redundant, redundant=redundant)
    s, q, v, tau, external = case.system, case.q, case.v, case.tau, case.external
    body, name = drivable(s, q), next(iter(s.closures))
    rates = np.random.default_rng(seed).normal(size=s.joints[body].dofs)
    outputs = [("torque", body), ("acceleration", list(s.bodies)[-1], None)]
    outputs += [] if redundant else [("closure_force", name)]
    inputs = [("motion", body), ("force", body, None)]
    m = lb.linearize(s, q, v, tau, inputs, outputs, external=external, motion={body: rates})
    n, nv = m.order // 2, s.nv
    places = [lb.control.channels.speed_names(s).index(state) for state in m.states[:n]]

    def observed(q, v, u):
        driving = {body: rates + u[: len(rates)]}
        push = external.get((body, None), np.zeros(6)) + np.append(np.zeros(3), u[len(rates) :])
        wrenches = external | {(body, None): push}
        vdot, forces = lb.hybrid_dynamics(s, q, v, tau, motion=driving, external=wrenches)
        seen = [forces[s.layout[body].v_joint]]
        seen.append(lb.acceleration(s, q, v, vdot, list(s.bodies)[-1])[3:])
        if not redundant:
            seen.append(np.ravel(lb.constraint_forces(s, q, v, forces, external=wrenches)[name]))
        return np.concatenate([vdot[places], *seen])

    none = np.zeros(len(m.inputs))
    for x, slope in zip(m.T.T, np.hstack([m.A.T[:, n:], m.C.T]), strict=True):
        along = difference(
            # off the closures in second order only, which the difference does not have
            lambda h, x=x: observed(lb.integrate(s, q, h * x[:nv], 1.0), v + h * x[nv:], none),
            1e-4,
        )
        assert_close(slope, along, 1e-6, "A, C")
    for e, slope in zip(np.eye(len(none)), np.hstack([m.B.T[:, n:], m.D.T]), strict=True):
        along = difference(lambda h, e=e: observed(q, v, h * e), 1e-2)
        assert_close(slope, along, TOLERANCE, "B, D")


def test_driven_joints_that_closures_tie_together_are_refused():
    s, q = four_bar().build(), [1.2, -1.2, 1.2]
    assert lb.linearize(s, q, motion={"crank": 0.0}).inputs[0] == "motion crank"
    with pytest.raises(lb.LimberError, match="'crank', 'rocker' cannot be inputs"):
        lb.linearize(s, q, motion={"crank": 1.0, "rocker": 1.0})


@pytest.mark.parametrize("kind", ["rigid", "full", "ruthless"])
def test_joint_forces_are_about_the_body_frame_whichever_node_the_body_hangs_by(kind):
    """They are the wrench through the joint, carried to the body frame."""
    rng = np.random.default_rng(2)
    body = random_flexible_body(rng, 2, clamped=False)
    if kind == "rigid":
        body = lb.RigidBody(2.0, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), {"n1": (0.3, -0.2, 0.5)})
    a = lb.Assembly("hung", gravity=(1.0, -2.0, -9.0))
    a.attach("body", body, lb.Revolute("z"), inboard="n1", offset=(0.1, 0.2, -0.1))
    s = a.build("full" if kind == "rigid" else kind)
    q, v, tau = random_state(rng, s, eta_scale=0.0)
    m = lb.linearize(s, q, v, tau, ["body"], [("joint_force", "body")])

    def force(h):
        pushed = tau + h * np.eye(s.nv)[s.layout["body"].v_joint.start]
        wrench = lb.Result(s, np.zeros(1), q[None], v[None], pushed[None]).joint_wrench("body")[0]
        R, p = lb.pose(s, q, "body")
        moment = wrench[:3] + np.cross((0.1, 0.2, -0.1) - p, wrench[3:])
        return np.append(R.T @ moment, R.T @ wrench[3:])

    assert_close(m.D[:, 0], difference(force, 0.1), TOLERANCE)
