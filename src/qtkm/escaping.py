"""The one function that text from data goes through before it meets a terminal, a page or a file.

Names of columns, categories and classes may hold anything: sequences that a terminal obeys, marks
that turn the direction of writing round, letters that no encoding has.
"""

import unicodedata


def visible(text: str, keep: str = "") -> str:
    r"""Return text in which everything that cannot be seen is written as an escape, as \x1b.

    Parameters
    ----------
    text : str
    keep : str
        Characters to leave as they are, such as the ends of lines of our own.

    Examples
    --------
    >>> print(visible("Köln \x1b[31m\u202e"))
    Köln \x1b[31m\u202e
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter in keep or _is_seen(letter) else _escape(letter) for letter in text
    )


def _is_seen(letter: str) -> bool:
    # Python takes all spaces but one for unprintable
    return letter.isprintable() or unicodedata.category(letter) == "Zs"


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()
