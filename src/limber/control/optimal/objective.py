"""The costs of a problem in the form in which it is evaluated: quadratic in states and forces, and places of nodes.

f = sum_k dt l_k(x_k, u_k) + l_N(x_N) + time weight * T + 1/2 sum_k |u_k+1 - u_k|^2_C
l = 1/2 (x - x_ref)^T Q (x - x_ref) + 1/2 u^T R u + 1/2 sum w |p(x) - p_ref|^2
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from limber.checks import Array, number, numbers, shown
from limber.control.optimal.plant import Plants
from limber.control.optimal.terms import (
    Effort,
    MinimumTime,
    NodeTracking,
    Tracking,
    Vibration,
    error_map,
    modal_energy,
    reference_states,
    target_points,
    weights_of_speeds,
)
from limber.errors import ArgumentValueError


class Objective:
    """The costs of the plants at the nodes of a time grid.

    end : the configuration about which vibrations are measured.
    """

    def __init__(self, plants: Plants, costs: Sequence[Any], times: Array, end: Array):
        self.plants, self.costs = plants, costs
        s, count = plants.system, len(times)
        self.R, self.change = np.zeros(plants.nu), np.zeros(plants.nu)
        self.time = 0.0
        #: matrices, constant over the run, and references of each stage: 1/2 x^T Q x - (Q ref)^T x + constant
        self.Q = np.zeros((len(plants), count, plants.nx, plants.nx))
        self.linear = np.zeros((len(plants), count, plants.nx))
        self.constant = np.zeros((len(plants), count))
        self.nodes: list[
            tuple[str, Any, Array, Array]
        ] = []  # body, node, weights and points of each stage
        self._targets: list[Any] = []  # of the nodes
        self._tracked: list[
            tuple[Any, Array, Array]
        ] = []  # references, weights along the way and at the end
        share = 1.0 / len(plants)
        rest = np.concatenate([end, np.zeros(s.nv)])
        for cost in costs:
            if isinstance(cost, Effort):
                self.R += self._of_forces("weight", cost.weight)
                self.change += self._of_forces("change", cost.change)
            elif isinstance(cost, MinimumTime):
                self.time += number("MinimumTime.weight", cost.weight, above=0.0)
            elif isinstance(cost, Vibration):
                for case, system in enumerate(plants.systems):
                    W = modal_energy(system, end) * share
                    self._add(case, np.tile(rest, (count, 1)), W, (cost.weight, cost.final))
            elif isinstance(cost, Tracking):
                W, final = (
                    np.diag(
                        np.concatenate([weights_of_speeds(n, getattr(cost, n), s) for n in names])
                    )
                    for names in (("q", "v"), ("final_q", "final_v"))
                )
                self._tracked.append((cost.reference, W * share, final * share))
            else:
                assert isinstance(cost, NodeTracking)
                s.node_number(cost.body, cost.node)
                weights = np.full(
                    count, number("NodeTracking.weight", cost.weight, minimum=0.0) * share
                )
                weights[-1] = number("NodeTracking.final", cost.final, minimum=0.0) * share
                points = target_points(cost.target, times)
                self.nodes.append((cost.body, cost.node, weights, points))
                self._targets.append(cost.target)
        self._still = [x[:, -2:].copy() for x in self._parts()]
        self._track(times, slice(None))

    def _parts(self) -> tuple[Array, Array, Array]:
        return self.Q, self.linear, self.constant

    def _track(self, times: Array, at: slice) -> None:
        """Add the errors from the references at these times, which are those of the stages `at`."""
        for reference, W, final in self._tracked:
            states = reference_states(reference, times, self.plants.system)
            for case in range(len(self.plants)):
                self._add(case, states, W, (1.0, 0.0), at)
                self._add(case, states, final, (0.0, 1.0), at)

    @property
    def moves(self) -> bool:
        """Whether any reference depends on time."""
        return any(callable(x) for x in self._targets) or any(
            callable(x) for x, *_ in self._tracked
        )

    def shift(self, times: Array) -> None:
        """Advance by one stage; `times` are those of the last two stages."""
        if not self.moves:
            return
        for part, still in zip(self._parts(), self._still):
            part[:, :-2] = part[:, 1:-1]
            part[:, -2:] = still
        self._track(times, slice(-2, None))
        for (_, _, _, points), target in zip(self.nodes, self._targets):
            points[:-2] = points[1:-1]
            points[-2:] = target_points(target, times)

    def _of_forces(self, name: str, given: Any) -> Array:
        nu = self.plants.nu
        found = numbers(f"Effort.{name}", given, f"() or ({nu},)")
        if found.shape not in ((), (nu,)) or (found < 0.0).any():
            raise ArgumentValueError(
                f"Effort.{name} must be one number or {nu} of them, none negative; got {shown(given)}."
            )
        return np.broadcast_to(found, (nu,)).astype(float)

    def _add(
        self,
        case: int,
        states: Array,
        W: Array,
        factors: tuple[float, float],
        at: slice = slice(None),
    ) -> None:
        """Add 1/2 e^T W e of errors from these states, with the first factor along the way and the second at the
        end."""
        weights = np.full(len(states), float(factors[0]))
        weights[-1] = factors[1]
        s = self.plants.system
        E = error_map(s, states[0, : s.nq])
        Qs, linears, constants = (part[case, at] for part in self._parts())
        for k, (weight, x) in enumerate(zip(weights, states)):
            if s.nq != s.nv:
                E = error_map(s, x[: s.nq])
            matrix = weight * E.T @ W @ E
            Qs[k] += matrix
            linears[k] -= matrix @ x
            constants[k] += 0.5 * x @ matrix @ x

    def stages(self, case: int, x: Array) -> tuple[Array, Array, Array]:
        """Costs (N + 1,) of the states x (N + 1, nx) of one plant, their gradients, and Gauss-Newton matrices (.., nx,
        nx).
        """
        Q = self.Q[case]
        Qx = np.einsum("kij,kj->ki", Q, x)
        cost = 0.5 * np.einsum("ki,ki->k", x, Qx) + np.einsum("ki,ki->k", self.linear[case], x)
        cost += self.constant[case]
        slope = Qx + self.linear[case]
        if self.nodes:
            Q = Q.copy()
        nq = self.plants.system.nq
        for body, node, weights, points in self.nodes:
            p, J = self.plants.node(case, x, body, node)
            off = p - points
            cost += 0.5 * weights * np.einsum("ki,ki->k", off, off)
            slope[:, :nq] += weights[:, None] * np.einsum("kij,ki->kj", J, off)
            Q[:, :nq, :nq] += weights[:, None, None] * np.einsum("kij,kil->kjl", J, J)
        return cost, slope, Q
