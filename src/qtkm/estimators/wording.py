"""Numbers as people write them: 84,690 and not 8.469e+04."""

import math
from numbers import Real
from typing import Any

#: magnitudes between which a number is written out
SMALLEST, LARGEST = 1e-4, 1e10
#: where thousands begin to be parted: 2013 is as a rule a year, 20,130 never
PARTED = 10_000


def readable(number: Any, digits: int = 4, sign: str = "-", parted: float = PARTED) -> str:
    """Write a number with no more than so many significant digits.

    Parameters
    ----------
    number : float or complex
    digits : int, default=4
    sign : {"-", "+"}, default="-"
        "+" writes the sign of positive numbers, too.
    parted : float, default=10_000
        From here on thousands are parted.

    Returns
    -------
    str

    Examples
    --------
    >>> [readable(x) for x in (84690.2, 1234567.8, 0.5, 0.00001234, 2013)]
    ['84,690', '1,235,000', '0.5', '1.234e-5', '2013']
    """
    if not isinstance(number, Real):
        return readable(number.real, digits, sign) + readable(number.imag, digits, "+") + "j"
    number = float(number)
    if not math.isfinite(number):
        return f"{number:{sign}}"
    mantissa, power = f"{number:{sign}.{digits - 1}e}".split("e")
    exponent, size = int(power), abs(float(f"{mantissa}e{power}"))
    if size and not SMALLEST <= size < LARGEST:
        return f"{_bare(mantissa)}e{exponent}"
    # adding zero takes the sign of a negative zero away
    rounded = float(f"{mantissa}e{power}") + 0.0
    comma = "," if size >= parted else ""
    return _bare(f"{rounded:{sign}{comma}.{max(0, digits - 1 - exponent)}f}")


def _bare(text: str) -> str:
    """Take the zeros away that end a decimal fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text
