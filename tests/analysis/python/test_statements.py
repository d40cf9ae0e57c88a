"""Statements that a compiled cell may not have."""

from __future__ import annotations

import pytest

from jaxscope.analysis.python.statements import forbidden

FORBIDDEN = [
    ("x = 1\nreturn x", 2, "uses `return` outside a function"),
    ("if x:\n    return", 2, "uses `return` outside a function"),
    ("yield x", 1, "uses `yield` outside a function"),
    ("y = yield from x", 1, "uses `yield` outside a function"),
    ("x = await f()", 1, "uses `await` outside a function"),
    ("async for i in x:\n  pass", 1, "uses `await` outside a function"),
    ("async with x:\n  pass", 1, "uses `await` outside a function"),
    ("y = [i async for i in x]", 1, "uses `await` outside a function"),
    ("y = (i async for i in x)", 1, "uses `await` outside a function"),
    ("class A:\n  await x", 2, "uses `await` outside a function"),
    ("x = 1\n%timeit x", 2, "`%timeit x`, is a magic command"),
    ("%matplotlib inline\nx = 1", 1, "`%matplotlib inline`, is a magic command"),
    ("if x:\n    %time x", 2, "`%time x`, is a magic command"),
    ("%%time\nx = 1", 1, "`%%time`, is a magic command"),
    ("t = %timeit -o x", 1, "is a magic command"),
    ("x = 1\n\n!ls -l", 3, "`!ls -l`, is a shell command"),
    ("!echo it's", 1, "is a shell command"),
    ("files = !ls", 1, "is a shell command"),
    ("jnp.sum?", 1, "`jnp.sum?`, is an IPython help request"),
    ("?jnp.sum", 1, "is an IPython help request"),
    ("jnp.sum??", 1, "is an IPython help request"),
    ("x = 1\nget_ipython().run_line_magic('timeit', 'x')", 2, "`%timeit x`, is a magic command"),
    ("get_ipython().system('ls')", 1, "`!ls`, is a shell command"),
    ("y = get_ipython().getoutput('ls')", 1, "`!ls`, is a shell command"),
    ("return 1\nyield 2", 1, "uses `return` outside a function"),
    ("%timeit " + "x + " * 40 + "x", 1, "...`, is a magic command"),
]


@pytest.mark.parametrize(("text", "line", "part"), FORBIDDEN)
def test_what_cannot_stand_in_a_cell_is_named(text: str, line: int, part: str) -> None:
    found = forbidden(text)
    assert found is not None
    assert found.line == line
    assert part in found.message
    assert found.message.startswith(f"Line {line}")
    assert found.message.endswith(".")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1",
        "def f():\n  return 1\n",
        "def f():\n  yield 1\n",
        "async def f():\n  await x\n",
        "f = lambda: (yield)",
        "y = (a\n% b)",
        "y = a \\\n% b",
        "s = '''\n%magic\n!shell\n'''",
        "x = 'what?'  # really?",
        "x = (1 +",
        "1 +* 2",
        "x = 1\n# why?\ny = 3 3",
        "a != b",
        "ip = get_ipython()",
        "x = '\0'",
    ],
)
def test_what_may_stand_in_a_cell_is_left_alone(text: str) -> None:
    assert forbidden(text) is None


def test_a_forbidden_line_says_what_to_do() -> None:
    found = forbidden("\nreturn x")
    assert found is not None
    assert found.message == (
        "Line 2 uses `return` outside a function, which is not allowed. "
        "Make the value the last expression of the cell instead."
    )
    magic = forbidden("x = 1\n%timeit x")
    assert magic is not None
    assert magic.message == (
        "Line 2, `%timeit x`, is a magic command, which cannot be part of a compiled program. "
        "Move it to a different cell."
    )
