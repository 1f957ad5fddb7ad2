r"""`tune`: PD or LQR gains for the joints of a system, with poles and margins.

With the inertia M_r that the joints with motors feel (`felt_inertia`), and the bandwidth w, rad/s,

    pd      kp = M_ii w^2,  kd = 2 damping M_ii w, joint by joint
    lqr     the least sum of  w^2 dq_r^T M_r dq_r + v^T M v + u^T M_r^-1 u / w^2,  which is one energy in any coordinates

so a single rigid joint gets the natural frequency w; lqr gives it the damping ratio sqrt(3)/2. Without a given
bandwidth, the search starts at a third of the lowest frequency of the bodies with their joints held, and halves the
bandwidth until the sampled loop is stable and each joint has the disk margin ENOUGH, with the others closed. The loop
of "pd" includes the slope of the torques that hold the undeformed system at the measured position (gravity=True).

The plant of a closed system has independent coordinates, as `lb.linearize` returns them. Its redundant motors may push
against each other, which changes the stiffness of the mechanism: the plant of "pd" has the torques that hold it at the
measured position, that of "lqr" those of least squares, as the two controllers command them.

Dry friction is left out. At rest its derivative would act as a strong viscous damper, which it is not once a joint
moves, and the margins would look far too good.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, listed, number, numbers, shown
from limber.constraints import assemble
from limber.control.closed_joints import at_rest, holding_torques, independent_places
from limber.control.fed_coordinates import plain_places
from limber.control.felt_inertia import felt_inertia
from limber.control.friction import without_friction
from limber.control.joints import JointPlaces, bodies_of, deformed, joint_places
from limber.control.linearize import linearize
from limber.control.loop import Loop
from limber.control.lqr import LQR, state_feedback, torque_inputs
from limber.control.margins import Margins, margins
from limber.control.pid import PD
from limber.control.reach import moved_states
from limber.control.weight import weight_slopes, weight_torques
from limber.dynamics.equilibrium import equilibrium
from limber.dynamics.evaluate import check_system
from limber.dynamics.inverse import inverse_dynamics, mass_matrix
from limber.dynamics.modes import modes
from limber.dynamics.rows import row_space
from limber.errors import ArgumentValueError, DynamicsError, ModelWarning
from limber.notebook import as_text

METHODS = ("pd", "lqr")
#: The disk margin that a bandwidth which is chosen here must leave: gains from 0.67 to 1.5, phases of 23 degrees.
ENOUGH = 0.4
#: A bandwidth is low if it is below the first one by this factor.
LOW = 4.0
#: The text says by how much joints settle away if it is more than this, rad or m.
SETTLED = 1e-3
#: How often the bandwidth is halved at most.
HALVED = 12
#: The bandwidth of a rigid system is the sampling frequency over this.
RIGID = 40.0


@dataclass(frozen=True, eq=False, repr=False)
class Tuned:
    """Gains for the joints of a system; it prints as a table with the margins.

    method : "pd" or "lqr".
    joints : names of the joint speeds, in the order of the gains.
    bandwidth : rad/s.
    kp, kd : (joints,), the diagonal gains of "pd"; for "lqr", the gains of each joint on itself. In a closed system LQR
        feeds back only as many coordinates as there are degrees of freedom; these gains of other joints are zero.
    bodies : those whose joints are controlled.
    K : (joints, 2 nv) for [dq, dv], and further columns for pending commands if there is a delay.
    margins : of the sampled loop, `lb.control.Margins`.
    settles : (joints,) rad or m, by how much, about, the joints settle away from q under their weight. "pd" compensates the weight
        of the undeformed system; "lqr" that of the deformed one, so that it is zero.
    unmoved : names of degrees of freedom that the joints do not move about this configuration; the margins ignore them.
    note : why the chosen bandwidth is low, if joints without rotor inertia may be the reason; otherwise empty.
    """

    method: str
    joints: tuple[str, ...]
    bandwidth: float
    kp: Array
    kd: Array
    K: Array
    margins: Margins
    unmoved: tuple[str, ...]
    controller: Any
    settles: Array
    bodies: tuple[str, ...]
    note: str = ""

    def __repr__(self) -> str:
        return f"Tuned({self.method!r}, {self.bandwidth / (2.0 * np.pi):.4g} Hz; print it for gains and margins)"

    _repr_html_ = as_text

    def __str__(self) -> str:
        width = max(map(len, ("joint", *self.joints)))
        lines = [
            f"{self.method.upper()} with a bandwidth of {self.bandwidth / (2.0 * np.pi):.4g} Hz"
        ]
        lines += [f"{'joint'.ljust(width)}  {'kp':<12}kd"]
        lines += [
            f"{name.ljust(width)}  {kp:<12.6g}{kd:.6g}"
            for name, kp, kd in zip(self.joints, self.kp, self.kd)
        ]
        most = int(np.abs(self.settles).argmax())
        if abs(self.settles[most]) > SETTLED:
            lines.append(
                f"Under its weight the system settles with {self.joints[most]} {self.settles[most]:.3g} rad or m away: PD compensates the weight "
                "of the undeformed system. Take a PID with ki, method='lqr', or stiffer gains."
            )
        if self.unmoved:
            lines.append(
                f"{len(self.unmoved)} degrees of freedom are not moved by the joints in this configuration and are left "
                f"out: {listed(self.unmoved)}."
            )
        if self.note:
            lines.append(self.note)
        return "\n".join([*lines, str(self.margins)])


def tune(
    system: System,
    method: str = "pd",
    *,
    sample_time: float,
    q: ArrayLike | None = None,
    bodies: Any = None,
    bandwidth: float | None = None,
    damping: float = 0.8,
    delay: float = 0.0,
) -> Tuned:
    """Find gains with which joints hold their position, and the margins of the sampled loop.

    Parameters
    ----------
    system : an open system in which all joint speeds are the rates of their coordinates, or a closed one, in which
        those of the joints with motors are.
    method : "pd", with kp = M w^2 and kd = 2 damping M w for the inertia M that each joint feels and the bandwidth w, or "lqr".
    sample_time : s.
    q : (nq,) the configuration to hold; by default the neutral one, or the one that `lb.assemble` finds from there.
        Bodies are deformed by their weight. In a closed system the other joints follow those with motors.
    bodies : the bodies whose joints have motors; None for all. Other joints, such as the springs of series elastic drives,
        move freely about their equilibrium near q.
    bandwidth : rad/s; chosen automatically by default.
    damping : damping ratio of a rigid joint under "pd".
    delay : from a sample to the effect of its command, s.

    `tuned.controller` is the `PD` or `LQR` that holds q. A given bandwidth is used unchanged, and `tuned.margins` says
    whether the loop is stable. In a closed system some of whose joints have no motors, this `PD` needs the positions of
    all joints; if sensors read only some of them, use its gains without gravity=True, and ki.
    """
    check_system(system)
    if method not in METHODS:
        raise ArgumentValueError(f"method must be 'pd' or 'lqr', got {shown(method)}.")
    T = number("sample_time", sample_time, above=0.0)
    late, ratio = number("delay", delay, minimum=0.0), number("damping", damping, above=0.0)
    design = _Design(system, method, q, bodies, T, late, ratio)
    if bandwidth is not None:
        return design.tuned(number("bandwidth", bandwidth, above=0.0))
    first = w = design.first_bandwidth()
    for _ in range(HALVED):
        found = design.tuned(w)
        if found.margins.stable and min(x.disk for x in found.margins.loops) >= ENOUGH:
            return replace(found, note=_why_low(system, first, w))
        w *= 0.5
    raise DynamicsError(
        f"tune: no bandwidth down to {2.0 * w:.3g} rad/s gives a stable loop with disk margins of {ENOUGH:g} for {method} "
        f"control of {system.name!r} at a sample time of {T:g} s and a delay of {delay:g} s. Add damping to the bodies, "
        "give the joints the armature of their motors, use a shorter sample time, or give bandwidth=... to see the "
        "margins."
    )


def _why_low(s: System, first: float, chosen: float) -> str:
    """A note on a bandwidth far below the first one, for joints without rotor inertia."""
    light = [b for b, j in s.joints.items() if j.dofs and not np.all(j.physics.armature)]
    if chosen > first / LOW or not light or s.nv == sum(j.dofs for j in s.joints.values()):
        return ""
    return (
        f"no rotor inertia: add an armature. The joints of {listed(light)} have none, so little torque is enough to move "
        f"the light roots of the flexible bodies, and the bandwidth had to be reduced to {chosen / first:.2g} of the "
        "first one tried."
    )


class _Design:
    """The plant about a configuration, and the gains for a bandwidth."""

    def __init__(
        self, s: System, method: str, q: ArrayLike | None, bodies: Any, T: float, delay: float, damping: float
    ):  # fmt: skip
        _refuse_other_joints(s)
        s = without_friction(s)
        self.s, self.method, self.T, self.delay, self.damping = s, method, T, delay, damping
        places = self.places = joint_places(s, bodies, "tune")
        self.names = bodies_of(s, places)
        self.q = _at_rest(s, q, places, self.names)
        self.M, rest = mass_matrix(s, self.q), np.zeros(s.nv)
        _refuse_unheld(s, self.q)
        self.felt = felt_inertia(s, self.q, places.v)
        straight = s.neutral()
        for where in s.layout.values():
            straight[where.q_joint] = self.q[where.q_joint]
        weight, tau = weight_torques(s, straight, places.v), np.zeros(s.nv)
        if s.closures:
            near = weight if method == "pd" else None
            tau[places.v] = holding_torques(s, self.q, places.v, "q", near)
        else:
            tau[places.v] = inverse_dynamics(s, self.q, rest, rest)[places.v]
        self.missing = tau[places.v] - weight  # what gravity=True does not compensate
        whole = linearize(s, self.q, rest, tau, inputs=torque_inputs(s, places))
        assert whole.T is not None
        n = whole.order // 2
        kept = moved_states(whole, self.M, places.v)
        slopes = weight_slopes(s, straight, places.v, whole.T[: s.nv, :n])
        self.holding = np.hstack([slopes, np.zeros_like(slopes)])[:, kept]  # of what it adds
        self.T_kept = whole.T[:, kept]
        self.plant = replace(
            whole, A=whole.A[np.ix_(kept, kept)], B=whole.B[kept], C=np.eye(len(kept)), D=whole.D[kept],
            states=tuple(whole.states[i] for i in kept), outputs=tuple(whole.states[i] for i in kept), T=None,
        )  # fmt: skip
        self.unmoved = tuple(
            x for i, x in enumerate(whole.states[:n]) if i not in set(kept.tolist())
        )

    def first_bandwidth(self) -> float:
        """A third of the lowest frequency with the joints held."""
        rigid = 2.0 * np.pi / (RIGID * self.T)
        free = np.setdiff1d(np.arange(self.s.nv), self.places.v)
        if not len(free) or not row_space(self.s, self.q, free).basis.shape[1]:
            return rigid
        with warnings.catch_warnings():
            if self.s.closures:  # with motors held they may be singular, which does not matter here
                warnings.simplefilter("ignore", ModelWarning)
            omega = modes(self.s, self.q, locked=self.names).omega
        omega = omega[omega > 0.0]
        return min(float(omega.min()) / 3.0, rigid) if len(omega) else rigid

    def tuned(self, w: float) -> Tuned:
        """The gains and margins of a bandwidth."""
        method = self.method
        at, nv = self.places.v, self.s.nv
        rows, settles = np.arange(len(at)), np.zeros(len(at))
        hold: Any = {"sample_time": self.T, "bodies": self.names}
        controller: Any
        if method == "pd":
            K = self._pd(w)
            small = K @ self.T_kept - self.holding
            law = state_feedback(small, self.plant.states, self.plant.inputs, self.T, method)
        else:
            Q, R = self._weights(w)
            controller = LQR(Q, R, about=self.q, delay=self.delay, system=self.s, **hold)
            Loop(self.s, controller)
            K, law = controller.gains[0], controller.linear().select(inputs=self.plant.states)
        kp, kd = K[rows, at], K[rows, nv + at]
        if method == "pd":
            settles = -self.felt.settled(kp, self.missing)
            controller = PD(kp, kd, reference=self.q[self.places.q], gravity=True, **hold)
        found = margins(self.plant, law, delay=self.delay)
        return Tuned(
            method, self.places.labels, w, kp, kd, K, found, self.unmoved, controller, settles, self.names
        )  # fmt: skip

    def _pd(self, w: float) -> Array:
        at, nv = self.places.v, self.s.nv
        K = np.zeros((len(at), 2 * nv))
        rows, inertia = np.arange(len(at)), self.felt.each
        K[rows, at] = inertia * w * w
        K[rows, nv + at] = 2.0 * self.damping * inertia * w
        return K

    def _weights(self, w: float) -> tuple[Array, Array]:
        """Q and R of the whole state."""
        at, nv = self.places.v, self.s.nv
        Q = np.zeros((2 * nv, 2 * nv))
        Q[np.ix_(at, at)] = w * w * self.felt.matrix
        Q[nv:, nv:] = self.M
        return Q, self.felt.inverse / (w * w)


def _refuse_other_joints(s: System) -> None:
    """Reject an open system with joints on whose coordinates gains cannot act."""
    others = [name for name, j in s.joints.items() if not all(j.has_coordinate)]
    if others and not s.closures:
        turned = any(s.joints[name].nq != s.joints[name].dofs for name in others)
        kind = "a quaternion" if turned else "several axes that turn each other"
        raise ArgumentValueError(
            f"tune is for systems whose joints all have plain coordinates, but {s.name!r} has "
            f"{kind} in the joint of {listed(others)}. LQR supports such joints."
        )


def _refuse_unheld(s: System, q: Array) -> None:
    """Reject a closed system in which some motions change no coordinate on which gains could act."""
    if (
        s.closures
        and len(independent_places(s, q, [plain_places(s)[0]])) < row_space(s, q).basis.shape[1]
    ):
        raise ArgumentValueError(
            f"tune: some motions of {s.name!r} involve only joints with quaternions, or with several axes that turn each other, "
            "such as those of a free base, and no gains could hold them. Attach the base to the world with a joint "
            "of plain coordinates, or with lb.Fixed()."
        )


def _at_rest(s: System, q: ArrayLike | None, places: JointPlaces, names: tuple[str, ...]) -> Array:
    """The configuration to hold, with all that the motors do not hold in equilibrium."""
    start = s.neutral() if q is None else numbers("q", q, "(nq,)")
    if s.closures:
        return at_rest(s, assemble(s) if q is None else start, places.v)
    if len(places) == len(joint_places(s, None, "tune")):
        return deformed(s, start)
    return equilibrium(s, start, locked=names)
