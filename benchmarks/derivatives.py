"""Slopes of the dynamics, against Pinocchio for rigid chains, and figures for flexible and closed systems."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from measure import best, record

import limber as lb

#: The largest ratio over `pin.computeABADerivatives`, by the number of joints.
TARGETS = {7: 1.5, 50: 1.0, 200: 0.7}
#: Repeats are short: on a busy machine, one of several milliseconds is rarely left alone, on either side.
SECONDS = 0.0003


def largest_difference(actual, expected):
    """Relative to the largest slope."""
    return np.abs(actual - expected).max() / np.abs(expected).max()


def against_pinocchio(rigid_chain, state, rng):
    """Rigid chains; both sides are called from Python, and the slopes are compared first."""
    group = "slopes of forward dynamics against pin.computeABADerivatives"
    for n, target in TARGETS.items():
        s, model = rigid_chain(n, rng)
        data = model.createData()
        q, v, tau = state(s, rng)
        d = lb.derivatives(s, q, v, tau)
        pin.computeABADerivatives(model, data, q, v, tau)
        for ours, theirs in ((d.q, data.ddq_dq), (d.v, data.ddq_dv), (d.tau, data.Minv)):
            assert largest_difference(ours, theirs) < 1e-9
        ours, theirs, inverse, rnea = best(
            lambda: lb.derivatives(s, q, v, tau),
            lambda: pin.computeABADerivatives(model, data, q, v, tau),
            lambda: lb.derivatives(s, q, v, tau, "inverse_dynamics"),
            lambda: pin.computeRNEADerivatives(model, data, q, v, tau),
            seconds=SECONDS,
        )
        ratio = ours / theirs
        record(group, f"{n} joints: limber", 1e6 * ours, "us")
        record(group, f"{n} joints: pin.computeABADerivatives", 1e6 * theirs, "us")
        record(group, f"{n} joints: ratio", ratio, "", f"<= {target}", ratio <= target)
        record(group, f"{n} joints: inverse dynamics, limber", 1e6 * inverse, "us")
        record(group, f"{n} joints: pin.computeRNEADerivatives", 1e6 * rnea, "us")


def bent_chain(n):
    """n beams with 2 modes in each plane, on hinges that turn about y and z in turn."""
    a = lb.Assembly("bent chain", gravity=(0, 0, -9.81))
    body = lb.beam(1.0, 1.0, EI=1000.0, modes=2)
    for i in range(n):
        on = {"to": f"b{i - 1}", "at": "tip"} if i else {}
        a.attach(f"b{i}", body, lb.Revolute("yz"[i % 2]), **on)
    return a.build()


def of_flexible_chains(flexible_chain, state, rng):
    """Chains of beams, and the Canadarm."""
    group = "slopes of the dynamics of flexible systems"
    systems = {f"{n} beams of 4 modes": bent_chain(n) for n in (3, 10, 30, 100)}
    systems["10 beams of 5 modes"] = flexible_chain(10, 5, "full")
    systems["Canadarm"] = lb.models.canadarm().build()
    for name, s in systems.items():
        q, v, tau = state(s, rng)
        slopes, inverse, dynamics = best(
            lambda s=s, x=(q, v, tau): lb.derivatives(s, *x),
            lambda s=s, x=(q, v, tau): lb.derivatives(s, *x, "inverse_dynamics"),
            lambda s=s, x=(q, v, tau): lb.forward_dynamics(s, *x),
            seconds=SECONDS,
        )
        record(group, f"{name}, {s.nv} speeds", 1e6 * slopes, "us")
        record(group, f"{name}: over forward_dynamics", slopes / dynamics, "")
        record(group, f"{name}: inverse dynamics", 1e6 * inverse, "us")


def measure(rigid_chain, flexible_chain, state):
    """All of it, on the systems of `run`."""
    rng = np.random.default_rng(0)
    against_pinocchio(rigid_chain, state, rng)
    of_flexible_chains(flexible_chain, state, rng)


if __name__ == "__main__":
    import run
    from measure import RESULTS

    measure(run.rigid_chain, run.flexible_chain, run.state)
    for r in RESULTS:
        mark = {None: "", True: "met", False: "missed"}[r["ok"]]
        print(f"{r['what']:60} {r['value']:10.4g} {r['unit']:3} {r['target'] or '':8} {mark}")
