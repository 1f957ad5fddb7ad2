r"""Active damping: PD control of the joints, with additional torques that damp vibrations.

About a configuration, with x = [dq, dv] and the joint torques u, the system under PD control is x' = A x + B u. Two
laws add a part of u that damps the chosen vibrations:

    modal   u = -k W^T x.  The columns of W span the left invariant subspace of the chosen pairs of eigenvalues, so
            z = W^T x has z' = L z + W^T B u.  k moves these pairs to the requested damping ratio, at the same distance
            from zero, and all other eigenvalues stay unchanged (Simon & Mitter, Information and Control 13 (1968) 316).
    ppf     positive position feedback (Fanson & Caughey, AIAA J. 28 (1990) 717): second-order filters of the modal
            displacements y of the vibrations with the joints on their springs kp,
                f'' + 2 d w_f f' + w_f^2 f = w_f^2 y,     u = P w^2 g f,    P = (Phi^T B)^+
            with w_f = w sqrt(1 + 4 c^2), d w_f = 2 c w and g = 4 c^2 / (1 + 4 c^2).  An undamped vibration of
            frequency w and its filter then both have the damping ratio c; the static gain g is below 1.

Range     Small motions about the configuration.  `modal` needs displacements and rates of the modes, `ppf` only
          displacements, and its torques roll off above w_f, so modes that the model lacks are hardly excited.  Its
          formulas ignore kd and the damping of the links, which add to c.  `ppf` damps at most as many vibrations as
          there are torques, each of which moves all of them.  `poles` are those of the loop in continuous time;
          `margins` shows the effect of sampling.
Closed    In a closed system x has independent coordinates (`lb.linearize`), which follow from those of the joints with
          torques and of the modes, and of other joints if these are not enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.signal
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number, shown, whole
from limber.constraints import assemble
from limber.control.closed_joints import at_rest, holding_torques, independent_places
from limber.control.controller import Measured, check_observer
from limber.control.fed_coordinates import plain_places
from limber.control.joint_controller import one_each
from limber.control.joints import not_plain, same_layout
from limber.control.linear_model import LinearModel
from limber.control.linearize import linearize
from limber.control.lqr import torque_inputs
from limber.control.pid import PD
from limber.control.weight import weight_slopes, weight_torques
from limber.dynamics import inverse_dynamics, mass_matrix
from limber.dynamics.evaluate import check_system
from limber.dynamics.freedoms import modal_speeds
from limber.errors import ArgumentTypeError, ArgumentValueError, DynamicsError

LAWS = ("modal", "ppf")
#: Vibrations that torques reach by less than this fraction of the best are left alone.
UNREACHED = 1e-6


class ActiveDamping(PD):
    """PD control of the joints with active damping of the vibrations of the links.

    The head of this file has the equations.

    Parameters
    ----------
    kp, kd : gains of the joints, as for `PD`.
    sample_time : s.
    damping : the damping ratio c that the vibrations are given.
    modes : the number of vibrations to damp: the lowest ones of those with less damping than `damping`.
    law : "modal" or "ppf".
    about : (nq,) the configuration to design for, by default the neutral one, or the one that `lb.assemble` finds from there. Its
        deformations are replaced by those in equilibrium.
    system : the model used for the design, if it is not the system of the loop.
    observer : if the modes are not measured, an object that estimates the state, such as `Kalman`.
    options : bodies, reference, limit and further options of `PID`.

    `frequencies` (rad/s) and `ratios` describe the chosen vibrations before damping; `poles` are those of the damped
    loop.
    """

    def __init__(
        self,
        kp: ArrayLike,
        kd: ArrayLike,
        *,
        sample_time: float,
        damping: float = 0.2,
        modes: int = 1,
        law: str = "modal",
        about: ArrayLike | None = None,
        system: Any = None,
        observer: Any = None,
        **options: Any,
    ):
        super().__init__(kp, kd, sample_time=sample_time, **options)
        self.damping = number("damping", damping, above=0.0)
        if self.damping >= 1.0:
            raise ArgumentValueError(f"damping must be below 1, got {self.damping:g}.")
        self.modes = whole("modes", modes, 1)
        if law not in LAWS:
            raise ArgumentValueError(f"law must be 'modal' or 'ppf', got {shown(law)}.")
        check_observer(observer)
        if system is not None:
            check_system(system)
        self.law, self.about, self.system, self.observer = law, about, system, observer

    def prepare(self, loop: Any) -> None:
        """Find the joints and design the damping."""
        super().prepare(loop)
        s, places = self._system, self._prepared
        design = s if self.system is None else self.system
        what = "" if s.closures else not_plain(s)
        if what:
            raise ArgumentValueError(
                f"ActiveDamping is for systems with plain coordinates, but {s.name!r} has {what}."
            )
        if not same_layout(design, s) or set(design.closures) != set(s.closures):
            raise ArgumentValueError(
                f"system: the model {design.name!r} must have the bodies, joints, modes and closures of {s.name!r}."
            )
        if self.observer is not None:
            self.observer.prepare(loop)
            self.uses = tuple(dict.fromkeys((*self.uses, *self.observer.uses)))
        elif loop.sensors:
            raise ArgumentValueError(
                "ActiveDamping needs the modal coordinates, which sensors do not measure: add "
                "observer=lb.control.Kalman(...)."
            )
        if self.about is None:
            about = assemble(s) if s.closures else s.neutral()
        else:
            about = array("about", self.about, (s.nq,))
        self._still = at_rest(design, about, places.v)
        rest, tau = np.zeros((2, s.nv))  # the torques that hold the joints there
        if s.closures:
            tau[places.v] = self._closed_torques(design, places.v)
        else:
            tau[places.v] = inverse_dynamics(design, self._still, rest, rest)[places.v]
        plant = linearize(design, self._still, rest, tau, inputs=torque_inputs(s, places))
        self._plant = plant
        assert plant.T is not None
        n = plant.order // 2
        gains = np.zeros((len(places), 2 * s.nv))
        rows = np.arange(len(places))
        gains[rows, places.v] = one_each("kp", self.kp, places)
        gains[rows, s.nv + places.v] = one_each("kd", self.kd, places)
        gains = gains @ plant.T
        if self.gravity:
            gains[:, :n] -= weight_slopes(s, self._straight(s), places.v, plant.T[: s.nv, :n])
        self._gains = gains
        self._read_off(s, design, plant)
        if self.law == "modal":
            self._design_modal(plant.A - plant.B @ gains, plant.B)
        else:
            self._design_ppf(design, plant, gains)

    def _straight(self, s: System) -> Array:
        """The configuration to design for, without deformation."""
        straight = s.neutral()
        for where in s.layout.values():
            straight[where.q_joint] = self._still[where.q_joint]
        return straight

    def _closed_torques(self, design: System, places: np.ndarray) -> Array:
        """The torques that hold a closed system; redundant ones are nearest to what gravity=True commands."""
        near = weight_torques(design, self._straight(design), places) if self.gravity else None
        return holding_torques(design, self._still, places, "about", near)

    def _read_off(self, s: System, design: System, plant: LinearModel) -> None:
        """Choose the coordinates from which the state of the model follows: all of them; in a closed system those of joints with
        torques, then modes, then others.
        """
        at_v, at_q = plain_places(s)
        self._seen_v, self._seen_q = at_v, at_q
        self._from_seen = np.eye(2 * s.nv)
        if not s.closures:
            return
        driven = np.intersect1d(self._prepared.v, at_v)
        modal = np.flatnonzero(modal_speeds(s))
        rest = np.setdiff1d(at_v, np.append(driven, modal))
        found = independent_places(design, self._still, [driven, modal, rest])
        if 2 * len(found) < plant.order:
            raise ArgumentValueError(
                f"ActiveDamping: some motions of {s.name!r} involve only joints with quaternions, or with several axes that turn "
                "each other. lqr_gain computes gains for its linear model."
            )
        assert plant.T is not None
        self._seen_v, self._seen_q = found, at_q[np.searchsorted(at_v, found)]
        self._from_seen = np.linalg.inv(plant.T[np.append(found, s.nv + found)])

    def _chosen(self, values: Array, reach: Array) -> np.ndarray:
        """The numbers of the vibrations to be damped, among eigenvalues with positive imaginary parts."""
        size = np.abs(values)
        weak = (values.imag > 0.0) & (-values.real < self.damping * size)
        weak &= reach > UNREACHED * reach.max(initial=0.0)
        found = np.flatnonzero(weak)
        found = found[np.argsort(size[found])][: self.modes]
        if len(found) < self.modes:
            raise ArgumentValueError(
                f"modes={self.modes}: only {len(found)} vibrations that the torques reach have a damping ratio below {self.damping:g} under this "
                "PD control. Request more damping or fewer modes."
            )
        self.frequencies, self.ratios = size[found], -values.real[found] / size[found]
        return found

    def _design_modal(self, A: Array, B: Array) -> None:
        values, left = scipy.linalg.eig(A.T)  # A^T w = lambda w
        reach = np.linalg.norm(left.T @ B, axis=1) / np.linalg.norm(left, axis=0)
        chosen = values[self._chosen(values, reach)]
        gains, c = np.zeros((B.shape[1], len(A))), self.damping
        for value in chosen:  # one after the other: each leaves the others where they are
            values, left = scipy.linalg.eig((A - B @ gains).T)
            w = left[:, np.abs(values - value).argmin()]
            W = np.column_stack([w.real, w.imag])
            L = np.linalg.lstsq(W, (A - B @ gains).T @ W, rcond=None)[0].T  # W^T A = L W^T
            best = np.linalg.svd(W.T @ B)[2][0]  # the torques that reach it with the least effort
            pair = abs(value) * (-c + np.sqrt(1.0 - c * c) * np.array([1j, -1j]))
            k = scipy.signal.place_poles(L, (W.T @ B @ best)[:, None], pair).gain_matrix
            gains += np.outer(best, k @ W.T)
        self._damper = LinearModel(
            np.zeros((0, 0)), np.zeros((0, len(A))), np.zeros((len(gains), 0)), -gains,
            (), self._plant.states, self._plant.inputs, "damping", self.sample_time,
        )  # fmt: skip
        self.poles = np.linalg.eigvals(A - B @ gains)

    def _design_ppf(self, design: Any, plant: LinearModel, gains: Array) -> None:
        nv, m = plant.order // 2, len(plant.inputs)
        if self.modes > m:
            raise ArgumentValueError(
                f"modes={self.modes}: positive position feedback can damp at most as many vibrations as there are "
                f"torques, {m}."
            )
        assert plant.T is not None
        T = plant.T[: design.nv, :nv]
        M = T.T @ mass_matrix(design, self._still) @ T
        held = plant.A - plant.B @ gains
        K = -M @ held[nv:, :nv]  # stiffness, joints on their springs
        squares, shapes = scipy.linalg.eigh(0.5 * (K + K.T), M)
        if squares[0] <= 0.0:
            raise DynamicsError(
                f"ActiveDamping: {design.name!r} is not held by kp: some of its motions have no stiffness. Give all joints a kp above zero."
            )
        omega = np.sqrt(squares)
        rates = np.einsum("ji,jk,ki->i", shapes, -M @ held[nv:, nv:], shapes)
        forces = shapes.T @ (M @ plant.B[nv:])  # Phi^T B
        values = -0.5 * rates + 1j * np.sqrt(np.maximum(squares - 0.25 * rates**2, 0.0))
        chosen = self._chosen(values, np.linalg.norm(forces, axis=1))
        w, c, r = omega[chosen], self.damping, self.modes
        spread = np.linalg.pinv(forces[chosen])
        see = np.hstack([(M @ shapes[:, chosen]).T, np.zeros((r, nv))])
        w_f2, g = w**2 * (1.0 + 4.0 * c * c), 4.0 * c * c / (1.0 + 4.0 * c * c)
        A_f = np.block([[np.zeros((r, r)), np.eye(r)], [-np.diag(w_f2), -np.diag(4.0 * c * w)]])
        B_f = np.vstack([np.zeros((r, 2 * nv)), w_f2[:, None] * see])
        C_f = np.hstack([spread * (w**2 * g), np.zeros((m, r))])
        closed = np.block([[held, plant.B @ C_f], [B_f, A_f]])
        self.poles = np.linalg.eigvals(closed)
        moving = self.poles[np.abs(self.poles) > 1e-9 * np.abs(self.poles).max()]
        if (moving.real > 1e-9 * np.abs(moving)).any():
            worst = moving[moving.real.argmax()]
            raise DynamicsError(
                f"ActiveDamping: positive position feedback with damping={c:g} is unstable on {design.name!r}, {worst.real:.2g} /s at "
                f"{abs(worst.imag):.3g} rad/s: its torques excite vibrations that it does not damp. Request less damping "
                "or other modes, give kd, or use law='modal'."
            )
        names = tuple(f"filter {i} {what}" for what in ("place", "rate") for i in range(r))
        filters = LinearModel(
            A_f, B_f, C_f, np.zeros((m, 2 * nv)), names, plant.states, plant.inputs, "damping"
        )
        self._damper = filters.sampled(self.sample_time)

    # --- the loop -----------------------------------------------------------------------------------

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller, at rest at the current joint positions."""
        super().start(t, measured)
        self._filters = np.zeros(self._damper.order)

    def command(self, t: float, measured: Measured) -> Array:
        """The torques of the joints."""
        places = self._prepared
        q, v = measured.q, measured.v
        if self.observer is not None:
            q, v = self.observer.update(t, measured)
        wanted, speed, _ = self._wanted(t)
        dq, dv = q - self._still, v.copy()
        dq[places.q], dv[places.v] = q[places.q] - wanted, v[places.v] - speed
        off = self._from_seen @ np.append(dq[self._seen_q], dv[self._seen_v])
        d = self._damper
        extra = d.C @ self._filters + d.D @ off - self._load(places.v)
        self._filters = d.A @ self._filters + d.B @ off
        if self.gravity:
            extra = extra + self._holding(measured)
        return self._placed(self._torque(wanted - q[places.q], speed - v[places.v], extra))

    def linear(self) -> LinearModel:
        """Return PD control and damping as a discrete model from the whole state to the torques.

        With an observer, its inputs are the sensor readings (`Kalman.seen`).
        """
        if self._fade:
            raise ArgumentTypeError("ActiveDamping has no linear model with a filter_time.")
        d = self._damper
        made = LinearModel(
            d.A, d.B, d.C, d.D - self._gains, d.states, self._plant.states, self._plant.inputs,
            repr(self), self.sample_time,
        )  # fmt: skip
        return self._with_observer(made, self._prepared.v)
