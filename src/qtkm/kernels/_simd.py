"""Loops over lines of numbers (see `kernels.lines`), written with explicit vector instructions.

The loops of the passes are short (10 to 50 numbers) and read many lines.  A compiler that must
first prove that these do not overlap spends more time on that than on the arithmetic; here every
step loads all it needs before it stores anything.

Arguments of all loops: a tuple of arrays, positions of first real parts, and `planes`, a tuple of
as many entries as there are halves, so that real and complex numbers are compiled apart from one
source.  Arithmetic is in double precision, unless all arrays are of singles.
"""

from collections.abc import Callable, Iterator
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
_DOUBLE, _SINGLE, _INTEGER = ir.DoubleType(), ir.FloatType(), ir.IntType(64)


class Number:
    """A real or complex number, or a vector of them, while code is generated."""

    def __init__(self, builder: Any, planes: Any):
        self.builder, self.planes = builder, list(planes)

    def _each(self, operation: str, a: Any, b: Any) -> Any:
        return getattr(self.builder, operation)(a, b, flags=FLAGS)

    def __add__(self, other: "Number") -> "Number":
        pairs = zip(self.planes, other.planes, strict=True)
        return Number(self.builder, [self._each("fadd", a, b) for a, b in pairs])

    def __mul__(self, other: "Number") -> "Number":
        if len(self.planes) == 1:  # a real number times any other
            (a,) = self.planes
            return Number(self.builder, [self._each("fmul", a, b) for b in other.planes])
        (a, b), (c, d) = self.planes, other.planes
        pairs = (a, c), (b, d), (a, d), (b, c)
        ac, bd, ad, bc = (self._each("fmul", *pair) for pair in pairs)
        return Number(self.builder, [self._each("fsub", ac, bd), self._each("fadd", ad, bc)])

    def mixed(self) -> "Number":
        """Return X+Y, X-Y and Y of X+iY."""
        x, y = self.planes
        return Number(self.builder, [self._each("fadd", x, y), self._each("fsub", x, y), y])


class Lines:
    """Lines of one array while code is generated; halves begin `distance` numbers apart."""

    def __init__(self, loop: "Loop", base: Any, distance: Any, count: int):
        self.loop, self.builder, self.base = loop, loop.builder, base
        self.distance, self.count, self.kind = distance, count, base.type.pointee
        self.align = 4 if self.kind == _SINGLE else 8

    def _pointers(self, at: Any, lanes: int) -> Iterator[Any]:
        for plane in range(self.count):
            at = self.builder.add(at, self.distance) if plane else at
            pointer = self.builder.gep(self.base, [at])
            vector = ir.VectorType(self.kind, lanes).as_pointer()
            yield self.builder.bitcast(pointer, vector) if lanes > 1 else pointer

    def load(self, at: Any, lanes: int) -> Number:
        """Load a vector of numbers."""
        values = [self.builder.load(p, align=self.align) for p in self._pointers(at, lanes)]
        if self.kind != self.loop.number:
            kind = self.loop.vector(lanes) if lanes > 1 else self.loop.number
            values = [self.builder.fpext(value, kind) for value in values]
        return Number(self.builder, values)

    def load_one(self, at: Any, lanes: int) -> Number:
        """Load one number into all places of a vector."""
        values = self.load(at, 1).planes
        return Number(self.builder, [self.loop.broadcast(value, lanes) for value in values])

    def store(self, value: Number, at: Any, lanes: int) -> None:
        """Store a vector of numbers."""
        for plane, pointer in zip(value.planes, self._pointers(at, lanes), strict=True):
            if self.kind != self.loop.number:
                plane = self.builder.fptrunc(plane, ir.VectorType(self.kind, lanes))
            self.builder.store(plane, pointer, align=self.align)


class Register:
    """Numbers that change in a loop, which the compiler keeps in registers; zero at first."""

    def __init__(self, loop: "Loop", lanes: int, count: int):
        self.builder, self.zero = loop.builder, ir.Constant(loop.vector(lanes), None)
        self.parts = [cgutils.alloca_once(self.builder, loop.vector(lanes)) for _ in range(count)]
        self.set(Number(self.builder, [self.zero]))

    def get(self) -> Number:
        """Return the numbers."""
        return Number(self.builder, [self.builder.load(part) for part in self.parts])

    def set(self, value: Number) -> None:
        """Put in other numbers; real ones are complex ones without imaginary parts."""
        for i, part in enumerate(self.parts):
            plane = value.planes[i] if i < len(value.planes) else self.zero
            self.builder.store(plane, part)


