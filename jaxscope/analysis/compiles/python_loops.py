"""The Python loop that repeats a line while JAX traces it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

_LONGEST = 40
_MAGIC = re.compile(r"^[%!?].*$", re.M)
"""Lines of IPython in the text of a cell."""


@dataclass(frozen=True, slots=True)
class PythonLoop:
    """A loop or comprehension of a text."""

    line: int
    first: int
    """The first and last line of its body."""
    last: int
    over: str
    """Its clause: ``over `layers` ``, ``while `n > 0` ``."""
    statement: bool = True
    """Whether whole lines are its body; False for a comprehension, which is part of a line."""


def loops_of(text: str) -> tuple[PythonLoop, ...]:
    """The loops of a text, inner ones after those around them; none where it does not parse."""
    tree = _parsed(text) or _parsed(_MAGIC.sub("", text))
    if tree is None:
        return ()
    found: list[PythonLoop] = []
    for node in ast.walk(tree):
        match node:
            case ast.For():
                first, last, over = node.body[0].lineno, node.body[-1].end_lineno, node.iter
            case ast.While():
                first, last, over = node.lineno, node.body[-1].end_lineno, node.test
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                first, last, over = node.lineno, node.end_lineno, node.generators[0].iter
            case _:
                continue
        word = "while" if isinstance(node, ast.While) else "over"
        clause, whole = f"{word} `{_short(over)}`", isinstance(node, (ast.For, ast.While))
        found.append(PythonLoop(node.lineno, first, last or first, clause, whole))
    return tuple(found)


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _short(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def loop_around(
    stack: Iterable[tuple[str, int]],
    text: Callable[[str], Sequence[str]],
    known: dict[str, Collection[PythonLoop]],
) -> PythonLoop | None:
    """The innermost loop around the innermost frame that is in one; `known` keeps those of files.

    Only for equations that were made repeatedly from this stack: the loop has then repeated them.
    """
    for file, line in stack:
        if file not in known:
            known[file] = loops_of("\n".join(text(file)))
        around = [loop for loop in known[file] if loop.first <= line <= loop.last]
        if around:
            return min(around, key=lambda loop: (loop.last - loop.first, -loop.line))
    return None
