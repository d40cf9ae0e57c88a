"""The call of a line magic: read, evaluated once, and found by tracebacks."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from jaxscope.capture.settings import SettingsError

FILE = "<call>"
"""The file name of its text, of which it is line 1."""


def parsed(text: str, magic: str) -> ast.Call:
    """The call. Raises SettingsError for what is no expression, and for what is no call."""
    try:
        tree = ast.parse(text.strip(), FILE, "eval")
    except SyntaxError as error:
        raise SettingsError(f"`{text}` is no Python expression: {error.msg}.") from None
    if not isinstance(tree.body, ast.Call):
        raise SettingsError(f"%{magic} needs a call such as f(x, y), and `{text}` is none.")
    # No file holds it: tracebacks find the text of a line here.
    linecache.cache[FILE] = (len(text), None, [text.strip() + "\n"], FILE)
    return tree.body


def evaluated(
    call: ast.Call, namespace: MutableMapping[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function, positional and keyword arguments, each evaluated once, in order."""
    keywords = ast.Dict(
        [None if k.arg is None else ast.Constant(k.arg) for k in call.keywords],
        [k.value for k in call.keywords],
    )
    whole = ast.Expression(
        ast.Tuple([call.func, ast.Tuple(list(call.args), ast.Load()), keywords], ast.Load())
    )
    code = compile(ast.fix_missing_locations(ast.copy_location(whole, call)), FILE, "eval")
    return eval(code, namespace)  # type: ignore[arg-type]


def called(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The call as plain Python, made on its line, so that Python's own errors point there."""
    code = compile("function(*args, **kwargs)", FILE, "eval")
    return eval(code, {"function": function, "args": args, "kwargs": kwargs})


def defines(text: str) -> bool:
    """Whether the call has code of its own that is traced."""
    tree = ast.parse(text.strip(), mode="eval")
    return any(isinstance(node, ast.Lambda) for node in ast.walk(tree))
