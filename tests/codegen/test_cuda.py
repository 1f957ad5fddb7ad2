"""CUDA text: compiled by nvcc where there is one, and run on the host, thread by thread."""

import shutil
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.cuda_host import by_structure, needs_gpp, on_host
from helpers.generated import arm, evaluated, mixed, program, values
from helpers.sampled_laws import Law
from limber.codegen import cuda_source as cuda
from limber.codegen import statements
from limber.codegen.compiler import rollout_in_lanes
from limber.errors import MissingExtraError
from limber.simulation.laws import LawTable, Memory, SampledLaw, no_memory, rigid_model
from limber.simulation.table import joint_speeds

TOLERANCE = 1e-12


@needs_gpp
@pytest.mark.parametrize("piece", [3000, 60])
@pytest.mark.parametrize("function", ["forward_dynamics", "step", "mass_matrix"])
def test_kernels_on_the_host(tmp_path, monkeypatch, function, piece):
    """Six states in blocks of four: two threads have none.  dt shared by all states."""
    monkeypatch.setattr(statements, "PIECE", piece)
    s, rng = arm(), np.random.default_rng(1)
    p = program(s, function)
    states = [values(rng, s, function) for _ in range(6)]
    columns = [by_structure(x) for x in zip(*states)]
    shared = 0
    if function == "step":
        columns[3] = np.array([0.01])
        shared = 1 << 3
    results = [np.full((*a.shape, 6), np.nan) for a in p.outputs]
    run = on_host(tmp_path, cuda.source(p, False), function, [*columns, *results], [], 6)
    run(shared)
    for i, args in enumerate(states):
        for got, expected in zip(results, evaluated(p, args)):
            assert_close(got[..., i], expected, TOLERANCE)


@needs_gpp
def test_shared_inputs_and_parameters_in_a_kernel(tmp_path):
    """q shared, the mass of each state its own, gravity shared; float32."""
    s, rng = arm(), np.random.default_rng(2)
    p = program(s, "forward_dynamics", parameters=["hand.mass", "gravity"])
    q, v, tau = values(rng, s, "forward_dynamics")
    masses = np.linspace(0.5, 1.5, 5, dtype=np.float32)
    gravity = np.array([0.1, 0.2, -9.0], dtype=np.float32)
    arrays = [q.astype(np.float32), by_structure([v] * 5, np.float32), by_structure([tau] * 5, np.float32), masses, gravity]  # fmt: skip
    out = np.full((s.nv, 5), np.nan, dtype=np.float32)
    on_host(tmp_path, cuda.source(p, True), "forward_dynamics", [*arrays, out], [], 5, True)(
        0b10001
    )
    for i, mass in enumerate(masses):
        (expected,) = evaluated(p, [q, v, tau, mass, gravity])
        assert_close(out[:, i], expected, 1e-4)


