"""CUDA text on the host: compiled as C++ and run thread by thread."""

import ctypes
import shutil
import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

#: CUDA words as the host's C++ has them; one thread after the other.
SHIM = """\
#include <math.h>
struct Index { unsigned x; };
static Index blockIdx, blockDim, threadIdx;
#define __global__
#define __device__
#define __shared__
#define __constant__
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(threads, blocks)
static void host_sincos(double x, double *s, double *c) { *s = sin(x); *c = cos(x); }
static void host_sincosf(float x, float *s, float *c) { *s = sinf(x); *c = cosf(x); }
#define sincos host_sincos
#define sincosf host_sincosf
#define EACH_THREAD(call) \\
    blockDim.x = 4; \\
    for (blockIdx.x = 0; blockIdx.x < (states + 3) / 4; ++blockIdx.x) \\
        for (threadIdx.x = 0; threadIdx.x < 4; ++threadIdx.x) call;
"""

needs_gpp = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")


def on_host(tmp_path, text, entry, arrays, scalars, states, single=False):
    """Compile the text as C++ and run every thread of `entry` on `arrays`."""
    real = "float" if single else "double"
    names = [f"a{i}" for i in range(len(arrays))]
    types = [t for t, _ in scalars]
    given = ", ".join([*names, *(f"s{i}" for i in range(len(scalars))), "states", "shared"])
    parameters = ", ".join(
        [*(f"{real} *{n}" for n in names), *(f"{t} s{i}" for i, t in enumerate(types))]
    )
    (tmp_path / "x.cpp").write_text(
        f"{SHIM}\n{text}\n{real} shared_values[1 << 16];\n"
        f'extern "C" void run({parameters}, long long states, unsigned long long shared)\n'
        f"{{ EACH_THREAD({entry}({given})) }}\n"
    )
    done = subprocess.run(
        ["g++", "-O1", "-Wall", "-Wno-unused", "-Wno-unknown-pragmas", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", "x.so", "x.cpp"],
        check=False, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[:3000]
    ctype = {"double": ctypes.c_double, "float": ctypes.c_float, "int": ctypes.c_int}

    def run(shared):
        ctypes.CDLL(str(tmp_path / "x.so")).run(
            *(ctypes.c_void_p(x.ctypes.data) for x in arrays),
            *(ctype[t](x) for t, x in scalars),
            ctypes.c_longlong(states),
            ctypes.c_ulonglong(shared),
        )

    return run


def by_structure(batch, dtype=np.float64):
    """(states, *shape) -> (*shape, states), contiguous."""
    return np.ascontiguousarray(np.moveaxis(np.array(batch, dtype=dtype), 0, -1))


class HostArray(np.ndarray):
    """What stands for an array on the GPU."""


def host_cupy(tmp_path, room=1 << 16):
    """A CuPy that holds NumPy arrays and runs kernels on the host; `room` is the shared memory of a block, in bytes."""

    def module(code, options):
        number = len(list(tmp_path.glob("*.so")))
        source, library = tmp_path / f"m{number}.cpp", tmp_path / f"m{number}.so"
        source.write_text(
            f"{SHIM}\n{code}\n#ifdef SINGLE\nfloat\n#else\ndouble\n#endif\nshared_values[1 << 16];\n"
            'extern "C" void place(unsigned block, unsigned threads, unsigned thread)\n'
            "{ blockIdx.x = block; blockDim.x = threads; threadIdx.x = thread; }\n"
        )
        defined = [o for o in options if o.startswith("-D")]
        if "extern __shared__ float" in code:
            defined.append("-DSINGLE")
        done = subprocess.run(
            ["g++", "-O0", "-w", "-shared", "-fPIC", "-Wl,-Bsymbolic", *defined, "-o", library, source],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[:3000]
        loaded = ctypes.CDLL(str(library))

        def get_function(name):
            def kernel(grid, block, arguments, shared_mem):
                assert shared_mem <= room
                given = [_as_c(x) for x in arguments]
                for b in range(grid[0]):
                    for t in range(block[0]):
                        loaded.place(b, block[0], t)
                        getattr(loaded, name)(*given)

            return HostKernel(kernel)

        return SimpleNamespace(get_function=get_function)

    device = SimpleNamespace(attributes={"MaxSharedMemoryPerBlockOptin": room})
    return SimpleNamespace(
        ndarray=HostArray,
        empty=lambda shape, dtype: np.full(shape, np.nan, dtype).view(HostArray),
        asarray=lambda x: np.ascontiguousarray(x).view(HostArray),
        RawModule=module,
        cuda=SimpleNamespace(Device=lambda: device),
    )


class HostKernel(SimpleNamespace):
    """A kernel: it is called, and takes attributes."""

    def __init__(self, run):
        super().__init__(run=run)

    def __call__(self, *args, **options):
        self.run(*args, **options)


def _as_c(x):
    if isinstance(x, np.ndarray):
        return ctypes.c_void_p(x.ctypes.data)
    return {"int64": ctypes.c_longlong, "uint64": ctypes.c_ulonglong}[x.dtype.name](int(x))
