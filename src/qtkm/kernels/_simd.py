"""Loops over complex vectors in planes, [Re | Im], written with explicit vector instructions.

The loops of the passes are short (R is 10 to 50) and read many arrays, and a compiler that
must first prove that these do not overlap spends more time on that than on the arithmetic.
Here every step loads all it needs before it stores anything, so there is nothing to prove.

    multiply_add = elementwise(lambda out, a, b: {0: out + a * b})
    multiply_add((out, a, b), (row_of_out, row_of_a, row_of_b), rank)

A loop takes C-contiguous arrays of doubles or singles, for each the position of the first real
part, and the number of entries; the imaginary parts begin `rank` numbers later.  Arithmetic
is in double precision, unless all arrays are of singles.

`row_times_matrix` multiplies a row by a small matrix, with the sums in registers.
"""

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

#: numbers of a vector
LANES = 4
#: whether the machine has registers of eight doubles, and twice as many of them
HAS_WIDE_REGISTERS = bool(get_host_cpu_features().get("avx512f"))
FLAGS = ("contract", "reassoc", "nsz", "arcp")
_DOUBLE = ir.DoubleType()


class Complex:
    """A complex number, or several, while code is generated."""

    def __init__(self, builder: Any, real: Any, imaginary: Any):
        self.builder, self.real, self.imaginary = builder, real, imaginary

    def __add__(self, other: "Complex") -> "Complex":
        add = self._operation("fadd")
        return Complex(
            self.builder, add(self.real, other.real), add(self.imaginary, other.imaginary)
        )

    def __mul__(self, other: "Complex") -> "Complex":
        multiply, add, subtract = map(self._operation, ("fmul", "fadd", "fsub"))
        a, b, c, d = self.real, self.imaginary, other.real, other.imaginary
        return Complex(
            self.builder,
            subtract(multiply(a, c), multiply(b, d)),
            add(multiply(a, d), multiply(b, c)),
        )

    def _operation(self, name: str) -> Callable[[Any, Any], Any]:
        method = getattr(self.builder, name)
        return lambda a, b: method(a, b, flags=FLAGS)


def _load(builder: Any, base: Any, position: Any, lanes: int, number: Any = _DOUBLE) -> Any:
    kind = base.type.pointee
    place = builder.gep(base, [position])
    if lanes > 1:
        place = builder.bitcast(place, ir.VectorType(kind, lanes).as_pointer())
    value = builder.load(place, align=4 if kind == ir.FloatType() else 8)
    if kind == number:
        return value
    return builder.fpext(value, ir.VectorType(_DOUBLE, lanes) if lanes > 1 else _DOUBLE)


def _store(
    builder: Any, value: Any, base: Any, position: Any, lanes: int, number: Any = _DOUBLE
) -> None:
    kind = base.type.pointee
    place = builder.gep(base, [position])
    if kind != number:
        value = builder.fptrunc(value, ir.VectorType(kind, lanes) if lanes > 1 else kind)
    if lanes > 1:
        place = builder.bitcast(place, ir.VectorType(kind, lanes).as_pointer())
    builder.store(value, place, align=4 if kind == ir.FloatType() else 8)


def _unpack(builder: Any, values: Any) -> list[Any]:
    """Members of a tuple."""
    return [builder.extract_value(values, i) for i in range(len(values.type.elements))]


def pointers(context: Any, builder: Any, kinds: Any, arrays: Any) -> list[Any]:
    """Where the numbers of the arrays of a tuple begin."""
    members = zip(kinds, _unpack(builder, arrays), strict=True)
    return [context.make_array(kind)(context, builder, array).data for kind, array in members]


def elementwise(body: Callable[..., dict[int, Complex]], has_constant: bool = False) -> Any:
    """Make a loop: `body` takes one Complex an array and returns what to store in which.

    With `has_constant` the loop has two more arguments, real and imaginary part of a number
    that `body` takes first.
    """
    n_arrays = len(inspect.signature(body).parameters) - has_constant

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays, offsets, rank, *constant = arguments
        bases = pointers(context, builder, signature.args[0], arrays)
        are_singles = all(base.type.pointee == ir.FloatType() for base in bases)
        number = ir.FloatType() if are_singles else _DOUBLE
        if are_singles:
            constant = [builder.fptrunc(part, number) for part in constant]
        starts = _unpack(builder, offsets)

        def step(place: Any, lanes: int) -> None:
            numbers = []
            if constant and lanes > 1:
                vector = ir.VectorType(number, lanes)
                wide = (broadcast(builder, part, vector) for part in constant)
                numbers.append(Complex(builder, *wide))
            elif constant:
                numbers.append(Complex(builder, *constant))
            for base, start in zip(bases, starts, strict=True):
                first = builder.add(start, place)
                second = builder.add(first, rank)
                parts = (_load(builder, base, at, lanes, number) for at in (first, second))
                numbers.append(Complex(builder, *parts))
            for i, value in body(*numbers).items():
                first = builder.add(starts[i], place)
                second = builder.add(first, rank)
                _store(builder, value.real, bases[i], first, lanes, number)
                _store(builder, value.imaginary, bases[i], second, lanes, number)

        begin = ir.Constant(rank.type, 0)
        for lanes in (2 * LANES, LANES, 1) if are_singles else (LANES, 1):
            end = builder.and_(rank, ir.Constant(rank.type, -lanes))
            width = ir.Constant(rank.type, lanes)
            with cgutils.for_range_slice(builder, begin, end, width) as (place, _):
                step(place, lanes)
            begin = end
        return context.get_dummy_value()

    some = types.UniTuple(types.uint64, n_arrays)

    @intrinsic
    def loop(typing_context, arrays, offsets, rank):
        return types.void(arrays, some, types.uint64), generate

    @intrinsic
    def loop_with_constant(typing_context, arrays, offsets, rank, real, imaginary):
        number = types.float64
        return types.void(arrays, some, types.uint64, number, number), generate

    return loop_with_constant if has_constant else loop


