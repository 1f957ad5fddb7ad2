"""Functions for JAX on GPUs, with a driver that stands in: it runs the text of the kernel on the host, thread by thread."""

import ctypes
import subprocess
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from helpers.compare import assert_close
from helpers.cuda_host import SHIM, needs_gpp
from helpers.gradients import flyer, state
from limber.exchange.gradients.smooth import smooth_function

jax = pytest.importorskip("jax", reason="the extra jax is not installed")
pytestmark = [pytest.mark.slow, needs_gpp]

STREAM, THREADS = 0xABC0, 8

#: cuLaunchKernel and cuCtxGetDevice of a machine with one GPU, and an entry for XLA's CPU, which has no streams.
DRIVER = """\
#include <stdint.h>
#include <stddef.h>
#include <stdio.h>
extern "C" {{
#include "{header}"
}}
extern "C" {{
int status = 0, device = 0;
unsigned blocks = 0;
void *stream = 0;
int launch(void *kernel, unsigned x, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned, void *given, void **p, void **)
{{
    blocks = x;
    stream = given;
    if (status != 0 || kernel != (void *)7) return status;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < x; ++blockIdx.x)
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
            {kernel}({arguments});
    return 0;
}}
int find(int *number) {{ *number = device; return 0; }}
static XLA_FFI_Error *get(XLA_FFI_Stream_Get_Args *args) {{ args->stream = (void *){stream}; return NULL; }}
XLA_FFI_Error *(*inner)(XLA_FFI_CallFrame *) = NULL;
XLA_FFI_Error *outer(XLA_FFI_CallFrame *frame)
{{
    XLA_FFI_CallFrame copy = *frame;
    XLA_FFI_Api api;
    if (frame->api != NULL) {{ api = *frame->api; api.XLA_FFI_Stream_Get = get; copy.api = &api; }}
    return inner(&copy);
}}
}}
"""


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


def standing_in(tmp_path, smooth):
    """The library of the driver that stands in for one kernel."""
    arrays = [*smooth.program.inputs, *smooth.program.outputs]
    given = [f"*(double **)p[{i}]" for i in range(len(arrays))]
    given += [f"*(long long *)p[{len(arrays)}]", f"*(unsigned long long *)p[{len(arrays) + 1}]"]
    text = DRIVER.format(
        header=f"{jax.ffi.include_dir()}/xla/ffi/api/c_api.h", kernel=smooth.program.name,
        arguments=", ".join(given), stream=STREAM,
    )  # fmt: skip
    (tmp_path / "driver.cpp").write_text(
        f"{SHIM}\n{smooth.kernel.source}\ndouble shared_values[1 << 16];\n{text}"
    )
    done = subprocess.run(
        ["g++", "-O1", "-w", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", "driver.so", "driver.cpp"],
        check=False, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(str(tmp_path / "driver.so"))


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """A function that makes a `Smooth` one for JAX's CPU, by way of the kernel; it gives the driver as well."""
    from limber.exchange.gradients import for_jax, xla_cuda

    count = iter(range(100))

    def made(smooth):
        folder = tmp_path / str(next(count))
        folder.mkdir()
        driver = standing_in(folder, smooth)
        kernel = SimpleNamespace(source=smooth.kernel.source, handles=lambda: ([7], THREADS, 0))
        library = xla_cuda.entry(
            smooth.program, kernel, (address(driver.launch), address(driver.find))
        )
        ctypes.c_void_p.in_dll(driver, "inner").value = address(library.limber_launch)
        name = f"stand_in_{folder.parent.name}_{folder.name}"
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(driver.outer), platform="cpu")
        monkeypatch.setattr(xla_cuda, "target", lambda smooth: name)
        monkeypatch.setattr(xla_cuda, "available", lambda: True)
        return jax.jit(lambda *x: for_jax._on_gpu(*x, smooth=smooth)), driver

    return made


def many(count):
    """Some states, (count, n) each."""
    rng = np.random.default_rng(0)
    return [x + 0.01 * rng.standard_normal((count, len(x))) for x in state()]


@pytest.mark.parametrize("derivative", ["value", "directional", "adjoint"])
def test_kernels_give_what_the_processor_gives(gpu, derivative):
    _, smooth = smooth_function(flyer(), "forward_dynamics", {"parameters": ["hub.mass"]})
    if derivative != "value":
        smooth = getattr(smooth, derivative)
    f, driver = gpu(smooth)
    rng = np.random.default_rng(1)
    inputs = []
    for i, a in enumerate(smooth.program.inputs):  # some inputs are shared by all states
        inputs.append(rng.uniform(0.5, 1.5, a.shape if i == 1 else (19, *a.shape)))
    found = f(*inputs)
    wanted = smooth.code(19)(*(np.ascontiguousarray(x) for x in inputs))
    for mine, right in zip(found, wanted):
        assert mine.shape == right.shape
        assert_close(np.asarray(mine), right, 1e-12)
    assert ctypes.c_uint.in_dll(driver, "blocks").value == 3  # 19 states in blocks of 8
    assert ctypes.c_void_p.in_dll(driver, "stream").value == STREAM


@pytest.mark.parametrize("batch", [(), (1,), (2, 3), (0,)])
def test_batches_of_any_shape(gpu, batch):
    _, smooth = smooth_function(flyer(), "forward_dynamics", {})
    f, _ = gpu(smooth)
    states = [x[: int(np.prod(batch))].reshape(*batch, x.shape[1]) for x in many(6)]
    if not batch:
        states = state()
    (found,) = f(*states)
    assert found.shape == (*batch, states[1].shape[-1])
    if found.size:
        (wanted,) = smooth.code(1)(*(np.asarray(x, dtype=float) for x in states))
        assert_close(np.asarray(found), wanted, 1e-12)


def test_errors_of_the_driver_are_told(gpu):
    _, smooth = smooth_function(flyer(), "forward_dynamics", {})
    f, driver = gpu(smooth)
    ctypes.c_int.in_dll(driver, "status").value = 701
    with pytest.raises(Exception, match="launch of a kernel failed with the status 701"):
        jax.block_until_ready(f(*many(3)))
    ctypes.c_int.in_dll(driver, "status").value = 0
    ctypes.c_int.in_dll(driver, "device").value = 1
    with pytest.raises(Exception, match="search for a kernel on this GPU failed"):
        jax.block_until_ready(f(*many(3)))


def test_code_for_a_gpu_calls_the_kernel(gpu):
    import limber as lb

    _, smooth = smooth_function(flyer(), "forward_dynamics", {})
    gpu(smooth)
    f = lb.exchange.jax_function(flyer(), "forward_dynamics")
    text = jax.jit(f).trace(*many(3)).lower(lowering_platforms=("cuda",)).as_text()
    assert "stand_in_" in text and "callback" not in text


def test_without_cupy_arrays_go_through_the_host_and_that_is_told():
    import limber as lb
    from limber.exchange.gradients import for_jax, xla_cuda

    if find_spec("cupy") is not None:
        pytest.skip("CuPy is installed")
    xla_cuda.available.cache_clear()
    _, smooth = smooth_function(flyer(), "forward_dynamics", {})
    f = jax.jit(lambda *x: for_jax._on_gpu(*x, smooth=smooth))
    with pytest.warns(
        lb.ModelWarning, match=r"through the memory of the host.*limber-dynamics\[gpu\]"
    ):
        (found,) = f(*many(3))
    assert_close(np.asarray(found), smooth.code(3)(*many(3))[0], 1e-12)
