"""Nastran: files of the program itself, which ship with pyyeti, and files written by pyyeti."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

import limber as lb
from helpers.nastran import eigenvalues
from helpers.output2 import superelement
from helpers.straight_beam import straight_beam
from limber.structures import Superelement

pyyeti = pytest.importorskip("pyyeti", reason="files of Nastran are read by pyyeti")
from pyyeti.nastran import bulk, op4  # noqa: E402

DATA = Path(pyyeti.__file__).parent / "tests"
EXTSEOUT = DATA / "nas2cam_extseout"
needs_data = pytest.mark.skipif(
    not EXTSEOUT.is_dir(), reason="this pyyeti is installed without its test data"
)
BOUNDARY = ["3", "11", "19", "27"]
#: Nastran prints seven digits.
DIGITS = 1e-6


def quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        return function(*arguments, **options)


def omega_of(body, joint, **place):
    a = lb.Assembly("one")
    a.attach("body", body, joint, **place)
    s = a.build()
    return lb.modes(s, s.neutral()).omega


@needs_data
@pytest.mark.parametrize("name", ["inboard", "outboard"])
def test_external_superelement_has_the_frequencies_of_nastran(name):
    """Boundary clamped: the component modes that Nastran has printed (NX Nastran 9, EXTSEOUT)."""
    se = quiet(lb.io.read_nastran, EXTSEOUT / f"{name}.asm")
    assert isinstance(se, Superelement) and list(se.names) == BOUNDARY
    want = np.sqrt(eigenvalues(EXTSEOUT / f"{name}.out", "AFTER AUGMENTATION")[: se.generalized])
    omega = omega_of(se.reduce(clamped=BOUNDARY), lb.Fixed())
    np.testing.assert_allclose(omega, want, rtol=DIGITS)


def assembled(first, second):
    """Two superelements with the same boundary nodes, joined there."""
    n, extra = first.freedoms.size, first.generalized
    size = n + extra + second.generalized
    M, K = np.zeros((2, size, size))
    for se, start in ((first, n), (second, n + extra)):
        rows = np.full(len(se.M), -1)
        rows[se.freedoms.ravel()] = np.arange(n)
        rows[rows < 0] = start + np.arange(se.generalized)
        M[np.ix_(rows, rows)] += se.M
        K[np.ix_(rows, rows)] += se.K
    return Superelement(first.position, M, K, np.arange(n).reshape(-1, 6), first.names)


@needs_data
def test_assembled_superelements_have_the_frequencies_of_nastran():
    """Both components joined and free, as one body: the system modes that Nastran has printed."""
    parts = [
        quiet(lb.io.read_nastran, EXTSEOUT / f"{name}.asm") for name in ("inboard", "outboard")
    ]
    body = assembled(*parts).reduce(modes=30)
    want = np.sqrt(eigenvalues(EXTSEOUT / "assemble.out", "BEFORE AUGMENTATION")[6:36])
    omega = omega_of(body, lb.Free(), inboard="3")
    np.testing.assert_allclose(omega[6:], want, rtol=DIGITS)
    assert omega[:6].max() < 1e-4 * want[0]


@needs_data
def test_mass_properties_are_those_of_nastran():
    """The grid point weight generator's printout of the component (WEIGHTCHECK), about the basic origin."""
    se = quiet(lb.io.read_nastran, EXTSEOUT / "inboard.asm")
    mass, *_ = bulk.rdgpwg(str(EXTSEOUT / "inboard.out"))
    x = se.reduce().integrals
    want = np.roll(np.roll(mass, 3, axis=0), 3, axis=1)  # rotations first
    np.testing.assert_allclose(x.rigid_block(), want, atol=1e-5 * np.abs(want).max())


@needs_data
def test_a_boundary_grid_without_all_freedoms_is_no_node():
    se = quiet(lb.io.read_nastran, EXTSEOUT / "reduced_bset_notall6.asm")
    assert se.names == ("373", "411", "441", "475") and se.generalized == 10
    body = se.reduce(clamped="373", modes=5)
    assert body.nodes.names == ("373", "411", "441")
    with pytest.raises(lb.LimberError, match="must have all six degrees of freedom"):
        se.reduce(clamped="475")


