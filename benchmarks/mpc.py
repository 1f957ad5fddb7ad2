"""Real-time iterations of model predictive control of a flexible arm, beside the same problem in CasADi with IPOPT.

    python benchmarks/mpc.py           # on one core: taskset -c 0 python benchmarks/mpc.py

125 intervals of 5 ms, two joints with torque limits, 10, 18 and 24 states.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from measure import RESULTS, record

import limber as lb
from limber import control

INTERVALS, SAMPLE = 125, 0.005
#: The longest real-time iteration, ms, by the number of states.
TARGETS = {10: 5.0}
#: Modes of the two links, and the Runge-Kutta steps in an interval that their frequencies need to be stable.
SIZES = {10: ((2, 1), 1), 18: ((4, 3), 4), 24: ((5, 5), 6)}
REPEATS = 100


def arm(upper, fore):
    """Two flexible links in the plane, with a load at the end."""
    a = lb.Assembly("arm")
    options = {"damping": 0.005}
    link = lb.beam(1.0, 1.5, EI=300.0, modes={"y": upper}, **options)
    a.attach("upper", link, lb.Revolute("z", armature=0.5))
    link = lb.beam(1.0, 1.0, EI=150.0, modes={"y": fore}, **options)
    a.attach("fore", link, lb.Revolute("z", armature=0.3), "upper", "tip")
    a.attach("load", lb.RigidBody(1.0, inertia=[0.01] * 3), lb.Fixed(), "fore", "tip")
    return a.build()


WEIGHTS = {"effort": 1e-3, "joint": 50.0, "speed": 0.1, "final speed": 1.0}
TORQUE = (20.0, 10.0)


def controller(s, substeps):
    joints = {"upper": WEIGHTS["joint"], "fore": WEIGHTS["joint"]}
    costs = [
        control.Effort(WEIGHTS["effort"]),
        control.Tracking(
            goal(s), q=joints, v=WEIGHTS["speed"], final_q=joints, final_v=WEIGHTS["final speed"]
        ),
    ]
    return control.NMPC(
        s, INTERVALS, sample_time=SAMPLE, costs=costs, torque=TORQUE, substeps=substeps
    )


def goal(s):
    q = s.neutral()
    q[s.layout["upper"].q_joint], q[s.layout["fore"].q_joint] = 0.5, 0.6
    return q


def iterations(s, nmpc):
    """Times of preparation and feedback over a slew, s, by the clock and of the processor; the plant is the model."""
    q, v = s.neutral(), np.zeros(s.nv)
    nmpc.start(0.0, control.Measured(0.0, q, v))
    phases = []
    x = np.concatenate([q, v])
    for _ in range(REPEATS):
        times = [_now()]
        nmpc.idle()
        times.append(_now())
        u = nmpc.feedback(x)
        times.append(_now())
        phases.append(np.diff(times, axis=0))
        x = nmpc.plants.shooting.roll(x[None], u[None], np.array([SAMPLE]), nmpc.substeps)[0]
    return np.array(phases[1:])


def _now():
    return time.perf_counter(), time.thread_time()


def by_ipopt(s, substeps):
    """Processor time of IPOPT from rest, s, with derivatives of CasADi; its solution, and how many iterations it took."""
    shot = control.opti(s, INTERVALS * SAMPLE, INTERVALS, substeps=substeps)
    p = shot.opti
    places = [s.layout[b].q_joint.start for b in ("upper", "fore")]
    end = goal(s)
    cost = 0
    for k in range(INTERVALS + 1):
        dt = SAMPLE if k < INTERVALS else 1.0
        speed = WEIGHTS["speed"] if k < INTERVALS else WEIGHTS["final speed"]
        for i in places:
            cost += 0.5 * dt * WEIGHTS["joint"] * (shot.q[i, k] - end[i]) ** 2
        cost += 0.5 * dt * speed * (shot.v[:, k].T @ shot.v[:, k])
        if k < INTERVALS:
            cost += 0.5 * dt * WEIGHTS["effort"] * (shot.u[:, k].T @ shot.u[:, k])
    p.minimize(cost)
    p.subject_to(shot.q[:, 0] == s.neutral())
    p.subject_to(shot.v[:, 0] == np.zeros(s.nv))
    for i, limit in enumerate(TORQUE):
        p.subject_to(p.bounded(-limit, shot.u[i, :], limit))
    p.solver("ipopt", {"print_time": False, "expand": False}, {"print_level": 0, "sb": "yes"})
    p.solve()  # makes the solver
    start = time.process_time()
    found = p.solve()
    seconds = time.process_time() - start
    return seconds, np.array(found.value(shot.u)).T, found.stats()["iter_count"]


def measure(sizes=SIZES, ipopt=True):
    group = f"model predictive control, {INTERVALS} intervals of {1e3 * SAMPLE:g} ms"
    for states, (modes, substeps) in sizes.items():
        s = arm(*modes)
        assert 2 * s.nv == states
        nmpc = controller(s, substeps)
        phases = 1e3 * iterations(s, nmpc)  # (samples, phases, clock and processor), ms
        total = phases.sum(axis=1)
        what = f"{states} states, {substeps} step(s) in an interval"
        target = TARGETS.get(states)
        best, median = float(total[:, 0].min()), statistics.median(total[:, 0])
        record(
            group, f"{what}: real-time iteration, best", best, "ms",
            None if target is None else f"<= {target:g}", None if target is None else best <= target,
        )  # fmt: skip
        record(group, f"{what}: real-time iteration, median", median, "ms")
        for i, phase in enumerate(("preparation", "feedback")):
            record(group, f"{what}: {phase}, best", float(phases[:, i, 0].min()), "ms")
        # on a machine that others use as well, this is what one core alone would need
        record(group, f"{what}: processor time, median", statistics.median(total[:, 1]), "ms")
        record(group, f"{what}: processor time, longest", float(total[:, 1].max()), "ms")
        if ipopt and states in TARGETS:
            q, v = s.neutral(), np.zeros(s.nv)
            nmpc.start(0.0, control.Measured(0.0, q, v))
            seconds, u, count = by_ipopt(s, substeps)
            assert np.abs(nmpc.plan[1] - u).max() < 1e-3 * np.abs(u).max()
            record(
                group,
                f"{what}: CasADi with IPOPT, {count} iterations from rest, processor",
                1e3 * seconds,
                "ms",
            )
            record(
                group,
                f"{what}: one iteration of IPOPT, processor",
                1e3 * seconds / max(count, 1),
                "ms",
            )


if __name__ == "__main__":
    measure()
    for r in RESULTS:
        mark = {None: "", True: "met", False: "missed"}[r["ok"]]
        print(f"{r['what']:70} {r['value']:10.4g} {r['unit']:3} {r['target'] or '':8} {mark}")
