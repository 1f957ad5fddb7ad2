"""CalculiX: matrices, mode shapes and decks of the program itself, and refusals of what is not whole."""

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest

import limber as lb
from helpers.calculix import STORE, block, modal, needs_ccx, omega_of, printed_omega, run_ccx
from limber.io.deck import read_deck
from limber.io.sources import Source

#: CalculiX prints seven digits.
DIGITS = 1e-6
SHIPPED = Path("/usr/share/doc/calculix-ccx-test/examples/test")


@pytest.fixture(scope="module")
def free_block(tmp_path_factory):
    """A free block: the folder of a job whose matrices are stored, and of the jobs that CalculiX solves itself."""
    folder = tmp_path_factory.mktemp("calculix")
    deck, places = block()
    run_ccx(folder, "store", deck + STORE)
    run_ccx(folder, "free", deck + modal(12))
    run_ccx(folder, "held", deck + "*BOUNDARY\nROOT,1,3\n" + modal(8))
    return folder, places


@needs_ccx
def test_free_frequencies_are_those_of_calculix(free_block):
    folder, places = free_block
    structure = lb.io.read_calculix(folder / "store.inp")
    np.testing.assert_allclose(structure.position, places)
    assert structure.names[:2] == ("1", "2") and structure.freedoms == 3
    want = printed_omega(folder / "free.dat")
    np.testing.assert_allclose(
        omega_of(structure.K, structure.M, count=12)[6:], want[6:], rtol=DIGITS
    )
    assert structure.triangles.shape == (4 * 6 * 2 + 4, 3) and structure.edges is None
    assert structure.M.sum() / 3 == pytest.approx(7800 * 1.0 * 0.1 * 0.05)


@needs_ccx
def test_held_frequencies_are_those_of_calculix(free_block):
    folder, _ = free_block
    structure = lb.io.read_structure(folder / "store.sti")
    held = [3 * j + d for j in range(4) for d in range(3)]
    want = printed_omega(folder / "held.dat")
    np.testing.assert_allclose(omega_of(structure.K, structure.M, held, 8), want, rtol=DIGITS)


@needs_ccx
def test_mode_shapes_of_the_results_are_those_of_the_matrices(free_block):
    folder, _ = free_block
    structure, modes = lb.io.read_calculix(folder / "store"), lb.io.read_frd(folder / "held.frd")
    np.testing.assert_allclose(modes.omega, printed_omega(folder / "held.dat"), rtol=2e-5)
    np.testing.assert_allclose(modes.position, structure.position, atol=1e-6)
    assert modes.names == structure.names
    assert np.array_equal(modes.triangles, structure.triangles)
    X = modes.translation.reshape(-1, 8)
    np.testing.assert_allclose(X.T @ structure.M @ X, np.eye(8), atol=2e-5)
    stiffness = X.T @ structure.K @ X
    np.testing.assert_allclose(np.diag(stiffness), modes.omega**2, rtol=1e-4)


@needs_ccx
def test_held_matrices_are_refused_with_the_remedy(free_block, tmp_path):
    deck, _ = block()
    run_ccx(tmp_path, "held", deck + "*BOUNDARY\nROOT,1,3\n" + STORE)
    with pytest.raises(
        lb.FileError,
        match=r"node 1, 2, 3, 4 has no degrees of freedom .*held.inp:\d+ fixes nodes by \*BOUNDARY. Store",
    ):
        lb.io.read_calculix(tmp_path / "held.inp")
    run_ccx(tmp_path, "part", deck + "*BOUNDARY\nROOT,2,2\n" + STORE)
    with pytest.raises(
        lb.FileError, match="node 1, 2, 3, 4 moves only in some of the directions x, y, z"
    ):
        lb.io.read_calculix(tmp_path / "part.inp")


@needs_ccx
def test_inner_modes_of_elements_are_refused_with_the_remedy(tmp_path):
    deck, _ = block()
    run_ccx(tmp_path, "inner", deck.replace("TYPE=C3D8,", "TYPE=C3D8I,") + STORE)
    with pytest.raises(
        lb.FileError, match=r"node 29, 30, .* has rows .* no position .* C3D8I elements \(use C3D8"
    ):
        lb.io.read_calculix(tmp_path / "inner.inp")


