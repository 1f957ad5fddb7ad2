"""The compiled dispatcher: built once and silently, or done without; scratch and threads of its calls."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import limber as lb
from helpers.random_systems import random_assembly, random_state
from limber import cache as disk
from limber import native
from limber.native import calls
from limber.native.dispatcher import dispatcher

needs_dispatcher = pytest.mark.skipif(
    dispatcher() is None, reason="no C compiler here, or no headers of Python"
)


def system(seed=1):
    return random_assembly(np.random.default_rng(seed)).build()


# --- building it ------------------------------------------------------------------------------------------

PROCESS = """\
import numpy as np
import limber as lb
from limber.native.dispatcher import dispatcher
body = lb.RigidBody(1.0, (0.5, 0, 0), inertia=np.eye(3))
s = lb.Assembly("wheel", gravity=(0, -9.81, 0)).attach("b", body, lb.Revolute([0, 0, 1])).build()
for _ in range(3):
    answer = lb.forward_dynamics(s, np.full(1, 0.3), np.ones(1), np.ones(1))
print(dispatcher() is not None, answer.tobytes().hex())
"""


@pytest.fixture
def run(tmp_path):
    """A function that runs PROCESS on a cache that has the engine and no dispatcher: what it prints."""
    lb.forward_dynamics(system(), *random_state(np.random.default_rng(0), system()))
    native.load("states")
    (tmp_path / "kernels").symlink_to(disk.folders()[0] / "kernels")

    def run(**environment):
        paths = {"PYTHONPATH": str(Path(lb.__file__).parents[1]), "LIMBER_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", PROCESS],
            env=os.environ | paths | environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return run


def kept(folder):
    return sorted((folder / "generated").glob("*"))


@needs_dispatcher
def test_it_is_built_once_and_then_needs_no_compiler(run, tmp_path):
    there, answer = run()
    assert there == "True" and len(kept(tmp_path)) == 1
    assert run(CC="/nonexistent/cc") == ["True", answer]


@pytest.mark.parametrize(
    "compiler",
    ["/nonexistent/cc", *(pytest.param(x, marks=pytest.mark.slow) for x in ("false", "true", "'"))],
)
def test_without_a_compiler_the_answers_are_the_same(run, tmp_path, compiler):
    there, answer = run(CC=compiler)
    assert there == "False" and kept(tmp_path) == []
    assert answer == run()[1]


# --- calls ------------------------------------------------------------------------------------------------


@needs_dispatcher
def test_calls_without_the_lock_of_python_share_no_scratch(monkeypatch):
    """Long calls let other threads run: each takes an array of scratch of its own, and gives it back."""
    monkeypatch.setattr(calls, "UNLOCKED_FROM", 0)
    s, rng = system(2), np.random.default_rng(3)
    states = [random_state(rng, s) for _ in range(8)]
    expected = [lb.forward_dynamics(s, *(a[None] for a in state))[0] for state in states]

    def work(i):
        answers = (lb.forward_dynamics(s, *states[i]) for _ in range(300))
        return all(np.array_equal(answer, expected[i]) for answer in answers)

    with ThreadPoolExecutor(4) as executor:
        assert all(executor.map(work, range(8)))
    (pool,) = s.dynamics.pools.values()
    assert 1 <= len(pool.free) == len({id(array) for array in pool.free})


@needs_dispatcher
def test_a_call_that_finds_no_scratch_is_left_to_the_careful_way():
    s = system()
    state = random_state(np.random.default_rng(4), s)
    expected = lb.forward_dynamics(s, *state)
    (pool,) = s.dynamics.pools.values()
    pool.free.clear()
    assert s._ready["articulated"](*state) is None
    assert np.array_equal(lb.forward_dynamics(s, *state), expected)
    assert np.array_equal(s._ready["articulated"](*state), expected)


@needs_dispatcher
def test_results_without_dimensions_are_numbers_of_numpy():
    s = system()
    q, v, _ = random_state(np.random.default_rng(4), s)
    for _ in range(2):
        assert type(lb.kinetic_energy(s, q, v)) is np.float64


@needs_dispatcher
def test_a_ready_call_belongs_to_its_process():
    s = system()
    lb.mass_matrix(s, s.neutral())
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(s._ready["mass_matrix"])


BAD = {
    "too many inputs": (0, [(1,)] * 25, [(1,)], 0, None, 0, 0, (), None),
    "too deep": (0, [(1, 1, 1, 1)], [(1,)], 0, None, 0, 0, (), None),
    "no shape": (0, ["q"], [(1,)], 0, None, 0, 0, (), None),
    "engine without scratch": (0, [(1,)] * 5, [(1,)], 1, None, 0, 0, (), None),
    "engine of two inputs": (0, [(1,)] * 2, [(1,)], 1, [], 0, 0, (), None),
}


@needs_dispatcher
@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD)
def test_functions_that_cannot_be_called_are_not_made(arguments):
    with pytest.raises(ValueError):
        dispatcher()(*arguments)
