"""Programs of a report that a change of its text reaches."""

from __future__ import annotations

import ast
import difflib

from jaxscope.analysis.variants.edits import parsed
from jaxscope.model import Program, Record
from jaxscope.model.variants import Change


def reached_programs(record: Record, change: Change) -> tuple[str, ...]:
    """Names of the programs with an equation of the functions that the change edits.

    Without such a program, those that the edited lines name: `step = jax.jit(loss)`.
    """
    text = record.sources[change.source].text
    lines = _edited(text, change)
    statements = [
        (node, range(_first(node), (node.end_lineno or node.lineno) + 1))
        for node in parsed(text).body
    ]
    edited = [one for one in statements if any(line in one[1] for line in lines)]
    inside = lines.union(*[span for node, span in edited if isinstance(node, ast.FunctionDef)])
    places = {(change.source, line) for line in inside}
    found = [one.name for one in record.programs if not places.isdisjoint(_places(one))]
    if not found:
        named = {n.id for node, _ in edited for n in ast.walk(node) if isinstance(n, ast.Name)} | {
            node.name for node, _ in edited if isinstance(node, ast.FunctionDef)
        }
        found = [one.name for one in record.programs if one.name in named]
    return tuple(dict.fromkeys(found))


def _edited(text: str, change: Change) -> set[int]:
    """Lines of the text that the change replaces, removes, or inserts something before."""
    matcher = difflib.SequenceMatcher(
        None, text.split("\n"), change.text.split("\n"), autojunk=False
    )
    found = {change.line} if change.line is not None else set[int]()
    starts = {_first(node) for node in parsed(text).body}
    for kind, first, last, _, _ in matcher.get_opcodes():
        if kind in ("replace", "delete"):
            found |= set(range(first + 1, last + 1))
        elif kind == "insert" and first + 1 not in starts:  # inside a statement
            found.add(first + 1)
    return found


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *[one.lineno for one in decorators]])


def _places(program: Program) -> set[tuple[int | None, int]]:
    return {(one.source, one.span.line) for eq in program.equations for one in eq.frames}
