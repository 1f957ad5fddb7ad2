"""Reduction of a solid of 100,000 freedoms to 20 modes: `python benchmarks/structures.py slender` (or block).

Prints, as JSON, the seconds of the reduction and the most memory of a process that has the matrices and reduces them, and
for the slender solid how long its factorization takes in units of SciPy's sparse LU factorization.  `run.py` starts it in a process of its own for each solid, since the memory of a
process does not shrink.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

import limber as lb
from limber.structures.cholesky import Cholesky
from limber.structures.threads import one_thread

#: Bricks along x, y, z and sizes, m.
SOLIDS = {
    "slender": ((340, 9, 9), (10.0, 0.3, 0.31)),
    "block": ((31, 31, 31), (1.0, 1.1, 1.2)),
}


def brick(cells, size, E=70e9, nu=0.3, rho=2700.0):
    """Positions, M and K of a box of 8-node bricks with three freedoms a node."""
    h = np.array(size) / cells
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    k, m = np.zeros((24, 24)), np.zeros((24, 24))
    elastic = np.diag([E / (1 + nu)] * 3 + [E / (2 + 2 * nu)] * 3)
    elastic[:3, :3] += E * nu / ((1 + nu) * (1 - 2 * nu))
    for point in corners:
        s = 0.5 + (point - 0.5) / np.sqrt(3.0)
        ends = np.where(corners, s, 1.0 - s)
        N = ends.prod(axis=1)
        slope = np.where(corners, 1.0, -1.0) / h
        dN = [slope[:, i] * np.delete(ends, i, axis=1).prod(axis=1) for i in range(3)]
        B = np.zeros((6, 24))
        for row, (i, j) in enumerate([(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0)]):
            B[row, j::3] = dN[i]
            B[row, i::3] = dN[j]
        k += h.prod() / 8.0 * B.T @ elastic @ B
        m += h.prod() / 8.0 * rho * np.kron(np.outer(N, N), np.eye(3))
    shape = np.array(cells) + 1
    number = np.arange(shape.prod()).reshape(shape)
    nx, ny, nz = cells
    nodes = np.stack([number[i : nx + i, j : ny + j, l : nz + l].ravel() for i, j, l in corners], 1)
    freedoms = (3 * nodes[:, :, None] + np.arange(3)).reshape(len(nodes), 24)
    at = np.repeat(freedoms, 24, axis=1).ravel(), np.tile(freedoms, (1, 24)).ravel()
    M, K = (sp.coo_array((np.tile(x.ravel(), len(nodes)), at)).tocsr() for x in (m, k))
    axes = [np.linspace(0.0, s, c + 1) for s, c in zip(size, cells)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3), M, K


def gigabytes():
    """The most memory that this process has had; what the system counts for it may be that of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        (peak,) = (x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(peak.split()[1]) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main(name):
    with multiprocessing.get_context("spawn").Pool(1) as assembly:  # its memory is not counted
        position, M, K = assembly.apply(brick, SOLIDS[name])
    structure = lb.Structure(position, M, K)
    root = np.flatnonzero(position[:, 0] == 0.0)
    start = time.perf_counter()
    body = structure.reduce(clamped=root, interface=[len(position) - 1], modes=20, progress=False)
    result = {"seconds": time.perf_counter() - start, "gigabytes": gigabytes()}
    result |= {"freedoms": K.shape[0], "modes": body.modes}
    if name == "slender":
        free = np.flatnonzero(np.repeat(position[:, 0] > 0.0, 3))
        A = structure.K[free][:, free]
        used, node_of = np.unique(free // 3, return_inverse=True)
        start = time.perf_counter()
        with one_thread():
            Cholesky(A, node_of, position[used])
        middle = time.perf_counter()
        options = {"SymmetricMode": True}
        splu(A.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        result["ratio"] = (middle - start) / (time.perf_counter() - middle)
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1])
