"""Operation counts: by hand, and by counting in the printed text."""

import re

import numpy as np
import pytest

import limber as lb
from helpers.generated import INPUTS, OF_NODE, arm, mixed, pendulum, program
from limber.codegen.program import OperationCount
from limber.codegen.statements import written

NUMBER = re.compile(r"(?<![\w.])\d+\.?\d*(?:e[+-]?\d+)?")


def test_pendulum_by_hand():
    """vdot = (tau - m g l sin q) / (m l^2 + I): the product of constants with the sine, one subtraction,
    one scaling by the inverse inertia, one sine; nothing depends on the speed."""
    count = lb.operation_count(pendulum(), "forward_dynamics")
    assert (count.mul, count.add, count.div, count.transcendental) == (2, 1, 0, 1)
    assert lb.operation_count(pendulum(), "mass_matrix") == OperationCount(0, 0, 0, 0)
    # T = 1/2 v (I v): the square is a multiplication
    assert lb.operation_count(pendulum(), "kinetic_energy") == OperationCount(3, 0, 0, 0)


def counted(p):
    """Operations in the C text of one program, callees left out; and the names that are called."""
    text = "\n".join(line for piece in written(p).pieces for line in piece.lines)
    calls = re.findall(r"\b(sin|cos|sqrt|log)\(", text)
    text = re.sub(r"\bconst double \w+ = ", "", text)
    text = re.sub(r"\b[ar]\d+(_\d+)?( \+ \d+)?(?=[,)])", "array", text)  # arguments of calls
    text = re.sub(r"^double .*$", "", text, flags=re.M)  # arrays for calls
    text = re.sub(r"\[\d+\]", "", text)
    text = re.sub(r"\(-(?=\d)", "(", text)  # the sign of a constant
    text = re.sub(r"= -(?=\d[\d.e+-]*;)", "= ", text)
    text = NUMBER.sub("c", text)
    return OperationCount(
        text.count("*"), text.count("+") + text.count("-"), text.count("/"), len(calls)
    )


@pytest.mark.parametrize("function", INPUTS)
def test_counts_are_those_of_the_text(function):
    s = mixed()
    p = program(s, function, **({"body": "link", "node": "tip"} if function in OF_NODE else {}))
    total = counted(p)
    if function == "step":  # calls forward dynamics four times
        inner = counted(program(s, "forward_dynamics"))
        total = total + inner + inner + inner + inner
    assert total == p.count()
    assert p.count() == lb.operation_count(s, function, **({"body": "link", "node": "tip"} if function in OF_NODE else {}))  # fmt: skip


@pytest.mark.parametrize("wrt", ["q", "tau", ["q", "v", "tau"], "gravity"])
def test_counts_of_derivatives_are_those_of_the_text(wrt):
    assert counted(program(arm(), "forward_dynamics", wrt=wrt)) == lb.operation_count(arm(), "forward_dynamics", wrt=wrt)  # fmt: skip


def chain(n, modes=0):
    a = lb.Assembly("chain", gravity=(0, 0, -9.81))
    inertia = np.array([[0.02, 0.001, 0.002], [0.001, 0.03, -0.003], [0.002, -0.003, 0.04]])
    for i in range(n):
        body = lb.beam(1.0, 1.0, EI=(5.0, 6.0), modes=modes) if modes else lb.RigidBody(1.0, (0.5, 0.1, 0.2), inertia, nodes={"tip": (1, 0, 0)})  # fmt: skip
        a.attach(f"b{i}", body, lb.Revolute([(0, 1, 0), (0, 0, 1)][i % 2]), to=f"b{i - 1}" if i else "world", at="tip" if i else None)  # fmt: skip
    return a.build()


def test_counts_grow_linearly_with_bodies():
    """O(N): after the first ones every two bodies cost the same (revolute, alternating axes)."""
    counts = [lb.operation_count(chain(n), "forward_dynamics") for n in (6, 8, 10, 12)]
    muls = np.diff([c.mul for c in counts])
    adds = np.diff([c.add for c in counts])
    assert (muls > 0).all() and (adds > 0).all()
    assert muls.min() == muls.max() and adds.min() == adds.max()


def test_counts_grow_with_modes_parameters_and_derivatives():
    few, more = (lb.operation_count(chain(2, m), "forward_dynamics") for m in (1, 2))
    assert few.mul < more.mul and few.add < more.add
    plain = lb.operation_count(arm(), "forward_dynamics")
    free = lb.operation_count(arm(), "forward_dynamics", parameters=["hand.mass", "gravity"])
    slope = lb.operation_count(arm(), "forward_dynamics", wrt=["q", "v"])
    assert plain.mul < free.mul < slope.mul
    assert lb.operation_count(arm("ruthless"), "inverse_dynamics").mul < lb.operation_count(arm(), "inverse_dynamics").mul  # fmt: skip
