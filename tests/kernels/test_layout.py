"""One model table: every block of the arrays of a model has its place in `topo`, and nobody else knows sizes."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import limber
import limber as lb
from helpers.random_systems import random_assembly
from limber.assembly import modal
from limber.kernels import layout as L

SOURCE = Path(limber.__file__).parent
#: Columns that hold places in q and v.
STATE = {"Q_MODES", "Q_JOINT", "V_MODES", "V_JOINT", "G_Q", "G_V"}
#: Columns of topo that hold how many there are of something, not where something is.
SIZES = {"MODES", "DOFS", "LOADS", "RANK", "G_DOFS", "GROUPS", "NQ", "NV", "COLUMNS", "MOVED_BY"}


def column_of(node):
    """The column X of an expression topo[... + X], or None."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)):
        return None
    if node.value.id != "topo":
        return None
    names = [n.id for n in ast.walk(node.slice) if isinstance(n, ast.Name) and n.id.isupper()]
    names += [n.attr for n in ast.walk(node.slice) if isinstance(n, ast.Attribute)]
    return names[-1] if names else None


def kinds(function):
    """Names in a function that are sizes, and names that are places in the arrays."""
    sizes, places = set(), set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            pairs = zip(node.targets, [node.value])
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(node.targets[0].elts, node.value.elts)
            for target, value in pairs:
                column = column_of(value)
                if isinstance(target, ast.Name) and column not in (None, *STATE):
                    (sizes if column in SIZES else places).add(target.id)
    return sizes, places


def is_size(node, sizes):
    """Whether an expression is made of sizes and numbers, with a size in it."""
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
        return any(is_size(x, sizes) for x in parts) and all(
            is_size(x, sizes) or isinstance(x, ast.Constant) for x in parts
        )
    if isinstance(node, ast.Subscript):
        return column_of(node) in SIZES
    return isinstance(node, ast.Name) and node.id in sizes


def offsets_from_sizes(source):
    """The sums `place + size` in a source text, but for ends of slices: offsets that are not read from the table."""
    found = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        sizes, places = kinds(function)

        def is_place(node, places=places):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                return is_place(node.left) or is_place(node.right)
            if isinstance(node, ast.Subscript):
                return column_of(node) not in (None, *SIZES, *STATE)
            return isinstance(node, ast.Name) and node.id in places

        ends = {id(n.upper) for n in ast.walk(function) if isinstance(n, ast.Slice)}
        for node in ast.walk(function):
            if (
                isinstance(node, ast.BinOp)
                and isinstance(node.op, ast.Add)
                and id(node) not in ends
            ):
                for a, b in ((node.left, node.right), (node.right, node.left)):
                    if is_place(a) and is_size(b, sizes):
                        found.append(ast.unparse(node))
    return found


def test_no_module_but_the_layout_computes_an_offset_from_sizes():
    for file in sorted(SOURCE.rglob("*.py")):
        if file.name != "layout.py":
            assert not offsets_from_sizes(file.read_text()), file


@pytest.mark.parametrize(
    "line",
    [
        "df = mu + 6 * m",
        "zf = topo[k + W_MU] + 15 * m + m * m",
        "n = topo[k + W_JOINT] + topo[k + DOFS] * 14",
    ],
)
def test_such_an_offset_would_be_found(line):
    source = f"def f(topo, k):\n    m = topo[k + MODES]\n    mu = topo[k + W_MU]\n    {line}\n"
    assert offsets_from_sizes(source)


def test_one_file_alone_reads_node_records():
    readers = {
        file.name
        for file in SOURCE.rglob("*.py")
        if file.name != "layout.py" and re.search(r"\bNODE_[A-Z]+", file.read_text())
    }
    assert readers == {"nodes.py"}


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_blocks_of_a_model_do_not_overlap(fidelity):
    rng = np.random.default_rng(3)
    a = random_assembly(rng, bodies=12, flexible=0.7, rotary=True, physics=True, second=True)
    topo = a.build(fidelity).dynamics.topo
    spans = []
    for k in range(L.COLUMNS, topo[L.END], L.COLUMNS):
        m, row = int(topo[k + L.MODES]), topo[k + L.MODAL]
        spans.append((topo[k + L.WORK], L.WORK_BLOCK))
        spans.append((topo[k + L.W_JOINT], int(topo[k + L.DOFS]) * L.JOINT_WORK))
        spans.append((topo[k + L.W_PIVOTS], L.D_PIVOTS + int(topo[k + L.DOFS])))
        if topo[k + L.ATTACHED] != L.RIGIDLY:
            spans.append((topo[k + L.W_NODE], 6 * int(topo[topo[k + L.PARENT] + L.MODES])))
        if m:
            loads = int(topo[row + L.LOADS]) if fidelity == "ruthless" else None
            spans += [(topo[row + c], size) for c, size in L.modal_work(m, loads).items()]
        if topo[k + L.BENT]:
            bent = topo[k + L.BENT]
            records = int(topo[bent + L.B_POINTS] * topo[bent + L.B_DIRECTIONS])
            assert topo[bent + L.B_WORK] == L.curved_work(m)
            spans.append((topo[bent + L.W_CURVED], records * L.curved_work(m)))
        if topo[k + L.INBOARD]:
            spans.append((topo[k + L.W_INBOARD], L.I_SHAPES + 6 * m))
    for g in range(topo[L.END], topo[L.GROUPS_END], L.COLUMNS):
        if topo[g + L.G_KIND] == L.SCREWS:
            spans += [(topo[g + c], n) for c, n in L.group_work(int(topo[g + L.G_DOFS])).items()]
    taken = np.zeros(topo[L.WORK_SIZE], dtype=int)
    for start, size in spans:
        taken[start : start + size] += 1
    assert taken.max() == 1


def test_modal_constants_are_found_by_their_columns():
    body = lb.beam(
        1.0, 2.0, EI=(3.0, 4.0), GJ=1.0, modes={"bending": 2, "torsion": 1}, polar_inertia=0.1
    )
    a = lb.Assembly("beam")
    a.attach("beam", body, lb.Fixed())
    s = a.build()
    found = modal.places(s.dynamics.topo, L.COLUMNS)
    assert np.array_equal(s.dynamics.const[found["K"]], body.stiffness.ravel())
    assert np.array_equal(s.dynamics.const[found["D"]], body.damping.ravel())
    assert np.array_equal(s.dynamics.const[found["G0"]], body.integrals.G0.ravel())
    assert np.array_equal(s.dynamics.const[found["N0"]], body.integrals.N0.ravel())


def test_every_column_of_closure_rows_has_one_name():
    """Two names for one column would overwrite each other."""
    names = [name for name in vars(L) if name.startswith("K_")]
    columns = [x for name in names for x in np.atleast_1d(getattr(L, name)).tolist()]
    assert len(set(columns)) == len(columns) and max(columns) < L.COLUMNS
