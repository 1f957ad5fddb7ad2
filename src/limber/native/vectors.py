"""Vectors that the entry points borrow from Python for the duration of a call.

An array argument of Numba costs a call 70 ns, because its type is looked up and its owner is recorded.  A `Vector`
is only a pointer and a size.  It is taken from a contiguous one-dimensional NumPy array of the right dtype and in
the byte order of this machine.  Everything else is rejected with a TypeError, subclasses included, because a masked
array is more than its numbers.  The check takes a few comparisons with the fields of the array object, as NumPy's
C API defines them.
"""

import operator
import sys

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import (
    NativeValue,
    intrinsic,
    make_attribute_wrapper,
    models,
    overload,
    register_model,
    unbox,
)

_BYTE, _INT = ir.IntType(8), ir.IntType(32)
_HEAD, _ADDRESS = ir.ArrayType(_BYTE, object.__basicsize__), _BYTE.as_pointer()
_SIZES = ir.IntType(types.intp.bitwidth).as_pointer()
#: The first fields of PyArray_Descr: head, scalar type, kind, type, byteorder, flags, type_num
_DESCR = ir.LiteralStructType([_HEAD, _ADDRESS, _BYTE, _BYTE, _BYTE, _BYTE, _INT])
_BYTEORDER, _TYPE_NUM = 4, 6
#: PyArrayObject: head, data, nd, dimensions, strides, base, descr, flags
_ARRAY = ir.LiteralStructType(
    [_HEAD, _ADDRESS, _INT, _SIZES, _SIZES, _ADDRESS, _DESCR.as_pointer(), _INT]
)
_DATA, _ND, _DIMENSIONS, _ARRAY_DESCR, _FLAGS = 1, 2, 3, 6, 7
#: The byte order of other machines.  That of this machine has two names, "=" and "<" or ">"; arrays over
#: foreign memory (ctypes, buffers) have the latter.
_SWAPPED = ">" if sys.byteorder == "little" else "<"
#: NPY_ARRAY_C_CONTIGUOUS and NPY_ARRAY_ALIGNED
_GOOD = 0x0001 | 0x0100

#: The name by which compiled code finds the type of NumPy arrays.
_NDARRAY = "limber_numpy_ndarray"
llvmlite.binding.add_symbol(_NDARRAY, id(np.ndarray))


class Vector(types.Type):
    """Pointer `data` to `size` numbers, as Numba types a borrowed vector."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(name=f"Vector({dtype})")


@register_model(Vector)
class _VectorModel(models.StructModel):
    def __init__(self, manager, vector):
        members = [("data", types.CPointer(vector.dtype)), ("size", types.intp)]
        super().__init__(manager, vector, members)


make_attribute_wrapper(Vector, "size", "size")


@intrinsic
def pointer(typingctx, array):
    """Pointer to the first element of a Vector or an array of Numba's."""

    def codegen(context, builder, signature, args):
        return cgutils.create_struct_proxy(array)(context, builder, value=args[0]).data

    return types.CPointer(array.dtype)(array), codegen


@overload(operator.getitem)
def _item(vector, i):
    if isinstance(vector, Vector):
        return lambda vector, i: pointer(vector)[i]
    return None


@unbox(Vector)
def _borrow(vector, given, c):
    """The Vector of a Python object, or a TypeError."""
    builder = c.builder
    native = cgutils.create_struct_proxy(vector)(c.context, builder)
    failed = cgutils.alloca_once_value(builder, cgutils.true_bit)

    def field(of, number):
        return builder.load(cgutils.gep_inbounds(builder, of, 0, number))

    def equal(value, constant):
        return builder.icmp_unsigned("==", value, value.type(constant))

    ndarray = c.pyapi.get_c_object(_NDARRAY)
    is_array = builder.icmp_unsigned("==", c.pyapi.get_type(given), ndarray)
    with builder.if_then(is_array, likely=True):
        array = builder.bitcast(given, _ARRAY.as_pointer())
        descr, flags = field(array, _ARRAY_DESCR), field(array, _FLAGS)
        fits = equal(field(array, _ND), 1)
        for condition in (
            equal(builder.and_(flags, flags.type(_GOOD)), _GOOD),
            equal(field(descr, _TYPE_NUM), np.dtype(str(vector.dtype)).num),
            builder.not_(equal(field(descr, _BYTEORDER), ord(_SWAPPED))),
        ):
            fits = builder.and_(fits, condition)
        with builder.if_then(fits, likely=True):
            native.data = builder.bitcast(field(array, _DATA), native.data.type)
            native.size = builder.load(field(array, _DIMENSIONS))
            builder.store(cgutils.false_bit, failed)
    is_error = builder.load(failed)
    with builder.if_then(is_error, likely=False):
        message = f"not a contiguous vector of {vector.dtype}"
        c.pyapi.err_set_string("PyExc_TypeError", message)
    return NativeValue(native._getvalue(), is_error=is_error)