@needs_ccx
def test_a_rigid_end_is_a_node_with_rotations(tmp_path):
    """*RIGID BODY: the reference node gets the rotations of the rotation node, and carries what it holds."""
    deck, _ = block()
    rigid = "*NODE\n901,-0.1,0.05,0.02\n902,-0.1,0.05,0.02\n*RIGID BODY,NSET=ROOT,REF NODE=901,ROT NODE=902\n"
    run_ccx(tmp_path, "rigid", deck + rigid + STORE)
    run_ccx(tmp_path, "modes", deck + rigid + "*BOUNDARY\n901,1,3\n902,1,3\n" + modal(6))
    with pytest.warns(lb.ModelWarning, match=r"node 1, 2, 3, 4 of .* follows other nodes"):
        structure = lb.io.read_calculix(tmp_path / "rigid.inp")
    assert structure.freedoms == 6 and structure.names[-1] == "901"
    used = structure.K.diagonal() > 0
    at = 6 * (len(structure) - 1)
    assert used[at:].all() and used.sum() == 3 * (len(structure) - 1) + 6
    held = [*np.flatnonzero(~used), *range(at, at + 6)]
    want = printed_omega(tmp_path / "modes.dat")
    np.testing.assert_allclose(omega_of(structure.K, structure.M, held, 6), want, rtol=DIGITS)


@needs_ccx
def test_a_payload_at_recovered_rotations_gives_what_calculix_gives(tmp_path):
    """A solid cantilever carries a mass in front of its tip: fitted rotations (RBE3) against a rigid face."""
    cells, mass, reach = (20, 2, 2), 30.0, 0.15
    deck, places = block(cells)
    face = [str(n) for n, place in enumerate(places, 1) if place[0] == 1.0]
    payload = (
        f"*NODE\n901,{1 + reach},0.05,0.025\n902,{1 + reach},0.05,0.025\n*NSET,NSET=FACE\n"
        + "".join(f"{n},\n" for n in face)
        + "*RIGID BODY,NSET=FACE,REF NODE=901,ROT NODE=902\n"
        + f"*ELEMENT,TYPE=MASS,ELSET=EMASS\n9001,901\n*MASS,ELSET=EMASS\n{mass}\n"
    )
    run_ccx(tmp_path, "loaded", deck + payload + "*BOUNDARY\nROOT,1,3\n" + modal(4))
    run_ccx(tmp_path, "store", deck + STORE)
    structure = lb.io.read_calculix(tmp_path / "store.inp")
    root = [str(n) for n, place in enumerate(places, 1) if place[0] == 0.0]
    tip = face[4]  # the middle of the face
    np.testing.assert_allclose(structure.position[structure.node(tip)], [1.0, 0.05, 0.025])
    body = structure.reduce(
        clamped=root, interface=tip, patches={tip: face}, modes=12, method="static-correction"
    )
    a = lb.Assembly("crane")
    a.attach("beam", body, lb.Fixed())
    load = lb.RigidBody(mass, com=(reach, 0, 0), inertia=(1e-9, 1e-9, 1e-9))
    a.attach("load", load, lb.Fixed(), to="beam", at=tip)
    s = a.build()
    omega = lb.modes(s, s.neutral()).omega[:3]
    np.testing.assert_allclose(omega, printed_omega(tmp_path / "loaded.dat")[:3], rtol=0.01)


@needs_ccx
def test_node_sets_are_groups_that_hold_and_carry(tmp_path):
    """The names of the deck hold the root and carry a payload before the tip; CalculiX has a rigid face there."""
    deck, places = block((20, 2, 2))
    face = [n for n, place in enumerate(places, 1) if place[0] == 1.0]
    deck += (
        f"*NSET,NSET=Face,GENERATE\n{face[0]},{face[-1]}\n*NSET,NSET=BOTH\nROOT,FACE,{face[0]}\n"
    )
    payload = (
        "*NODE\n901,1.15,0.05,0.025\n902,1.15,0.05,0.025\n"
        "*RIGID BODY,NSET=FACE,REF NODE=901,ROT NODE=902\n"
        "*ELEMENT,TYPE=MASS,ELSET=EMASS\n9001,901\n*MASS,ELSET=EMASS\n30.\n"
    )
    run_ccx(tmp_path, "loaded", deck + payload + "*BOUNDARY\nROOT,1,3\n" + modal(4))
    run_ccx(tmp_path, "store", deck + STORE)
    structure = lb.io.read_calculix(tmp_path / "store.inp")
    assert [*structure.groups] == ["NALL", "ROOT", "Face", "BOTH"]
    assert structure.group("Face") == structure.where(x=1.0) == [n - 1 for n in face]
    assert structure.group("BOTH") == structure.group("ROOT") + structure.group("Face")
    assert structure.nearest((1.0, 0.05, 0.025)) == face[4] - 1
    body = structure.reduce(clamped="ROOT", interface="Face", modes=12, method="static-correction")
    a = lb.Assembly("crane")
    a.attach("beam", body, lb.Fixed())
    load = lb.RigidBody(30.0, com=(0.15, 0, 0), inertia=(1e-9, 1e-9, 1e-9))
    a.attach("load", load, lb.Fixed(), to="beam", at="Face")
    s = a.build()
    omega = lb.modes(s, s.neutral()).omega[:3]
    np.testing.assert_allclose(omega, printed_omega(tmp_path / "loaded.dat")[:3], rtol=0.01)


