"""Loops over lines of numbers (see `kernels.lines`), written with explicit vector instructions.

The loops of the passes are short (10 to 50 numbers) and read many lines.  A compiler that must
first prove that these do not overlap spends more time on that than on the arithmetic; here every
step loads all it needs before it stores anything.

Arguments of all loops: a tuple of arrays, positions of first real parts, and `planes`, a tuple of
as many entries as there are halves, so that real and complex numbers are compiled apart from one
source.  Arithmetic is in double precision, unless all arrays are of singles.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .lines import LANES

#: whether the machine has registers of eight doubles, and twice as many of them
HAS_WIDE_REGISTERS = bool(get_host_cpu_features().get("avx512f"))
FLAGS = ("contract", "reassoc", "nsz", "arcp")
SIZE = types.uint64
_DOUBLE, _SINGLE = ir.DoubleType(), ir.FloatType()


def widest_vector(number: Any) -> int:
    """Numbers of a type in one of the machine's registers."""
    return LANES * (2 if number == _SINGLE else 1) * (2 if HAS_WIDE_REGISTERS else 1)


class Number:
    """A real or complex number, or a vector of them, while code is generated."""

    def __init__(self, builder: Any, planes: Sequence[Any]):
        self.builder, self.planes = builder, list(planes)

    def __add__(self, other: "Number") -> "Number":
        pairs = zip(self.planes, other.planes, strict=True)
        return Number(self.builder, [self.builder.fadd(a, b, flags=FLAGS) for a, b in pairs])

    def __mul__(self, other: "Number") -> "Number":
        def times(a: Any, b: Any) -> Any:
            return self.builder.fmul(a, b, flags=FLAGS)

        if len(self.planes) == 1:  # a real number times any other
            return Number(self.builder, [times(self.planes[0], b) for b in other.planes])
        (a, b), (c, d) = self.planes, other.planes
        real = self.builder.fsub(times(a, c), times(b, d), flags=FLAGS)
        return Number(
            self.builder, [real, self.builder.fadd(times(a, d), times(b, c), flags=FLAGS)]
        )


class Lines:
    """Lines of one array while code is generated; halves begin `distance` numbers apart."""

    def __init__(self, builder: Any, base: Any, distance: Any, planes: Any, number: Any = _DOUBLE):
        self.builder, self.base, self.number = builder, base, number
        self.distance, self.count, self.kind = distance, len(planes), base.type.pointee
        self.align = 4 if self.kind == _SINGLE else 8

    def _pointers(self, at: Any, lanes: int) -> Iterator[Any]:
        for plane in range(self.count):
            pointer = self.builder.gep(self.base, [at])
            vector = ir.VectorType(self.kind, lanes).as_pointer()
            yield self.builder.bitcast(pointer, vector) if lanes > 1 else pointer
            if plane + 1 < self.count:
                at = self.builder.add(at, self.distance)

    def load(self, at: Any, lanes: int) -> Number:
        """Load a vector of numbers."""
        values = [self.builder.load(p, align=self.align) for p in self._pointers(at, lanes)]
        if self.kind != self.number:
            kind = ir.VectorType(self.number, lanes) if lanes > 1 else self.number
            values = [self.builder.fpext(value, kind) for value in values]
        return Number(self.builder, values)

    def load_one(self, at: Any, lanes: int) -> Number:
        """Load one number into all places of a vector."""
        vector = ir.VectorType(self.number, lanes)
        planes = self.load(at, 1).planes
        return Number(self.builder, [broadcast(self.builder, value, vector) for value in planes])

    def store(self, value: Number, at: Any, lanes: int) -> None:
        """Store a vector of numbers."""
        for plane, pointer in zip(value.planes, self._pointers(at, lanes), strict=True):
            if self.kind != self.number:
                plane = self.builder.fptrunc(plane, ir.VectorType(self.kind, lanes))
            self.builder.store(plane, pointer, align=self.align)


class Register:
    """Numbers that change in a loop, which the compiler keeps in registers."""

    def __init__(self, builder: Any, vector: Any, planes: Any):
        self.builder, self.zero = builder, ir.Constant(vector, None)
        self.parts = [cgutils.alloca_once(builder, vector) for _ in range(len(planes))]

    def get(self) -> Number:
        """Return the numbers."""
        return Number(self.builder, [self.builder.load(part) for part in self.parts])

    def set(self, value: Number) -> None:
        """Put in other numbers; real ones are complex ones without imaginary parts."""
        for i, part in enumerate(self.parts):
            plane = value.planes[i] if i < len(value.planes) else self.zero
            self.builder.store(plane, part)


def broadcast(builder: Any, value: Any, vector: Any) -> Any:
    """Vector of one number."""
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    same = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, same)


def pointers(context: Any, builder: Any, kinds: Any, arrays: Any) -> list[Any]:
    """Where the numbers of the arrays of a tuple begin."""
    members = [builder.extract_value(arrays, i) for i in range(len(kinds))]
    pairs = zip(kinds, members, strict=True)
    return [context.make_array(kind)(context, builder, array).data for kind, array in pairs]


