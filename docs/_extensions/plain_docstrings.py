"""Docstrings are written to be read as text; here they are made safe for reStructuredText.

Formulas and drawings that stand on lines of their own, indented, become literal blocks, and bars
and trailing underscores inside of a line mean nothing but themselves.
"""

import re

#: sections whose indented lines describe an entry
LISTS = {
    "Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "References", "Examples",
    "See Also",
}  # fmt: skip
QUOTED = re.compile(r"(`+.*?`+)")
SPECIAL = re.compile(r"\||(?<=\w)_(?!\w)")


def escape(line):
    """Escape what has a meaning in reStructuredText outside of backticks."""
    parts = QUOTED.split(line)
    return "".join(
        part if part.startswith("`") else SPECIAL.sub(r"\\\g<0>", part) for part in parts
    )


def rewrite(lines):
    """Make the lines of a docstring safe.

    Parameters
    ----------
    lines : list of str
        Without common indentation.

    Returns
    -------
    list of str
    """
    section, is_literal, result = None, False, []
    for i, line in enumerate(lines):
        is_indented = line.startswith(" ")
        if i + 1 < len(lines) and line and re.fullmatch(r"-{3,}", lines[i + 1]):
            section = line
        if not is_indented and line:
            is_literal = False
        starts = is_indented and i > 0 and not lines[i - 1] and section not in LISTS
        if starts and not is_literal:
            before = next(text for text in reversed(lines[:i]) if text)
            if not before.startswith((" ", "- ", ".. ")) and not before.endswith("::"):
                result += ["::", ""]
                is_literal = True
            elif before.endswith("::"):
                is_literal = True
        if is_literal or line.startswith((".. ", ">>>", "...")) or section == "Examples":
            result.append(line)
        elif section in LISTS and not is_indented and " : " in line:
            name, _, kind = line.partition(" : ")
            result.append(f"{name} : {escape(kind)}")
        elif section in LISTS and not is_indented:
            result.append(line)
        else:
            result.append(escape(line))
    return result


def process(app, what, name, obj, options, lines):
    """Rewrite a docstring before numpydoc reads it."""
    lines[:] = rewrite(lines)


def setup(app):
    """Come before numpydoc, whose priority is 500."""
    app.connect("autodoc-process-docstring", process, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
