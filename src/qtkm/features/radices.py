"""How M basis functions split into digits: the radices of a column's levels."""

from collections.abc import Sequence
from numbers import Integral

#: most basis functions of a column
MOST_FEATURES = 2**40

Quantization = int | str | Sequence[int] | None


def split(n_basis: int, quantization: Quantization) -> tuple[int, ...]:
    """Radices of the levels, lowest digit first; their product is `n_basis`.

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
    if not isinstance(n_basis, Integral) or isinstance(n_basis, bool) or n_basis < 1:
        raise ValueError(f"n_basis={n_basis!r} must be a whole number >= 1.")
    n_basis = int(n_basis)
    if n_basis > MOST_FEATURES:
        raise ValueError(
            f"n_basis={n_basis} is too many: in double precision these features cannot be told "
            "apart; use at most 2**40."
        )
    if quantization is None:
        return (n_basis,)
    if isinstance(quantization, str):
        if quantization == "auto":
            return _powers(n_basis, 9 if _is_power_of_3(n_basis) else 2) or (1,)
        if quantization != "prime":
            raise ValueError(
                f"quantization={quantization!r} is not known; use an integer such as 2, "
                '"prime", a sequence of radices, or None for no quantization.'
            )
        return _primes(n_basis) or (1,)
    if isinstance(quantization, Integral) and not isinstance(quantization, bool):
        return _powers(n_basis, int(quantization)) or (1,)
    return _given(n_basis, quantization)


def _powers(n_basis: int, base: int) -> tuple[int, ...]:
    if base < 2:
        raise ValueError(f"quantization={base} must be >= 2; use None for no quantization.")
    levels = []
    while n_basis % base == 0:
        levels.append(base)
        n_basis //= base
    return (*levels, *_primes(n_basis))


def _is_power_of_3(n: int) -> bool:
    while n % 3 == 0:
        n //= 3
    return n == 1


def _primes(n: int) -> tuple[int, ...]:
    primes, candidate = [], 2
    while candidate * candidate <= n:
        while n % candidate == 0:
            primes.append(candidate)
            n //= candidate
        candidate += 1
    return (*primes, n) if n > 1 else tuple(primes)


def _given(n_basis: int, radices: Sequence[int]) -> tuple[int, ...]:
    try:
        given = tuple(int(radix) for radix in radices)
        whole = all(a == b for a, b in zip(given, radices, strict=True))
    except (TypeError, ValueError):
        raise ValueError(
            f"quantization={radices!r} is not understood; use an integer such as 2, "
            '"prime", a sequence of radices, or None.'
        ) from None
    product = 1
    for radix in given:
        product *= radix
    if not whole or not given or min(given) < 1 or product != n_basis:
        raise ValueError(
            f"quantization={radices!r}: the radices must be whole numbers >= 1 whose product "
            f"is n_basis={n_basis}, and theirs is {product}."
        )
    return given


def weights(radices: Sequence[int]) -> tuple[int, ...]:
    """Weights B_k of the digits: the products of the radices below each level."""
    result, weight = [], 1
    for radix in radices:
        result.append(weight)
        weight *= radix
    return tuple(result)
