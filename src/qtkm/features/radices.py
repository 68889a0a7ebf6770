"""How M basis functions split into digits: the radices of a column's levels."""

import math
from collections.abc import Sequence
from numbers import Integral

from ..parameters import check_number
from ..protocols import Given

#: most basis functions of a column
MOST_FEATURES = 2**40

Quantization = int | str | Sequence[int] | None


def split(n_basis: int, quantization: Quantization) -> tuple[int, ...]:
    """Return the radices of the levels, lowest digit first; their product is `n_basis`.

    Parameters
    ----------
    n_basis : int
        Number M of basis functions of the column.
    quantization : int, "prime", sequence of int, None or "auto"
        An integer Q divides M by Q while it divides, and splits what is left into
        ascending primes; "prime" splits M into ascending primes; a sequence is taken as
        it is; None keeps one level of radix M (the non-quantized model). "auto" splits
        powers of 3 into nines, and a 3 if one is left, and all else like 2: with odd
        radices low frequencies are low digits.

    Returns
    -------
    tuple of int
        One radix per level; `(1,)` for a single basis function.
    """
    check_number("n_basis", n_basis, Integral, 1)
    n_basis = int(n_basis)
    if n_basis > MOST_FEATURES:
        raise ValueError(
            f"n_basis={n_basis} is too many: in double precision these features cannot be told "
            "apart; use at most 2**40."
        )
    if quantization is None:
        return (n_basis,)
    if isinstance(quantization, str):
        if quantization not in ("auto", "prime"):
            raise ValueError(
                f"quantization={quantization!r} is unknown; use an integer such as 2, "
                '"prime", a sequence of radices, or None for no quantization.'
            )
        if quantization == "auto" and 3**30 % n_basis == 0:
            return _powers(n_basis, 9)
        return _powers(n_basis, 2)  # primes in ascending order
    if isinstance(quantization, Integral) and not isinstance(quantization, bool):
        if quantization < 2:
            raise ValueError(
                f"quantization={quantization} must be >= 2; use None for no quantization."
            )
        return _powers(n_basis, int(quantization))
    return _given(n_basis, quantization)


def _powers(rest: int, base: int) -> tuple[int, ...]:
    """Divide by a base as often as possible, and then by primes."""
    levels = []
    while rest % base == 0:
        levels.append(base)
        rest //= base
    prime = 2
    while rest > 1:
        if prime * prime > rest:
            prime = rest
        while rest % prime == 0:
            levels.append(prime)
            rest //= prime
        prime += 1
    return tuple(levels) or (1,)


def _given(n_basis: int, radices: Given) -> tuple[int, ...]:
    try:
        given = tuple(int(radix) for radix in radices)
        is_whole = all(a == b for a, b in zip(given, radices, strict=True))
    except (TypeError, ValueError):
        raise ValueError(
            f"quantization={radices!r} is not understood; use an integer such as 2, "
            '"prime", a sequence of radices, or None.'
        ) from None
    product = math.prod(given)
    if not is_whole or not given or min(given) < 1 or product != n_basis:
        raise ValueError(
            f"quantization={radices!r}: the radices must be integers >= 1 whose product "
            f"is n_basis={n_basis}, and theirs is {product}."
        )
    return given