@intrinsic
def row_times_matrix(typing_context, arrays, offsets, distances, n_rows, n_columns):
    """out[j] = Σ_i row[i]·matrix[i, j] over complex planes.

    Parameters
    ----------
    arrays : (out, row, matrix)
    offsets : (uint64, uint64, uint64)
        Where the real parts begin.
    distances : (uint64, uint64, uint64)
        From the real parts to the imaginary parts.
    n_rows, n_columns : uint64
        Shape of the matrix; the number of columns is a multiple of `LANES`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bases = pointers(context, builder, signature.args[0], arguments[0])
        starts, far = (_unpack(builder, part) for part in arguments[1:3])
        rows, columns = arguments[3], arguments[4]
        vector = ir.VectorType(_DOUBLE, LANES)
        zero, one = ir.Constant(rows.type, 0), ir.Constant(rows.type, 1)

        def load(i: int, place: Any, width: int) -> Complex:
            at = builder.add(starts[i], place)
            parts = [_load(builder, bases[i], p, width) for p in (at, builder.add(at, far[i]))]
            if width == 1:
                parts = [broadcast(builder, part, vector) for part in parts]
            return Complex(builder, *parts)

        def some_columns(begin: Any, end: Any, n_vectors: int) -> None:
            """Sum `n_vectors` vectors of columns at a time; their chains of additions overlap."""
            width = ir.Constant(rows.type, n_vectors * LANES)
            sums = [cgutils.alloca_once(builder, vector) for _ in range(2 * n_vectors)]
            with cgutils.for_range_slice(builder, begin, end, width) as (j, _):
                for part in sums:
                    builder.store(ir.Constant(vector, None), part)
                with cgutils.for_range_slice(builder, zero, rows, one) as (i, _):
                    factor, line = load(1, i, 1), builder.add(builder.mul(i, columns), j)
                    for v in range(n_vectors):
                        place = builder.add(line, ir.Constant(rows.type, v * LANES))
                        parts = sums[2 * v : 2 * v + 2]
                        total = Complex(builder, *(builder.load(part) for part in parts))
                        total = total + factor * load(2, place, LANES)
                        builder.store(total.real, parts[0])
                        builder.store(total.imaginary, parts[1])
                for v in range(n_vectors):
                    at = builder.add(starts[0], builder.add(j, ir.Constant(j.type, v * LANES)))
                    places = at, builder.add(at, far[0])
                    for part, place in zip(sums[2 * v : 2 * v + 2], places, strict=True):
                        _store(builder, builder.load(part), bases[0], place, LANES)

        cut = builder.and_(columns, ir.Constant(columns.type, -2 * LANES))
        some_columns(zero, cut, 2)
        some_columns(cut, columns, 1)
        return context.get_dummy_value()

    three = types.UniTuple(types.uint64, 3)
    return types.void(arrays, three, three, types.uint64, types.uint64), generate


@intrinsic
def add_multiple(typing_context, arrays, offsets, distances, real, imaginary, count):
    """out[j] += (real + i·imaginary)·row[j] over complex planes.

    Parameters as in `row_times_matrix`; `count` is a multiple of `LANES`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bases = pointers(context, builder, signature.args[0], arguments[0])
        starts, far = (_unpack(builder, part) for part in arguments[1:3])
        vector = ir.VectorType(_DOUBLE, LANES)
        scale = Complex(builder, *(broadcast(builder, a, vector) for a in arguments[3:5]))
        count = arguments[5]
        zero, lanes = ir.Constant(count.type, 0), ir.Constant(count.type, LANES)
        with cgutils.for_range_slice(builder, zero, count, lanes) as (j, _):
            places, numbers = [], []
            for base, start, distance in zip(bases, starts, far, strict=True):
                at = builder.add(start, j)
                places.append((at, builder.add(at, distance)))
                parts = (_load(builder, base, place, LANES) for place in places[-1])
                numbers.append(Complex(builder, *parts))
            total = numbers[0] + scale * numbers[1]
            _store(builder, total.real, bases[0], places[0][0], LANES)
            _store(builder, total.imaginary, bases[0], places[0][1], LANES)
        return context.get_dummy_value()

    two = types.UniTuple(types.uint64, 2)
    return types.void(arrays, two, two, types.float64, types.float64, types.uint64), generate


def broadcast(builder: Any, value: Any, vector: Any) -> Any:
    """Vector of one number."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    same = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, same)