@needs_ccx
def test_millimetres_and_tonnes(free_block, tmp_path):
    deck, _ = block(size=(1000.0, 100.0, 50.0))
    deck = deck.replace("2.1e11", "210000.").replace("7800.", "7.8e-9")
    run_ccx(tmp_path, "mm", deck + STORE)
    structure = lb.io.read_calculix(tmp_path / "mm.inp", units="mm-t")
    same = lb.io.read_calculix(free_block[0] / "store.inp")
    np.testing.assert_allclose(structure.position, same.position, atol=1e-12)
    for a, b in ((structure.M, same.M), (structure.K, same.K)):
        assert abs(a - b).max() < 1e-9 * abs(b).max()


@needs_ccx
@pytest.mark.skipif(
    not SHIPPED.is_dir(), reason="the models of calculix-ccx-test are not installed"
)
@pytest.mark.parametrize("name", ["beam8f", "beamf"])
def test_shipped_models_have_the_frequencies_of_calculix(tmp_path, name):
    """Cantilevers among CalculiX's own tests, in millimetres: what the deck holds is held here."""
    deck = gzip.decompress((SHIPPED / f"{name}.inp.gz").read_bytes()).decode("latin-1")
    run_ccx(tmp_path, "own", deck)
    free, held, keyword = [], [], ""
    for line in deck.splitlines():
        keyword = line.split(",")[0].strip().upper() if line.startswith("*") else keyword
        if keyword == "*BOUNDARY":
            held += [] if line.startswith("*") else [line.split(",")]
        elif line.upper().startswith("*FREQUENCY"):
            free.append("*FREQUENCY,SOLVER=MATRIXSTORAGE")
        else:
            free.append(line)
    run_ccx(tmp_path, "free", "\n".join(free) + "\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        structure = lb.io.read_calculix(tmp_path / "free.inp", units="mm-t")
    rows = [
        (n, d)
        for words in held
        for n in _members(free, words[0].strip())
        for d in range(
            int(words[1]), int(words[2] if words[2:3] and words[2].strip() else words[1]) + 1
        )
    ]
    want = printed_omega(tmp_path / "own.dat")
    nodes = sorted({n for n, _ in rows}, key=int)
    assert len(set(rows)) == 3 * len(nodes)  # all directions of them are held
    other = next(n for n in structure.names if n not in nodes)
    body = structure.reduce(clamped=nodes, nodes=[other], modes=want.size)
    a = lb.Assembly("cantilever")
    a.attach("body", body, lb.Fixed())
    s = a.build()
    np.testing.assert_allclose(lb.modes(s, s.neutral()).omega, want, rtol=DIGITS)


def _members(lines, name):
    """Names of the nodes of a set, or of the node itself."""
    if name.isdecimal():
        return [name]
    start = next(
        i
        for i, line in enumerate(lines)
        if line.upper().replace(" ", "") == f"*NSET,NSET={name}".upper()
    )
    found = []
    for line in lines[start + 1 :]:
        if line.startswith("*"):
            break
        found += [word.strip() for word in line.split(",") if word.strip()]
    return found


# --- without the program --------------------------------------------------------------------------

#: Three nodes on a line, each pair joined by springs in x, y and z: free, and six zero rows for nothing.
DECK = "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,0,1\n*ELEMENT,TYPE=C3D4,ELSET=E\n1,1,2,3,4\n"


def springs():
    """A tetrahedron of bars: (4 nodes, 3 freedoms) stiffness and mass."""
    places = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1.0]])
    K = np.zeros((12, 12))
    for i in range(4):
        for j in range(i):
            d = places[i] - places[j]
            k = 1e4 * np.outer(d, d) / (d @ d) ** 1.5
            for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                K[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] += sign * k
    return np.eye(12), K


