"""The solution of an optimal control problem."""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.checks import Array
from limber.dynamics import inverse_dynamics


class OptimalMotion:
    """The result of `OptimalControl.solve`.

    problem : the problem.
    t : (N + 1,), s.
    q, v : (N + 1, nq) and (N + 1, nv), the motion of the first plant.
    forces : (N, joints), constant over each interval; `labels` names the joints.
    states : (plants, N + 1, nq + nv), of all plants.
    duration, cost : s, and the value of the costs.
    success, status : whether the solver converged, and its own message.
    iterations, convergence : their number, and {"obj", "inf_pr", "inf_du"} at each: cost, violation of the constraints,
        violation of optimality.
    violation : the largest gap between intervals.
    torque : for `lb.simulate(system, t, q0=..., torque=motion.torque)`; after the end it holds the last configuration.
    """

    def __init__(
        self,
        problem: Any,
        z: Array,
        cost: float,
        success: bool,
        status: str,
        convergence: dict[str, Array],
        multipliers: dict[str, Array],
    ):
        self.problem, self.cost, self.success, self.status = problem, cost, success, status
        self.convergence, self.multipliers = convergence, multipliers
        self.states, self.forces, self.duration = problem.parts(z)
        self.states = problem.plants.unit(self.states)
        self.labels = problem.plants.places.labels
        self.t = np.linspace(0.0, self.duration, problem.intervals + 1)
        nq = problem.system.nq
        self.q, self.v = self.states[0, :, :nq], self.states[0, :, nq:]
        self.violation = float(np.abs(problem.constraints(z)[: self.states[:, 1:].size]).max())
        self.torque = _Held(self)

    @property
    def iterations(self) -> int:
        """The number of iterations of the solver."""
        return max(len(self.convergence["obj"]) - 1, 0)

    def plot(self) -> Any:
        """Plot joint coordinates, forces, the modes and the convergence."""
        import matplotlib.pyplot as plt  # noqa: PLC0415

        s, places = self.problem.system, self.problem.plants.places
        modes = np.concatenate(
            [np.zeros(0, dtype=int)]
            + [np.arange(w.q_modes.start, w.q_modes.stop) for w in s.layout.values()]
        )
        figure, axes = plt.subplots(2, 2, figsize=(9.0, 5.4), layout="constrained")
        joints, forces, bent, progress = axes.ravel()
        for i, label in enumerate(self.labels):
            joints.plot(self.t, self.q[:, places.q[i]], label=label)
            forces.stairs(self.forces[:, i], self.t, baseline=None, label=label)
        for states in self.states[1:]:
            joints.plot(self.t, states[:, places.q], color="0.7", lw=0.7, zorder=0)
            bent.plot(self.t, states[:, modes], color="0.7", lw=0.7, zorder=0)
        bent.plot(self.t, self.q[:, modes])
        for name, label in (("inf_pr", "constraints"), ("inf_du", "optimality")):
            progress.semilogy(np.maximum(self.convergence[name], 1e-16), label=label)
        titles = ("joint coordinates", "joint forces", "modes", "convergence")
        for ax, title in zip(axes.ravel(), titles):
            ax.set_title(title, fontsize=10)
            ax.grid(alpha=0.3)
            ax.set_xlabel("iteration" if ax is progress else "time, s")
        for ax in (joints, forces, progress):
            ax.legend(fontsize=8)
        return figure

    def __repr__(self) -> str:
        how = "converged" if self.success else f"NOT converged ({self.status})"
        return (
            f"OptimalMotion({self.duration:.6g} s, cost {self.cost:.6g}, {how} in {self.iterations} iterations, gaps "
            f"{self.violation:.1e})"
        )


class _Held:
    """The forces of a motion as a torque that is sampled at the start of every interval."""

    def __init__(self, motion: OptimalMotion):
        s = motion.problem.system
        self.sample_time = motion.duration / len(motion.forces)
        self._rows = np.zeros((len(motion.forces) + 1, s.nv))
        places = motion.problem.plants.places.v
        self._rows[:-1, places] = motion.forces
        rest = np.zeros(s.nv)
        self._rows[-1, places] = inverse_dynamics(s, motion.q[-1], rest, rest)[places]

    def __call__(self, t: float, q: Array, v: Array) -> Array:
        """The torques (nv,) from time t on."""
        return self._rows[min(max(round(t / self.sample_time), 0), len(self._rows) - 1)]
