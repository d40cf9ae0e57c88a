"""A call whose arguments are padded to few sizes, so that few shapes compile."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from jaxscope.analysis.variants.edits import (
    Edit,
    edited,
    edited_lines,
    function_name,
    parsed,
    source_of,
)
from jaxscope.model.source import Frame


def call_at(text: str, site: Frame, function: str) -> ast.Call | None:
    """The call at the span of a frame; else the only call of that function on its line."""
    calls = [node for node in ast.walk(parsed(text)) if isinstance(node, ast.Call)]
    span = site.span
    for call in calls:
        if (call.lineno, call.col_offset) == (span.line, span.column) and (
            call.end_lineno,
            call.end_col_offset,
        ) == (span.end_line, span.end_column):
            return call
    found = [one for one in calls if one.lineno == span.line and function_name(one) == function]
    return found[0] if len(found) == 1 else None


def in_buckets(
    text: str,
    call: ast.Call,
    names: Sequence[str],
    given: Sequence[ast.expr],
    bucket: int | None,
    *,
    cut: bool,
) -> str:
    """The call through a function that pads these arguments, and cuts its results if `cut`.

    They are padded to the size `bucket`, or to the next power of two.
    """
    tree = parsed(text)
    known = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    helper = next(one for one in ("in_buckets", "padded_call") if one not in known)
    fixed = [one for one in [*call.args, *[k.value for k in call.keywords]] if one not in given]
    function = source_of(text, call.func)
    if fixed:
        swapped = [Edit(node, name) for node, name in zip(given, names, strict=True)]
        inner = edited(text, swapped)
        made = ast.get_source_segment(inner, _call_from(inner, call)) or ""
        function = f"lambda {', '.join(names)}: {made}"
    arguments = ", ".join(source_of(text, one) for one in given)
    result, count = "function(*jax.tree.map(pad, batch))", ""
    if cut:
        count = "    n = len(jax.tree.leaves(batch)[0])\n"
        count += "    # On the host, because a cut of a JAX array compiles once per length.\n"
        result = f"jax.tree.map(lambda y: numpy.asarray(y)[:n], {result})"
    more = "(1 << (len(x) - 1).bit_length()) - len(x)  # to the next power of two"
    if bucket is not None:
        more = f"max({bucket} - len(x), 0)"
    definition = (
        f"def {helper}(function, *batch):\n"
        f"    def pad(x):\n"
        f"        more = {more}\n"
        f"        return numpy.pad(x, [(0, more)] + [(0, 0)] * (x.ndim - 1))\n"
        f"\n"
        f"{count}    return {result}\n"
    )
    outer = next(
        one for one in tree.body if one.lineno <= call.lineno <= (one.end_lineno or one.lineno)
    )
    first = outer.lineno
    if isinstance(outer, ast.FunctionDef) and outer.decorator_list:
        first = outer.decorator_list[0].lineno
    made = edited(text, [Edit(call, f"{helper}({function}, {arguments})")])
    imported = "" if re.search(r"^import numpy$", text, re.M) else "import numpy\n"
    return edited_lines(made, [(first, 0, f"{imported}\n{definition}".lstrip("\n"))])


def _call_from(text: str, call: ast.Call) -> ast.Call:
    return next(
        node
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.Call)
        and (node.lineno, node.col_offset) == (call.lineno, call.col_offset)
        and ast.unparse(node.func) == ast.unparse(call.func)
    )