@needs_gpp
@pytest.mark.parametrize("piece", [3000, 60])
def test_rollout_on_the_host(tmp_path, monkeypatch, piece):
    """12 steps, tau held for 3 steps each, recorded every 4; quaternions; gravity shared or not."""
    monkeypatch.setattr(statements, "PIECE", piece)
    s, rng = mixed(), np.random.default_rng(3)
    p = program(s, "step", parameters=["gravity"])
    n, steps, hold, record, dt = 5, 12, 3, 4, 0.002
    states = [values(rng, s, "step") for _ in range(n)]
    q, v = by_structure([x[0] for x in states]), by_structure([x[1] for x in states])
    tau = rng.standard_normal((steps // hold, s.nv, n))
    gravity = rng.standard_normal((3, n))
    q_new = np.full((steps // record, s.nq, n), np.nan)
    v_new = np.full((steps // record, s.nv, n), np.nan)
    scalars = [("double", dt), ("int", steps), ("int", hold), ("int", record)]
    text = cuda.rollout_source(p, False)
    run = on_host(tmp_path, text, "rollout", [q, v, tau, gravity, q_new, v_new], scalars, n)
    step = lb.compile(s, "step", parameters=["gravity"])
    for shared in (0, 1):
        run(shared)
        for i in range(n):
            g = gravity.ravel()[:3].copy() if shared else gravity[:, i].copy()
            x, y = q[:, i].copy(), v[:, i].copy()
            for k in range(steps):
                x, y = step(x, y, tau[k // hold, :, i].copy(), dt, g)
                if (k + 1) % record == 0:
                    assert_close(q_new[k // record, :, i], x, 1e-11)
                    assert_close(v_new[k // record, :, i], y, 1e-11)


def law_table(s, rng, n, sample_time, samples, varying, accelerates):
    """A law with memory, limits and integrals that stop there, with a model that it accelerates or holds and without."""
    memory = Memory(0.3 * rng.normal(size=(3, 3)), rng.normal(size=(3, 4)), rng.normal(size=(2, 3)), np.array([1, -1, 0]))  # fmt: skip
    watched, torques = np.array([1, 0]), np.array([2, 1])
    model = None
    if accelerates is not None:
        torques = np.array(joint_speeds(s)[:2])
        model = rigid_model(s, torques, accelerates)
    law = SampledLaw(sample_time, watched, watched, torques, np.array([2.0, np.inf]), None, None, memory, model)  # fmt: skip
    gains = 3.0 * rng.normal(size=(samples if varying else 1, 2, 4))
    reference, feed = rng.normal(size=(samples, 4)), rng.normal(size=(samples, 2))
    return LawTable(law, reference, feed, gains, rng.normal(size=(n, 4)))


def controlled(s, table, q, v, tau, dt, steps, sample, record):
    """q, v and tau (rows, size) of each case, and whether a torque reached its limit."""
    step, found, reached = lb.compile(s, "step"), [], False
    for case, held in enumerate(tau):
        law, rows, x, y = Law(table, case), [], q[case], v[case]
        for k in range(steps):
            if k % sample == 0:
                u, own = held.copy(), law.torques(k // sample, x, y)
                u[table.law.torques] += own
                reached = reached or abs(own[0]) == 2.0
            x, y = step(x, y, u, dt)
            if (k + 1) % record == 0:
                rows.append((x, y, u))
        found.append([np.array(part) for part in zip(*rows)])
    return [np.array(part) for part in zip(*found)], reached


LAWS = pytest.mark.parametrize(
    "varying, accelerates", [(False, None), (True, None), (False, True), (False, False)]
)


@needs_gpp
@LAWS
def test_controlled_rollout_on_the_host(tmp_path, varying, accelerates):
    """A law on top of constant torques has its equations."""
    s, rng = arm(), np.random.default_rng(4)
    p = program(s, "step")
    n, steps, record, sample, dt = 3, 24, 4, 2, 0.002
    states = [values(rng, s, "step") for _ in range(n)]
    q, v, tau = (np.array([x[i] for x in states]) for i in range(3))
    table = law_table(s, rng, n, sample * dt, steps // sample, varying, accelerates)
    rows = [np.full((steps // record, k, n), np.nan) for k in (s.nq, s.nv, s.nv)]
    scalars = [("double", dt), ("int", steps), ("int", steps), ("int", record), ("int", sample), ("int", int(varying))]  # fmt: skip
    model = table.law.model
    inverse = None if model is None else program(model.system, "inverse_dynamics")
    text = cuda.rollout_source(p, False, table.law.places(), inverse)
    given = table.arrays()
    assert list(given) == list(table.law.places().shapes())
    columns = [by_structure(x) for x in (q, v, tau)]
    on_host(tmp_path, text, "rollout", [*columns, *rows, *given.values()], scalars, n)(0)
    expected, reached = controlled(s, table, q, v, tau, dt, steps, sample, record)
    assert reached
    for got, right in zip(rows, expected):
        assert_close(np.moveaxis(got, 2, 0), right, 1e-11)


@LAWS
@pytest.mark.parametrize("lanes", [1, 8])
def test_controlled_rollout_in_lanes(lanes, varying, accelerates):
    """The same in C, with a row at the start, where the memory of the law is not renewed."""
    s, rng = arm(), np.random.default_rng(4)
    n, steps, record, sample, dt = 11, 24, 4, 2, 0.002
    states = [values(rng, s, "step") for _ in range(n)]
    q, v, tau = (np.array([x[i] for x in states]) for i in range(3))
    table = law_table(s, rng, n, sample * dt, steps // sample, varying, accelerates)
    model = table.law.model
    run = rollout_in_lanes(s, [], lanes, table.law.places(), None if model is None else model.system)  # fmt: skip
    rows = steps // record
    spans, counts, lengths = (np.full(rows + 1, x) for x in (record // sample, sample, dt))
    spans[0] = counts[0] = 0
    found = run((q, v, tau), spans, counts, lengths, table.arrays() | {"start": table.start})
    expected, reached = controlled(s, table, q, v, tau, dt, steps, sample, record)
    assert reached
    for got, right in zip(found, expected):
        assert_close(got[:, 1:], right, 1e-11)
    assert np.array_equal(found[0][:, 0], q) and np.array_equal(found[1][:, 0], v)
    first, _ = controlled(s, table, q, v, tau, dt, 1, 1, 1)
    assert_close(found[2][:, :1], first[2], 1e-12)
    assert_close(table.first_torques(q, v) + tau, found[2][:, 0], 1e-12)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
def test_nvcc_compiles_the_text(tmp_path, monkeypatch):
    monkeypatch.setattr(statements, "PIECE", 400)
    p = program(arm(), "step", parameters=["gravity"])
    (tmp_path / "step.cu").write_text(cuda.source(p, False))
    (tmp_path / "rollout.cu").write_text(cuda.rollout_source(p, True))
    model = rigid_model(arm(), np.array(joint_speeds(arm())[:1]), True)
    law = SampledLaw(1.0, *np.arange(3).reshape(3, 1), None, None, None, no_memory(1, 2), model)
    inverse = program(model.system, "inverse_dynamics")
    text = cuda.rollout_source(p, True, law.places(), inverse)
    (tmp_path / "controlled.cu").write_text(text)
    for file in ("step.cu", "rollout.cu", "controlled.cu"):
        done = subprocess.run(["nvcc", "-ptx", "-std=c++17", file], check=False, cwd=tmp_path, capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr[:2000]


def test_without_cupy_the_text_is_there_and_a_call_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    f = lb.compile(arm(), "forward_dynamics", "cuda")
    assert "__global__" in f.source and "forward_dynamics" in repr(f)
    with pytest.raises(MissingExtraError, match=r"limber-dynamics\[gpu\]"):
        f(np.zeros(5), np.zeros(5), np.zeros(5))
    r = lb.compile(arm(), "rollout", "cuda")
    with pytest.raises(MissingExtraError, match=r"limber-dynamics\[gpu\]"):
        r(np.zeros((5, 1)), np.zeros((5, 1)), np.zeros((5, 1)), 0.1, 3)


class FakeArray(np.ndarray):
    """What stands for an array on the GPU."""


@pytest.fixture
def cupy(monkeypatch):
    """A CuPy that holds NumPy arrays and whose kernels note how they were launched."""
    launches = []

    def kernel(grid, block, arguments, shared_mem):
        launches.append((grid, block, arguments))

    fake = SimpleNamespace(
        ndarray=FakeArray,
        empty=lambda shape, dtype: np.empty(shape, dtype).view(FakeArray),
        full=lambda shape, x, dtype: np.full(shape, x, dtype).view(FakeArray),
        RawModule=lambda code, options: SimpleNamespace(get_function=lambda name: kernel),
        launches=launches,
    )
    monkeypatch.setitem(sys.modules, "cupy", fake)
    return fake


def on_device(*shape, dtype=np.float64):
    return np.zeros(shape, dtype).view(FakeArray)


def test_launches(cupy):
    """The grid covers the states; inputs without a last dimension are marked as shared; float dt."""
    f = lb.compile(arm(), "step", "cuda")
    q, v = f(on_device(5, 300), on_device(5, 300), on_device(5), 0.01)
    assert q.shape == v.shape == (5, 300)
    grid, block, arguments = cupy.launches[0]
    assert grid[0] * block[0] >= 300 > (grid[0] - 1) * block[0]
    assert int(arguments[-1]) == 0b1100 and int(arguments[-2]) == 300
    assert f(on_device(5, 0), on_device(5, 0), on_device(5, 0), 0.1)[0].shape == (5, 0)
    assert len(cupy.launches) == 1  # nothing to do for no states
    r = lb.compile(arm(), "rollout", "cuda")
    q, v = r(on_device(5, 3), on_device(5, 3), on_device(4, 5, 3), 0.01, 8, record=2)
    assert q.shape == v.shape == (4, 5, 3)
    q, v = r(on_device(5, 3), on_device(5, 3), on_device(5, 3), 0.01, 8)
    assert q.shape == v.shape == (5, 3)


def test_arrays_of_torch_are_computed_and_allocated_on_its_stream(cupy, monkeypatch):
    """Memory of another stream may be given away while this one still writes to it."""

    class Tensor(FakeArray):
        device = "cuda:0"

    Tensor.__module__ = "torch"
    streams, allocated = [0], []

    @contextmanager
    def on_stream(pointer):
        streams.append(pointer)
        yield
        streams.pop()

    def empty(shape, dtype):
        allocated.append(streams[-1])
        return np.empty(shape, dtype).view(FakeArray)

    cupy.empty, cupy.cuda = empty, SimpleNamespace(ExternalStream=on_stream)
    current = SimpleNamespace(current_stream=lambda device: SimpleNamespace(cuda_stream=77))
    torch = SimpleNamespace(cuda=current, from_dlpack=lambda x: x)
    monkeypatch.setitem(sys.modules, "torch", torch)
    f, r = lb.compile(arm(), "bias", "cuda"), lb.compile(arm(), "rollout", "cuda")
    given = on_device(5, 3).view(Tensor)
    f(given, given)
    r(given, given, given, 0.01, 4)
    assert allocated == [77, 77, 77] and len(cupy.launches) == 2 and streams == [0]


def test_all_arrays_of_jax_are_waited_for(cupy, monkeypatch):
    """They are computed on streams of their own."""

    class Array(FakeArray):
        """One of JAX."""

    Array.__module__ = "jaxlib.xla"
    waited, synchronized = [], []
    jax = SimpleNamespace(
        block_until_ready=waited.extend, dlpack=SimpleNamespace(from_dlpack=lambda x: x)
    )
    monkeypatch.setitem(sys.modules, "jax", jax)
    stream = SimpleNamespace(synchronize=lambda: synchronized.append(len(cupy.launches)))
    cupy.cuda = SimpleNamespace(get_current_stream=lambda: stream)
    q, v = on_device(5, 3).view(Array), on_device(5, 3).view(Array)
    lb.compile(arm(), "bias", "cuda")(q, v)
    assert len(waited) == 2 and waited[0] is q and waited[1] is v
    assert synchronized == [1]  # after the launch


def test_refusals_of_device_arrays(cupy):
    f = lb.compile(arm(), "bias", "cuda")
    good = on_device(5, 3)
    for args, kind, message in (
        ((good,), TypeError, r"bias takes 2 arrays \(q, v\), got 1"),
        ((good, np.zeros((5, 3))), TypeError, "v must be an array on the GPU"),
        ((good, 1.0), TypeError, "v must be an array on the GPU"),
        ((on_device(4, 3), good), ValueError, r"q must be a C-contiguous float64 array of shape \(5, states\)"),
        ((on_device(5, 3, dtype=np.float32), good), ValueError, "q must be a C-contiguous float64"),
        ((on_device(3, 5).T, good), ValueError, "q must be a C-contiguous"),
        ((good, on_device(5, 4)), ValueError, "different numbers of states: q 3, v 4"),
    ):  # fmt: skip
        with pytest.raises(kind, match=message) as caught:
            f(*args)
        assert isinstance(caught.value, lb.LimberError)
    r = lb.compile(arm(), "rollout", "cuda", parameters=["gravity"])
    for args, message in (
        ((good, good, good, 0.1, 0, on_device(3)), "steps must be a whole number, at least 1, got 0"),
        ((good, good, good, 0.1, 2.0, on_device(3)), "steps must be a whole number, at least 1, got 2.0"),
        ((good, good, on_device(2, 5, 3), 0.1, 3, on_device(3)), "steps=3 must be a multiple of the rows"),
        ((good, good, on_device(0, 5, 3), 0.1, 3, on_device(3)), "steps=3 must be a multiple of the rows"),
        ((good, good, good, 0.1, 3, on_device(2)), "gravity must be a C-contiguous"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            r(*args)
    with pytest.raises(TypeError, match=r"rollout takes 1 parameters \(gravity\), got 0"):
        r(good, good, good, 0.1, 3)


def test_refusals_at_compile_time():
    s = arm()
    for options, message in (
        ({"target": "c"}, 'supports only target="cuda"'),
        ({"target": "cuda", "wrt": "q"}, "without derivatives"),
        (
            {"target": "cuda", "external": [("hand", "grip")]},
            "leave out body, node, external, driven and ends",
        ),
        ({"target": "cuda", "body": "hand"}, "leave out body, node, external, driven and ends"),
    ):
        with pytest.raises(ValueError, match=message):
            lb.compile(s, "rollout", **options)
    a = lb.Assembly("many")
    for i in range(62):
        a.attach(f"b{i}", lb.RigidBody(1.0, (0.1, 0, 0), np.eye(3)), lb.Revolute([0, 0, 1]))
    keys = [f"b{i}.mass" for i in range(62)]
    assert len(lb.compile(a.build(), "bias", "cuda", parameters=keys).program.inputs) == 64
    with pytest.raises(ValueError, match="has 65 inputs, but a kernel has at most 64"):
        lb.compile(a.build(), "forward_dynamics", "cuda", parameters=keys)
