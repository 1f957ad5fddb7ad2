"""Long programs, cut into functions with an array of values between them."""

import re

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.generated import arm, evaluated, mixed, program, values
from limber.codegen import c, cuda, statements

TOLERANCE = 1e-12


def slots_are_read_as_written(code):
    """Replay the pieces: what is read from w was written by an earlier piece, and not since replaced by a
    value that the reader does not mean (every slot read holds the last write, which some piece made)."""
    written_slots: set[int] = set()
    for piece in code.pieces:
        fresh = set()
        for line in piece.lines:
            left, _, right = line.partition(" = ")
            target = re.fullmatch(r"w\[(\d+)\]", left.strip())
            reads = {int(x) for x in re.findall(r"\bw\[(\d+)\]", right if target else line)}
            assert reads <= written_slots, "read before written"
            assert not reads & fresh, "read after it was replaced in the same piece"
            if target:
                slot = int(target[1])
                assert slot not in fresh, "written twice in one piece"
                fresh.add(slot)
        written_slots |= fresh
    assert not written_slots or max(written_slots) == code.workspace - 1


@pytest.mark.parametrize("size", [7, 50, 333])
@pytest.mark.parametrize(
    "function, wrt", [("forward_dynamics", None), ("step", None), ("step", "q")]
)
def test_pieces_use_their_workspace_right(monkeypatch, size, function, wrt):
    monkeypatch.setattr(statements, "PIECE", size)
    p = program(arm(), function, wrt=wrt)
    for one in (*p.callees, p):
        code = statements.written(one)
        assert len(code.pieces) > 1 or len(one.nodes) < 1.5 * size
        slots_are_read_as_written(code)
    values_ = sum(1 for x in program(arm(), "forward_dynamics").nodes)
    code = statements.written(program(arm(), "forward_dynamics"))
    assert code.workspace < values_ / 3  # slots are used again


@pytest.mark.parametrize(
    "function, wrt, size",
    [("forward_dynamics", None, 11), ("forward_dynamics", "tau", 100), ("step", None, 11), ("step", "dt", 100)],
)  # fmt: skip
def test_cut_code_agrees(monkeypatch, function, wrt, size):
    """Between a call and its results, between sin and cos, wherever a cut may fall; in lanes, too."""
    monkeypatch.setattr(statements, "PIECE", size)
    s, rng = arm(), np.random.default_rng(1)
    f = lb.compile(s, function, wrt=wrt, lanes=4)
    assert re.search(rf"\b{f.program.name}_1\(", f.source)
    args = values(rng, s, function)
    expected = evaluated(f.program, args)
    got = f(*args)
    batch = f(*[np.stack([np.asarray(x)] * 5) for x in args])
    got, batch = (x if isinstance(x, tuple) else (x,) for x in (got, batch))
    for x, y, z in zip(got, batch, expected):
        assert_close(x, z, TOLERANCE)
        assert_close(y, np.stack([z] * 5), TOLERANCE)


def test_cut_is_the_same_as_uncut_bit_for_bit_without_contraction(monkeypatch):
    """The pieces do the same operations in the same order: plain C without fused operations is equal."""
    from limber.native import c_compiler

    monkeypatch.setattr(
        c_compiler, "FLAGS", ("-std=gnu99", "-O1", "-ffp-contract=off", "-shared", "-fPIC")
    )
    s, rng = arm(), np.random.default_rng(2)
    whole = lb.compile(s, "forward_dynamics")
    monkeypatch.setattr(statements, "PIECE", 40)
    cut = lb.compile(s, "forward_dynamics")
    assert whole.source != cut.source
    args = values(rng, s, "forward_dynamics")
    assert np.array_equal(whole(*args), cut(*args))
    (expected,) = evaluated(whole.program, args)
    assert np.array_equal(whole(*args), expected)  # and equal to Python's arithmetic


def test_a_chain_of_twelve_bodies_of_six_modes():
    """Large for straight-line code: many pieces, none much longer than PIECE."""
    a = lb.Assembly("chain", gravity=(0, 0, -9.81))
    beam = lb.beam(1.0, 2.0, EI=(300.0, 400.0), modes=3)
    for i in range(12):
        a.attach(f"b{i}", beam, lb.Revolute([(0, 1, 0), (0, 0, 1)][i % 2]), to=f"b{i - 1}" if i else "world", at="tip" if i else None)  # fmt: skip
    s, rng = a.build(), np.random.default_rng(3)
    assert s.nv == 84
    f = lb.compile(s, "inverse_dynamics")
    code = statements.written(f.program)
    slots_are_read_as_written(code)
    assert len(code.pieces) >= 3
    assert max(len(piece.lines) for piece in code.pieces) < 2 * statements.PIECE
    q, v, vdot = values(rng, s, "inverse_dynamics")
    assert_close(f(q, v, vdot), lb.inverse_dynamics(s, q, v, vdot), TOLERANCE)
    forward = program(s, "forward_dynamics")
    slots_are_read_as_written(statements.written(forward))
    tau = lb.inverse_dynamics(s, q, v, vdot)
    (back,) = evaluated(forward, [q, v, tau])
    # the mass matrix of 84 freedoms has a condition of about 1e6
    assert_close(back, lb.forward_dynamics(s, q, v, tau), 1e-9)


def test_large_results_in_lanes_are_off_the_stack(monkeypatch):
    """140 x 140 in 64 lanes of 8 bytes are 10 MB, more than a stack has: such arguments are on the heap.
    The same code for a small system, with the limit lowered."""
    a = lb.Assembly("fan")
    body = lb.RigidBody(1.0, (0.1, 0, 0), np.eye(3))
    for i in range(140):
        a.attach(f"b{i}", body, lb.Revolute([0, 0, 1]), to="b0" if i else "world")
    large = c.library(program(a.build(), "mass_matrix"), 64, False)
    assert "posix_memalign" in large and "block y0[" not in large
    monkeypatch.setattr(c, "ON_STACK", 10)
    s, rng = arm(), np.random.default_rng(4)
    f = lb.compile(s, "mass_matrix", lanes=4)
    assert "free(scratch)" in f.source
    q = np.array([values(rng, s, "mass_matrix")[0] for _ in range(7)])
    assert_close(f(q), lb.mass_matrix(s, q), TOLERANCE)


@pytest.mark.parametrize("single", [False, True])
def test_constants_stand_alone_in_every_dialect(single):
    """Outputs that do not depend on the inputs: zeros of a Jacobian, the mass matrix of a slider."""
    slider = lb.Assembly("slider").attach("a", lb.RigidBody(2.0, (0, 0, 0), np.eye(3)), lb.Prismatic([1, 0, 0])).build()  # fmt: skip
    f = lb.compile(slider, "mass_matrix", lanes=4, dtype="float32" if single else "float64")
    assert f(np.zeros((5, 1))).tolist() == [[[2.0]]] * 5
    p = program(slider, "mass_matrix")
    assert "2.0" in cuda.source(p, single) and "2.0" in c.library(p, 1, single)


def test_cuda_text_of_a_cut_program_declares_what_it_uses(monkeypatch):
    """Every r and w that a function of the text reads is declared in it."""
    monkeypatch.setattr(statements, "PIECE", 15)
    for text in (
        cuda.source(program(mixed(), "step"), False),
        cuda.rollout_source(program(mixed(), "step"), False),
    ):
        for function in re.split(r"\n}\n", text):
            for name in set(re.findall(r"\b([ra]\d+(?:_\d+)?)\[", function)):
                assert re.search(rf"double {name}\[", function), name
