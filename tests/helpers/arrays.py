"""Arrays that hold the same numbers in other ways."""

import ctypes

import numpy as np


def over_foreign_memory(a):
    """The numbers in memory of ctypes: the dtype names the byte order of this machine, "<" instead of "="."""
    made = np.ctypeslib.as_array((ctypes.c_double * a.size)(*a.ravel())).reshape(a.shape)
    assert made.dtype.byteorder != "=" and made.dtype == np.float64
    return made
