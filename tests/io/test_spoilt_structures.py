"""Files of structures, cut off and with bytes changed: each gives a clear error or a right structure, none another
exception, none a hang."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import limber as lb
from helpers.limits import within
from helpers.output2 import superelement
from helpers.straight_beam import straight_beam

LIMIT = 60  # seconds for one file, far above what any takes
FEW, MANY = 12, 200


def labelled(A, form):
    """One triangle of a matrix, as CalculiX or Abaqus writes it."""
    name = (
        (lambda i: f"{i + 1}") if form == "calculix" else (lambda i: f"{i // 6 + 1}, {i % 6 + 1}")
    )
    join = " " if form == "calculix" else ", "
    rows = [(i, j) for j in range(len(A)) for i in range(j + 1)]
    return "".join(f"{name(i)}{join}{name(j)}{join}{A[i, j]:.15e}\n" for i, j in rows)


def frd(position):
    """Results of one mode."""
    number = lambda *x: "".join(f"{v:12.5E}" for v in x)  # noqa: E731
    nodes = "".join(f" -1{j + 1:10d}{number(*p)}\n" for j, p in enumerate(position))
    return (
        f"    1C\n    2C{len(position):30d}{1:38d}\n{nodes} -3\n    3C{1:30d}{1:38d}\n"
        f" -1{1:10d}{11:5d}{0:5d}{1:5d}\n -2{1:10d}{2:10d}\n -3\n"
        f"  100CL  101{3.5:12.5E}{len(position):12d}{2:22d}{1:5d}MODAL{1:7d}\n -4  DISP        4    1\n"
        f" -5  D1          1    2    1    0\n{nodes} -3\n 9999\n"
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Good files by what reads them."""
    folder = tmp_path_factory.mktemp("good")
    position, M, K = straight_beam(2)
    structure = lb.Structure(position, M, K, groups={"ends": [0, 2], "middle": [1]})
    lb.io.write_structure(structure, folder / "a.npz")
    gauge = {"gauge": np.arange(18.0)}
    lb.io.write_body(structure.reduce(clamped="0", modes=2, strain=gauge), folder / "b.npz")
    body = lb.beam(2.0, 3.0, EI=50.0, modes=1, elements=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        lb.io.write_sid(body, folder / "a.sid")
    scipy.io.mmwrite(folder / "m.mtx", sp.coo_array(M))
    scipy.io.mmwrite(folder / "k.mtx", sp.coo_array(K), symmetry="general")
    nodes = "".join(f"{j + 1},{x},{y},{z}\n" for j, (x, y, z) in enumerate(position.tolist()))
    (folder / "nodes.txt").write_text(nodes)
    (folder / "job.inp").write_text(
        f"*NODE,NSET=ALL\n{nodes}*ELEMENT,TYPE=B31\n1,1,2\n2,2,3\n*NSET,NSET=ENDS,GENERATE\n1,3,2\n"
        "*NSET,NSET=SOME\nENDS,2\n*MATERIAL,NAME=M\n*ELASTIC\n2e11,.3\n*BEAM SECTION\n"
    )
    for name, A in (("sti", K), ("mas", M)):
        (folder / f"job.{name}").write_text(labelled(A, "calculix"))
        (folder / f"{name}.mtx").write_text(labelled(A, "abaqus"))
        (folder / f"c_{name}.mtx").write_text(labelled(A, "calculix"))
    (folder / "job.dof").write_text("".join(f"{n}.{d}\n" for n in range(1, 4) for d in range(1, 7)))
    (folder / "a.frd").write_text(frd(position))
    return folder


def nastran(files):
    op4 = pytest.importorskip("pyyeti.nastran.op4")
    position, M, K = straight_beam(2)
    if not (files / "n.bdf").exists():
        grids = "".join(
            f"GRID,{j + 1},,{x},{y},{z},5\n" for j, (x, y, z) in enumerate(position.tolist())
        )
        system = "CORD2R,5,0,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\n"
        (files / "n.bdf").write_text(f"BEGIN BULK\n{system}{grids}CBAR,1,1,1,2\nENDDATA\n")
        labels = [(j + 1, d) for j in range(3) for d in range(1, 7)]
        superelement(files / "n.op2", M, K, labels, labels)
        op4.write(str(files / "n.op4"), {"mgg": M, "kgg": K})
        op4.write(str(files / "t.op4"), {"mgg": M, "kgg": K}, binary=False, digits=16)
        import pandas as pd
        from pyyeti.nastran import bulk

        index = pd.MultiIndex.from_product([[1, 2, 3], range(1, 7)], names=["id", "dof"])
        with open(files / "n.pch", "w") as f:
            bulk.wtdmig(
                f, {"M2GG": pd.DataFrame(M, index, index), "K2GG": pd.DataFrame(K, index, index)}
            )
    return files


#: Which file is spoilt, and what reads it from its folder.
READERS = {
    "a.npz": lambda d: lb.io.read_structure(d / "a.npz"),
    "b.npz": lambda d: lb.io.read_body(d / "b.npz"),
    "a.sid": lambda d: lb.io.read_sid(d / "a.sid"),
    "k.mtx": lambda d: lb.io.read_matrix_market(d / "m.mtx", d / "k.mtx", d / "nodes.txt"),
    "nodes.txt": lambda d: lb.io.read_matrix_market(d / "m.mtx", d / "k.mtx", d / "nodes.txt"),
    "job.inp": lambda d: lb.io.read_calculix(d / "job.inp"),
    "job.sti": lambda d: lb.io.read_calculix(d / "job.inp"),
    "job.mas": lambda d: lb.io.read_calculix(d / "job.inp"),
    "job.dof": lambda d: lb.io.read_calculix(d / "job.inp"),
    "sti.mtx": lambda d: lb.io.read_abaqus(d / "sti.mtx", d / "mas.mtx", d / "job.inp"),
    "c_sti.mtx": lambda d: lb.io.read_abaqus(d / "c_sti.mtx", d / "c_mas.mtx", d / "job.inp"),
    "a.frd": lambda d: lb.io.read_frd(d / "a.frd"),
    "n.bdf": lambda d: lb.io.read_nastran(d / "n.bdf", matrices=d / "n.op4"),
    "n.op4": lambda d: lb.io.read_nastran(d / "n.bdf", matrices=d / "n.op4"),
    "t.op4": lambda d: lb.io.read_nastran(d / "n.bdf", matrices=d / "t.op4"),
    "n.op2": lambda d: lb.io.read_nastran(d / "n.bdf", matrices=d / "n.op2"),
    "n.pch": lambda d: lb.io.read_nastran(d / "n.bdf", matrices=d / "n.pch"),
    "x.op2": lambda d: lb.io.read_nastran(
        d / "n.bdf", matrices=d / "x.op2", mass="M", stiffness="K"
    ),
    "x.asm": lambda d: lb.io.read_nastran(d / "x.asm"),
    "x.pch": lambda d: lb.io.read_nastran(d / "x.asm"),
    "x.op4": lambda d: lb.io.read_nastran(d / "x.asm"),
}


def prepared(files, name):
    """The folder of good files, with those that a reader needs."""
    if name[0] in "ntx" and name != "nodes.txt":
        nastran(files)
    if name[0] == "x":
        import pyyeti

        data = Path(pyyeti.__file__).parent / "tests"
        if not data.is_dir():
            pytest.skip("this pyyeti is installed without its test data")
        for suffix in ("asm", "pch", "op4"):
            (files / f"x.{suffix}").write_bytes(
                (data / f"nas2cam_extseout/inboard.{suffix}").read_bytes()
            )
        (files / "x.op2").write_bytes((data / "nastran_op2_data/double_le.op2").read_bytes())
    return files


def spoilt(rng, data):
    """Cut off, or with some bytes changed."""
    if rng.random() < 0.4:
        return data[: rng.integers(len(data))]
    changed = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at = rng.integers(len(data))
        changed[at] = (
            rng.integers(256) if rng.random() < 0.7 else changed[at] ^ (1 << rng.integers(8))
        )
    return bytes(changed)


def run(files, folder, name, count, seed):
    for beside in prepared(files, name).iterdir():
        (folder / beside.name).write_bytes(beside.read_bytes())
    rng, data = np.random.default_rng(seed), (folder / name).read_bytes()
    for i in range(count):
        (folder / name).write_bytes(spoilt(rng, data))
        with within(LIMIT), warnings.catch_warnings():
            warnings.simplefilter("ignore", lb.ModelWarning)
            try:
                READERS[name](folder)
            except lb.FileError as error:
                text = str(error)
                assert text.startswith(str(folder)) and len(text) < 3000, text
                assert "object at 0x" not in text and "Traceback" not in text, text
            except Exception as error:
                error.add_note(f"spoilt file {i} of {name}, seed {seed}")
                raise


@pytest.mark.parametrize("name", READERS)
def test_good_files_are_read(files, name):
    folder = prepared(files, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        if name == "x.op2":  # matrices without labels, of another model
            with pytest.raises(lb.FileError, match="no mass and stiffness matrix"):
                READERS[name](folder)
        else:
            READERS[name](folder)


@pytest.mark.parametrize("name", READERS)
def test_spoilt_files_are_refused_or_right(files, tmp_path, name):
    run(files, tmp_path, name, FEW, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_spoilt_files(files, tmp_path, name):
    run(files, tmp_path, name, MANY, 2)
