"""The outline of a cell: its last expression, its functions, and statements it may not have."""

from __future__ import annotations

import ast
import textwrap

import pytest

from jaxscope.analysis.python.outline import (
    entry_points,
    forbidden,
    is_silenced,
    last_expression,
    top_level_definitions,
)


def parse(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))


def test_the_last_expression_is_found() -> None:
    last = last_expression(parse("x = 1\nx + 1"))
    assert last is not None
    assert ast.unparse(last) == "x + 1"
    assert last_expression(parse("x + 1\ny = 2")) is None
    assert last_expression(parse("")) is None


@pytest.mark.parametrize(
    ("text", "silenced"),
    [
        ("x", False),
        ("x;", True),
        ("x;  # comment", True),
        ("x;\n\n# comment\n", True),
        ("x; y", False),
        ("x # ;", False),
        ("';'", False),
        ("x = '''\n;'''", False),
        ("", False),
        ("(x", False),
        ("if c:\n    x;\n", True),
        ("x = 'unfinished", False),
    ],
)
def test_a_trailing_semicolon_silences(text: str, silenced: bool) -> None:
    assert is_silenced(text) is silenced


def test_top_level_definitions_are_functions_and_classes() -> None:
    tree = parse(
        """
        x = lambda: 1
        def f(): pass
        if x:
            def hidden(): pass
        class A: pass
        async def g(): pass
        """
    )
    assert [node.name for node in top_level_definitions(tree)] == ["f", "A", "g"]


ENTRY_POINTS = [
    ("def f(x):\n  return x", "f"),
    ("def f(x):\n  return g(x)\ndef g(x):\n  return x", "f"),
    ("def g(x):\n  return x\ndef f(x):\n  return lambda: g(x)", "f"),
    ("def f(x): return x\ndef g(x): return x", "f g"),
    ("def f(x): return x\ny = f(1)", "f"),
    ("def f(n): return f(n - 1)", "f"),
    ("def even(n): return odd(n - 1)\ndef odd(n): return even(n - 1)", "even"),
    ("def even(n): return odd(n - 1)\ndef odd(n): return even(n - 1)\nodd(3)", "odd"),
    ("def f(g): return g(1)\ndef g(x): return x", "f g"),
    ("class A:\n  def m(self): return f(1)\ndef f(x): return x", ""),
    ("async def f(): pass\ndef g(): return f()", "g"),
    ("def gen():\n  yield 1\ndef g(): return 1", "g"),
    ("def mk():\n  def gen():\n    yield 1\n  return gen", "mk"),
    (("@jax.custom_vjp\ndef f(x): return x\ndef fwd(x): pass\ndef bwd(r, g): pass\n"
     "f.defvjp(fwd, bwd)"), "f"),
    ("def loss(w): return w\ngrad = jax.grad(loss)", "loss"),
    ("def f(x, act=relu): return act(x)\ndef relu(x): return x", "f"),
    ("x = 1", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ENTRY_POINTS)
def test_entry_points_are_the_functions_that_no_other_uses(text: str, expected: str) -> None:
    assert entry_points(parse(text)) == tuple(expected.split())


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
        "Put it in a cell of its own."
    )
