"""Code at the place of an error: its shapes above its operands, and the same code for tracers."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

Position = tuple[int | None, int | None, int | None, int | None]
"""Line, end line, column and end column, in UTF-8 bytes as in a syntax tree."""
_LONGEST = 100
"""Characters of a rewrite; a longer one is no longer read at a glance."""
_NO_ARRAYS = (ast.JoinedStr, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.Lambda)
_ELEMENTWISE = {"max": "maximum", "min": "minimum"}


class Operand(NamedTuple):
    """A part of an expression, with its text above it."""

    start: int
    """Columns in the expression."""
    end: int
    shape: str


def expression_at(tree: ast.Module, position: Position) -> ast.expr | None:
    """The expression of exactly this position, or the condition of this `if` or `while`.

    Python 3.11 has the position of the statement for a condition that is a name.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.If | ast.While) and position == (
            node.lineno,
            node.end_lineno,
            node.col_offset,
            node.end_col_offset,
        ):
            return node if isinstance(node, ast.expr) else node.test
    return None


def operands_of(node: ast.expr) -> Sequence[ast.expr]:
    """The expressions whose shapes have to fit: operands, or arguments of a call."""
    match node:
        case ast.BinOp(left=left, right=right):
            return left, right
        case ast.Compare(left=left, comparators=others):
            return left, *others
        case ast.Call(args=args):
            found: list[ast.expr] = []
            for argument in args:
                listed = isinstance(argument, ast.List | ast.Tuple)
                found += argument.elts if listed else [argument]
            return found
        case _:
            return ()


def above(text: str, operands: Sequence[Operand]) -> tuple[str, str]:
    """Two lines: the shapes above their operands, and the text, spaced so that they fit."""
    top = bottom = ""
    done = 0
    for operand in operands:
        bottom += text[done : operand.start]
        bottom = bottom.ljust(len(top) + 2 if top else 0)
        top = top.ljust(len(bottom)) + operand.shape
        bottom += text[operand.start : operand.end]
        done = operand.end
    return top, bottom + text[done:]


class Names(NamedTuple):
    """Names of the code: those of JAX's modules, and those that hold several arrays."""

    jnp: str = "jnp"
    lax: str = "jax.lax"
    pytrees: frozenset[str] = frozenset()
    """Names of containers: `jnp.where` refuses them, `lax.cond` does not."""
    numbers: frozenset[str] = frozenset()
    """Names of numbers and of arrays that are not bool: `&` computes with their bits."""


def for_tracers(tree: ast.Module, node: ast.expr, names: Names) -> str:
    """The code to write where `node` needs the truth of an array; empty where none is known."""
    written = _for_tracers(tree, node, names)
    return written if len(written) <= _LONGEST and "\n" not in written else ""


def _for_tracers(tree: ast.Module, node: ast.expr, names: Names) -> str:
    match node:
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[a, b], keywords=[]):
            return f"{names.jnp}.{_ELEMENTWISE[name]}({ast.unparse(a)}, {ast.unparse(b)})"
        case _:
            pass
    test, parent = _test_of(tree, node)
    if not isinstance(test, ast.expr):
        return ""
    if _is_call_of(test, "bool") and not isinstance(parent, ast.If | ast.While | ast.IfExp):
        return _condition(test, names)
    if any(map(_is_no_comparison, ast.walk(test))):
        return ""
    match parent:
        case ast.IfExp(test=found, body=a, orelse=b) if found is test:
            return _where(names, test, a, b)
        case ast.If(test=found) as branch if found is test:
            return _of_branch(_parents(tree).get(branch), branch, names)
        case ast.While(test=found) as loop if found is test:
            return _of_loop(loop, names)
        case _:
            return _of_value(test, names) if isinstance(test, ast.BoolOp) else ""


_MATH = frozenset({
    "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "exp", "expm1", "floor", "hypot",
    "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "sqrt",
    "tan", "tanh",
})  # fmt: skip
"""Functions of `math` that `jnp` has under the same name."""


def is_conversion(node: ast.expr) -> bool:
    """Whether it gives a Python number or a NumPy array: `float(x)`, `x.item()`, `np.array(x)`."""
    match node:
        case ast.Call(func=ast.Name(id="float" | "int" | "complex" | "bool")):
            return True
        case ast.Call(func=ast.Attribute(attr="item" | "tolist" | "asarray" | "array")):
            return True
        case _:
            return False


