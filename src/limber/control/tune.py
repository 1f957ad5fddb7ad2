r"""`tune`: PD or LQR gains for the joints of a system, with poles and margins.

With the inertia M_r of the joints that have motors, and the bandwidth w, rad/s,

    pd      kp = M_ii w^2,  kd = 2 damping M_ii w, joint by joint
    lqr     the least sum of  w^2 dq_r^T M_r dq_r + v^T M v + u^T M_r^-1 u / w^2,  which is one energy in any coordinates

so a single rigid joint gets the natural frequency w; lqr gives it the damping ratio sqrt(3)/2. Without a given
bandwidth, the search starts at a third of the lowest frequency of the bodies with their joints held, and halves the
bandwidth until the sampled loop is stable and each joint has the disk margin ENOUGH, with the others closed. The loop
of "pd" includes the slope of the torques that hold the undeformed system at the measured position (gravity=True).

Dry friction is left out. At rest its derivative would act as a strong viscous damper, which it is not once a joint
moves, and the margins would look far too good.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, listed, number, numbers, shown
from limber.control.closed_joints import owners
from limber.control.friction import without_friction
from limber.control.joints import deformed, joint_places
from limber.control.linearize import linearize
from limber.control.lqr import LQR, lqr_gain, state_feedback, torque_inputs
from limber.control.margins import Margins, margins
from limber.control.pid import PD
from limber.control.reach import moved_states
from limber.dynamics.closed import mimics
from limber.dynamics.derivatives import derivatives
from limber.dynamics.equilibrium import equilibrium
from limber.dynamics.evaluate import check_system
from limber.dynamics.inverse import inverse_dynamics, mass_matrix
from limber.dynamics.modes import modes
from limber.errors import ArgumentValueError, DynamicsError
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
    kp, kd : (joints,), the diagonal gains of "pd"; for "lqr", the gains of each joint on itself.
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
    """Find gains with which joints hold their position; the head of this file describes the method.

    Parameters
    ----------
    system : an open system in which all joint speeds are the rates of their coordinates.
    method : "pd" or "lqr".
    sample_time : s.
    q : (nq,) the configuration to hold; neutral by default. Bodies are deformed by their weight.
    bodies : the bodies whose joints have motors; None for all. Other joints, such as the springs of series elastic drives,
        move freely about their equilibrium near q.
    bandwidth : rad/s; chosen automatically by default.
    damping : damping ratio of a rigid joint under "pd".
    delay : from a sample to the effect of its command, s.

    `tuned.controller` is the `PD` or `LQR` that holds q. A given bandwidth is used unchanged, and `tuned.margins` says
    whether the loop is stable.
    """
    check_system(system)
    if method not in METHODS:
        raise ArgumentValueError(f"method must be 'pd' or 'lqr', got {shown(method)}.")
    T = number("sample_time", sample_time, above=0.0)
    late, ratio = number("delay", delay, minimum=0.0), number("damping", damping, above=0.0)
    design = _Design(system, q, bodies, T, late, ratio)
    if bandwidth is not None:
        return design.tuned(method, number("bandwidth", bandwidth, above=0.0))
    first = w = design.first_bandwidth()
    for _ in range(HALVED):
        found = design.tuned(method, w)
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
        self, s: System, q: ArrayLike | None, bodies: Any, T: float, delay: float, damping: float
    ):
        others = [name for name, j in s.joints.items() if not all(j.has_coordinate)]
        if s.closures or others:
            turned = any(s.joints[name].nq != s.joints[name].dofs for name in others)
            kind = "a quaternion" if turned else "several axes that turn each other"
            what = "closures" if s.closures else f"{kind} in the joint of {listed(others)}"
            instead = " LQR supports such joints."
            if s.closures:
                instead = " LQR, ComputedTorque and lqr_gain support closed systems."
            raise ArgumentValueError(
                f"tune is for open systems whose joints all have plain coordinates, but {s.name!r} has "
                f"{what}.{instead}{mimics(s)}"
            )
        s = without_friction(s)
        self.s, self.T, self.delay, self.damping = s, T, delay, damping
        places, joints = joint_places(s, bodies, "tune"), joint_places(s, None, "tune")
        self.places, self.joints = places, joints
        self.names = owners(s, places.v)
        start = s.neutral() if q is None else numbers("q", q, "(nq,)")
        if len(places) == len(joints):
            self.q = deformed(s, start)
        else:
            self.q = equilibrium(s, start, locked=self.names)
        rest = np.zeros(s.nv)
        tau = np.zeros(s.nv)
        tau[places.v] = inverse_dynamics(s, self.q, rest, rest)[places.v]
        straight = s.neutral()
        straight[joints.q] = self.q[joints.q]
        weight = derivatives(s, straight, rest, rest, "inverse_dynamics", by="q")
        self.holding = weight.q[np.ix_(places.v, joints.v)]  # the slope of what gravity=True adds
        self.missing = (tau - weight.value)[places.v]  # what it lacks for the deformed system
        self.M = mass_matrix(s, self.q)
        self.M_r = self.M[np.ix_(places.v, places.v)]
        whole = linearize(s, self.q, rest, tau, inputs=torque_inputs(s, places))
        self.kept = moved_states(whole, self.M, places.v)
        self.plant = replace(
            whole, A=whole.A[np.ix_(self.kept, self.kept)], B=whole.B[self.kept],
            C=np.eye(len(self.kept)), D=whole.D[self.kept],
            states=tuple(whole.states[i] for i in self.kept),
            outputs=tuple(whole.states[i] for i in self.kept), T=None,
        )  # fmt: skip
        self.unmoved = tuple(
            x for i, x in enumerate(whole.states[: s.nv]) if i not in set(self.kept.tolist())
        )

    def first_bandwidth(self) -> float:
        """A third of the lowest frequency with the joints held."""
        omega = modes(self.s, self.q, locked=self.names).omega if self.s.nv > len(self.places) else np.zeros(0)  # fmt: skip
        omega = omega[omega > 0.0]
        rigid = 2.0 * np.pi / (RIGID * self.T)
        return min(float(omega.min()) / 3.0, rigid) if len(omega) else rigid

    def tuned(self, method: str, w: float) -> Tuned:
        """The gains and margins of a bandwidth."""
        at, nv = self.places.v, self.s.nv
        K = self._pd(w) if method == "pd" else self._lqr(w)
        fed = K.copy()
        if method == "pd":
            fed[:, self.joints.v] -= self.holding
        small = np.hstack([fed[:, self.kept], fed[:, 2 * nv :]])
        law = state_feedback(small, self.plant.states, self.plant.inputs, self.T, method)
        rows = np.arange(len(at))
        kp, kd = K[rows, at], K[rows, nv + at]
        settles = np.zeros(len(at))
        hold: Any = {"sample_time": self.T, "bodies": self.names}
        if method == "pd":
            settles = -self.missing / kp
            controller: Any = PD(kp, kd, reference=self.q[self.places.q], gravity=True, **hold)
        else:
            Q, R = self._weights(w)
            controller = LQR(Q, R, about=self.q, delay=self.delay, system=self.s, **hold)
        found = margins(self.plant, law, delay=self.delay)
        return Tuned(
            method, self.places.labels, w, kp, kd, K, found, self.unmoved, controller, settles, tuple(self.names)
        )  # fmt: skip

    def _pd(self, w: float) -> Array:
        at, nv = self.places.v, self.s.nv
        K = np.zeros((len(at), 2 * nv))
        rows, inertia = np.arange(len(at)), np.diag(self.M_r)
        K[rows, at] = inertia * w * w
        K[rows, nv + at] = 2.0 * self.damping * inertia * w
        return K

    def _weights(self, w: float) -> tuple[Array, Array]:
        """Q and R of the whole state."""
        at, nv = self.places.v, self.s.nv
        Q = np.zeros((2 * nv, 2 * nv))
        Q[np.ix_(at, at)] = w * w * self.M_r
        Q[nv:, nv:] = self.M
        return Q, np.linalg.inv(self.M_r) / (w * w)

    def _lqr(self, w: float) -> Array:
        nv = self.s.nv
        Q, R = self._weights(w)
        gains = lqr_gain(self.plant, Q[np.ix_(self.kept, self.kept)], R, self.T, self.delay)
        n = len(self.kept)
        K = np.zeros((len(self.places), 2 * nv + gains.shape[1] - n))
        K[:, self.kept], K[:, 2 * nv :] = gains[:, :n], gains[:, n:]
        return K
