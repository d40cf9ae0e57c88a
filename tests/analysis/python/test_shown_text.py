"""Uses of a text that only show it."""

import ast

import pytest

from jaxscope.analysis.python.shown_text import is_shown

SHOWN = (
    "print(`f'{x}'`)",
    "print(*[`str(x)` for x in xs], sep=', ')",
    "print(', '.join(`str(x)` for x in xs))",
    "print('a' + `str(x)`, end='')",
    "print('{}'.format(`str(x)`).ljust(9) if y else '')",
    "`print(x)`",
    "log.info(`f'{x}'`)",
    "raise ValueError(`f'{x}'`)",
    "assert y, `f'{x}'`",
    "if y:\n    `str(x)`",
    "%%jaxjit -n 1\nprint(`str(x)`)",
)
USED = (
    "n = len(`str(x)`)",
    "n = `str(x)`[:3]",
    "n = `str(x)`",
    "print(len(`str(x)`))",
    "print(`str(x)` == '')",
    "assert `str(x)` == ''",
    "def f(x): return `f'{x}'`",
    "d[`repr(x)`] = 1",
    "title(`f'{x}'`)",
    "%time n\nprint(`str(x)`)",
)


def shown(marked: str) -> bool:
    """The answer for the expression between the backticks."""
    before, inside, _ = marked.split("`")
    start, end = (part.count("\n") + 1 for part in (before, before + inside))
    columns = [len(part.rpartition("\n")[2].encode()) for part in (before, before + inside)]
    return is_shown(marked.replace("`", ""), (start, end, *columns))


@pytest.mark.parametrize("text", SHOWN)
def test_text_that_is_printed_logged_or_in_an_error_is_shown(text: str) -> None:
    assert shown(text)


@pytest.mark.parametrize("text", USED)
def test_text_that_is_kept_or_computed_with_is_not_only_shown(text: str) -> None:
    assert not shown(text)


def test_a_span_outside_of_the_text_is_not_shown() -> None:
    assert not is_shown(ast.unparse(ast.parse("print(x)")), (9, 9, 0, 3))
