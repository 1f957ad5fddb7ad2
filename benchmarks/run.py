"""Speed, as ratios measured in one run: `make bench`.

Prints a table and writes out/bench.json.  Every figure is the best of many repeats, both sides of a
ratio are called from Python with their arrays ready, and alternate in time, so that a busy machine
slows both.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import closed
import derivatives
import mpc
import numba
import numpy as np
import pinocchio as pin
from measure import RESULTS, best, record
from rich.console import Console
from rich.table import Table

import limber as lb
from limber import native
from limber.dynamics import sweep
from limber.kernels import articulated
from limber.kernels import layout as L
from limber.native.calls import Call
from limber.native.decorators import NUMBERS, WORD, WORDS, entry
from limber.native.pointers import shifted
from limber.native.record import PIVOTS
from limber.native.vectors import pointer

# --- systems --------------------------------------------------------------------------------------


def turn(rng):
    """A random rotation matrix."""
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    return Q * np.linalg.det(Q)


def rigid_chain(n, rng):
    """A chain of n revolute joints about z with random placements, for both libraries."""
    a, model = lb.Assembly("chain", gravity=(0, 0, -9.81)), pin.Model()
    to, joint = "world", 0
    for i in range(n):
        A = rng.standard_normal((3, 3))
        second = 0.05 * (A @ A.T + 0.1 * np.eye(3))  # moments of a distribution of mass
        inertia = np.trace(second) * np.eye(3) - second
        com, offset, R = rng.uniform(-0.2, 0.2, 3), rng.uniform(-0.3, 0.3, 3), turn(rng)
        a.attach(
            f"b{i}",
            lb.RigidBody(1.0, com, inertia),
            lb.Revolute([0, 0, 1]),
            to=to,
            offset=offset,
            rotation=R,
        )
        joint = model.addJoint(joint, pin.JointModelRZ(), pin.SE3(R, offset), f"b{i}")
        model.appendBodyToJoint(joint, pin.Inertia(1.0, com, inertia), pin.SE3.Identity())
        to = f"b{i}"
    return a.build(), model


def flexible_chain(n, m, fidelity):
    """n beams of m modes: bending in both planes, the rest torsion."""
    bending = (m - 1) // 2
    body = lb.beam(
        1.0,
        1.0,
        EI=(10.0, 20.0),
        GJ=5.0,
        EA=1e4,
        modes={"bending": bending, "torsion": m - 2 * bending},
    )
    a = lb.Assembly("flexible chain")
    to, node = "world", None
    for i in range(n):
        a.attach(f"b{i}", body, lb.Revolute([0, 0, 1]), to=to, at=node)
        to, node = f"b{i}", "tip"
    return a.build(fidelity=fidelity)


def state(s, rng):
    q = s.neutral() + 0.01 * rng.standard_normal(s.nq)
    return q, 0.1 * rng.standard_normal(s.nv), rng.standard_normal(s.nv)


# --- what is measured -----------------------------------------------------------------------------


def against_pinocchio(rng):
    group = "one call against pin.aba"
    for n, target in ((7, 1.0), (50, 0.85), (200, 0.85)):
        s, model = rigid_chain(n, rng)
        data = model.createData()
        q, v, tau = state(s, rng)
        ours, theirs = best(
            lambda: lb.forward_dynamics(s, q, v, tau),
            lambda: pin.aba(model, data, q, v, tau),
        )
        assert np.allclose(lb.forward_dynamics(s, q, v, tau), pin.aba(model, data, q, v, tau))
        record(group, f"{n} joints: limber", 1e6 * ours, "us")
        record(group, f"{n} joints: pin.aba", 1e6 * theirs, "us")
        record(
            group, f"{n} joints: ratio", ours / theirs, "", f"<= {target}", ours / theirs <= target
        )


def other_functions(rng):
    group = "one call of the other functions, rigid arm of 7 joints"
    s, model = rigid_chain(7, rng)
    data = model.createData()
    q, v, vdot = state(s, rng)
    tip = model.njoints - 1

    def placement():
        pin.forwardKinematics(model, data, q)
        return data.oMi[tip].rotation, data.oMi[tip].translation

    def jacobian():
        return pin.computeJointJacobian(model, data, q, tip)

    def momentum():
        return pin.computeCentroidalMomentum(model, data, q, v)

    pairs = {
        "inverse_dynamics": (
            lambda: lb.inverse_dynamics(s, q, v, vdot),
            lambda: pin.rnea(model, data, q, v, vdot),
        ),
        "bias": (lambda: lb.bias(s, q, v), lambda: pin.nonLinearEffects(model, data, q, v)),
        "mass_matrix": (lambda: lb.mass_matrix(s, q), lambda: pin.crba(model, data, q)),
        "kinetic_energy": (
            lambda: lb.kinetic_energy(s, q, v),
            lambda: pin.computeKineticEnergy(model, data, q, v),
        ),
        "potential_energy": (
            lambda: lb.potential_energy(s, q),
            lambda: pin.computePotentialEnergy(model, data, q),
        ),
        "pose": (lambda: lb.pose(s, q, "b6"), placement),
        "integrate": (lambda: lb.integrate(s, q, v, 1.0), lambda: pin.integrate(model, q, v)),
        # the same work, in other axes and about another point
        "jacobian": (lambda: lb.jacobian(s, q, "b6"), jacobian),
        "momentum": (lambda: lb.momentum(s, q, v), momentum),
    }
    for name, (ours, theirs) in pairs.items():
        if name not in ("jacobian", "momentum"):
            x, y = ours(), theirs()
            assert all(map(np.allclose, x, y)) if name == "pose" else np.allclose(x, y), name
        a, b = best(ours, theirs)
        record(group, f"{name}: limber", 1e6 * a, "us")
        record(group, f"{name}: Pinocchio", 1e6 * b, "us")
        record(group, f"{name}: ratio", a / b, "")
    load = {("b6", None): np.ones(6)}
    (a,) = best(lambda: lb.forward_dynamics(s, q, v, vdot, external=load))
    record(group, "forward_dynamics with an external force: limber", 1e6 * a, "us")


def over_bodies(rng):
    group = "cost over the number of bodies"
    per_body = {}
    for n in (10, 50, 200, 1000, 10_000):
        s, _ = rigid_chain(n, rng)
        q, v, tau = state(s, rng)
        (t,) = best(lambda: lb.forward_dynamics(s, q, v, tau))
        per_body[n] = t / n
        record(group, f"{n} rigid bodies: per body", 1e9 * t / n, "ns")
        if n in (200, 10_000):
            size = s.dynamics.topo.nbytes + s.dynamics.const.nbytes
            size += 8 * int(s.dynamics.topo[L.WORK_SIZE])
            record(group, f"{n} rigid bodies: memory per body", size / n, "bytes")
    ratio = per_body[10_000] / per_body[200]
    record(group, "per body, 10,000 over 200", ratio, "", "<= 1.5", ratio <= 1.5)


def driven_joints(rng):
    """Forward dynamics with prescribed motion of all joints, or of every second one, forces of the motion included."""
    group = "hybrid dynamics: driven joints over free ones"
    for n, m in ((100, 0), (1000, 0), (1000, 4)):
        s = bending_chain(n, False) if m else rigid_chain(n, rng)[0]
        q, v, tau = state(s, rng)
        everyone = tuple(range(1, n + 1))
        sweeps = [
            bare_dynamics(s, "articulated", q, v, tau, driven)
            for driven in ((), everyone[::2], everyone)
        ]
        free, half, driven = best(*sweeps)
        what = f"{n} {'beams of 4 modes' if m else 'rigid bodies'}"
        record(group, f"{what}: all free", 1e6 * free, "us")
        record(group, f"{what}: half of the joints driven, ratio", half / free, "")
        ratio = driven / free
        record(group, f"{what}: all joints driven, ratio", ratio, "", "<= 1.05", ratio <= 1.05)


def bare_dynamics(s, sweep, q, v, tau, driven=()):
    """A function that runs a sweep over states as Python calls it, unforced, no pivots looked at."""
    topo, const = s.dynamics.with_driven(driven).topo, s.dynamics.const
    call = Call(s, f"{sweep}_sweep", topo, const)
    call.record[PIVOTS] = 0
    given = [np.ravel(x) for x in (q, v, tau)]
    states = q.size // s.nq
    work, out = np.empty(topo[L.WORK_SIZE] + s.nv * (s.nv + 1)), np.empty(states * s.nv)
    run = native.load("states")
    arguments = (call.record, *given, np.empty(0), work, out, 0, states)
    return lambda: run(*arguments)


def over_modes(rng):
    group = "ruthless: articulated against composite"
    crossover = None
    targets = {5: 3.0, 10: 7.0}
    for m in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20):
        s = flexible_chain(10, m, "ruthless")
        q, v, tau = state(s, rng)
        sweeps = ("articulated", "precomputed", "composite")
        a, b, c = best(*(bare_dynamics(s, sweep, q, v, tau) for sweep in sweeps))
        if crossover is None and b < a:
            crossover = m
        ratio = c / min(a, b)
        ok = None if m not in targets else ratio >= targets[m]
        goal = None if m not in targets else f">= {targets[m]:g}"
        record(group, f"10 bodies, {m} modes: D_f factorized", 1e6 * a, "us")
        record(group, f"10 bodies, {m} modes: D_f precomputed (77)", 1e6 * b, "us")
        record(group, f"10 bodies, {m} modes: composite", 1e6 * c, "us")
        record(group, f"10 bodies, {m} modes: composite/articulated", ratio, "", goal, ok)
    record(group, "precomputed D_f overtakes factorization at", crossover, "modes")
    record(group, "limber uses it from", sweep.PRECOMPUTED_FROM, "modes")
    last = 0.0
    for n in (5, 10, 20, 40):
        s = flexible_chain(n, 10, "ruthless")
        q, v, tau = state(s, rng)
        a, c = best(
            lambda: lb.forward_dynamics(s, q, v, tau),
            lambda: lb.forward_dynamics(s, q, v, tau, method="composite"),
        )
        ok = c / a > last
        record(group, f"{n} bodies, 10 modes: composite/articulated", c / a, "", "growing", ok)
        last = c / a


def stiffening(rng):
    group = "full beams of 4 modes: with geometric stiffening over plain"
    for n in (1, 3, 10, 100):
        plain, stiffened = (bending_chain(n, on) for on in (False, True))
        q, v, tau = state(plain, rng)
        a, b = best(
            lambda: lb.forward_dynamics(plain, q, v, tau),
            lambda: lb.forward_dynamics(stiffened, q, v, tau),
        )
        record(group, f"{n} beams: forward dynamics, plain", 1e6 * a, "us")
        record(group, f"{n} beams: forward dynamics, ratio", b / a, "", "<= 2", b / a <= 2.0)
        a, b = best(
            lambda: lb.inverse_dynamics(plain, q, v, tau),
            lambda: lb.inverse_dynamics(stiffened, q, v, tau),
        )
        record(group, f"{n} beams: inverse dynamics, ratio", b / a, "", "<= 2", b / a <= 2.0)
    a, b = (lb.operation_count(bending_chain(3, on), "forward_dynamics") for on in (False, True))
    record(group, "3 beams, generated: multiplications, ratio", b.mul / a.mul, "")


def bending_chain(n, stiffened):
    """n beams, two modes in each plane, on revolute joints with axes in turn."""
    body = lb.beam(1.0, 1.0, EI=(10.0, 20.0), modes=2, geometric_stiffening=stiffened)
    a = lb.Assembly("chain")
    for i in range(n):
        place = (f"b{i - 1}", "tip") if i else ("world",)
        a.attach(f"b{i}", body, lb.Revolute("yz"[i % 2]), *place)
    return a.build()


@entry(WORDS, *[NUMBERS] * 6, WORD, WORD, WORD)
def inner(topo, const, work, q, v, tau, out, states, nq, nv):
    """The kernel alone, state after state: no checks, nothing around it."""
    t, c, w = pointer(topo), pointer(const), pointer(work)
    for i in range(states):
        qi, vi = shifted(pointer(q), i * nq), shifted(pointer(v), i * nv)
        xi, oi = shifted(pointer(tau), i * nv), shifted(pointer(out), i * nv)
        articulated.forward_dynamics(t, c, w, qi, vi, xi, 0, t, c, oi)


def batches(rng):
    group = "batch of 10,000 Canadarm states, one core"
    s = lb.models.canadarm().build()
    packed = s.dynamics
    states = [state(s, rng) for _ in range(10_000)]
    q, v, tau = (np.array(x) for x in zip(*states))
    out, work = np.empty(q.shape), np.empty(packed.topo[L.WORK_SIZE])
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(everywhere)})
    try:
        outer, kernel = best(
            lambda: lb.forward_dynamics(s, q, v, tau),
            lambda: inner(
                packed.topo, packed.const, work, q.ravel(), v.ravel(), tau.ravel(), out.ravel(),
                len(q), s.nq, s.nv,
            ),
            seconds=0.02,
        )  # fmt: skip
    finally:
        os.sched_setaffinity(0, everywhere)
    record(group, "per state, lb.forward_dynamics", 1e6 * outer / len(q), "us")
    record(group, "per state, kernel alone", 1e6 * kernel / len(q), "us")
    record(group, "ratio", outer / kernel, "", "<= 1.2", outer / kernel <= 1.2)
    (cores,) = best(lambda: lb.forward_dynamics(s, q, v, tau), seconds=0.02)
    record(group, f"per state on {len(everywhere)} cores", 1e6 * cores / len(q), "us")


def generated_code(rng):
    group = "generated C against Pinocchio, rigid arm of 7 joints"
    s, model = rigid_chain(7, rng)
    data = model.createData()
    q, v, tau = state(s, rng)
    out = np.empty(s.nv)
    f = lb.compile(s, "forward_dynamics", lanes=8, threads=1)
    df = lb.compile(s, "forward_dynamics", wrt=("q", "v", "tau"))
    for ours, theirs in zip(df(q, v, tau), pin.computeABADerivatives(model, data, q, v, tau)):
        assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-9)
    call, filled, aba, derivatives, theirs = best(
        lambda: f(q, v, tau),
        lambda: f(q, v, tau, out=out),
        lambda: pin.aba(model, data, q, v, tau),
        lambda: df(q, v, tau),
        lambda: pin.computeABADerivatives(model, data, q, v, tau),
    )
    record(group, "one call", 1e6 * call, "us")
    record(group, "one call, out given", 1e6 * filled, "us")
    record(group, "pin.aba", 1e6 * aba, "us")
    record(group, "one call: ratio", call / aba, "", "<= 0.4", call / aba <= 0.4)
    record(group, "derivatives (q, v, tau)", 1e6 * derivatives, "us")
    record(group, "pin.computeABADerivatives", 1e6 * theirs, "us")
    ratio = derivatives / theirs
    record(group, "derivatives: ratio", ratio, "", "< 1", ratio < 1)
    states = 100_000
    Q, V, T = (rng.standard_normal((states, 7)) for _ in range(3))
    out = np.empty((states, 7))
    (batch,) = best(lambda: f(Q, V, T, out=out), seconds=0.02)
    assert np.allclose(out[-1], pin.aba(model, data, Q[-1], V[-1], T[-1]))
    record(group, "batch of 100,000, 8 lanes, one core: per state", 1e9 * batch / states, "ns")
    ratio = aba / (batch / states)
    record(group, "pin.aba over that", ratio, "", ">= 20", ratio >= 20)
    generated_canadarm(rng)


def generated_canadarm(rng):
    group = "generated C, flexible Canadarm (12 modes)"
    s = lb.models.canadarm().build()
    states = 10_000
    Q, V, T = (0.05 * rng.standard_normal((states, s.nv)) for _ in range(3))
    for fidelity in ("full", "ruthless"):
        s = lb.models.canadarm().build(fidelity=fidelity)
        one = lb.compile(s, "forward_dynamics", threads=1)
        wide = lb.compile(s, "forward_dynamics", lanes=8, threads=1)
        out = np.empty_like(Q)
        scalar, simd = best(
            lambda f=one, y=out: f(Q, V, T, out=y),
            lambda f=wide, y=out: f(Q, V, T, out=y),
            seconds=0.02,
        )
        scalar, simd = scalar / states, simd / states
        target = ("< 1000", scalar < 1e-6) if fidelity == "full" else (None, None)
        record(group, f"{fidelity}: per evaluation inside C", 1e9 * scalar, "ns", *target)
        record(group, f"{fidelity}: the same, 8 lanes", 1e9 * simd, "ns")
        count = lb.operation_count(s, "forward_dynamics")
        record(group, f"{fidelity}: multiplications", count.mul, "")
        record(group, f"{fidelity}: additions", count.add, "")
    group = "generated C, large systems"
    s = flexible_chain(50, 6, "full")
    with tempfile.TemporaryDirectory() as folder:
        code = BUILD.format(n=50, m=6)
        environment = os.environ | {"LIMBER_CACHE_DIR": folder}
        path = str(Path(__file__).parent)
        done = subprocess.run(
            [sys.executable, "-c", code, path],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
    seconds = float(done.stdout)
    record(
        group, "50 bodies of 6 modes: generate and compile", seconds, "s", "< 120", seconds < 120
    )


BUILD = """
import sys, time
sys.path.insert(0, sys.argv[1])
import limber as lb
from run import flexible_chain
s = flexible_chain({n}, {m}, "full")
start = time.perf_counter()
lb.compile(s, "forward_dynamics")
print(time.perf_counter() - start)
"""


def slew(s):
    """The torques of the Canadarm slew (Mohan & Saha, Eq. (44), at rest at both ends) as a smooth table."""
    t = np.linspace(0.0, 10.0, 2001)
    paths = []
    for angle, T in ((0.75, 10.0), (0.25, 5.0), (0.5, 5.0)):
        w, on = 2 * np.pi / T, t < T
        position = np.where(on, angle / T * (t - np.sin(w * t) / w), angle)
        speed = np.where(on, angle / T * (1 - np.cos(w * t)), 0.0)
        paths.append((position, speed, np.where(on, angle / T * w * np.sin(w * t), 0.0)))
    q, v, a = (np.stack([p[i] for p in paths], axis=1) for i in range(3))
    rigid = lb.models.canadarm(modes=0).build()
    return lb.Table(t, lb.inverse_dynamics(rigid, q, v, a), smooth=True)


def servos(s, stiffness, damping):
    """A compiled torque by which every joint follows a sine."""
    joints = np.array([s.layout[b].v_joint.start for b in s.bodies])
    nv = s.nv

    def torque(t, q, v, tau):
        for i in range(nv):
            tau[i] = 0.0
        for i in joints:
            tau[i] = stiffness * (0.5 * np.sin(t) - q[i]) - damping * v[i]

    number = numba.types.float64
    return numba.cfunc(numba.types.void(number, *[numba.types.CPointer(number)] * 3))(torque)


def simulations(rng):
    group = "10 s of the flexible Canadarm slew (4 modes a link)"
    s = lb.models.canadarm().build()
    table = slew(s)
    fine = lb.simulate(s, 10.0, torque=table, method="dop853", rtol=1e-12, atol=1e-13)
    scale = np.abs(fine.q).max()
    options = {"torque": table, "method": "dop853", "rtol": 1e-5, "atol": 1e-6}
    for engine in ("general", "generated"):
        r = lb.simulate(s, 10.0, engine=engine, **options)
        error = np.abs(r.q - fine.q).max() / scale
        (t,) = best(lambda e=engine: lb.simulate(s, 10.0, engine=e, **options), seconds=0.05)
        target = ("< 0.05", t < 0.05) if engine == "generated" else (None, None)
        record(group, f"{engine} engine: wall time", t, "s", *target)
        record(
            group,
            f"{engine} engine: error of q over its largest",
            error,
            "",
            "< 1e-6",
            error < 1e-6,
        )
        record(group, f"{engine} engine: evaluations", r.statistics.evaluations, "")
    states = 20_000
    Q, V = fine.q[rng.integers(0, len(fine), states)], fine.v[rng.integers(0, len(fine), states)]
    bare, simulated = best(
        bare_dynamics(s, "articulated", Q, V, np.zeros_like(V)),
        lambda: lb.simulate(s, 10.0, **options),
        seconds=0.05,
    )  # fmt: skip
    per = simulated / lb.simulate(s, 10.0, **options).statistics.evaluations
    ratio = per / (bare / states)
    record(
        group, "time of an evaluation over a bare dynamics call", ratio, "", "<= 1.3", ratio <= 1.3
    )

    group = "simulated over real time, flexible chains of 4 modes a link"
    for n in (3, 10, 30, 100):
        chain = flexible_chain(n, 4, "full")
        q = chain.neutral()
        v = np.zeros(chain.nv)
        v[chain.layout["b0"].v_joint] = 0.1
        (t,) = best(
            lambda c=chain, q=q, v=v: lb.simulate(c, 0.1, q0=q, v0=v, rtol=1e-4, atol=1e-6),
            seconds=0.01,
        )
        record(group, f"{n} links", 0.1 / t, "")

    group = "stiff modes: highest over 100 times the lowest, 5 % damping, rtol 1e-4"
    a = lb.Assembly("stiff", gravity=(0, 0, -9.81))
    beam = lb.beam(1.0, 2.0, EI=(80.0, 120.0), modes=6, damping=0.05)
    a.attach("link", beam, lb.Revolute([0, 1, 0]))
    s = a.build()
    omega = lb.modes(s, s.neutral()).omega
    record(group, "highest over lowest", omega.max() / omega[omega > 1.0].min(), "")
    stiff, plain = best(
        lambda: lb.simulate(s, 5.0, method="sdirk4", rtol=1e-4, atol=1e-5),
        lambda: lb.simulate(s, 5.0, method="dop853", rtol=1e-4, atol=1e-5),
        seconds=0.02,
    )
    record(group, "dop853", plain, "s")
    record(group, "sdirk4", stiff, "s", "< dop853", stiff < plain)

    group = "stiff servos at the joints of the flexible Canadarm, 1e6 N m/rad, 2 s"
    s = lb.models.canadarm().build()
    servo = servos(s, 1e6, 1e5)
    options = {"torque": servo, "rtol": 1e-6, "atol": 1e-8}
    plain, stiff, auto = best(
        *(
            lambda m=m: lb.simulate(s, 2.0, method=m, **options)
            for m in ("dop853", "sdirk4", "auto")
        ),
        seconds=0.05,
    )
    record(group, "dop853", plain, "s")
    record(group, "sdirk4", stiff, "s", "< dop853", stiff < plain)
    record(group, "auto", auto, "s", "< dop853", auto < plain)


def table_one():
    """The arm of the Canadarm paper's Table 1: 8 links with 2 modes per bending plane."""
    group = "operation counts, 8 links of 2 modes per bending plane"
    a = lb.Assembly("table 1", gravity=(0, 0, -9.81))
    to, at = "world", None
    for i in range(8):
        body = lb.beam(1.0, 1.0, EI=(40.0, 60.0), modes=2)
        axis = (0, 0, 1) if i % 2 == 0 else (0, 1, 0)
        a.attach(f"link{i}", body, lb.Revolute(axis), to=to, at=at)
        to, at = f"link{i}", "tip"
    count = lb.operation_count(a.build(), "forward_dynamics")
    for what, n, theirs in (
        ("multiplications", count.mul, 9874),
        ("additions", count.add, 7699),
    ):
        record(group, f"{what}, full model", n, "")
        record(group, f"{what}: Mohan & Saha, Table 1", theirs, "")
        record(group, f"{what}: ratio", n / theirs, "", "< 0.6", n / theirs < 0.6)