@needs_data
def test_other_matrices_are_named_in_a_warning():
    with pytest.warns(lb.ModelWarning, match=r"inboard.op4: ignored: the matrix MEF1, .*MUG1"):
        lb.io.read_nastran(EXTSEOUT / "inboard.asm", units="in-slinch")


@needs_data
def test_models_in_other_units_are_suspected():
    """The model is in inches, as its gravity of 386.1 says."""
    with pytest.warns(lb.ModelWarning) as told:
        lb.io.read_nastran(EXTSEOUT / "inboard.asm")
    assert sum("Is the model in other units?" in str(w.message) for w in told) == 1
    with pytest.warns(lb.ModelWarning) as told:
        lb.io.read_nastran(EXTSEOUT / "inboard.asm", units="in-slinch")
    assert not any("other units" in str(w.message) for w in told)


@needs_data
def test_matrices_of_an_output2_file_are_those_of_the_punch_file():
    """DMIG tables that Nastran has written in both forms."""
    from limber.io.nastran_matrices import read_matrices
    from limber.io.sources import Source

    folder = DATA / "nastran_dmig_data"
    binary, text = (read_matrices(Source(folder / f)) for f in ("matrix.op2", "matrix_factory.pch"))
    assert binary.keys() == {f"m{name}" for name in text} and len(text) == 3
    for name, matrix in text.items():
        other = binary[f"m{name}"]
        assert other.labels == matrix.labels
        np.testing.assert_allclose(other.values.toarray(), matrix.values, rtol=1e-8)


@needs_data
def test_units_scale_energies_lengths_and_times():
    """A model in inches: lengths and masses change, frequencies do not."""
    plain = quiet(lb.io.read_nastran, EXTSEOUT / "inboard.asm")
    inches = quiet(lb.io.read_nastran, EXTSEOUT / "inboard.asm", units="in-slinch")
    a, b = (se.reduce(clamped="3", modes=4) for se in (plain, inches))
    np.testing.assert_allclose(b.stiffness, a.stiffness, rtol=1e-9, atol=1e-6)
    assert b.mass == pytest.approx(175.12683524647636 * a.mass)
    np.testing.assert_allclose(b.nodes.position, 0.0254 * a.nodes.position)
    with pytest.raises(lb.LimberError, match=r"units='inch' is not known. Give one of 'm-kg'"):
        lb.io.read_nastran(EXTSEOUT / "inboard.asm", units="inch")


# --- files written here ---------------------------------------------------------------------------

#: A cylindrical system about a shifted axis, in which some grids lie and move.
SYSTEM = np.array([[7, 2, 0], [0.1, 0.2, 0.0], [0.1, 0.2, 1.0], [1.1, 0.2, 0.0]])
ELEMENTS = "CBAR,1,1,11,12\nCBAR,2,1,12,13\nCQUAD4,9,1,11,12,13,14\nRBE2,77,11,123456,14\n"


