"""Output of traced code: print, files, logging."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.source_code import Reading, Scope, line_of
from jaxscope.model import Finding, FindingKind

# What JAX prints for a tracer: `Traced<float32[3]>with<…>`, `JitTracer(float32[3])` (0.8 to 0.12).
TRACER_TEXT = re.compile(r"Traced<|\b\w*Tracer[(<]")
_LOG_METHODS = frozenset({"debug", "info", "warning", "error", "critical", "exception", "log"})


def output(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """What traced code prints, writes and logs."""
    yield from _prints(evidence, reading)
    yield from _files(evidence, reading)
    for scope in reading.scopes:
        yield from _logging(reading, scope)


# print

_PRINT_FIX = (
    'Use `jax.debug.print("{x}", x=x)` to see values at every call, or print the result after it.'
)


def _prints(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    if reading.block and evidence.printed is not None:
        yield from _tracers_shown(evidence)
        return
    for scope in reading.scopes:
        seen = None if scope.source != 0 else evidence.printed
        if evidence.printed == ():
            return
        texts = None if seen is None else {happened.line: happened.text for happened in seen}
        for node in scope.certain() if texts is None else scope.nodes():
            if not _is_print(node, reading, scope):
                continue
            line = line_of(node)
            text = (
                None
                if texts is None
                else next((texts[n] for n in range(line, _last_line(node) + 1) if n in texts), None)
            )
            if texts is not None and text is None:
                continue
            if reading.block:
                if reading.mentions_traced(node):
                    yield _block_print(line, scope, ran(scope))
                continue
            shows = text is not None and TRACER_TEXT.search(text)
            also = ", and it shows tracers instead of values" if shows else ""
            yield trace_only(
                scope,
                line,
                f"`print` runs while {scope.what} is traced: it prints at the first call "
                f"only{also}.",
                _PRINT_FIX,
                ran(scope) if text is None else f"While tracing it printed `{text}`.",
            )


def _tracers_shown(evidence: Evidence) -> Iterator[Finding]:
    shown: dict[int | None, str] = {}
    for happened in evidence.printed or ():
        if TRACER_TEXT.search(happened.text):
            shown.setdefault(happened.line, happened.text)
    cell = Scope(0, "", (), frozenset())
    for line, text in shown.items():
        yield _block_print(line, cell, f"While tracing it printed `{text}`.")


def _block_print(line: int | None, scope: Scope, evidence: str) -> Finding:
    return trace_only(
        scope,
        line,
        "`print` runs while the cell is traced: it shows a tracer instead of a value, and a timed "
        "call of the program does not print.",
        _PRINT_FIX,
        evidence,
    )


def _is_print(node: ast.AST, reading: Reading, scope: Scope) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="print")):
            return "print" not in reading.modules and "print" not in scope.own
        case _:
            return False


def _last_line(node: ast.AST) -> int:
    return int(getattr(node, "end_lineno", None) or line_of(node))


# Files


def _files(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    if evidence.written == ():
        return
    for scope in reading.scopes:
        if scope.source != 0:
            continue  # the lines that were seen are lines of the cell
        opened = None if evidence.written is None else {h.line for h in evidence.written}
        for node in scope.certain() if opened is None else scope.nodes():
            line = line_of(node)
            if not _opens_for_writing(node) or not (opened is None or line in opened):
                continue
            if reading.block and not _writes_traced(scope, reading):
                continue
            yield trace_only(
                scope,
                line,
                f"The file is written while {scope.what} is traced, "
                + (
                    "with tracers in place of values."
                    if reading.block
                    else "at the first call only, with tracers in place of values."
                ),
                "Return the values and write them after the call, or write them through "
                "`jax.experimental.io_callback`.",
                ran(scope),
            )


def _opens_for_writing(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name | ast.Attribute):
        return False
    name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
    if name in ("write_text", "write_bytes"):
        return True
    modes = [*node.args[:2], *(k.value for k in node.keywords if k.arg == "mode")]
    return name == "open" and any(
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and re.fullmatch(r"[wax][bt+]*", mode.value) is not None
        for mode in modes
    )


def _writes_traced(scope: Scope, reading: Reading) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("write", "writelines", "writerow", "write_text", "dump")
        and any(reading.mentions_traced(argument) for argument in node.args)
        for node in scope.nodes()
    )


# Logging


def _logging(reading: Reading, scope: Scope) -> Iterator[Finding]:
    for node in scope.certain():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value
        is_logger = isinstance(owner, ast.Name) and (
            reading.modules.get(owner.id) == "logging"
            or reading.kinds.get(owner.id) == "logging.Logger"
        )
        if not is_logger or node.func.attr not in _LOG_METHODS:
            continue
        if isinstance(owner, ast.Name) and owner.id in scope.own:
            continue
        if reading.block and not any(reading.mentions_traced(a) for a in node.args):
            continue
        often = "with tracers in place of values" if reading.block else "at the first call only"
        yield trace_only(
            scope,
            line_of(node),
            f"`{ast.unparse(node.func)}` runs while {scope.what} is traced: it logs {often}.",
            "Log the result after the call, or use `jax.debug.callback` to log at every call.",
            ran(scope),
        )


def trace_only(scope: Scope, line: int | None, message: str, fix: str, evidence: str) -> Finding:
    """A side effect that happens while tracing only."""
    return Finding(FindingKind.TRACE_ONLY_EFFECT, line, message, fix, evidence, scope.source)


def ran(scope: Scope) -> str:
    """Why it is known that the code ran while JAX traced it."""
    if not scope.name:
        return "In block form the whole cell runs while JAX traces it."
    return f"The body of `{scope.name}` ran while JAX traced it: the program has it inside."
