"""Whether there is a GPU that CuPy can use."""

import pytest


def gpus() -> int:
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount()
    except Exception:  # without a driver CuPy raises errors of its own
        return 0


needs_gpu = pytest.mark.skipif(gpus() == 0, reason="needs CuPy (the extra gpu) and an NVIDIA GPU")