def operator_sweeps(rng):
    group = "spatial operators: a sweep against the dense product"
    crossover, per_body = None, {}
    for n in (5, 10, 15, 20, 30, 50, 100, 500, 2000):
        s, _ = rigid_chain(n, rng)
        o = lb.operators(s, state(s, rng)[0])
        x = rng.standard_normal(o.bodies.size)
        if n <= 500:
            dense = o.phi.dense()
            sweep, full = best(lambda: o.phi @ x, lambda: dense @ x)
            record(group, f"phi x, {n} bodies: dense/sweep", full / sweep, "")
            if crossover is None and sweep < full:
                crossover = n
        else:
            (sweep,) = best(lambda: o.phi @ x)
        per_body[n] = sweep / n
    ok = crossover is not None and crossover <= 30
    record(group, "the sweep overtakes the dense product at", crossover, "bodies", "<= 30", ok)
    for n in (100, 500, 2000):
        record(group, f"phi x, {n} bodies: per body", 1e9 * per_body[n], "ns")
    growth = per_body[2000] / per_body[500]
    record(group, "per body, 2,000 over 500", growth, "", "linear", growth < 1.3)


CALL = """
import time, sys
start = time.perf_counter()
import limber as lb
imported = time.perf_counter() - start
s = lb.models.canadarm().build()
q = s.neutral()
lb.forward_dynamics(s, q, 0 * q, 0 * q)
print(imported, time.perf_counter() - start)
"""


