"""Forward dynamics of flexible chains of 3 to 30 links on one GPU, beside what its arithmetic and its memory allow.

    python benchmarks/gpu_chains.py [links ...]

Needs CuPy and an NVIDIA GPU.  The links are beams of the Canadarm, 4 modes each.  Every figure is the best of several
repeats by CUDA events; results are compared with those of the same program in NumPy.
"""

from __future__ import annotations

import sys

import cupy as cp
import numpy as np
from gpu import FUNCTIONS, STATES, ceilings, seconds

import limber as lb
from limber.codegen import cuda_source as cuda

LINKS = (3, 4, 5, 6, 8, 10, 12, 16, 20, 30)


def chain(links):
    a = lb.Assembly("chain")
    to, at = "world", None
    for i in range(links):
        beam = lb.beam(6.0, 140.0, EI=1e5, modes=2)
        a.attach(f"link{i}", beam, lb.Revolute([0, 0, 1]), to=to, at=at)
        to, at = f"link{i}", "tip"
    return a.build()


def states(s, n, seed=0):
    """n states, made of 256 different ones."""
    rng = np.random.default_rng(seed)
    q = s.neutral() + 0.05 * rng.standard_normal((256, s.nq))
    v, tau = 0.1 * rng.standard_normal((256, s.nv)), rng.standard_normal((256, s.nv))
    return (q, v, tau), [cp.asarray(np.tile(x.T, (1, n // 256))) for x in (q, v, tau)]


def measure(links, fma, memory):
    s = chain(links)
    f = lb.compile(s, "forward_dynamics", target="cuda")
    few, given = states(s, STATES)
    expected = np.array(f.program.evaluate([row for x in few for row in x.T], FUNCTIONS))
    found = f(*given)
    ends = np.stack([found[:, :256].get(), found[:, -256:].get()])
    error = np.abs(ends - expected).max() / np.abs(expected).max()
    assert error < 1e-12, error
    rate = STATES / seconds(lambda: f(*given), repeats=4, inner=2)
    count = lb.operation_count(s, "forward_dynamics")
    operations = count.mul + count.add
    loops = cuda.loops(f.program, single=False)
    size = 8 * (s.nq + 3 * s.nv + (loops.frames.accesses["far"] if loops else 0))
    print(
        f"{links:3d} links  {rate:9.3g} evaluations/s  {operations:6d} operations, {rate * operations / fma:5.1%} of none "
        f"fused  {size:6d} B, {rate * size / memory:5.1%} of memory  error {error:.0e}",
        flush=True,
    )


def main():
    fma, memory = ceilings()
    for links in map(int, sys.argv[1:] or LINKS):
        measure(links, fma, memory)


if __name__ == "__main__":
    main()
