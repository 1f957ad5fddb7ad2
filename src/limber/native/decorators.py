"""How functions become machine code that Python, or other machine code, can call."""

import numba
from numba import types

from limber.kernels.pipeline import WholeCompiler
from limber.kernels.scalar import OPTIONS

from .vectors import Vector

NUMBER, WORD = types.float64, types.int64
#: Vectors of numbers or of integers, borrowed from Python.
NUMBERS, WORDS = Vector(NUMBER), Vector(WORD)
#: Pointers to numbers and to integers.
NUMBERS_AT, WORDS_AT = types.CPointer(NUMBER), types.CPointer(WORD)


def entry(*arguments):
    """A function that Python calls, with arguments of these types."""
    return _compiled_as(arguments, no_cfunc_wrapper=True)


def called(*arguments):
    """A function with a C signature, which compiled code calls by its address."""
    return _compiled_as(arguments, no_cpython_wrapper=True)


def _compiled_as(arguments, **options):
    def decorate(function):
        dispatcher = numba.njit(**OPTIONS, **options, pipeline_class=WholeCompiler)(function)
        dispatcher.arguments = arguments
        return dispatcher

    return decorate
