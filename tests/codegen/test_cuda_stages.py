"""Jacobians in stages: their kernels on the host, one after another, against the Jacobian as one program."""

import sys

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.cuda_host import host_cupy, needs_gpp
from helpers.generated import arm, evaluated, mixed, values
from limber.codegen import stages
from limber.codegen.cuda_stages import CudaStages
from limber.codegen.graph import INPUT

pytestmark = needs_gpp
TOLERANCE = 1e-11


@pytest.fixture
def cupy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", host_cupy(tmp_path))
    monkeypatch.setattr(stages, "LONG", 100)
    return sys.modules["cupy"]


def columns_of(s, function, count=3):
    rng = np.random.default_rng(4)
    states = [values(rng, s, function) for _ in range(count)]
    return [np.array(x) for x in zip(*states)]


def assert_stages_are_the_whole(cupy, f, columns, shared=(), tolerance=TOLERANCE):
    """In double precision the whole is evaluated in plain Python."""
    assert isinstance(f, CudaStages)
    given = [
        cupy.asarray((x[0] if i in shared else np.moveaxis(x, 0, -1)).astype(f.dtype))
        for i, x in enumerate(columns)
    ]
    found = f(*given)
    found = found if isinstance(found, tuple) else (found,)
    for n in range(len(columns[0])):
        state = [x[0 if i in shared else n] for i, x in enumerate(columns)]
        for mine, right in zip(found, evaluated(f.program, state), strict=True):
            assert_close(mine[..., n], right, tolerance)


@pytest.mark.parametrize(
    "system, wrt",
    [
        *((arm, wrt) for wrt in (("q", "v", "tau"), ("v", "q"), "q", ("tau", "v"), "tau")),
        (mixed, ("tau", "q", "v")),
    ],
)
def test_forward_dynamics(cupy, monkeypatch, system, wrt):
    monkeypatch.setattr(stages, "GROUP", 1500)
    s = system()
    f = lb.compile(s, "forward_dynamics", "cuda", wrt=wrt)
    assert len(f._stages.stages) > 1 or wrt == "tau"
    assert_stages_are_the_whole(cupy, f, columns_of(s, "forward_dynamics"))


def test_parameters_and_wrenches(cupy):
    """Slopes by inputs, and by numbers of the model that are no inputs; gravity and q shared by all states."""
    s, rng = arm(), np.random.default_rng(1)
    f = lb.compile(
        s, "forward_dynamics", "cuda", wrt=("link.mass_scale", "external", "q", "hand.mass", "hand.inertia", "gravity"),
        parameters=["gravity", "hand.mass"], external=[("hand", "grip"), ("base", "top")],
    )  # fmt: skip
    columns = columns_of(s, "forward_dynamics")
    columns += [rng.standard_normal((3, 2, 6)), rng.standard_normal((3, 3)), rng.uniform(0.5, 1.5, 3)]  # fmt: skip
    assert_stages_are_the_whole(cupy, f, columns, shared=(0, 4))


@pytest.mark.parametrize("room", [1 << 16, 1 << 10])
def test_the_inverse_in_shared_memory_or_not(tmp_path, monkeypatch, room):
    """25 numbers of 8 bytes for each thread, in blocks of 128 or, without room for a warp, in the memory of the GPU."""
    monkeypatch.setattr(stages, "LONG", 100)
    monkeypatch.setitem(sys.modules, "cupy", host_cupy(tmp_path, room))
    s = arm()
    f = lb.compile(s, "forward_dynamics", "cuda", wrt=("q", "v"))
    assert_stages_are_the_whole(sys.modules["cupy"], f, columns_of(s, "forward_dynamics", 5))
    assert f._product_block == (128 if room == 1 << 16 else 0)


def test_single_precision(cupy):
    s = arm()
    f = lb.compile(s, "forward_dynamics", "cuda", wrt=("q", "v", "tau"), dtype="float32")
    columns = [x.astype(np.float32).astype(float) for x in columns_of(s, "forward_dynamics")]
    assert_stages_are_the_whole(cupy, f, columns, tolerance=1e-3)


@pytest.mark.parametrize("function, wrt", [("inverse_dynamics", ("q", "v")), ("mass_matrix", "q"), ("step", "q")])  # fmt: skip
def test_columns_of_other_functions(cupy, monkeypatch, function, wrt):
    monkeypatch.setattr(stages, "GROUP", 300)
    monkeypatch.setattr(stages, "REPEATED", 10.0)
    s = arm()
    f = lb.compile(s, function, "cuda", wrt=wrt)
    if function == "step":  # its program calls another
        assert not isinstance(f, CudaStages)
        return
    assert len(f._stages.stages) > 1
    assert_stages_are_the_whole(cupy, f, columns_of(s, function))


def test_groups_grow_until_they_share_little():
    s = mixed()
    f = lb.compile(s, "forward_dynamics", "cuda", wrt=("q", "v", "tau"))
    assert isinstance(f, CudaStages)
    parts = [stage.program for stage in f._stages.stages]
    slopes = lb.compile(s, "inverse_dynamics", "cuda", wrt=("q", "v")).program
    made = [p for p in parts if p.name.startswith("inverse_dynamics_derivative")]
    nodes = sum(sum(x.op != INPUT for x in p.nodes) for p in made)
    assert len(made) > 1 and nodes <= stages.REPEATED * len(slopes.nodes)


def test_short_jacobians_are_one_kernel():
    f = lb.compile(arm(), "bias", "cuda", wrt="v")
    assert not isinstance(f, CudaStages)


def test_no_states(cupy):
    s = arm()
    f = lb.compile(s, "forward_dynamics", "cuda", wrt=("q", "tau"))
    empty = [cupy.asarray(np.zeros((n, 0))) for n in (s.nq, s.nv, s.nv)]
    assert [x.shape for x in f(*empty)] == [(s.nv, s.nv, 0)] * 2
