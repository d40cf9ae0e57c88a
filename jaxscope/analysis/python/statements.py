"""Statements of a scope, and those that a compiled cell may not have."""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxscope.analysis.python.scopes import signature_expressions


class Forbidden(NamedTuple):
    """A statement that is not allowed at the top level of a compiled cell."""

    line: int
    message: str


def own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Every node that runs in this scope: without the bodies of functions and lambdas."""
    waiting: list[ast.AST] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner: list[ast.AST] = list(node.decorator_list)
            if isinstance(node, ast.ClassDef):
                inner += [*node.bases, *node.keywords, *node.body]
        elif isinstance(node, ast.Lambda):
            inner = list(signature_expressions(node.args))
        else:
            inner = list(ast.iter_child_nodes(node))
        waiting.extend(reversed(inner))


_FIXES = {
    "return": "Make the value the last expression of the cell instead.",
    "yield": "Collect the values in a list or an array instead.",
    "await": "Await it in an earlier cell and use the result here.",
}
_WORDS: dict[type[ast.AST], str] = {
    ast.Return: "return",
    **dict.fromkeys((ast.Yield, ast.YieldFrom), "yield"),
    **dict.fromkeys((ast.Await, ast.AsyncFor, ast.AsyncWith), "await"),
}
_ASSIGNED_MAGIC = re.compile(r"^\s*[\w.,\s\[\]'\"]+=\s*([%!])")


def forbidden(text: str) -> Forbidden | None:
    """The first line of a text that cannot be part of a compiled program, or None.

    Calls that IPython has already written for magics are recognized. Text with any other syntax
    error gives None: Python's own error is clearer.
    """
    try:
        return misplaced(ast.parse(text))
    except SyntaxError as error:
        return shell_line(text, error.lineno)
    except ValueError:  # null bytes, on Python 3.11
        return None


def misplaced(tree: ast.Module, whole: str = "a compiled program") -> Forbidden | None:
    """The first statement that cannot be part of `whole`, or None.

    `return`, `yield` and `await` outside a function; magics and shell commands that IPython has
    already rewritten as calls.
    """
    found = [hit for node in own_nodes(tree.body) if (hit := _misplaced(node, whole)) is not None]
    return min(found, default=None)


def shell_line(text: str, line: int | None, whole: str = "a compiled program") -> Forbidden | None:
    """The `%magic`, `!shell` or `?help` line at which Python stopped reading, or None."""
    lines = text.splitlines()
    if line is None or not 1 <= line <= len(lines):
        return None
    code = lines[line - 1].strip()
    assigned = _ASSIGNED_MAGIC.match(code)
    sign = assigned.group(1) if assigned else code[:1]
    if code.startswith("?") or (code.endswith("?") and not code.startswith("#")):
        what = "is an IPython help request"
    elif sign == "%":
        what = "is a magic command"
    elif sign == "!":
        what = "is a shell command"
    else:
        return None
    return _ipython(line, code, what, whole)


def _ipython(line: int, code: str, what: str, whole: str) -> Forbidden:
    shown = code if len(code) <= 60 else code[:57] + "..."
    return Forbidden(
        line,
        f"Line {line}, `{shown}`, {what}, which cannot be part of {whole}. "
        "Move it to a different cell.",
    )


def _misplaced(node: ast.AST, whole: str) -> Forbidden | None:
    word = _WORDS.get(type(node), "")
    match node:
        case ast.ListComp(generators=g) | ast.SetComp(generators=g) | ast.DictComp(generators=g):
            if any(generator.is_async for generator in g):
                word = "await"
        case ast.GeneratorExp(generators=[first, *_]) if first.is_async:
            word = "await"
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name("get_ipython")), attr=attr)):
            return _rewritten(node, attr, whole)
        case _:
            pass
    if not word:
        return None
    line = getattr(node, "lineno")  # noqa: B009
    return Forbidden(
        line, f"Line {line} uses `{word}` outside a function, which is not allowed. {_FIXES[word]}"
    )


def _rewritten(node: ast.Call, method: str, whole: str) -> Forbidden | None:
    """A `%magic` or `!shell` line as IPython has rewritten it."""
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    match method:
        case "run_line_magic" | "run_cell_magic" | "magic":
            sign, what = "%", "is a magic command"
        case "system" | "getoutput":
            sign, what = "!", "is a shell command"
        case _:
            return None
    return _ipython(node.lineno, sign + " ".join(texts).strip(), what, whole)
