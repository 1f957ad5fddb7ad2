"""Forward dynamics, its Jacobians and rollouts of the flexible Canadarm on one GPU, with the roofline beside them.

    python benchmarks/gpu.py

Needs CuPy and an NVIDIA GPU.  Prints a table and writes out/gpu.json.  Every figure is the best of
several repeats by CUDA events; ceilings are measured in the same run.
"""

from __future__ import annotations

import json
from pathlib import Path

import cupy as cp
import numpy as np

import limber as lb

STATES = 1 << 20
ROLLOUTS = (4_096, 16_384, 65_536, 262_144, 1_048_576)
STEPS = 100
DT = 1e-3
FUNCTIONS = {"sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "log": np.log}
RESULTS: list[dict] = []

FMA = """
extern "C" __global__ void chain(double *out, double a) {
    double x[8];
    for (int i = 0; i < 8; ++i) x[i] = threadIdx.x + i;
    for (int k = 0; k < 4000; ++k) {
        #pragma unroll
        for (int i = 0; i < 8; ++i) x[i] = x[i] * a + 0.5;
    }
    double s = 0;
    for (int i = 0; i < 8; ++i) s += x[i];
    if (s == 1.25) out[0] = s;
}
"""


def seconds(function, repeats=10, inner=10):
    """Best time of one call, by events."""
    function()
    cp.cuda.Device().synchronize()
    times = []
    for _ in range(repeats):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        for _ in range(inner):
            function()
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop) / 1e3 / inner)
    return min(times)


def record(what, value, unit, target=None, ok=None):
    RESULTS.append({"what": what, "value": value, "unit": unit, "target": target, "ok": ok})
    mark = "" if ok is None else ("met" if ok else "MISSED")
    print(f"{what:58s} {value:12.4g} {unit:14s} {target or '':10s} {mark}", flush=True)


def ceilings():
    """Fused multiply-adds and bytes a second that this GPU reaches."""
    chain = cp.RawKernel(FMA, "chain")
    blocks = cp.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"] * 64
    out = cp.empty(1)
    t = seconds(lambda: chain((blocks,), (256,), (out, np.float64(0.999))), inner=2)
    fma = blocks * 256 * 8 * 4000 / t
    record("ceiling: double-precision fused multiply-adds", fma, "1/s")
    a, b = cp.empty(1 << 27), cp.empty(1 << 27)
    t = seconds(lambda: cp.copyto(b, a))
    record("ceiling: memory, read and written", 2 * a.nbytes / t, "B/s")
    return fma, 2 * a.nbytes / t


def states(s, n, dtype):
    rng = np.random.default_rng(0)
    q = s.neutral()[:, None] + 0.05 * rng.standard_normal((s.nq, n))
    v, tau = 0.1 * rng.standard_normal((s.nv, n)), rng.standard_normal((s.nv, n))
    return [x.astype(dtype) for x in (q, v, tau)]


def forward_dynamics(s, fma, memory):
    count = lb.operation_count(s, "forward_dynamics")
    for dtype in ("float64", "float32"):
        f = lb.compile(s, "forward_dynamics", target="cuda", dtype=dtype)
        host = states(s, STATES, dtype)
        q, v, tau = map(cp.asarray, host)
        few = [row.astype(float) for a in host for row in a[:, :512]]
        expected = np.array(f.program.evaluate(few, FUNCTIONS))
        error = np.abs(f(q, v, tau)[:, :512].get() - expected).max() / np.abs(expected).max()
        assert error < (1e-11 if dtype == "float64" else 1e-2), error
        rate = STATES / seconds(lambda f=f, x=(q, v, tau): f(*x))
        double = dtype == "float64"
        goal = (">= 3e9", rate >= 3e9) if double else (None, None)
        record(f"forward dynamics, {STATES:,} states, {dtype}", rate, "evaluations/s", *goal)
        if double:
            size = 8 * (s.nq + 3 * s.nv)
            record("  operations of one evaluation (+ and *)", count.mul + count.add, "")
            record("  bytes of one evaluation", size, "B")
            record("  arithmetic intensity", (count.mul + count.add) / size, "flop/B")
            record("  roofline, all fused", 2 * fma / (count.mul + count.add), "evaluations/s")
            record("  roofline, none fused", fma / (count.mul + count.add), "evaluations/s")
            record("  roofline, memory", memory / size, "evaluations/s")
            record(
                "  part of the arithmetic ceiling, none fused",
                rate * (count.mul + count.add) / fma,
                "",
            )


def jacobians(s, fma, memory):
    """d vdot by q, v and tau at once, (3, nv, nv) numbers of each state."""
    wrt = ("q", "v", "tau")
    n = STATES >> 2
    count = lb.operation_count(s, "forward_dynamics", wrt=wrt)
    f = lb.compile(s, "forward_dynamics", wrt=wrt, target="cuda")
    host = states(s, n, "float64")
    given = [cp.asarray(x) for x in host]
    few = [row for a in host for row in a[:, :64]]
    expected = np.array([np.broadcast_to(x, 64) for x in f.program.evaluate(few, FUNCTIONS)])
    found = np.concatenate([x[..., :64].get().reshape(-1, 64) for x in f(*given)])
    error = np.abs(found - expected).max() / np.abs(expected).max()
    assert error < 1e-11, error
    rate = n / seconds(lambda: f(*given), inner=3)
    operations, size = count.mul + count.add, 8 * (s.nq + 2 * s.nv + 3 * s.nv**2)
    record(f"Jacobians of forward dynamics, {n:,} states", rate, "evaluations/s")
    record("  operations of one evaluation (+ and *)", operations, "")
    record("  bytes of one evaluation", size, "B")
    record("  roofline, all fused", 2 * fma / operations, "evaluations/s")
    record("  roofline, none fused", fma / operations, "evaluations/s")
    record("  roofline, memory", memory / size, "evaluations/s")
    record("  part of the arithmetic ceiling, none fused", rate * operations / fma, "")
    record("  part of the memory ceiling", rate * size / memory, "")


def rollouts(s):
    f = lb.compile(s, "rollout", target="cuda")
    for n in ROLLOUTS:
        q, v, tau = map(cp.asarray, states(s, n, "float64"))
        q *= 0.1
        t = seconds(lambda x=(q, v, tau): f(*x, DT, STEPS), repeats=3, inner=1)
        record(f"rollouts of {STEPS} steps, {n:,} instances", n * STEPS / t, "steps/s")
        record("  of forward dynamics", 4 * n * STEPS / t, "evaluations/s")
        record("  simulated over real time", n * STEPS * DT / t, "s/s")


def main():
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    machine = {"gpu": device, "cuda": cp.cuda.runtime.runtimeGetVersion(), "cupy": cp.__version__}
    machine["limber"] = lb.__version__
    print(machine)
    s = lb.models.canadarm().build()
    fma, memory = ceilings()
    forward_dynamics(s, fma, memory)
    jacobians(s, fma, memory)
    rollouts(s)
    out = Path("out")
    out.mkdir(exist_ok=True)
    (out / "gpu.json").write_text(json.dumps({"machine": machine, "results": RESULTS}, indent=1))


if __name__ == "__main__":
    main()
