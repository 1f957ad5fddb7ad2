"""Pointers, and calls by address.

Numba does not cache a function on disk if another function was passed to it.  It does cache functions that call others
by their address, and compiles them separately.  Addresses come from `native.address`, or from generated code.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_NUMBER, _WORD = ir.DoubleType(), ir.IntType(64)
_NUMBERS, _WORDS = _NUMBER.as_pointer(), _WORD.as_pointer()


def _caller(result, *arguments):
    """Code that calls the function at an address."""

    def codegen(context, builder, signature, args):
        kind = ir.FunctionType(result, arguments)
        function = builder.inttoptr(args[0], kind.as_pointer())
        value = builder.call(function, args[1:])
        return context.get_dummy_value() if isinstance(result, ir.VoidType) else value

    return codegen


@intrinsic
def call(typingctx, address, t, q, v, out):
    """A user's function f(t, q, v, out)."""
    signature = types.none(types.int64, types.float64, q, v, out)
    return signature, _caller(ir.VoidType(), _NUMBER, _NUMBERS, _NUMBERS, _NUMBERS)


@intrinsic
def call_rates(typingctx, address, context, t, y, dy):
    """rates(context, t, y, dy)."""
    signature = types.none(types.int64, context, types.float64, y, dy)
    return signature, _caller(ir.VoidType(), _WORDS, _NUMBER, _NUMBERS, _NUMBERS)


@intrinsic
def call_forces(typingctx, address, context, t, y):
    """forces(context, t, y)."""
    signature = types.none(types.int64, context, types.float64, y)
    return signature, _caller(ir.VoidType(), _WORDS, _NUMBER, _NUMBERS)


@intrinsic
def call_sweep(typingctx, address, topo, const, work, q, v, x, count, index, ext, out):
    """sweep(topo, const, work, q, v, x, count, index, ext, out): a function of one state."""
    signature = types.none(types.int64, topo, const, work, q, v, x, types.int64, index, ext, out)
    kinds = (_WORDS, *[_NUMBERS] * 5, _WORD, _WORDS, _NUMBERS, _NUMBERS)
    return signature, _caller(ir.VoidType(), *kinds)


@intrinsic
def call_states(typingctx, address, record, q, v, x, ext, work, out, start, stop):
    """`entries.run_states`(record, q, v, x, ext, work, out, start, stop) -> status."""
    word = types.int64
    signature = word(word, record, q, v, x, ext, work, out, word, word)
    return signature, _caller(_WORD, _WORDS, *[_NUMBERS] * 6, _WORD, _WORD)


@intrinsic
def call_implicit(typingctx, address, context, step, y, method, k, y_new):
    """implicit(context, step, y, method, k, y_new) -> evaluations, a step of an implicit method."""
    signature = types.int64(types.int64, context, step, y, method, k, y_new)
    return signature, _caller(_WORD, _WORDS, *[_NUMBERS] * 5)


@intrinsic
def call_projection(typingctx, address, context, metric, y):
    """project(context, metric, y) -> whether y was moved onto the closures, see `integrators.projection`."""
    signature = types.int64(types.int64, context, metric, y)
    return signature, _caller(_WORD, _WORDS, _NUMBERS, _NUMBERS)


@intrinsic
def numbers_at(typingctx, address):
    """A pointer to numbers from an address."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], _NUMBERS)

    return types.CPointer(types.float64)(types.int64), codegen


@intrinsic
def words_at(typingctx, address):
    """A pointer to integers from an address."""

    def codegen(context, builder, signature, args):
        return builder.inttoptr(args[0], _WORDS)

    return types.CPointer(types.int64)(types.int64), codegen


@intrinsic
def bits_of(typingctx, numbers):
    """The same pointer, which reads the bits of the numbers as integers."""

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], _WORDS)

    return types.CPointer(types.int64)(numbers), codegen


@intrinsic
def shifted(typingctx, start, n):
    """The pointer moved on by n elements."""

    def codegen(context, builder, signature, args):
        return builder.gep(args[0], [args[1]])

    return start(start, types.intp), codegen


@intrinsic
def complex_at(typingctx, numbers):
    """The same pointer, to complex numbers."""

    def codegen(context, builder, signature, args):
        kind = context.get_value_type(types.complex128).as_pointer()
        return builder.bitcast(args[0], kind)

    return types.CPointer(types.complex128)(numbers), codegen
