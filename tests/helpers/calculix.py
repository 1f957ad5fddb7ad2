"""Decks of CalculiX, and the program where it is installed."""

import re
import shutil
import subprocess

import numpy as np
import pytest

needs_ccx = pytest.mark.skipif(
    shutil.which("ccx") is None, reason="CalculiX (ccx) is not installed"
)

MATERIAL = """\
*MATERIAL,NAME=STEEL
*ELASTIC
2.1e11,.3
*DENSITY
7800.
*SOLID SECTION,ELSET=EALL,MATERIAL=STEEL
"""
STORE = "*STEP\n*FREQUENCY,SOLVER=MATRIXSTORAGE\n10\n*END STEP\n"


def modal(count=10):
    return f"*STEP\n*FREQUENCY\n{count}\n*NODE FILE\nU\n*END STEP\n"


def block(cells=(6, 1, 1), size=(1.0, 0.1, 0.05)):
    """A block of C3D8 elements: the deck's tables, and the positions of its nodes by number."""
    steps = [np.linspace(0, length, n + 1) for n, length in zip(cells, size)]
    places = np.array([[x, y, z] for x in steps[0] for y in steps[1] for z in steps[2]])
    ny, nz = cells[1] + 1, cells[2] + 1
    at = lambda i, j, k: 1 + (i * ny + j) * nz + k  # noqa: E731
    corners = [
        (0, 0, 0),
        (1, 0, 0),
        (1, 1, 0),
        (0, 1, 0),
        (0, 0, 1),
        (1, 0, 1),
        (1, 1, 1),
        (0, 1, 1),
    ]
    rows = [
        [at(i + a, j + b, k + c) for a, b, c in corners]
        for i in range(cells[0]) for j in range(cells[1]) for k in range(cells[2])
    ]  # fmt: skip
    nodes = "".join(f"{n},{x:.15g},{y:.15g},{z:.15g}\n" for n, (x, y, z) in enumerate(places, 1))
    elements = "".join(f"{e},{','.join(map(str, row))}\n" for e, row in enumerate(rows, 1))
    end = [n for n, place in enumerate(places, 1) if place[0] == 0.0]
    sets = "*NSET,NSET=ROOT\n" + "".join(f"{n},\n" for n in end)
    return (
        f"*NODE,NSET=NALL\n{nodes}*ELEMENT,TYPE=C3D8,ELSET=EALL\n{elements}{sets}{MATERIAL}",
        places,
    )


def run_ccx(folder, job, deck):
    """Run a deck; its files are in the folder."""
    (folder / f"{job}.inp").write_text(deck)
    done = subprocess.run(
        ["ccx", job], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0 and "*ERROR" not in done.stdout, done.stdout[-2000:]


def printed_omega(path):
    """The frequencies in rad/s in a .dat file; zero for negative eigenvalues."""
    rows = re.findall(r"^ +\d+ +(\S+E\S+) +(\S+E\S+) +\S+E\S+ +\S+E\S+ *$", path.read_text(), re.M)
    return np.array([float(omega) for _, omega in rows])


def omega_of(K, M, held=(), count=10):
    """The lowest frequencies of sparse matrices with some rows held."""
    from scipy.sparse.linalg import eigsh

    free = np.setdiff1d(np.arange(K.shape[0]), held)
    K, M = (A.tocsc()[free][:, free] for A in (K, M))
    shift = -1e-3 * K.diagonal().mean() / M.diagonal().mean()
    values = eigsh(K, count, M, sigma=shift, return_eigenvectors=False)
    return np.sqrt(np.maximum(np.sort(values), 0.0))