def local_axes(position):
    """Rows: radial, tangential and axial directions of the system at points."""
    x = position - np.array([0.1, 0.2, 0.0])
    r = np.hypot(x[:, 0], x[:, 1])
    radial = np.stack([x[:, 0] / r, x[:, 1] / r, 0 * r], axis=1)
    axial = np.broadcast_to([0, 0, 1.0], radial.shape)
    return np.stack([radial, np.cross(axial, radial), axial], axis=1), x, r


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A beam of four grids, two of which are given in the cylindrical system: folder and true matrices."""
    folder = tmp_path_factory.mktemp("nastran")
    position, M, K = straight_beam(3)
    axes, x, r = local_axes(position)
    angle = np.degrees(np.arctan2(x[:, 1], x[:, 0]))
    grids, T = [], np.eye(24)
    for j, g in enumerate((11, 12, 13, 14)):
        if j % 2:
            grids.append(
                f"GRID*   {g:16d}{7:16d}{r[j]:16.9E}{angle[j]:16.9E}\n*       {x[j, 2]:16.9E}{7:16d}\n"
            )
            T[6 * j : 6 * j + 6, 6 * j : 6 * j + 6] = np.kron(np.eye(2), axes[j])
        else:
            grids.append(
                "GRID*   {:16d}{:>16s}{:16.9E}{:16.9E}\n*       {:16.9E}\n".format(
                    g, "", *position[j]
                )
            )
    points = [", ".join(f"{value}" for value in row) for row in SYSTEM[1:]]
    system = f"CORD2C,7,0,{points[0]},{points[1]}\n,{points[2]}\n"
    (folder / "model.bdf").write_text(
        "$ a comment\nBEGIN BULK\n" + system + "".join(grids) + ELEMENTS + "ENDDATA\n"
    )
    local = T @ M @ T.T, T @ K @ T.T
    op4.write(str(folder / "model.op4"), {"mgg": local[0], "kgg": local[1]})
    op4.write(
        str(folder / "ascii.op4"), {"mgg": local[0], "kgg": local[1]}, binary=False, digits=16
    )
    import pandas as pd

    index = pd.MultiIndex.from_product([[11, 12, 13, 14], range(1, 7)], names=["id", "dof"])
    frames = {name: pd.DataFrame(A, index, index) for name, A in zip(("M2GG", "K2GG"), local)}
    with open(folder / "model.pch", "w") as f:
        bulk.wtdmig(f, frames)
    return folder, position, M, K


@pytest.mark.parametrize(
    ("file", "accuracy"), [("model.op4", 1e-8), ("ascii.op4", 1e-8), ("model.pch", 1e-8)]
)
def test_grids_in_cylindrical_systems(model, file, accuracy):
    """Ten digits of coordinates: positions, matrices and frequencies in basic axes."""
    folder, position, M, K = model
    with pytest.warns(lb.ModelWarning, match=r"model.bdf: ignored: RBE2"):
        structure = lb.io.read_nastran(folder / "model.bdf", matrices=folder / file)
    assert isinstance(structure, lb.Structure) and structure.names == ("11", "12", "13", "14")
    np.testing.assert_allclose(structure.position, position, atol=1e-9)
    for got, want in ((structure.M, M), (structure.K, K)):
        np.testing.assert_allclose(got.toarray(), want, atol=accuracy * np.abs(want).max())
    assert structure.edges.tolist() == [[0, 1], [1, 2]]
    assert structure.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_dmig_in_the_bulk_data_themselves(model):
    folder, _, _, K = model
    (folder / "whole.bdf").write_text(
        (folder / "model.bdf").read_text().replace("ENDDATA\n", (folder / "model.pch").read_text())
    )
    structure = quiet(lb.io.read_structure, folder / "whole.bdf")
    np.testing.assert_allclose(structure.K.toarray(), K, atol=1e-8 * np.abs(K).max())


def test_a_pair_of_matrices_must_be_found_and_unique(model, tmp_path):
    folder, _, M, K = model
    op4.write(str(tmp_path / "a.op4"), {"one": M, "two": K})
    read = lambda **more: quiet(lb.io.read_nastran, folder / "model.bdf", **more)  # noqa: E731
    with pytest.raises(
        lb.FileError,
        match=r"no mass and stiffness matrix .* The file contains one, two. Pass their names",
    ):
        read(matrices=tmp_path / "a.op4")
    read(matrices=folder / "model.op4", mass="MGG", stiffness="KGG")
    op4.write(str(tmp_path / "b.op4"), {"mgg": M, "kgg": K, "maa": M, "kaa": K})
    with pytest.raises(
        lb.FileError, match="several pairs of mass and stiffness: maa, kaa, mgg, kgg"
    ):
        read(matrices=tmp_path / "b.op4")
    with pytest.raises(lb.LimberError, match="mass and stiffness belong together"):
        read(mass="MGG")
    op4.write(str(tmp_path / "c.op4"), {"mgg": M[:12, :12], "kgg": K[:12, :12]})
    with pytest.raises(
        lb.FileError,
        match="the mass matrix is 12 x 12, but the bulk data have 24 degrees of freedom",
    ):
        read(matrices=tmp_path / "c.op4")
    op4.write(str(tmp_path / "d.op4"), {"mgg": -M, "kgg": K})
    with pytest.raises(lb.FileError, match=r"d.op4: M\[8, 8\] = .* is negative: .* of node .12"):
        read(matrices=tmp_path / "d.op4")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (("GRID* ", "GRIDX "), "an element uses GRID 11, which the file does not have"),
        (
            ("CORD2C,7", "CORD2C,8"),
            "GRID 12 is in the coordinate system 7, which the file does not have",
        ),
        (("CORD2C,7,0", "CORD2C,7,9"), "cannot be read as coordinate systems"),
        (("CORD2C", "CORD1C"), "CORD1C is not supported: write it as CORD2C"),
        (
            ("CBAR,1,1,11,12", "CBAR,1,1,11,99"),
            "an element uses GRID 99, which the file does not have",
        ),
        (("CBAR,1,1,11,12", "GRID,11"), "GRID 11 occurs twice"),
        (("CBAR,1,1,11,12", "GRID,x"), "field 1 of GRID must be a whole number, got 'x'"),
        (
            ("CBAR,1,1,11,12", "GRID,5,,oops"),
            "field 3 of GRID 5 must be a finite number, got 'oops'",
        ),
        (("CBAR,1,1,11,12", "GRDSET,,,,,,7"), "GRDSET is not supported"),
        (
            ("CBAR,1,1,11,12", "GRID*,5,,1.0,2.0\n*,3.0"),
            r"bad.bdf:\d+: GRID\* has large fields that are separated by commas",
        ),
        (("BEGIN BULK", "BEGIN\0BULK"), "not a text file"),
    ],
)
def test_bad_bulk_data_are_refused(model, tmp_path, change, match):
    folder = model[0]
    path = tmp_path / "bad.bdf"
    path.write_text((folder / "model.bdf").read_text().replace(*change))
    with pytest.raises(lb.FileError, match=match):
        quiet(lb.io.read_nastran, path, matrices=folder / "model.op4")


@pytest.fixture(scope="module")
def component(tmp_path_factory):
    """A beam reduced to its ends and two modes between them, as an .asm, with the true matrices.

    One scalar point is idle, as where a model provides for more modes than there are.
    """
    folder = tmp_path_factory.mktemp("component")
    position, M, K = straight_beam(4)
    ends, inner = np.r_[:6, 24:30], np.arange(6, 24)
    static = -np.linalg.solve(K[np.ix_(inner, inner)], K[np.ix_(inner, ends)])
    _, shapes = scipy.linalg.eigh(K[np.ix_(inner, inner)], M[np.ix_(inner, inner)])
    T = np.zeros((30, 14))
    T[ends, :12], T[inner, :12], T[inner, 12:] = np.eye(12), static, shapes[:, :2]
    cards = "".join(
        f"GRID,{g},,{x},{y},{z}\n" for g, (x, y, z) in zip((7, 8), position[[0, 4]].tolist())
    )
    (folder / "part.asm").write_text(f"SPC1,1,123456,7\n{cards}SPOINT,101,THRU,103\nENDDATA\n")
    labels = [(g, d) for g in (7, 8) for d in range(1, 7)]
    return folder, T.T @ M @ T, T.T @ K @ T, labels


def check_component(se, M, K):
    assert (len(se), se.generalized) == (2, 2)
    np.testing.assert_allclose(se.M, M, atol=1e-8 * np.abs(M).max())
    np.testing.assert_allclose(se.K, K, atol=1e-8 * np.abs(K).max())


def test_matrices_of_an_external_superelement_in_an_output2_file(component):
    """EXTSEOUT with DMIGOP2: tables without names, and points whose direction is 0 in columns and 1 in rows."""
    folder, M, K, labels = component
    columns = [*labels, (101, 0), (103, 0)]
    superelement(folder / "part.op2", M, K, [*labels, (101, 1), (103, 1)], columns)
    with pytest.warns(lb.ModelWarning) as told:
        check_component(lb.io.read_nastran(folder / "part.asm"), M, K)
    assert len(told) == 1 and "ignored: SPC1. The files do not say whether" in str(told[0].message)
    (folder / "part.op2").unlink()


def test_matrices_of_an_external_superelement_in_its_punch_file(component):
    """EXTSEOUT with DMIGPCH: all in the punch file, where a card that both files have is told of once."""
    import pandas as pd

    folder, M, K, labels = component
    index = pd.MultiIndex.from_tuples([*labels, (101, 0), (103, 0)], names=["id", "dof"])
    with open(folder / "part.pch", "w") as f:
        f.write("SPC1,1,123456,7\nEXTRN,7,123456,8,123456,101,0,102,0\n,103,0\n")
        bulk.wtdmig(
            f, {name: pd.DataFrame(A, index, index) for name, A in (("MAAX", M), ("KAAX", K))}
        )
    with pytest.warns(lb.ModelWarning) as told:
        check_component(lb.io.read_nastran(folder / "part.asm"), M, K)
    assert len(told) == 1 and "part.asm: ignored: SPC1. The files do not say whether" in str(
        told[0].message
    )
    (folder / "part.pch").unlink()


def test_rows_of_nothing_are_left_out_of_superelements(component):
    folder, M, K, _ = component
    size = 6 + 14 + 1
    full = {name: np.zeros((size, size)) for name in ("maa", "kaa")}
    rows = [*range(12), *range(18, 18 + 2)]
    for name, A in (("maa", M), ("kaa", K)):
        full[name][np.ix_(rows, rows)] = A
    full["kaa"][12:15, 12:15] = full["maa"][12:15, 12:15] = np.eye(
        3
    )  # grid 9 has translations only
    for i in range(3):  # a spring between grid 8 and grid 9
        full["kaa"][6 + i, 6 + i] += 1.0
        full["kaa"][6 + i, 12 + i] = full["kaa"][12 + i, 6 + i] = -1.0
    end = (folder / "part.asm").read_text().partition("GRID,8")[2].partition("\n")[0]
    cards = (folder / "part.asm").read_text().replace("SPOINT", f"GRID,9{end}\nSPOINT")
    (folder / "full.asm").write_text(cards.replace("SPC1,1,123456,7\n", ""))
    order = "EXTRN,7,123456,8,123456,9,123456,101,0\n,102,0,103,0\n"
    (folder / "full.pch").write_text(order)
    op4.write(str(folder / "full.op4"), full)
    with pytest.warns(
        lb.ModelWarning,
        match="ignored: SPOINT 103 without mass and stiffness, the rotations of GRID 9 without",
    ):
        se = lb.io.read_nastran(folder / "full.asm")
    assert (len(se), se.generalized) == (3, 2)
    assert se.reduce(clamped="7", modes=3).nodes.names == ("7", "8")


def test_labels_that_are_no_freedoms_are_refused(component):
    folder, M, K, labels = component
    columns = [*labels[:-1], (8, 8), (101, 0), (103, 0)]
    superelement(folder / "part.op2", M, K, columns, columns)
    with pytest.raises(
        lb.FileError, match=r"part.op2: rows .* the direction 8 of GRID 8: directions"
    ):
        lb.io.read_nastran(folder / "part.asm")
    (folder / "part.op2").unlink()
    op4.write(str(folder / "part.op4"), {"maa": M, "kaa": K})
    (folder / "part.pch").write_text("$ cut off\n")
    with pytest.raises(lb.FileError, match=r"part.pch: the file has no EXTRN card, .* Is it cut"):
        lb.io.read_nastran(folder / "part.asm")
    (folder / "part.op4").unlink()
    (folder / "part.pch").unlink()


def test_a_card_is_told_of_once(model):
    """The matrices stand in the bulk data themselves."""
    folder = model[0]
    text = (folder / "model.bdf").read_text()
    (folder / "once.bdf").write_text(text.replace("ENDDATA\n", (folder / "model.pch").read_text()))
    with pytest.warns(lb.ModelWarning) as told:
        lb.io.read_nastran(folder / "once.bdf")
    assert len(told) == 1 and "ignored: RBE2" in str(told[0].message)


def test_what_nastran_would_add_to_the_matrices_is_named(model):
    """K2GG and M2GG are added to the matrices of the elements, times CK2 and CM2."""
    folder = model[0]
    text = (folder / "model.bdf").read_text().replace("ENDDATA\n", "")
    more = "CONM2,51,11,,10.0\nCELAS1,52,1,11,1\nPARAM,CK2,2.0\nPARAM,GRDPNT,0\nPARAM,CM2,1.0\nSPOINT,77\n"
    held = "GRID,15,,9.,0.,0.,,123\n"
    (folder / "more.bdf").write_text(text + more + held + (folder / "model.pch").read_text())
    with pytest.warns(lb.ModelWarning) as told:
        lb.io.read_nastran(folder / "more.bdf")
    text = str(told[0].message)
    assert len(told) == 1
    for name in (
        "RBE2",
        "CONM2",
        "CELAS1",
        "CBAR",
        "PARAM CK2 = 2.0",
        "(PS) of GRID 15",
        "SPOINT 77",
    ):
        assert name in text
    assert "CM2 =" not in text and "GRDPNT" not in text


def test_files_without_matrices_say_so(model, tmp_path):
    (tmp_path / "a.pch").write_text("GRID,1\n")
    with pytest.raises(lb.FileError, match=r"a.pch: the file contains no matrices\.$"):
        quiet(lb.io.read_nastran, model[0] / "model.bdf", matrices=tmp_path / "a.pch")
    (tmp_path / "b.bdf").write_text(f"GRID,1\nINCLUDE '{model[0] / 'model.pch'}'\n")
    with pytest.raises(lb.FileError, match=r"no matrices. Matrices in included files are not"):
        quiet(lb.io.read_nastran, tmp_path / "b.bdf")
    (tmp_path / "c.bdf").write_text("GRID,1\nGRID,2,,1.\nCBAR,1,1,1,2,0.,0.,1.\n")
    with pytest.raises(lb.FileError, match="elements, which Limber does not assemble: let Nastran"):
        quiet(lb.io.read_nastran, tmp_path / "c.bdf")


def test_missing_files_are_named(tmp_path):
    with pytest.raises(lb.FileError, match=r"nowhere.asm: there is no such file"):
        lb.io.read_nastran(tmp_path / "nowhere.asm")
    (tmp_path / "a.asm").write_text("GRID,1\n")
    with pytest.raises(
        lb.FileError, match=r"no .op4, .op2 or .pch file with its matrices next to it"
    ):
        lb.io.read_nastran(tmp_path / "a.asm")
    with pytest.raises(lb.FileError, match=r"nowhere.op4: there is no such file"):
        lb.io.read_nastran(tmp_path / "nowhere.op4")
    (tmp_path / "b.op4").write_bytes(b"")
    with pytest.raises(
        lb.FileError,
        match=r"b.op4: b.asm, which contains the positions of the grids .* is not next to it",
    ):
        lb.io.read_nastran(tmp_path / "b.op4")


def test_without_pyyeti_the_error_names_the_extra(model, monkeypatch):
    import sys

    for name in list(sys.modules):
        if name.startswith("pyyeti"):
            monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(lb.LimberError, match=r"pip install 'limber-dynamics\[nastran\]'"):
        lb.io.read_nastran(model[0] / "model.bdf")