def triplets(A):
    return "".join(f"{i + 1} {j + 1} {A[i, j]:.15e}\n" for j in range(len(A)) for i in range(j + 1))


def labelled(A):
    name = lambda i: f"{i // 3 + 1}, {i % 3 + 1}"  # noqa: E731
    return "** stiffness\n" + "".join(
        f"{name(i)}, {name(j)}, {A[i, j]:.15e}\n" for i in range(len(A)) for j in range(i + 1)
    )


@pytest.fixture
def job(tmp_path):
    M, K = springs()
    (tmp_path / "job.inp").write_text(DECK)
    (tmp_path / "job.sti").write_text(triplets(K))
    (tmp_path / "job.mas").write_text(triplets(M))
    (tmp_path / "job.dof").write_text(
        "".join(f"{n}.{d}\n" for n in range(1, 5) for d in range(1, 4))
    )
    (tmp_path / "k.mtx").write_text(labelled(K))
    (tmp_path / "m.mtx").write_text(labelled(M))
    return tmp_path


def test_abaqus_matrices_with_labels(job):
    M, K = springs()
    structure = lb.io.read_abaqus(job / "k.mtx", job / "m.mtx", job / "job.inp")
    np.testing.assert_allclose(structure.K.toarray(), K, rtol=1e-14, atol=1e-10)
    np.testing.assert_allclose(structure.M.toarray(), M)
    assert structure.triangles.shape == (4, 3)
    same = lb.io.read_calculix(job / "job")
    assert abs(same.K - structure.K).max() < 1e-10


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("job.sti", lambda t: "", r"job.sti: the file is empty. CalculiX writes"),
        ("job.sti", lambda t: t.replace("1 1 ", "1 99 ", 1), r"job.sti:1: must be row, column, value .* from 1 to 12"),
        ("job.sti", lambda t: t[: len(t) // 2].rsplit("\n", 1)[0], r"has rows up to \d+, but the .dof file has 12 lines"),
        ("job.sti", lambda t: t + "1 2 5\n", "row 1, column 2 occurs twice"),
        ("job.sti", lambda t: t.replace("1 1 ", "1 1 nan ", 1), "cannot be read as lines|columns"),
        ("job.sti", lambda t: "garbage\n" + t, "cannot be read as lines of row, column, value"),
        ("job.mas", lambda t: t.replace("1.0", "-1.0"), r"job.sti: M\[.*negative"),
        ("job.mas", lambda t: "\0" + t, "not a text file"),
        ("job.dof", lambda t: t.replace("4.3", "4,3"), r"job.dof:12: must be node.direction, as in 12.3, got '4,3'"),
        ("job.dof", lambda t: t.replace("4.3", "1.1"), "node 1 has direction 1 twice. CalculiX expands shells"),
        ("job.dof", lambda t: t.replace("4.", "44."), r"node 44 has rows in the matrices but no position in .*job.inp"),
        ("job.inp", lambda t: t.replace("4,0,0,1\n", ""), "an element uses node 4, which no .NODE table has"),
        ("job.inp", lambda t: t.replace(",3,4\n", "\n"), "element '1' has 2 of its 4 nodes. Is the file cut off"),
        ("job.inp", lambda t: t.replace("C3D4", "QUUX9"), r"job.inp:6: the element type 'QUUX9' is not supported"),
        ("job.inp", lambda t: t.replace("2,1,0,0", "2,1,zero,0"), r"job.inp:3: a coordinate of node 2 must be a finite"),
        ("job.inp", lambda t: t.replace("2,1,0,0", "1,1,0,0"), "node 1 is defined twice"),
        ("job.inp", lambda t: t.replace("*NODE", "*NODE,SYSTEM=C"), "not Cartesian"),
        ("job.inp", lambda t: "*INCLUDE,INPUT=job.inp\n", "no file may include itself"),
        ("job.inp", lambda t: "*HEADING\n", "the file contains no nodes"),
        ("job.inp", lambda t: t + "*STEP\n*FREQUENCY\n", r"a \*STEP without its \*END STEP. Is the file cut off"),
        ("job.inp", lambda t: t + "*NSET\n1,2\n", r"job.inp:8: \*NSET needs NSET="),
        ("job.inp", lambda t: t + "*NSET,NSET=A\n1,TOP\n", r"job.inp:9: the set A must have numbers .* got 'TOP'"),
        ("job.inp", lambda t: t + "*NSET,NSET=A,GENERATE\n4,1\n", "of the set A must be first, last and step, got '4, 1'"),
        ("job.inp", lambda t: t + "*NSET,NSET=A,GENERATE\n1,x\n", "a number of .NSET, GENERATE of the set A must be a whole"),
    ],
)  # fmt: skip
def test_bad_files_are_refused(job, name, change, match):
    path = job / name
    path.write_text(change(path.read_text()))
    with pytest.raises(lb.FileError, match=match):
        lb.io.read_calculix(job / "job.inp")


