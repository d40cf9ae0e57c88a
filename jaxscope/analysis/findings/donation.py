"""Arrays that a call replaces and whose memory it could take over."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.source_code import Reading, root
from jaxscope.analysis.findings.transfers import from_numpy
from jaxscope.model import (
    Finding,
    FindingKind,
    Form,
    Program,
    ValueKind,
)
from jaxscope.words import names, size

DONATE_BYTES = 1_000_000
"""From here on the new memory shows: 1000 × 1000 float32 (4 MB) took 303 µs without donation and
190 with it, about 30 µs a MB, three times the dispatch of a call."""


def donation(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Inputs replaced by a result of the same shape, not donated."""
    record = evidence.record
    for program in record.programs:
        if record.form is Form.BLOCK:
            yield from _block_donation(program, reading)
        elif record.form is Form.DECORATOR:
            yield from _decorator_donation(program, reading)


def _block_donation(program: Program, reading: Reading) -> Iterator[Finding]:
    results = {value.name: value for value in program.outputs}
    replaced = [
        value
        for value in program.inputs
        if value.kind is ValueKind.TRACED
        and not from_numpy(value)
        and value.name in results
        and results[value.name].aval == value.aval
        and not _is_kept(root(value.name), reading)
    ]
    total = sum(value.bytes or 0 for value in replaced)
    if total < DONATE_BYTES:
        return
    variables = list(dict.fromkeys(root(value.name) for value in replaced))
    yield _donation(variables, total, _assigned_line(variables[0], reading), "-d")


def _decorator_donation(program: Program, reading: Reading) -> Iterator[Finding]:
    """`params = step(params, x)` at the top level, the result shaped like the argument."""
    cell = reading.cell
    if cell is None:
        return
    function = next((f for f in cell.functions if f.name == program.name), None)
    if function is None:
        return
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    for statement in _top_statements(cell.tree.body):
        match statement:
            case ast.Assign(
                targets=[target], value=ast.Call(func=ast.Name(id=called), args=arguments)
            ) if called == program.name:
                pass
            case _:
                continue
        stored = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        given = [
            (parameter, argument.id)
            for parameter, argument in zip(parameters, arguments, strict=False)
            if isinstance(argument, ast.Name) and argument.id in stored
        ]
        chosen: list[str] = []
        total = 0
        free = Counter(value.aval for value in program.outputs)
        for parameter, name in given:
            leaves = [v for v in program.inputs if root(v.name) == parameter]
            needed = Counter(value.aval for value in leaves)
            if (
                leaves
                and all(v.kind is ValueKind.TRACED and not from_numpy(v) for v in leaves)
                and needed <= free
                and not _is_kept(name, reading)
            ):
                free -= needed
                chosen.append(parameter)
                total += sum(v.bytes or 0 for v in leaves)
        if total >= DONATE_BYTES:
            yield _donation(chosen, total, statement.lineno, program.name)
            return


def _donation(variables: list[str], total: int, line: int | None, how: str) -> Finding:
    if how == "-d":
        fix = f"Run the cell with `-d {','.join(variables)}`"
    else:
        fix = f"Run the cell with `-d {','.join(variables)}`, or jit `{how}` with " + (
            f"`donate_argnames={variables[0]!r}`"
            if len(variables) == 1
            else f"`donate_argnames={tuple(variables)!r}`"
        )
    return Finding(
        FindingKind.MISSED_DONATION,
        line,
        f"{names(variables)} {'is' if len(variables) == 1 else 'are'} replaced by a result of the "
        "same shape, yet the program takes new memory for it.",
        f"{fix}, so that the result takes over the memory; the old array is gone afterwards.",
        f"{size(total)} could be reused at every call.",
    )


def _top_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.For | ast.While | ast.With | ast.If):
            yield from _top_statements(statement.body)


def _is_kept(name: str, reading: Reading) -> bool:
    """Whether the cell gives the old array a second name: `old = w`, `history.append(w)`."""
    cell = reading.cell
    for node in ast.walk(cell.tree) if cell is not None else ():
        match node:
            case ast.Assign(value=ast.Name(id=kept)) if kept == name:
                return True
            case ast.Assign(value=ast.Tuple(elts=items) | ast.List(elts=items)) if any(
                isinstance(item, ast.Name) and item.id == name for item in items
            ):
                return True
            case ast.Call(func=ast.Attribute(attr="append"), args=[ast.Name(id=kept)]) if (
                kept == name
            ):
                return True
            case _:
                continue
    return False


def _assigned_line(name: str, reading: Reading) -> int | None:
    cell = reading.cell
    nodes = ast.walk(cell.tree) if cell is not None else ()
    lines = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    return max(lines, default=None)
