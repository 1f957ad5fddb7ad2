"""`limber body` on files of CalculiX and Nastran themselves."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import limber as lb
from helpers.calculix import STORE, block, modal, needs_ccx, printed_omega, run_ccx
from helpers.command import limber, limber_json
from helpers.nastran import eigenvalues

#: CalculiX and Nastran print seven digits.
DIGITS = 1e-6


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A cantilever whose matrices CalculiX has stored, and its frequencies with the root held."""
    folder = tmp_path_factory.mktemp("job")
    deck, places = block((8, 2, 2))
    tip = [str(n) for n, place in enumerate(places, 1) if place[0] == 1.0]
    deck += "*NSET,NSET=TIP\n" + "".join(f"{n},\n" for n in tip)
    run_ccx(folder, "store", deck + STORE)
    run_ccx(folder, "held", deck + "*BOUNDARY\nROOT,1,3\n" + modal(6))
    return folder


@needs_ccx
def test_a_body_of_calculix_has_its_frequencies(job):
    options = ["--clamped", "ROOT", "--interface", "TIP", "--modes", 6]
    found = limber_json("body", job / "store.inp", *options)
    want = printed_omega(job / "held.dat") / (2.0 * np.pi)
    np.testing.assert_allclose(found["full"]["frequencies"][:6], want, rtol=DIGITS)
    np.testing.assert_allclose(found["full"]["body_frequencies"], want, rtol=DIGITS)
    assert found["full"]["held"] == "clamped at 'ROOT'"
    assert {x["node"] for x in found["full"]["static"]} == {"TIP"}
    np.testing.assert_allclose(found["com"], [0.5, 0.0, 0.0], atol=1e-9)  # about the middle of ROOT


@needs_ccx
def test_the_origin_is_a_group_a_node_or_a_point(job):
    for origin, com in (
        ("TIP", (-0.5, 0, 0)),
        ("1", (0.5, 0.05, 0.025)),
        ("0.5,0,0", (0, 0.05, 0.025)),
    ):
        found = limber_json(
            "body", job / "store.inp", "--clamped", "ROOT", "--node", "TIP", "--modes", 1, "--origin", origin
        )  # fmt: skip
        np.testing.assert_allclose(found["com"], com, atol=1e-9)
    done = limber(
        "body", job / "store.inp", "--clamped", "ROOT", "--origin", "0,1", "--json", code=2
    )
    assert "a node, a group or a point x,y,z" in " ".join(done.output.split())


@needs_ccx
def test_a_stiffened_body_of_calculix(job, tmp_path):
    """The saved body has second-order shapes; another deck with the same nodes may stand in for that of the job."""
    (job / "same.inp").write_bytes((job / "store.inp").read_bytes())
    for path in ("b.npz", "b.yaml"):
        limber(
            "body", job / "store.sti", "--table", job / "same.inp", "--clamped", "ROOT", "--interface", "TIP",
            "--modes", 2, "--geometric-stiffening", "--save", tmp_path / path,
        )  # fmt: skip
    body = lb.io.read_body(tmp_path / "b.npz")
    assert body.nodes.names == ("ROOT", "TIP") and np.any(body.nodes.second)
    assert lb.load(tmp_path / "b.yaml").attachments["store"].body.nodes.names == ("ROOT", "TIP")


@needs_ccx
def test_geometric_stiffness_of_a_deck_is_that_of_calculix(job, tmp_path):
    """Frequencies under tension: *STATIC with NLGEOM, then *FREQUENCY about it, against K + K_g."""
    deck = (job / "store.inp").read_text().removesuffix(STORE)
    s = lb.io.read_calculix(job / "store.inp")
    tip = s.group("TIP")
    load = 2e6 / len(tip)
    forces = "*STEP,NLGEOM\n*STATIC\n*CLOAD\n" + f"TIP,1,{load}\n*END STEP\n"
    held = "*BOUNDARY\nROOT,1,3\n"
    run_ccx(
        tmp_path, "pulled", deck + held + forces + modal(2).replace("*STEP", "*STEP,PERTURBATION")
    )
    pulled, plain = printed_omega(tmp_path / "pulled.dat")[:2], printed_omega(job / "held.dat")[:2]
    free = np.setdiff1d(
        np.arange(3 * len(s)), [3 * j + d for j in s.group("ROOT") for d in range(3)]
    )
    K, M = s.K.toarray()[np.ix_(free, free)], s.M.toarray()[np.ix_(free, free)]
    f, u = np.zeros(3 * len(s)), np.zeros(3 * len(s))
    f[3 * np.array(tip)] = load
    u[free] = np.linalg.solve(K, f[free])
    import scipy.linalg

    stiff = K + s.geometric(u).toarray()[np.ix_(free, free)]
    omega = np.sqrt(scipy.linalg.eigh(stiff, M, eigvals_only=True, subset_by_index=[0, 1]))
    np.testing.assert_allclose(omega**2 - plain**2, pulled**2 - plain**2, rtol=0.02)
    assert pulled[0] > 1.1 * plain[0]


def nastran():
    pyyeti = pytest.importorskip("pyyeti", reason="files of Nastran are read by pyyeti")
    folder = Path(pyyeti.__file__).parent / "tests" / "nas2cam_extseout"
    if not folder.is_dir():
        pytest.skip("this pyyeti is installed without its test data")
    return folder


def test_a_superelement_of_nastran_has_its_frequencies(tmp_path):
    folder = nastran()
    options = [x for name in ("3", "11", "19", "27") for x in ("--clamped", name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        found = limber_json(
            "body", folder / "outboard.asm", "--units", "in-slinch", *options, "--save", tmp_path / "b.npz"
        )  # fmt: skip
    want = eigenvalues(folder / "outboard.out", "AFTER AUGMENTATION")[: found["modes"]]
    frequencies = np.sqrt(want) / (2.0 * np.pi)
    np.testing.assert_allclose(found["frequencies"], frequencies, rtol=DIGITS)
    assert found["full"]["what"] == "the superelement of 4 boundary nodes, 46 degrees of freedom"
    assert lb.io.read_body(tmp_path / "b.npz").nodes.names == ("3", "11", "19", "27")
    done = limber("body", folder / "outboard.asm", "--origin", "3", "--json", code=2)
    assert "--origin is for structures" in " ".join(done.output.split())


def test_matrices_of_nastran_are_chosen_by_name(tmp_path):
    op4 = pytest.importorskip("pyyeti.nastran.op4")
    from helpers.straight_beam import straight_beam

    position, M, K = straight_beam(3)
    grids = "".join(f"GRID,{j + 1},,{x},{y},{z}\n" for j, (x, y, z) in enumerate(position.tolist()))
    (tmp_path / "model.bdf").write_text(f"BEGIN BULK\n{grids}ENDDATA\n")
    op4.write(str(tmp_path / "model.op4"), {"mgg": M, "kgg": K, "maa": M, "kaa": 4.0 * K})
    ask = ["body", tmp_path / "model.bdf", "--matrices", tmp_path / "model.op4", "--clamped", "1"]
    done = limber(*ask, "--json", code=3)
    assert "several pairs of mass and stiffness" in done.output
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        first, second = (
            limber_json(*ask, "--matrix-names", *names, "--modes", 3)["frequencies"]
            for names in (("MGG", "KGG"), ("MAA", "KAA"))
        )
    np.testing.assert_allclose(second, 2.0 * np.array(first), rtol=1e-9)
