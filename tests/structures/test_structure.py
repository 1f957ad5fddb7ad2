"""Structures: what they hold, and what they refuse."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import limber as lb
from helpers.frames import brick, named_beam, straight_beam
from helpers.loops import for_each
from helpers.refusals import T, V, refused

POSITION, M, K, GEOMETRIC = straight_beam(4)
M, K = M.toarray(), K.toarray()
N = 30


def changed(matrix, *entries):
    """A copy of a matrix with entries (i, j, value) set on both sides of the diagonal."""
    result = matrix.copy()
    for i, j, value in entries:
        result[i, j] = result[j, i] = value
    return result


def test_dense_and_sparse_matrices_make_the_same_structure():
    dense = lb.Structure(POSITION, M, K)
    for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_array):
        sparse = lb.Structure(POSITION.tolist(), kind(M), kind(K))
        assert (sparse.K != dense.K).nnz == 0 and (sparse.M != dense.M).nnz == 0
    assert dense.freedoms == 6 and len(dense) == 5 and dense.names == ("0", "1", "2", "3", "4")
    assert repr(dense) == "Structure(nodes=5, freedoms=30)"


def test_a_structure_is_immutable_and_has_its_own_arrays():
    mine = K.copy()
    s = lb.Structure(POSITION, M, mine)
    mine[:] = 0.0
    assert s.K.toarray() == pytest.approx(K)
    with pytest.raises(lb.LimberError, match="immutable"):
        s.K = K
    for copied in (s, copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        for part in (copied.position, copied.K.data, copied.M.data, copied.K.indices):
            assert not part.flags.writeable


def test_pictures_may_have_edges_and_triangles():
    position, m, k = brick((1, 1, 1), (1.0, 1.0, 1.0))
    s = lb.Structure(position, m, k, edges=[[0, 1], [1, 3]], triangles=[[0, 1, 2]])
    assert s.freedoms == 3
    assert s.edges.dtype == s.triangles.dtype == np.int64
    assert s.edges.tolist() == [[0, 1], [1, 3]] and s.triangles.shape == (1, 3)


def test_nodes_are_found_by_name_and_number():
    s = named_beam(4)
    assert s.node("root") == 0 and s.node(4) == 4 and s.node(np.int64(2)) == 2


def make(**changes):
    given = {"position": POSITION, "M": M, "K": K} | changes
    position, m, k = given.pop("position"), given.pop("M"), given.pop("K")
    return lb.Structure(position, m, k, **given)


def loose():
    position, m, k = (
        np.vstack([POSITION, [[3.0, 0.0, 0.0]]]),
        np.zeros((36, 36)),
        np.zeros((36, 36)),
    )
    m[:30, :30], k[:30, :30] = M, K
    m[30:33, 30:33] = np.eye(3)
    return {"position": position, "M": m, "K": k}


def two_parts():
    position = np.vstack([POSITION, POSITION + np.array([0.0, 1.0, 0.0])])
    both = np.kron(np.eye(2), np.ones((30, 30))) > 0
    m, k = np.zeros((60, 60)), np.zeros((60, 60))
    m[both], k[both] = np.kron(np.eye(2), M)[both], np.kron(np.eye(2), K)[both]
    return {"position": position, "M": m, "K": k}


REFUSED = [
    ({"position": [[0, 0], [1, 0]]}, V, r"position must have shape \(n, 3\), got \(2, 2\)"),
    ({"position": [[0, 0, 0]]}, V, "position has 1 node: a structure needs at least two"),
    ({"position": POSITION[:4]}, V, r"M must have 24 rows and columns \(6 degrees of freedom per node\) or 12 .*got shape \(30, 30\)"),
    ({"M": M[:, :20]}, V, r"M must have 30 rows .*got shape \(30, 20\)"),
    ({"M": M[0]}, V, r"M must be a square matrix, got an array of shape \(30,\)"),
    ({"M": "mass"}, T, "M must be real numbers"),
    ({"K": sp.csr_array(K + 0j)}, T, "K must be a matrix of real numbers, got one of complex128"),
    ({"M": np.eye(15)}, V, r"M and K must have the same size, got \(15, 15\) and \(30, 30\)"),
    ({"K": changed(K, (3, 3, np.nan))}, V, r"K\[3, 3\] is nan: K must be finite"),
    ({"K": np.triu(K)}, V, r"K must be symmetric, but it contains only one triangle. Give K \+ K.T"),
    ({"K": K + np.triu(K, 1)}, V, "K must be symmetric, but it differs from its transpose by"),
    ({"M": np.zeros((N, N))}, V, "M is zero: a structure must have mass"),
    ({"M": changed(M, (6, 6, -1.0))}, V, r"M\[6, 6\] = -1 is negative: a negative mass of x of node '1'"),
    ({"K": changed(K, (11, 11, -2.0))}, V, r"K\[11, 11\] = -2 is negative: a negative stiffness of rotation about z of node '1'"),
    ({"M": changed(M, (6, 12, 9.0))}, V, r"M\[6, 12\] = 9 between x of node '1' and x of node '2' exceeds"),
    ({"M": changed(M, (6, 6, 5.0))}, V, "the mass of the structure depends on the direction: 7.5 kg along x, 3 along y"),
    (loose(), V, "node '5' is loose: K has no stiffness for the displacements there"),
    (two_parts(), V, "the structure falls into 2 parts that K does not connect; the smallest is nodes '0', '1'"),
    ({"K": changed(K, (3, 3, 1.1 * K[3, 3]))}, V, "K resists rigid-body motion: a rotation about x .* of node '0'"),
    ({"position": 1e3 * POSITION}, V, "K resists rigid-body motion: a rotation about"),
    ({"K": 1e7 * K}, V, "M, K and position are in mixed units, .*sound would travel at about 4.*e.05 m/s"),
    ({"K": 1e-14 * K}, V, "M, K and position are in mixed units"),
    ({"names": ["a", "b"]}, V, "names must be 5 different non-empty strings, one per node, got 2"),
    ({"names": "abcde"}, T, "names must be a list of 5 strings"),
    ({"edges": [[0, 5]]}, V, "edges has 5: node numbers are whole, from 0 to 4"),
    ({"triangles": [[0, 1]]}, V, r"triangles must have shape \(t, 3\)"),
    ({"geometric": 3}, T, "geometric must be a function of the displacements, got 3"),
]  # fmt: skip


@for_each("changes, kind, message", REFUSED)
def test_bad_structures_are_refused(changes, kind, message):
    with refused(kind, message):
        make(**changes)


BEAM = named_beam(4)
PLAIN = lb.Structure(POSITION, M, K)
BAR = lb.Structure(*brick((4, 1, 1), (1.0, 0.1, 0.1)))
SHAPE = np.zeros((5, 6, 1))
SHAPE[1:, 1, 0] = 1.0
RIGID = np.zeros((5, 6, 1))
RIGID[:, 1, 0] = 1.0
TWICE = np.concatenate([SHAPE, 2.0 * SHAPE], axis=2)

REDUCED = [
    (BEAM, {"clamped": "rot"}, V, "clamped='rot' is not a node of the structure; .*Did you mean 'root'?"),
    (BEAM, {"clamped": 9}, V, "clamped=9 is out of range: the structure has nodes 0 to 4"),
    (BEAM, {"clamped": 1.5}, T, "clamped must be a node or a list of nodes, got 1.5"),
    (BEAM, {"clamped": [1.5]}, T, "clamped must be a node name or number of the structure, got 1.5"),
    (BEAM, {"clamped": ["tip", 4]}, V, "clamped has the node 'tip' twice"),
    (BEAM, {"clamped": "root", "interface": ["root"]}, V, "interface has the node 'root', which is held as well"),
    (BEAM, {"clamped": "root", "method": "craig-bamton"}, V, "method='craig-bamton' is unknown. Did you mean 'craig-bampton'?"),
    (BEAM, {"clamped": "root", "method": "craig-bampton"}, V, "method='craig-bampton' needs the nodes that other"),
    (BEAM, {"clamped": "root", "modes": -1}, V, "modes must not be negative, got -1"),
    (BEAM, {"clamped": "root", "modes": 2.5}, T, "modes must be a number of modes, .*got 2.5"),
    (BEAM, {"clamped": "root", "modes": {"bands": (1, 2)}}, V, "modes has the unknown key 'bands'. Did you mean 'band'?"),
    (BEAM, {"clamped": "root", "modes": {"band": (2, 1)}}, V, r'modes\["band"\] must be \(low, high\)'),
    (BEAM, {"clamped": "root", "modes": {"band": (0, 1)}}, V, r'modes=\{"band": \(0, 1\)\} finds no mode: .*the lowest are 11.3'),
    (BEAM, {"clamped": "root", "modes": {"band": (1e7, 2e7)}}, V, "modes=.* finds no mode"),
    (BEAM, {"clamped": "root", "modes": {"effective_mass": 1}}, V, r'modes\["effective_mass"\] must be a fraction of the total'),
    (BEAM, {"clamped": "root", "modes": {"effective_mass": 0.9999}}, V, "modes=.* cannot be reached: all 24 modes of the structure"),
    (BEAM, {"clamped": "root", "modes": {"effective_mass": 0.5, "directions": "xw"}}, V, r"modes\[\"directions\"\] has 'w'"),
    (BEAM, {"modes": {"effective_mass": 0.5}}, V, r'modes=\{"effective_mass": ...\} needs a structure that is held'),
    (BEAM, {"clamped": "root", "modes": 25}, V, "modes requests 25 modes, but .* has only 24. Request fewer"),
    (BEAM, {"clamped": "root", "modes": 0}, V, "modes=0 and no other shapes: the body would have no mode"),
    (BEAM, {"clamped": "root", "loads": [1]}, T, "loads must be a dict of nodes to"),
    (BEAM, {"clamped": "root", "loads": {"tip": 1.0}}, T, r"loads\['tip'\] must be \(mass, inertia\), got 1.0"),
    (BEAM, {"clamped": "root", "loads": {"tip": (-1.0, 0.0)}}, V, r"loads\['tip'\]\[0\] must be at least 0, got -1"),
    (BEAM, {"clamped": "root", "loads": {"tip": (1.0, -1.0)}}, V, r"loads\['tip'\]\[1\] must be positive semidefinite"),
    (BEAM, {"clamped": "root", "shapes": np.ones((5, 3, 1))}, V, r"shapes must have shape \(5, 6, k\), got \(5, 3, 1\)"),
    (BEAM, {"clamped": "root", "shapes": RIGID}, V, "shapes moves node 'root', which is clamped: shapes must be zero there"),
    (BEAM, {"modes": 0, "shapes": RIGID}, V, r"shapes\[..., 0\] is a rigid-body motion: it cannot be a shape"),
    (BEAM, {"clamped": "root", "modes": 0, "shapes": TWICE}, V, r"shapes\[..., 1\] depends on the shapes before it \(mostly on shapes\[..., 0\]\)"),
    (BEAM, {"clamped": "root", "interface": "tip", "modes": 24, "method": "static-correction"}, V, "the shape of a force along x at node 'tip' depends on the shapes"),
    (BEAM, {"clamped": "root", "damping": -0.1}, V, "damping ratios must not be negative"),
    (BEAM, {"clamped": "root", "modes": 3, "damping": (0.1, 0.2)}, V, r"damping must have shape \(3,\).*Give one damping ratio"),
    (BEAM, {"clamped": "root", "origin": (0, 0)}, V, r"origin must have shape \(3,\)"),
    (BEAM, {"clamped": "root", "progress": "no"}, T, "progress must be True, False or None"),
    (BEAM, {"clamped": "root", "geometric_stiffening": 1}, T, "geometric_stiffening must be True or False"),
    (PLAIN, {"clamped": 0, "geometric_stiffening": True}, V, "geometric_stiffening=True needs the geometric stiffness of the structure, .*geometric="),
    (BAR, {"clamped": 0, "modes": 2}, V, "clamped='0' does not hold the structure: 3 rigid-body motions remain"),
    (BAR, {"modes": 2}, V, "the body would have no node to which anything attaches"),
    (BAR, {"interface": 3, "patches": {3: [3, 7, 11]}, "modes": 2}, V, "the rotation of node '3' cannot be determined: .*its neighbours, '3', '7', '11'"),
    (BAR, {"interface": 3, "patches": [1], "modes": 2}, T, "patches must be a dict of nodes to lists of nodes"),
]  # fmt: skip


@for_each("structure, arguments, kind, message", REDUCED)
def test_bad_reductions_are_refused(structure, arguments, kind, message):
    with refused(kind, message):
        structure.reduce(**arguments)


def two_hinged_cubes():
    """Two cubes that share an edge, about which one can turn."""
    cube, m, k = brick((1, 1, 1), (1.0, 1.0, 1.0))
    moved = cube + np.array([1.0, 1.0, 0.0])
    position = np.unique(np.vstack([cube, moved]), axis=0)
    M, K = np.zeros((42, 42)), np.zeros((42, 42))
    for part in (cube, moved):
        nodes = np.array([np.flatnonzero((position == p).all(axis=1))[0] for p in part])
        at = (3 * nodes[:, None] + np.arange(3)).ravel()
        M[np.ix_(at, at)] += m.toarray()
        K[np.ix_(at, at)] += k.toarray()
    return lb.Structure(position, M, K)


@pytest.mark.parametrize("clamped", [[0, 1, 2, 3], None])
def test_a_mechanism_is_refused_by_its_node(clamped):
    with refused(
        V,
        "K is singular beyond rigid-body motions, .*nothing holds [xyz] of node '[0-9]+' against the rest",
    ):
        two_hinged_cubes().reduce(clamped=clamped, nodes=[13], modes=2)


def test_a_mass_that_nothing_holds_is_refused():
    stiffness = K.copy()
    # a massive node on a guide: the freedom is there, with mass and without stiffness
    stiffness[:, 27] = stiffness[27] = 0.0
    with refused(V, "rotation about x of node '4' has mass, .* and no stiffness: nothing holds it"):
        lb.Structure(POSITION, M, stiffness)


def test_an_indefinite_mass_matrix_is_refused():
    """Every entry is within its bounds, and yet some motion has a negative mass."""
    position, _, k = brick((1, 1, 1), (1.0, 1.0, 1.0))
    coupling = np.full((8, 8), 0.2) - 1.2 * np.eye(8)[:, [1, 0, 3, 2, 5, 4, 7, 6]]
    mass = np.kron(1.15 * np.eye(8) + coupling, np.eye(3))
    assert np.linalg.eigvalsh(mass)[0] < -0.01
    structure = lb.Structure(position, 1e3 * mass, k)
    with refused(
        V, "M is not positive semidefinite: some motion of the structure has a negative mass"
    ):
        structure.reduce(clamped=[0, 1, 2], nodes=[7], modes=12)


@for_each(
    "returned, kind, message",
    {
        "size": (
            np.eye(3),
            T,
            r"geometric must return a matrix of shape \(30, 30\), sparse or dense, got \(3, 3\)",
        ),
        "type": (None, T, "geometric must return a matrix of shape .*got NoneType"),
        "nan": (np.full((30, 30), np.nan), V, "geometric returned a matrix that is not finite"),
        "skew": (
            np.triu(np.ones((30, 30))),
            V,
            "geometric returned a matrix that is not symmetric",
        ),
    },
)
def test_bad_geometric_stiffness_is_refused(returned, kind, message):
    structure = lb.Structure(POSITION, M, K, geometric=lambda u: returned)
    with refused(kind, message):
        structure.reduce(clamped=0, modes=2, geometric_stiffening=True)