class Loop:
    """What the loops below share: their arrays, and walks over a line and over columns."""

    def __init__(self, context: Any, builder: Any, signature: Any, arrays: Any):
        self.builder, (kinds, self.kinds) = builder, signature.args
        self.n_planes = len(self.kinds[-1])
        pairs = [(kind, builder.extract_value(arrays, i)) for i, kind in enumerate(kinds)]
        self.bases = [context.make_array(kind)(context, builder, a).data for kind, a in pairs]
        numbers = {base.type.pointee for base in self.bases} - {_INTEGER}
        self.number = _SINGLE if numbers == {_SINGLE} else _DOUBLE

    @property
    def widest(self) -> int:
        """Numbers in one of the machine's registers."""
        return LANES * (2 if self.number == _SINGLE else 1) * (2 if HAS_WIDE_REGISTERS else 1)

    def lines(self, distance: Any) -> list[Lines]:
        """All arrays as lines whose halves are some numbers apart."""
        return [Lines(self, base, distance, self.n_planes) for base in self.bases]

    def vector(self, lanes: int) -> Any:
        """Return the type of a vector."""
        return ir.VectorType(self.number, lanes)

    def broadcast(self, value: Any, lanes: int) -> Any:
        """Vector of one number."""
        undefined, places = ir.Constant(self.vector(lanes), ir.Undefined), ir.IntType(32)
        first = self.builder.insert_element(undefined, value, ir.Constant(places, 0))
        same = ir.Constant(ir.VectorType(places, lanes), [0] * lanes)
        return self.builder.shuffle_vector(first, undefined, same)

    def constant(self, value: Any) -> Any:
        """Return a position or count, which may be known in advance."""
        return ir.Constant(_INTEGER, value) if isinstance(value, int) else value

    def along(self, count: Any, most: int, body: Callable[[Any, int, int], None]) -> None:
        """Generate body(position, lanes, n_vectors) over `count` numbers, a multiple of `LANES`.

        Up to `most` vectors go together, so that their chains of operations overlap.
        """
        lanes = self.widest
        sizes = [(lanes, most >> n) for n in range(most.bit_length())]
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
        return [Register(self, lanes, self.n_planes) for _ in range(count)]

    def steps(self, begin: Any, end: Any) -> Any:
        """Loop over whole numbers, as a context."""
        return cgutils.for_range_slice(self.builder, self.constant(begin), end, self.constant(1))

    def at(self, base: Any, *parts: Any) -> Any:
        """Sum of positions, of which numbers known in advance may be some."""
        for part in parts:
            base = self.builder.add(base, self.constant(part))
        return base

    def place(self, places: Any, at: Any, j: Any) -> Any:
        """Load entry at + j of an array of positions."""
        return self.builder.load(self.builder.gep(places, [self.at(at, j)]))


