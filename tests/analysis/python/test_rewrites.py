"""Shapes above operands, and conditions on arrays as code for tracers."""

from __future__ import annotations

import ast

import pytest

from jaxscope.analysis.python.rewrites import (
    Names,
    Operand,
    above,
    at_set,
    expression_at,
    for_tracers,
    is_of_loop,
    operands_of,
)


def test_shapes_stand_above_their_operands_however_long_they_are() -> None:
    shapes = [Operand(0, 1, "f32[3,4]"), Operand(4, 5, "f32[5,6]")]
    assert above("x @ w", shapes) == ("f32[3,4]  f32[5,6]", "x @       w")
    assert above("f(x)", [Operand(2, 3, "f32[3]")]) == ("  f32[3]", "f(x)")
    assert above("x + y", []) == ("", "x + y")


@pytest.mark.parametrize(
    ("code", "test", "written"),
    [
        ("y = a if x > 0 else b", "x > 0", "jnp.where(x > 0, a, b)"),
        (
            "def f(x):\n  if x > 0:\n    return x\n  return -x",
            "x > 0",
            "return jnp.where(x > 0, x, -x)",
        ),
        ("if x > 0:\n  y = x\nelse:\n  y = 0", "x > 0", "y = jnp.where(x > 0, x, 0)"),
        ("y = a if x > 0 and not m else b", "x > 0", "jnp.where((x > 0) & ~m, a, b)"),
        ("y = a if 0 < x < 1 else b", "0 < x < 1", "jnp.where((0 < x) & (x < 1), a, b)"),
        ("y = max(x, 3)", "max(x, 3)", "jnp.maximum(x, 3)"),
        ("y = x > 0 or z", "x > 0", "(x > 0) | z"),
        ("if x > 0:\n  y -= x", "x > 0", "y = jnp.where(x > 0, y - x, y)"),
        (
            "if x > 0:\n  return a, b\nreturn b, a",
            "x > 0",
            "return jax.lax.cond(x > 0, lambda: (a, b), lambda: (b, a))",
        ),
        (
            "while x > 0 and m:\n  x = x // 2",
            "x > 0",
            "x = jax.lax.while_loop(lambda x: (x > 0) & m, lambda x: x // 2, x)",
        ),
        # What has no such form gets none.
        ("if x > 0:\n  y = x\nz = 0", "x > 0", ""),
        ("if x > 0:\n  y = x\ny = 0", "x > 0", ""),
        ("if x > 0:\n  return\nreturn 1", "x > 0", ""),
        ("y = max(x)", "max(x)", ""),
        ("y = 'a' if x > 0 else 'b'", "x > 0", ""),
        ("y = a if i in x else b", "i in x", ""),
        ("if x > 0:\n  return a, 'b'\nreturn b, a", "x > 0", ""),
        ("if x > 0:\n  y = x\n  z = 1\ny = 0", "x > 0", ""),
        ("while x > 0:\n  y = x", "x > 0", ""),
        ("while x > 0:\n  x = x - 1\n  n += 1", "x > 0", ""),
    ],
)
def test_a_condition_on_an_array_is_rewritten_where_the_rewrite_means_the_same(
    code: str, test: str, written: str
) -> None:
    tree = ast.parse(code)
    found = [n for n in ast.walk(tree) if isinstance(n, ast.expr) and ast.unparse(n) == test]
    assert for_tracers(tree, found[0], Names()) == written


def test_a_container_is_chosen_by_cond_which_where_refuses() -> None:
    tree = ast.parse("if x > 0:\n  grads = scaled(grads)")
    (test,) = [n for n in ast.walk(tree) if isinstance(n, ast.Compare)]
    written = for_tracers(tree, test, Names(pytrees=frozenset({"grads"})))
    assert written == "grads = jax.lax.cond(x > 0, lambda: scaled(grads), lambda: grads)"


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("y = n and m", "jnp.where(n != 0, m, n)"),
        ("y = n or 1.5", "jnp.where(n != 0, n, 1.5)"),
        ("y = m and 2", "jnp.where(m, 2, m)"),
        ("y = a if n and m else b", "jnp.where((n != 0) & m, a, b)"),
        ("y = a if not n[0] else b", "jnp.where(~(n[0] != 0), a, b)"),
        ("while n:\n  n = n // 2", "n = jax.lax.while_loop(lambda n: n != 0, lambda n: n // 2, n)"),
        ("y = n and m and 1", ""),
    ],
)
def test_a_number_is_compared_with_zero_which_its_bits_are_not(code: str, written: str) -> None:
    tree = ast.parse(code)
    asked = ("n", "m", "n[0]")
    found = [n for n in ast.walk(tree) if isinstance(n, ast.expr) and ast.unparse(n) in asked]
    assert for_tracers(tree, found[0], Names(numbers=frozenset("n"))) == written


def test_the_condition_of_a_loop_is_known_with_all_that_it_is_made_of() -> None:
    tree = ast.parse("while x > 0 and m:\n  x = y if x else z")
    found = {ast.unparse(n): is_of_loop(tree, n) for n in ast.walk(tree) if isinstance(n, ast.expr)}
    assert [found[part] for part in ("x > 0", "m", "x > 0 and m")] == [True] * 3
    assert not found["y"]


def test_an_expression_is_found_by_its_position() -> None:
    tree = ast.parse("y = jnp.concatenate([a, b @ c])")
    call = expression_at(tree, (1, 1, 4, 31))
    assert call is not None
    assert [ast.unparse(node) for node in operands_of(call)] == ["a", "b @ c"]
    assert expression_at(tree, (1, 1, 4, 30)) is None
    assert expression_at(tree, (None, None, None, None)) is None
    condition = expression_at(ast.parse("if n:\n    return 1"), (1, 2, 0, 12))
    assert condition is not None
    assert ast.unparse(condition) == "n"


@pytest.mark.parametrize(
    ("code", "written"),
    [
        ("x[0] = 3.0", "x = x.at[0].set(3.0)"),
        ("x[i, ...] += a", "x = x.at[i, ...].add(a)"),
        ("x[1:] -= a", "x = x.at[1:].subtract(a)"),
        ("x[0] //= 2", ""),
        ("d['w'][0] = 1", ""),
        ("x[0] = x[1] = 1", ""),
    ],
)
def test_a_stored_element_is_an_update_of_the_whole_array(code: str, written: str) -> None:
    tree = ast.parse(code)
    (statement,) = tree.body
    assert isinstance(statement, ast.Assign | ast.AugAssign)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    assert at_set(tree, target) == written