class Loop:
    """What the loops below share: their arrays, and walks over a line and over columns."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any):
        self.builder, self.planes = builder, signature.args[-1]
        self.bases = pointers(context, builder, signature.args[0], arguments[0])
        kinds = {base.type.pointee for base in self.bases} - {ir.IntType(64)}
        self.number = _SINGLE if kinds == {_SINGLE} else _DOUBLE
        self.arguments = arguments[1:-1]

    def lines(self, distance: Any) -> list[Lines]:
        """All arrays as lines whose halves are some numbers apart."""
        return [Lines(self.builder, b, distance, self.planes, self.number) for b in self.bases]

    def constant(self, value: int) -> Any:
        """Return a constant position or count."""
        return ir.Constant(ir.IntType(64), value)

    def along(self, count: Any, most: int, body: Callable[[Any, int, int], None]) -> None:
        """Generate body(position, lanes, n_vectors) over `count` numbers, a multiple of `LANES`.

        Up to `most` vectors go together, so that their chains of operations overlap.
        """
        lanes = widest_vector(self.number)
        sizes = [(lanes, most >> n) for n in range(3) if most >> n]
        while lanes > LANES:
            lanes //= 2
            sizes.append((lanes, 1))
        begin = self.constant(0)
        for lanes, n_vectors in sizes:
            step = self.constant(lanes * n_vectors)
            rest = self.builder.urem(self.builder.sub(count, begin), step)
            end = self.builder.sub(count, rest)
            with cgutils.for_range_slice(self.builder, begin, end, step) as (place, _):
                body(place, lanes, n_vectors)
            begin = end

    def registers(self, lanes: int, count: int) -> list[Register]:
        """Return registers for some vectors."""
        vector = ir.VectorType(self.number, lanes)
        return [Register(self.builder, vector, self.planes) for _ in range(count)]

    def steps(self, begin: Any, end: Any) -> Any:
        """Loop over whole numbers, as a context."""
        begin = self.constant(begin) if isinstance(begin, int) else begin
        return cgutils.for_range_slice(self.builder, begin, end, self.constant(1))

    def at(self, base: Any, *parts: Any) -> Any:
        """Sum of positions, of which numbers known in advance may be some."""
        for part in parts:
            base = self.builder.add(base, self.constant(part) if isinstance(part, int) else part)
        return base

    def place(self, places: Any, at: Any, j: Any) -> Any:
        """Load entry at + j of an array of positions."""
        return self.builder.load(self.builder.gep(places, [self.builder.add(at, j)]))


def code_of(generate: Callable[[Loop], None]) -> Callable[..., Any]:
    """Turn a function of a `Loop` into what Numba calls to generate code."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        generate(Loop(context, builder, signature, arguments))
        return context.get_dummy_value()

    return code