def test_grounded_matrices_are_refused(job):
    _, K = springs()
    K[0, 0] *= 2
    (job / "job.sti").write_text(triplets(K))
    with pytest.raises(
        lb.FileError, match=r"job.sti: .*those of the free structure: leave out \*BOUNDARY"
    ):
        lb.io.read_calculix(job / "job.inp")


def test_missing_files_are_named(job):
    (job / "job.dof").unlink()
    with pytest.raises(
        lb.FileError, match=r"job.dof: there is no such file. CalculiX writes .sti, .mas and .dof"
    ):
        lb.io.read_calculix(job / "job.inp")
    with pytest.raises(lb.FileError, match=r"there is no such file. Pass the deck"):
        (job / "job.dof").write_text("1.1\n")
        lb.io.read_calculix(job / "job.inp", geometry=job / "no.inp")


def test_node_sets_of_decks(job):
    sets = (
        '*NSET, NSET="left side"\n1, 4,\n*Nset, nset=LEFT SIDE\n2\n*NSET,NSET=odd,GENERATE\n1,4,2\n'
    )
    (job / "job.inp").write_text(DECK + sets)
    structure = lb.io.read_calculix(job / "job.inp")
    assert structure.groups == {"left side": (0, 3, 1), "odd": (0, 2)}
    (job / "job.inp").write_text(DECK + "*NSET,NSET=A\n1,9\n*NSET,NSET=B,ELSET=E\n*NSET,NSET=C\n")
    with pytest.warns(lb.ModelWarning, match=r"ignored: .*NSET=B, ELSET=E, node 9 of the set A"):
        assert lb.io.read_calculix(job / "job.inp").groups == {"A": (0,)}


def test_a_number_in_a_set_is_a_node_whatever_sets_are_called(job):
    (job / "job.inp").write_text(DECK + "*NSET,NSET=2\n1,3\n*NSET,NSET=B\n1,2,3\n")
    with pytest.warns(lb.ModelWarning, match="the group '2' has the name of a node"):
        structure = lb.io.read_calculix(job / "job.inp")
    assert structure.groups == {"2": (0, 2), "B": (0, 1, 2)}


def test_keyword_lines_may_go_on(job):
    (job / "job.inp").write_text(DECK.replace("*NODE\n", "*NODE,\n** a comment\n  NSET=ALL\n"))
    assert lb.io.read_calculix(job / "job.inp").groups == {"ALL": (0, 1, 2, 3)}
    (job / "job.inp").write_text(DECK.replace("*NODE\n", "*NODE,\n"))  # no more than a comma
    assert lb.io.read_calculix(job / "job.inp").groups == {}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda t: "*SYSTEM\n1,0,0\n" + t, r"job.inp:1: \*SYSTEM makes or moves nodes, which is not supported"),
        (lambda t: t + "*NCOPY,CHANGE NUMBER=10\n", r"job.inp:8: \*NCOPY makes or moves nodes"),
        (lambda t: t.replace("*NODE", "*NODE,INPUT=n.txt"), r"job.inp:1: \*NODE has its table in a separate file, INPUT=n.txt"),
    ],
)  # fmt: skip
def test_decks_whose_nodes_are_not_in_their_tables_are_refused(job, change, match):
    (job / "job.inp").write_text(change(DECK))
    with pytest.raises(lb.FileError, match=match):
        lb.io.read_abaqus(job / "k.mtx", job / "m.mtx", job / "job.inp")


