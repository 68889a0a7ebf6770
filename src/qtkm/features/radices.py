"""How M basis functions split into digits: the radices of a column's levels."""

import math
from numbers import Integral

from ..parameters import check_number, is_number
from ..protocols import Given

#: most basis functions of a column
MOST_FEATURES = 2**40


def split(n_basis: int, quantization: Given) -> tuple[int, ...]:
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
    if isinstance(quantization, str) and quantization in ("auto", "prime"):
        is_cubed = quantization == "auto" and 3**30 % n_basis == 0
        return _powers(n_basis, 9 if is_cubed else 2)  # primes in ascending order
    if is_number(quantization, Integral):
        if quantization < 2:
            raise ValueError(
                f"quantization={quantization} must be >= 2; use None for no quantization."
            )
        return _powers(n_basis, int(quantization))
    return _given(n_basis, quantization)


def _powers(rest: int, base: int) -> tuple[int, ...]:
    """Divide by a base as often as possible, and then by primes."""
    levels, divisor, after = [], base, 2
    while rest > 1:
        if rest % divisor == 0:
            levels.append(divisor)
            rest //= divisor
        else:
            divisor = after if after * after <= rest else rest
            after += 1
    return tuple(levels) or (1,)


def _given(n_basis: int, radices: Given) -> tuple[int, ...]:
    try:
        given = () if isinstance(radices, str) else tuple(int(radix) for radix in radices)
        is_whole = len(given) > 0 and all(a == b for a, b in zip(given, radices, strict=True))
    except (TypeError, ValueError):
        given, is_whole = (), False
    product = math.prod(given)
    if not is_whole or min(given) < 1 or product != n_basis:
        but = f", not {product}" if given else ""
        raise ValueError(
            f'quantization={radices!r} is unknown; use an integer such as 2, "prime", None for no '
            f"quantization, or radices >= 1 whose product is n_basis={n_basis}{but}."
        )
    return given