def structures():
    group = "100,000 freedoms to 20 modes"
    for name, limit in (("slender", 60), ("block", 120)):
        done = subprocess.run(
            [sys.executable, Path(__file__).parent / "structures.py", name],
            capture_output=True,
            text=True,
            check=True,
        )
        result = json.loads(done.stdout)
        seconds = result["seconds"]
        record(group, f"{name} solid", seconds, "s", f"< {limit}", seconds < limit)
        record(group, f"{name} solid, memory", result["gigabytes"], "GB")
        if "ratio" in result:
            record(group, f"{name} solid, factoring / scipy splu", result["ratio"], "")


def starting_up():
    group = "starting up"
    with tempfile.TemporaryDirectory() as folder:
        # bytecode is kept, as it is of every installed package
        environment = os.environ | {
            "LIMBER_CACHE_DIR": folder,
            "PYTHONPYCACHEPREFIX": f"{folder}/bytecode",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def fresh():
            done = subprocess.run(
                [sys.executable, "-c", CALL],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            return (float(x) for x in done.stdout.split())

        imported, first = fresh()
        imports, cached = [imported], []
        for _ in range(5):
            imported, call = fresh()
            imports.append(imported)
            cached.append(call)
    record(group, "import limber", min(imports), "s", "< 0.5", min(imports) < 0.5)
    record(group, "import to first result, never compiled", first, "s", "< 25", first < 25)
    record(
        group, "import to first result, from the cache", min(cached), "s", "< 1", min(cached) < 1
    )


def main():
    console = Console()
    rng = np.random.default_rng(0)
    steps = [
        lambda: against_pinocchio(rng),
        lambda: other_functions(rng),
        lambda: over_bodies(rng),
        lambda: driven_joints(rng),
        lambda: over_modes(rng),
        lambda: stiffening(rng),
        lambda: batches(rng),
        lambda: generated_code(rng),
        table_one,
        lambda: simulations(rng),
        lambda: operator_sweeps(rng),
        closed.measure,
        lambda: derivatives.measure(rigid_chain, flexible_chain, state),
        mpc.measure,
        structures,
        starting_up,
    ]
    with console.status("measuring ..."):
        for step in steps:
            step()
    machine = {
        "cpu": cpu(),
        "python": platform.python_version(),
        "limber": lb.__version__,
        "numba": numba.__version__,
        "pinocchio": pin.__version__,
    }
    group = None
    table = Table(title=", ".join(f"{k} {v}" for k, v in machine.items()))
    for head in ("what", "value", "unit", "target", ""):
        table.add_column(head, justify="right" if head == "value" else "left")
    for r in RESULTS:
        if r["group"] != group:
            group = r["group"]
            table.add_section()
            table.add_row(f"[bold]{group}[/bold]")
        mark = {None: "", True: "[green]met[/green]", False: "[red]missed[/red]"}[r["ok"]]
        table.add_row(r["what"], f"{r['value']:.4g}", r["unit"], r["target"] or "", mark)
    console.print(table)
    out = Path("out")
    out.mkdir(exist_ok=True)
    (out / "bench.json").write_text(json.dumps({"machine": machine, "results": RESULTS}, indent=1))
    console.print("written: out/bench.json")


def cpu():
    """The processor's name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    main()