def test_a_mass_matrix_that_ends_early_is_told_of(job):
    M = springs()[0]
    (job / "m.mtx").write_text(labelled(M[:9, :9]))
    with pytest.warns(lb.ModelWarning, match="node 4 has stiffness but no mass.* is cut off"):
        structure = lb.io.read_abaqus(job / "k.mtx", job / "m.mtx", job / "job.inp")
    assert structure.M.sum() == pytest.approx(9.0)


def test_sets_of_nodes_that_are_left_out_are_named(job):
    (job / "job.inp").write_text(DECK + "*NODE,NSET=REF\n9,0,0,2\n*NSET,NSET=ALL\n1,2,9\n")
    with pytest.warns(
        lb.ModelWarning, match=r"node 9 of .* left out. The set REF, ALL does not contain it"
    ):
        assert lb.io.read_calculix(job / "job.inp").groups == {"ALL": (0, 1)}


def test_unknown_keywords_are_named_once(job):
    (job / "job.inp").write_text(DECK + "*MODAL CONFETTI\n1,2\n*MODAL CONFETTI\n")
    with pytest.warns(
        lb.ModelWarning, match=r"job.inp: ignored: \*MODAL CONFETTI \(2 times\)"
    ) as told:
        lb.io.read_calculix(job / "job.inp")
    assert len(told) == 1


def test_abaqus_labels_are_checked(job):
    (job / "k.mtx").write_text("1, 1, 1, 9, 5.0\n")
    with pytest.raises(
        lb.FileError, match=r"k.mtx:1: must be node, direction, node, direction, value"
    ):
        lb.io.read_abaqus(job / "k.mtx", job / "m.mtx", job / "job.inp")


def coordinates(A):
    """FORMAT=COORDINATE, as Abaqus 2021 writes it: both triangles, mirror images after each other."""
    pairs = [(i, j) for i in range(len(A)) for j in range(i, len(A)) if A[i, j]]
    lines = [[(i, j)] if i == j else [(i, j), (j, i)] for i, j in pairs]
    return "".join(f"{i + 1} {j + 1}  {A[i, j]:.15e}\n" for both in lines for i, j in both)


#: A deck of Abaqus/CAE: one part, one instance, sets in it and in the assembly.
CAE = (
    "*Heading\n*Part, name=block\n*End Part\n*Assembly, name=Assembly\n*Instance, name=block-1, part=block\n"
    + DECK
    + "*Nset, nset=Set-1, generate\n1, 4, 1\n*Solid Section, elset=E, material=steel\n,\n*End Instance\n"
    "*Nset, nset=left, instance=block-1\n 1, 4\n*End Assembly\n*Material, name=steel\n"
)


def test_abaqus_matrices_by_coordinates(job):
    """Rows without labels belong to the nodes of the deck in the order of their numbers; node 9 has no element."""
    M, K = springs()
    (job / "k.mtx").write_text(coordinates(K))
    (job / "m.mtx").write_text(coordinates(M))
    (job / "cae.inp").write_text(CAE)
    structure = lb.io.read_structure(job / "k.mtx", mass=job / "m.mtx", nodes=job / "cae.inp")
    np.testing.assert_allclose(structure.K.toarray(), K, rtol=1e-14, atol=1e-10)
    np.testing.assert_allclose(structure.M.toarray(), M)
    assert structure.groups == {"Set-1": (0, 1, 2, 3), "left": (0, 3)}
    (job / "cae.inp").write_text(CAE + "*NODE\n9,5,5,5\n")
    with pytest.warns(lb.ModelWarning, match="node 9 of .* belongs to no element"):
        assert len(lb.io.read_abaqus(job / "k.mtx", job / "m.mtx", job / "cae.inp")) == 4