def generated(generate: Callable[..., None]) -> Any:
    """Turn generate(loop, *arguments) into what Numba compiles to a call of (arrays, *arguments).

    Whole numbers are taken for positions, and the tuple `planes` comes last.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        arrays, some = arguments
        values = [builder.extract_value(some, i) for i in range(len(signature.args[1]) - 1)]
        generate(Loop(context, builder, signature, arrays), *values)
        return context.get_dummy_value()

    @intrinsic
    def loop(typing_context, arrays, *arguments):
        kinds = [SIZE if isinstance(kind, types.Integer) else kind for kind in arguments]
        return types.void(arrays, types.Tuple(kinds)), code

    return loop


@generated
def prefetch(loop: Loop, at: Any) -> None:
    """Ask for the memory at position `at` of the only array of a tuple, for a later load."""
    builder, byte, flag = loop.builder, ir.IntType(8).as_pointer(), ir.IntType(32)
    place = builder.bitcast(builder.gep(loop.bases[0], [at]), byte)
    kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    builder.call(function, [place, *(ir.Constant(flag, n) for n in (0, 3, 1))])  # read, near, data


@generated
def multiply_lines(
    loop: Loop, to: Any, at: Any, count: Any, half: Any, scale: Any, sums: Any
) -> None:
    """Line at `to` of `out` = scale times the product of `count` lines of a table.

    Arrays are (out, table, places): from `at` on, `places` holds where the lines begin.  With
    `sums` of complex numbers, out gets the planes X+Y, X-Y and Y of `kernels.grams`.
    """
    out, table, _ = loop.lines(half)
    is_mixed = len(loop.kinds[-2]) > 1
    out.count = 3 if is_mixed else out.count
    if loop.number == _SINGLE:
        scale = loop.builder.fptrunc(scale, _SINGLE)

    def body(r: Any, lanes: int, n_vectors: int) -> None:
        products = loop.registers(lanes, n_vectors)
        factor = Number(loop.builder, [loop.broadcast(scale, lanes)])
        first = loop.place(loop.bases[2], at, 0)
        for v, product in enumerate(products):
            product.set(factor * table.load(loop.at(first, r, v * lanes), lanes))
        with loop.steps(1, count) as (j, _):
            line = loop.place(loop.bases[2], at, j)
            for v, product in enumerate(products):
                product.set(product.get() * table.load(loop.at(line, r, v * lanes), lanes))
        for v, product in enumerate(products):
            found = product.get().mixed() if is_mixed else product.get()
            out.store(found, loop.at(to, r, v * lanes), lanes)

    loop.along(half, 4, body)


@generated
def add_environments(loop: Loop, seed: Any, count: Any, half: Any) -> None:
    """Add to `count` lines of `out` the seed times the product of all other lines of a table.

    Arrays are (out, table, seeds, scratch, places); the seed is the line at `seed`, and scratch
    has room for as many lines.
    """
    out, table, seeds, scratch, _ = loop.lines(half)
    builder = loop.builder
    width = builder.mul(loop.constant(loop.n_planes), half)

    def body(r: Any, lanes: int, n_vectors: int) -> None:
        states = loop.registers(lanes, n_vectors)
        for v, state in enumerate(states):
            state.set(seeds.load(loop.at(seed, r, v * lanes), lanes))
        with loop.steps(0, count) as (j, _):
            line = loop.place(loop.bases[4], j, 0)
            for v, state in enumerate(states):
                before, place = state.get(), loop.at(r, v * lanes)
                scratch.store(before, loop.at(builder.mul(j, width), place), lanes)
                state.set(before * table.load(loop.at(line, place), lanes))
        one = ir.Constant(loop.vector(lanes), [1.0] * lanes)
        for state in states:
            state.set(Number(builder, [one]))
        with loop.steps(0, count) as (i, _):
            j = builder.sub(builder.sub(count, loop.constant(1)), i)
            line = loop.place(loop.bases[4], j, 0)
            for v, state in enumerate(states):
                after, place = state.get(), loop.at(r, v * lanes)
                before = scratch.load(loop.at(builder.mul(j, width), place), lanes)
                at = loop.at(line, place)
                total = out.load(at, lanes) + before * after
                state.set(after * table.load(at, lanes))
                out.store(total, at, lanes)

    loop.along(half, 2, body)


@generated
def multiply_changes(loop: Loop, to: Any, count: Any, half: Any) -> None:
    """Lines at `to` of (value, moved) = product of lines of a table, and its change.

    Arrays are (value, moved, table, change, places).
    """
    value, moved, table, change, _ = loop.lines(half)

    def body(r: Any, lanes: int, n_vectors: int) -> None:
        first, second = loop.registers(lanes, 2)
        at = loop.at(loop.place(loop.bases[4], loop.constant(0), 0), r)
        first.set(table.load(at, lanes))
        second.set(change.load(at, lanes))
        with loop.steps(1, count) as (j, _):
            at = loop.at(loop.place(loop.bases[4], j, 0), r)
            factor, product = table.load(at, lanes), first.get()
            second.set(second.get() * factor + product * change.load(at, lanes))
            first.set(product * factor)
        value.store(first.get(), loop.at(to, r), lanes)
        moved.store(second.get(), loop.at(to, r), lanes)

    loop.along(half, 1, body)


@generated
def row_times_matrix(loop: Loop, offsets: Any, distances: Any, n_rows: Any, n_columns: Any) -> None:
    """out[j] = Σ_i row[i]·matrix[i, j].

    Arrays are (out, row, matrix), `offsets` where their real parts begin, `distances` how far
    behind them imaginary parts do; `n_columns` is a multiple of `LANES`.
    """
    starts, far = (
        [loop.builder.extract_value(a, i) for i in range(3)] for a in (offsets, distances)
    )
    pairs = zip(loop.bases, far, strict=True)
    out, row, matrix = (Lines(loop, *pair, loop.n_planes) for pair in pairs)

    def body(j: Any, lanes: int, n_vectors: int) -> None:
        sums = loop.registers(lanes, n_vectors)
        with loop.steps(0, n_rows) as (i, _):
            factor = row.load_one(loop.at(starts[1], i), lanes)
            line = loop.at(starts[2], loop.builder.mul(i, n_columns), j)
            for v, total in enumerate(sums):
                entries = matrix.load(loop.at(line, v * lanes), lanes)
                total.set(total.get() + factor * entries)
        for v, total in enumerate(sums):
            out.store(total.get(), loop.at(starts[0], j, v * lanes), lanes)

    loop.along(n_columns, 4, body)
