"""Random numbers and the clock: values that traced code gets once, and keeps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.side_effects import ran, trace_only
from jaxscope.analysis.findings.source_code import Reading, Scope, line_of, value_names
from jaxscope.model import Finding

_CLOCKS = frozenset(
    f"time.{name}{unit}"
    for name in ("time", "perf_counter", "monotonic", "process_time")
    for unit in ("", "_ns")
)
_NO_DRAWS = frozenset(
    {"seed", "default_rng", "get_state", "set_state", "getstate", "setstate"}
    | {"get_bit_generator", "set_bit_generator"}
)
_DRAWS = {
    "rand": "uniform(key, shape)",
    "random": "uniform(key, shape)",
    "random_sample": "uniform(key, shape)",
    "uniform": "uniform(key, shape)",
    "randn": "normal(key, shape)",
    "normal": "normal(key, shape)",
    "standard_normal": "normal(key, shape)",
    "gauss": "normal(key, shape)",
    "randint": "randint(key, shape, low, high)",
    "choice": "choice(key, values, shape)",
    "permutation": "permutation(key, values)",
    "shuffle": "permutation(key, values)",
}


def draws(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Random numbers and times that become constants of the program."""
    for scope in reading.scopes:
        yield from _random(reading, scope)
        yield from _clock(reading, scope)


def _random(reading: Reading, scope: Scope) -> Iterator[Finding]:
    for statement, node in _with_statements(scope):
        if not isinstance(node, ast.Call):
            continue
        name = reading.dotted(node.func, scope)
        module, _, draw = name.rpartition(".")
        if module not in ("numpy.random", "random") or draw in _NO_DRAWS or draw[:1].isupper():
            continue
        if reading.block and not _is_used(statement, scope):
            continue
        shown = ast.unparse(node.func)
        if reading.block:
            message = (
                f"`{shown}` draws its numbers while the cell is traced: they become constants of "
                "the program, so every run with other numbers compiles again."
            )
        else:
            message = (
                f"`{shown}` draws its numbers while {scope.what} is traced: they become constants "
                "of the program, and every call uses the same ones."
            )
        pure = _DRAWS.get(draw)
        instead = f"`jax.random.{pure}`" if pure else "the function of `jax.random` for it"
        yield trace_only(
            scope,
            line_of(node),
            message,
            f"Use {instead} with a key that comes in as an argument and is split for each use.",
            ran(scope),
        )


def _clock(reading: Reading, scope: Scope) -> Iterator[Finding]:
    reads = [
        node
        for node in scope.certain()
        if isinstance(node, ast.Call) and reading.dotted(node.func, scope) in _CLOCKS
    ]
    if not reads or (reading.block and len(reads) < 2):
        return  # one reading in a cell is a date or a seed; two of them measure
    shown = ast.unparse(reads[0].func)
    lines = sorted({line_of(node) for node in reads})
    message = f"`{shown}` reads the clock while {scope.what} is traced: the difference of two " + (
        "readings is the time of tracing, not of running."
        if len(reads) > 1
        else "calls is always the same."
    )
    if len(reads) == 1:
        message = (
            f"`{shown}` reads the clock while {scope.what} is traced: every call gets the time of "
            "the first one."
        )
    yield trace_only(
        scope,
        lines[0],
        message,
        "Measure around the call, after `jax.block_until_ready(result)`; or take the time from "
        "this report.",
        f"The clock is read on {_lines(lines)}. {ran(scope)}",
    )


def _lines(lines: list[int]) -> str:
    if len(lines) == 1:
        return f"line {lines[0]}"
    return f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"


def _with_statements(scope: Scope) -> Iterator[tuple[ast.stmt, ast.AST]]:
    """The certain nodes, each with the simple statement that it stands in."""
    statement: ast.stmt | None = None
    for node in scope.certain():
        if isinstance(node, ast.stmt):
            statement = node
        if statement is not None:
            yield statement, node


def _is_used(statement: ast.stmt, scope: Scope) -> bool:
    """Whether what a statement draws goes into something else of this scope."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
            later = (n for n in scope.nodes() if isinstance(n, ast.Name) and n.id == name)
            return any(isinstance(n.ctx, ast.Load) and n.lineno >= statement.lineno for n in later)
        case ast.Expr(value=ast.Call()):
            return statement is not scope.body[-1] and not any(value_names(statement.value))
        case _:
            return True