@pytest.mark.parametrize(
    ("name", "change", "match"),
    [
        ("k.mtx", lambda t: t.replace("1 1 ", "1 x ", 1), r"k.mtx:1: must be row, column, value, .* got '1 x "),
        ("k.mtx", lambda t: t.replace("\n", "\n\n5 ", 1), r"k.mtx:3: must be row, column, value"),
        ("k.mtx", lambda t: t.replace("1 1 ", "0 1 ", 1), r"k.mtx:1: must be row, column, value, with rows and columns from 1"),
        ("k.mtx", lambda t: t.replace("1 1 ", "1 1.5 ", 1), r"k.mtx:1: must be row, column, value"),
        ("k.mtx", lambda t: "** nothing\n", "the file contains no entries"),
        ("k.mtx", lambda t: "1 2\n", "must be node, direction, node, direction, value"),
        ("m.mtx", lambda t: t + "16 16 1.0\n", r"k.mtx: has 16 rows, but the deck has 4 nodes: .*FORMAT=MATRIX INPUT"),
        ("m.mtx", lambda t: "1,1,1,1,1.0\n", r"m.mtx: has 5 columns, and .*k.mtx has 3: write both"),
        ("cae.inp", lambda t: t.replace("*End Assem", "*Instance\n*End Instance\n*End Assem"), "the deck has several parts and instances"),
        ("cae.inp", lambda t: t.replace("*NODE", "0., 1., 0.\n*NODE"), "INSTANCE moves or turns its part"),
    ],
)  # fmt: skip
def test_bad_files_of_abaqus_are_refused(job, name, change, match):
    M, K = springs()
    (job / "k.mtx").write_text(coordinates(K))
    (job / "m.mtx").write_text(coordinates(M))
    (job / "cae.inp").write_text(CAE)
    (job / name).write_text(change((job / name).read_text()))
    with pytest.raises(lb.FileError, match=match):
        lb.io.read_abaqus(job / "k.mtx", job / "m.mtx", job / "cae.inp")


@pytest.mark.parametrize(
    ("kind", "nodes", "triangles"),
    [("C3D4", 4, 4), ("C3D10", 10, 4), ("C3D8R", 8, 12), ("C3D20R", 20, 12), ("C3D6", 6, 8), ("C3D15", 15, 8),
     ("S3", 3, 1), ("S4R", 4, 2), ("S6", 6, 1), ("S8R", 8, 2), ("B31", 2, 0), ("B32R", 3, 0), ("T3D2", 2, 0)],
)  # fmt: skip
def test_elements_have_outlines(tmp_path, kind, nodes, triangles):
    from limber.io.elements import outline

    table = "".join(f"{n},{n},{n * n % 7},{n * n % 5}\n" for n in range(1, nodes + 1))
    words = [str(n) for n in range(1, nodes + 1)]
    rows = "1," + ",".join(words[:10]) + (",\n" + ",".join(words[10:]) if nodes > 10 else "") + "\n"
    (tmp_path / "a.inp").write_text(f"*NODE\n{table}*ELEMENT, TYPE={kind}\n{rows}")
    deck = read_deck(Source(tmp_path / "a.inp"))
    edges, faces = outline(deck.elements, {n: n - 1 for n in deck.numbers})
    assert (0 if faces is None else len(faces)) == triangles
    assert (0 if edges is None else len(edges)) == (1 if triangles == 0 else 0)


def test_cut_results_are_refused(tmp_path):
    (tmp_path / "a.frd").write_text(
        "    1C\n    2C" + " " * 68 + "1\n -1         1 0.00000E+00 0.00000E+00 0.00000E+00\n"
    )
    with pytest.raises(
        lb.FileError, match="the node table does not end with -3: the file is cut off"
    ):
        lb.io.read_frd(tmp_path / "a.frd")
    (tmp_path / "a.frd").write_text("    1C\n 9999\n")
    with pytest.raises(lb.FileError, match="the file contains no mode shapes"):
        lb.io.read_frd(tmp_path / "a.frd")


@pytest.mark.parametrize(
    ("change", "units", "match"),
    [
        ([9, 10, 11], "m-kg", r"job.sti: .*node '4'"),  # a node that nothing holds
        ([9], "m-kg", r"job.sti: .*"),  # a mechanism: a bar is cut
        ([], (1e6, 1.0), r"job.sti: .*mixed units.*sound would travel"),
        ([], (1e-9, 1.0), r"job.sti: .*mixed units.*sound would travel"),
    ],
)
def test_loose_nodes_and_mixed_units_are_refused(job, change, units, match):
    _, K = springs()
    K[change] = 0.0
    K[:, change] = 0.0
    (job / "job.sti").write_text(triplets(K))
    with pytest.raises(lb.FileError, match=match):
        lb.io.read_calculix(job / "job.inp", units=units)
