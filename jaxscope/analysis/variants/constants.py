"""A captured array as an argument of the function that reads it."""

from __future__ import annotations

import ast
import re

from jaxscope.analysis.variants.edits import Edit, edited, parsed, source_of
from jaxscope.model.finding import Finding
from jaxscope.model.variants import Change

_JIT = ("jax.jit", "jit")
"""Decorators without static or donated arguments, whose numbers would change."""
CALLED_ELSEWHERE = "The function is called from other cells, whose calls are not edited."
_NAME = re.compile(r"`(\w+)`")


def captured_constant(finding: Finding, text: str) -> Change | str:
    """`def f(v)` that reads `W` as `def f(W, v)`, and its calls in the same cell."""
    named = _NAME.search(finding.fix)
    tree = parsed(text)
    if named is None or finding.line is None:
        return "The finding names no variable."
    name, line = named[1], finding.line
    function = next(
        (
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
        ),
        None,
    )
    if function is None or any(ast.unparse(d) not in _JIT for d in function.decorator_list):
        return f"`{name}` is not read in a plain or jitted function of this text."
    if any(isinstance(n, ast.Name) and n.id == name and _stores(n) for n in ast.walk(function)):
        return f"`{name}` is assigned in the function."
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == function.name
    ]
    uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == function.name]
    if not uses:
        return CALLED_ELSEWHERE
    first = [call.args[0] for call in calls if call.args]
    parameters = function.args.args
    if len(uses) != len(calls) or len(first) != len(calls) or not calls or not parameters:
        return f"`{function.name}` is used otherwise than in calls here."
    edits = [Edit(parameters[0], f"{name}, {source_of(text, parameters[0])}")]
    edits += [Edit(node, f"{name}, {source_of(text, node)}") for node in first]
    return Change(f"`{name}` as an argument", function.lineno, finding.source, edited(text, edits))


def _stores(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