def of_number(node: ast.expr, names: Names) -> str:
    """The code for an array in place of `float(x)`, `x.item()` or `math.sin(x)`; else empty."""
    match node:
        case ast.Call(func=ast.Name(id="float" | "complex"), args=[value], keywords=[]):
            written = ast.unparse(value)
        case ast.Call(func=ast.Name(id="int"), args=[value], keywords=[]):
            written = ast.unparse(ast.Attribute(value, "astype", ast.Load())) + "(int)"
        case ast.Call(func=ast.Attribute(value=value, attr="item"), args=[], keywords=[]):
            written = ast.unparse(value)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name)) if name in _MATH:
            given = ast.unparse(ast.Call(ast.Name(name), node.args, node.keywords))
            written = f"{names.jnp}.{given}"
        case _:
            return ""
    return written if len(written) <= _LONGEST and "\n" not in written else ""


def _is_bool(node: ast.expr) -> bool:
    """Whether it is a call that gives a bool, such as `x.all()` and `jnp.isnan(x)`."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in ("all", "any", "allclose", "array_equal") or name.startswith("is")
        case _:
            return False


def _is_call_of(node: ast.AST, function: str) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name), args=[_], keywords=[]):
            return name == function
        case _:
            return False


_AT: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power"
}  # fmt: skip


def at_set(tree: ast.Module, node: ast.expr) -> str:
    """`x = x.at[0].set(3.0)` for `x[0] = 3.0`, of which `node` is the target."""
    match node, _parents(tree).get(node):
        case ast.Subscript(value=ast.Name() as array), ast.Assign(targets=[_], value=value):
            method = "set"
        case ast.Subscript(value=ast.Name() as array), ast.AugAssign(op=op, value=value):
            method = _AT.get(type(op), "")
        case _:
            return ""
    at = ast.Subscript(ast.Attribute(array, "at", ast.Load()), node.slice, ast.Load())
    written = f"{array.id} = {ast.unparse(at)}.{method}({ast.unparse(value)})"
    return written if method and len(written) <= _LONGEST and "\n" not in written else ""


def is_of_loop(tree: ast.Module, node: ast.expr) -> bool:
    """Whether `node` is in the condition of a `while`."""
    test, parent = _test_of(tree, node)
    return isinstance(parent, ast.While) and parent.test is test


def _test_of(tree: ast.Module, node: ast.expr) -> tuple[ast.AST, ast.AST | None]:
    """The whole condition that `node` is in, and what it is the condition of."""
    parents = _parents(tree)
    test: ast.AST = node
    while isinstance(parents.get(test), ast.BoolOp | ast.UnaryOp | ast.Compare):
        test = parents[test]
    return test, parents.get(test)


def _parents(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    return {child: one for one in ast.walk(tree) for child in ast.iter_child_nodes(one)}


def _of_value(test: ast.BoolOp, names: Names) -> str:
    """`a and b` as a value: one of them, which `&` gives for bools alone."""
    if not any(_is_number(value, names) for value in test.values):
        return _condition(test, names)
    if len(test.values) != 2:
        return ""
    a, b = map(ast.unparse, test.values)
    ways = f"{b}, {a}" if isinstance(test.op, ast.And) else f"{a}, {b}"
    return f"{names.jnp}.where({_condition(test.values[0], names)}, {ways})"


def _is_number(node: ast.expr, names: Names) -> bool:
    match node:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float() | complex()):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_number(left, names) or _is_number(right, names)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_number(operand, names)
        case ast.Subscript(value=value):
            return _is_number(value, names)
        case ast.Name(id=name):
            return name in names.numbers
        case _:
            return False


def _of_branch(parent: ast.AST | None, branch: ast.If, names: Names) -> str:
    """An `if` whose two ways return a value, or assign one name."""
    other = branch.orelse
    body = getattr(parent, "body", None)
    if not other and isinstance(body, list) and branch in body:
        statements: list[ast.stmt] = body
        other = statements[statements.index(branch) + 1 :][:1]
    match branch.body, other:
        case [ast.Return(value=ast.expr() as a)], [ast.Return(value=ast.expr() as b)]:
            written = _where(names, branch.test, a, b) or _cond(names, branch.test, a, b)
            return f"return {written}" if written else ""
        case [ast.Assign(targets=[ast.Name(id=x)], value=a)], [
            ast.Assign(targets=[ast.Name(id=y)], value=b)
        ] if x == y and branch.orelse:
            written = _where(names, branch.test, a, b)
            return f"{x} = {written}" if written else ""
        case [step], _ if not branch.orelse and (update := _update(step)):
            written = _where(names, branch.test, update.value, ast.Name(update.name))
            return f"{update.name} = {written}" if written else ""
        case _:
            return ""


def _of_loop(loop: ast.While, names: Names) -> str:
    """A `while` whose body updates one name."""
    match loop.body:
        case [step] if not loop.orelse and (update := _update(step)):
            x, value = update.name, ast.unparse(update.value)
            condition = _condition(loop.test, names)
            return (
                f"{x} = {names.lax}.while_loop(lambda {x}: {condition}, lambda {x}: {value}, {x})"
            )
        case _:
            return ""


class _Update(NamedTuple):
    """A statement that computes a name from its own value, so that it has one before."""

    name: str
    value: ast.expr


def _update(step: ast.stmt) -> _Update | None:
    match step:
        case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
            return _Update(name, ast.BinOp(ast.Name(name), op, value))
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if any(
            isinstance(node, ast.Name) and node.id == name for node in ast.walk(value)
        ):
            return _Update(name, value)
        case _:
            return None


def _cond(names: Names, test: ast.expr, a: ast.expr, b: ast.expr) -> str:
    """Two ways that give tuples of arrays."""
    match a, b:
        case ast.Tuple(elts=x), ast.Tuple(elts=y) if len(x) == len(y) and not any(
            isinstance(one, (*_NO_ARRAYS, ast.Starred)) or _is_text(one) for one in (*x, *y)
        ):
            return _cond_of(names, test, a, b)
        case _:
            return ""


def _cond_of(names: Names, test: ast.expr, a: ast.expr, b: ast.expr) -> str:
    ways = f"lambda: {ast.unparse(a)}, lambda: {ast.unparse(b)}"
    return f"{names.lax}.cond({_condition(test, names)}, {ways})"


def _where(names: Names, test: ast.expr, a: ast.expr, b: ast.expr) -> str:
    if any(isinstance(way, _NO_ARRAYS) or _is_text(way) for way in (a, b)):
        return ""
    if any(isinstance(way, ast.Name) and way.id in names.pytrees for way in (a, b)):
        return _cond_of(names, test, a, b)
    return f"{names.jnp}.where({_condition(test, names)}, {ast.unparse(a)}, {ast.unparse(b)})"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, int | float | complex)


def _is_no_comparison(node: ast.AST) -> bool:
    """Whether it compares something else than elements: `in`, `is`."""
    other = ast.In | ast.NotIn | ast.Is | ast.IsNot
    return isinstance(node, ast.Compare) and any(isinstance(op, other) for op in node.ops)


def _condition(test: ast.expr, names: Names, inner: bool = False) -> str:
    """A condition by element: `(x > 0) & ~y` for `x > 0 and not y`."""
    match test:
        case ast.BoolOp(op=op, values=values):
            sign = " & " if isinstance(op, ast.And) else " | "
            text = sign.join(_condition(value, names, True) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"~{_condition(operand, names, True)}"
        case ast.Call(func=ast.Name(id="bool"), args=[value], keywords=[]):
            known = isinstance(value, ast.Compare | ast.BoolOp) or _is_bool(value)
            test = value if known else ast.Compare(value, [ast.NotEq()], [ast.Constant(0)])
            return _condition(test, names, inner)
        case ast.Compare(left=left, ops=[first, second], comparators=[middle, right]):
            parts = ast.Compare(left, [first], [middle]), ast.Compare(middle, [second], [right])
            text = " & ".join(f"({ast.unparse(part)})" for part in parts)
        case _ if _is_number(test, names):
            text = f"{ast.unparse(test)} != 0"
        case ast.Name() | ast.Call() | ast.Attribute() | ast.Subscript():
            return ast.unparse(test)
        case _:
            text = ast.unparse(test)
    return f"({text})" if inner else text