@intrinsic
def prefetch(typing_context, arrays, at):
    """Ask for the memory at position `at` of the only array of a tuple, for a later load."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (base,) = pointers(context, builder, signature.args[0], arguments[0])
        byte = ir.IntType(8).as_pointer()
        place = builder.bitcast(builder.gep(base, [arguments[1]]), byte)
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        read, near, data = (ir.Constant(flag, value) for value in (0, 3, 1))
        builder.call(function, [place, read, near, data])
        return context.get_dummy_value()

    return types.void(arrays, SIZE), code


@intrinsic
def multiply_lines(typing_context, arrays, to, at, count, half, scale, sums, planes):
    """Line at `to` of `out` = scale times the product of `count` lines of a table.

    `arrays` are (out, table, places): from `at` on, `places` holds where the lines begin.  With two
    `sums` of complex numbers, out gets the planes X+Y, X-Y and Y of `kernels.grams`.
    """

    def generate(loop: Loop) -> None:
        to, at, count, half, scale, _ = loop.arguments
        out, table, _ = loop.lines(half)
        out.count = 3 if is_mixed else out.count
        if loop.number == _SINGLE:
            scale = loop.builder.fptrunc(scale, _SINGLE)

        def body(r: Any, lanes: int, n_vectors: int) -> None:
            products = loop.registers(lanes, n_vectors)
            vector = ir.VectorType(loop.number, lanes)
            factor = Number(loop.builder, [broadcast(loop.builder, scale, vector)])
            first = loop.place(loop.bases[2], at, loop.constant(0))
            for v, product in enumerate(products):
                product.set(factor * table.load(loop.at(first, r, v * lanes), lanes))
            with loop.steps(1, count) as (j, _):
                line = loop.place(loop.bases[2], at, j)
                for v, product in enumerate(products):
                    product.set(product.get() * table.load(loop.at(line, r, v * lanes), lanes))
            for v, product in enumerate(products):
                found = product.get()
                if is_mixed:
                    x, y = found.planes
                    plus = loop.builder.fadd(x, y, flags=FLAGS)
                    minus = loop.builder.fsub(x, y, flags=FLAGS)
                    found = Number(loop.builder, [plus, minus, y])
                out.store(found, loop.at(to, r, v * lanes), lanes)

        loop.along(half, 4, body)

    is_mixed = len(sums) == len(planes) == 2
    kinds = (arrays, SIZE, SIZE, SIZE, SIZE, types.float64, sums, planes)
    return types.void(*kinds), code_of(generate)


@intrinsic
def add_environments(typing_context, arrays, seed, count, half, planes):
    """Add to `count` lines of `out` the seed times the product of all other lines of a table.

    `arrays` are (out, table, seeds, scratch, places); the seed is the line at `seed`, and scratch
    has room for as many lines.
    """

    def generate(loop: Loop) -> None:
        seed, count, half = loop.arguments
        out, table, seeds, scratch, _ = loop.lines(half)
        zero, builder = loop.constant(0), loop.builder
        width = loop.constant(2) if len(loop.planes) == 2 else loop.constant(1)
        width = builder.mul(width, half)

        def body(r: Any, lanes: int, n_vectors: int) -> None:
            states = loop.registers(lanes, n_vectors)
            one = ir.Constant(ir.VectorType(loop.number, lanes), [1.0] * lanes)
            for v, state in enumerate(states):
                state.set(seeds.load(loop.at(seed, r, v * lanes), lanes))
            with loop.steps(0, count) as (j, _):
                line = loop.place(loop.bases[4], zero, j)
                for v, state in enumerate(states):
                    before, place = state.get(), loop.at(r, v * lanes)
                    scratch.store(before, loop.at(builder.mul(j, width), place), lanes)
                    state.set(before * table.load(loop.at(line, place), lanes))
            for state in states:
                state.set(Number(builder, [one]))
            with loop.steps(0, count) as (i, _):
                j = builder.sub(builder.sub(count, loop.constant(1)), i)
                line = loop.place(loop.bases[4], zero, j)
                for v, state in enumerate(states):
                    after, place = state.get(), loop.at(r, v * lanes)
                    before = scratch.load(loop.at(builder.mul(j, width), place), lanes)
                    at = loop.at(line, place)
                    total = out.load(at, lanes) + before * after
                    state.set(after * table.load(at, lanes))
                    out.store(total, at, lanes)

        loop.along(half, 2, body)

    return types.void(arrays, SIZE, SIZE, SIZE, planes), code_of(generate)


@intrinsic
def multiply_changes(typing_context, arrays, to, count, half, planes):
    """Lines at `to` of (value, moved) = product of lines of a table, and its change.

    `arrays` are (value, moved, table, change, places).
    """

    def generate(loop: Loop) -> None:
        to, count, half = loop.arguments
        value, moved, table, change, _ = loop.lines(half)
        zero = loop.constant(0)

        def body(r: Any, lanes: int, n_vectors: int) -> None:
            first, second = loop.registers(lanes, 2)
            at = loop.at(loop.place(loop.bases[4], zero, zero), r)
            first.set(table.load(at, lanes))
            second.set(change.load(at, lanes))
            with loop.steps(1, count) as (j, _):
                at = loop.at(loop.place(loop.bases[4], zero, j), r)
                factor, product = table.load(at, lanes), first.get()
                second.set(second.get() * factor + product * change.load(at, lanes))
                first.set(product * factor)
            value.store(first.get(), loop.at(to, r), lanes)
            moved.store(second.get(), loop.at(to, r), lanes)

        loop.along(half, 1, body)

    return types.void(arrays, SIZE, SIZE, SIZE, planes), code_of(generate)


@intrinsic
def row_times_matrix(typing_context, arrays, offsets, distances, n_rows, n_columns, planes):
    """out[j] = Σ_i row[i]·matrix[i, j].

    `arrays` are (out, row, matrix), `offsets` where their real parts begin, `distances` how far
    behind them imaginary parts do; `n_columns` is a multiple of `LANES`.
    """

    def generate(loop: Loop) -> None:
        builder = loop.builder
        offsets, distances, n_rows, n_columns = loop.arguments
        starts, far = (
            [builder.extract_value(a, i) for i in range(3)] for a in (offsets, distances)
        )
        out, row, matrix = (
            Lines(builder, base, distance, loop.planes, loop.number)
            for base, distance in zip(loop.bases, far, strict=True)
        )

        def body(j: Any, lanes: int, n_vectors: int) -> None:
            sums = loop.registers(lanes, n_vectors)
            for total in sums:
                total.set(Number(builder, [total.zero]))
            with loop.steps(0, n_rows) as (i, _):
                factor = row.load_one(loop.at(starts[1], i), lanes)
                line = loop.at(starts[2], builder.mul(i, n_columns), j)
                for v, total in enumerate(sums):
                    entries = matrix.load(loop.at(line, v * lanes), lanes)
                    total.set(total.get() + factor * entries)
            for v, total in enumerate(sums):
                out.store(total.get(), loop.at(starts[0], j, v * lanes), lanes)

        loop.along(n_columns, 4, body)

    three = types.UniTuple(SIZE, 3)
    return types.void(arrays, three, three, SIZE, SIZE, planes), code_of(generate)
