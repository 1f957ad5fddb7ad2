"""Loops of long programs: the arithmetic of straight-line code, run on the host, and what is kept in memory."""

import re

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.cuda_host import by_structure, needs_gpp, on_host
from helpers.generated import evaluated, program, values
from limber.codegen import cuda_source as cuda
from limber.codegen import graph as g
from limber.codegen import repeats, rolled
from limber.codegen.program import Argument, Program

TOLERANCE = 1e-12


def chain(links, modes=2, equal=True):
    """Beams end to end; if they are not equal, each is longer and heavier than the one before."""
    a = lb.Assembly("chain")
    to, at = "world", None
    for i in range(links):
        scale = 1.3 if equal else 1.3 + 0.17 * i
        beam = lb.beam(scale, 2.0 * scale, EI=20.0, modes=modes)
        a.attach(f"l{i}", beam, lb.Revolute([0, 0, 1]), to=to, at=at)
        to, at = f"l{i}", "tip"
    return a.build()


def on_threads(tmp_path, p, states, text=None):
    """The results of a kernel for all states, each of which is a list of inputs."""
    columns = [by_structure(x) for x in zip(*states)]
    results = [np.full((*a.shape, len(states)), np.nan) for a in p.outputs]
    text = text or cuda.source(p, False)
    on_host(tmp_path, text, p.name, [*columns, *results], [], len(states))(0)
    return results


@needs_gpp
@pytest.mark.parametrize("links, equal", [(5, True), (8, False)])
def test_rolled_kernels_on_the_host(tmp_path, links, equal):
    s, rng = chain(links, equal=equal), np.random.default_rng(links)
    p = program(s, "forward_dynamics")
    text = cuda.source(p, False)
    assert len(re.findall(r"for \(int turn", text)) >= 3  # outward, inward and outward again
    assert ("forward_dynamics_numbers" in text) != equal
    states = [values(rng, s, "forward_dynamics") for _ in range(5)]
    (got,) = on_threads(tmp_path, p, states, text)
    for i, args in enumerate(states):
        (expected,) = evaluated(p, args)
        assert_close(got[:, i], expected, TOLERANCE)


def live(p):
    """The most values that are needed at one time."""
    nodes = [value for value in p.nodes if value.op != g.INPUT]
    used, here, most = repeats.uses(nodes), 0, 0
    ends = [0] * len(nodes)
    for i, value in enumerate(nodes):
        here += bool(used[value.index])
        if used[value.index]:
            ends[used[value.index][-1]] += 1
        here -= ends[i]
        most = max(most, here)
    return most


@pytest.mark.parametrize("near", [0, 100, 10_000])
def test_memory_is_that_of_the_values_in_use(near):
    """Columns are shared so well that there is hardly more memory than values at the worst time."""
    p = program(chain(8), "forward_dynamics")
    found = rolled.rolled(p, cuda.dialect(False), 40, near).frames
    assert found.size["near"] <= near and found.size["carried"] <= 40
    assert (found.size["far"] == 0) == (near == 10_000)
    assert sum(found.size.values()) <= 1.1 * live(p)


def test_longer_chains_have_no_longer_code():
    sizes = {}
    for links in (8, 16):
        p = program(chain(links), "forward_dynamics")
        sizes[links] = rolled.rolled(p, cuda.dialect(False), 40, 100).size
    assert sizes[16] < 1.1 * sizes[8] < 0.5 * len(p.nodes)


def test_short_programs_and_programs_without_repetition_stay_as_they_are():
    d = cuda.dialect(False)
    assert rolled.rolled(program(chain(2), "forward_dynamics"), d, 40, 100) is None
    s = lb.models.spacecraft(modes=4).build()
    p = program(s, "forward_dynamics", wrt="q")
    assert rolled.rolled(p, d, 40, 100) is None


@needs_gpp
@pytest.mark.parametrize("unused", [0, 3, 6])
def test_a_value_that_one_repetition_computes_for_itself(tmp_path, monkeypatch, unused):
    """What comes after the loop uses a value of all repetitions but one."""
    monkeypatch.setattr(rolled, "LONG", 100)
    graph, rng = g.Graph(), np.random.default_rng(unused)
    x, y = graph.inputs(0, 7), graph.inputs(1, 7)
    last, kept = 1.0, []
    for k in range(7):
        last = last * x[k] + y[k]
        for i in range(60):
            last = last * (0.5 + 0.01 * i) + x[k]
            if i == 30:
                kept.append(last)
    total = last
    for k, value in enumerate(kept):
        if k != unused:
            total = total * y[k] + value
    inputs, outputs = (Argument("x", (7,)), Argument("y", (7,))), (Argument("z", (1,)),)
    p = Program("sums", inputs, outputs, ((total,),), graph)
    assert rolled.rolled(p, cuda.dialect(False), 0, 0).frames.size["far"] >= 6
    states = [list(rng.standard_normal((2, 7))) for _ in range(3)]
    (got,) = on_threads(tmp_path, p, states)
    for i, args in enumerate(states):
        assert_close(got[:, i], evaluated(p, args)[0], TOLERANCE)
