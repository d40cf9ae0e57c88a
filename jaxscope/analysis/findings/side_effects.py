"""Impure Python in traced code: output, files, logging, random numbers and the clock."""

import ast
import re
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import (
    Evidence,
    TracedCode,
    TracedScope,
    line_of,
    value_names,
)
from jaxscope.model import Finding, FindingKind


def side_effects(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Python that runs at trace time only, where a user expects it on every call."""
    yield from _prints(evidence, traced)
    yield from _files(evidence, traced)
    for scope in traced.scopes:
        yield from _logging(traced, scope)
        yield from _warnings(traced, scope)
    for scope in traced.scopes:
        yield from _random(traced, scope)
        yield from _clock(traced, scope)


def side_effect(
    scope: TracedScope, line: int | None, message: str, fix: str, evidence: str = ""
) -> Finding:
    """A side effect that happens at trace time only."""
    return Finding(
        FindingKind.TRACE_TIME_SIDE_EFFECT,
        line,
        message,
        fix,
        evidence or scope.evidence,
        source=scope.source,
    )


# print

# The text of a tracer: `Traced<float32[3]>with<…>`, `JitTracer(float32[3])` (0.8 to 0.12).
TRACER_TEXT = re.compile(r"Traced<|\b\w*Tracer[(<]")
_PRINT_FIX = (
    'Use `jax.debug.print("{x}", x=x)` to print values on every call, or print the result after '
    "the call."
)


def _prints(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    printed = evidence.printed
    if traced.block and printed is not None:
        shown: dict[int | None, str] = {}
        for effect in printed:
            if TRACER_TEXT.search(effect.text):
                shown.setdefault(effect.line, effect.text)
        cell = TracedScope(0, "", (), frozenset())
        for line, text in shown.items():
            yield _block_print(line, cell, f"It printed `{text}` during tracing.")
        return
    if printed == ():
        return
    for scope in traced.scopes:
        if "print" in traced.modules or "print" in scope.own:
            continue
        # The recorded lines are lines of the cell.
        seen = printed if scope.source == 0 else None
        texts = None if seen is None else {effect.line: effect.text for effect in seen}
        for node in scope.unconditional() if texts is None else scope.nodes():
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != "print":
                continue
            line = node.lineno
            if texts is None and traced.block:
                if traced.uses_tracer(node):
                    yield _block_print(line, scope, "")
                continue
            text = None
            if texts is not None:
                lines = range(line, (node.end_lineno or line) + 1)
                text = next((texts[n] for n in lines if n in texts), None)
                if text is None:
                    continue
            shows = text is not None and TRACER_TEXT.search(text)
            also = ", and shows tracers instead of values" if shows else ""
            yield side_effect(
                scope,
                line,
                f"`print` runs only while {scope.title} is traced, not on every call{also}.",
                _PRINT_FIX,
                f"It printed `{text}` during tracing." if text is not None else "",
            )


def _block_print(line: int | None, scope: TracedScope, evidence: str) -> Finding:
    return side_effect(
        scope,
        line,
        "`print` runs while the cell is traced: it shows a tracer, and compiled calls do not "
        "print.",
        _PRINT_FIX,
        evidence,
    )


# Files


def _files(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    written = evidence.written
    if written == ():
        return
    opened = None if written is None else {effect.line for effect in written}
    for scope in traced.scopes:
        if scope.source != 0:
            continue  # the recorded lines are lines of the cell
        for node in scope.unconditional() if opened is None else scope.nodes():
            line = line_of(node)
            if not _opens_for_writing(node) or not (opened is None or line in opened):
                continue
            if traced.block and not _writes_tracer(scope, traced):
                continue
            yield side_effect(
                scope,
                line,
                "The file is written while the cell is traced, so it receives tracers instead of "
                "values."
                if traced.block
                else f"The file is written only while {scope.title} is traced, not on every call.",
                "Return the values and write them after the call, or use "
                "`jax.experimental.io_callback`.",
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


def _writes_tracer(scope: TracedScope, traced: TracedCode) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("write", "writelines", "writerow", "write_text", "dump")
        and any(traced.uses_tracer(argument) for argument in node.args)
        for node in scope.nodes()
    )


# Logging

_LOG_METHODS = frozenset({"debug", "info", "warning", "error", "critical", "exception", "log"})


def _logging(traced: TracedCode, scope: TracedScope) -> Iterator[Finding]:
    for node in scope.unconditional():
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if (
                method in _LOG_METHODS
                and _is_logger(owner, traced, scope)
                and (not traced.block or any(map(traced.uses_tracer, node.args)))
            ):
                shown = ast.unparse(node.func)
                yield side_effect(
                    scope,
                    line_of(node),
                    f"`{shown}` runs while the cell is traced, so it logs tracers instead of "
                    "values."
                    if traced.block
                    else f"`{shown}` runs only while {scope.title} is traced, not on every call.",
                    "Log the result after the call, or use `jax.debug.callback` to log on every "
                    "call.",
                )
            case _:
                continue


def _is_logger(owner: ast.expr, traced: TracedCode, scope: TracedScope) -> bool:
    match owner:
        case ast.Name(id=name) if name in scope.own:
            return False
        case ast.Name(id=name) if traced.kinds.get(name) == "logging.Logger":
            return True
        case ast.Call(func=function):
            return traced.dotted(function, scope) == "logging.getLogger"
        case _:
            return traced.dotted(owner, scope) == "logging"


def _warnings(traced: TracedCode, scope: TracedScope) -> Iterator[Finding]:
    if traced.block:
        return  # every run of the cell warns, as in Python
    for node in scope.unconditional():
        if isinstance(node, ast.Call) and traced.dotted(node.func, scope) == "warnings.warn":
            yield side_effect(
                scope,
                line_of(node),
                f"`{ast.unparse(node.func)}` runs only while {scope.title} is traced, not on every "
                "call.",
                "Warn before the call, or use `jax.debug.callback` to warn on every call.",
            )


# Random numbers

_NO_DRAWS = frozenset(
    {"seed", "default_rng", "get_state", "set_state", "getstate", "setstate"}
    | {"get_bit_generator", "set_bit_generator"}
)
_DRAWS = {
    **dict.fromkeys(("rand", "random", "random_sample", "uniform"), "uniform(key, shape)"),
    **dict.fromkeys(("randn", "normal", "standard_normal", "gauss"), "normal(key, shape)"),
    **dict.fromkeys(("permutation", "shuffle"), "permutation(key, values)"),
    "randint": "randint(key, shape, low, high)",
    "choice": "choice(key, values, shape)",
}


def _random(traced: TracedCode, scope: TracedScope) -> Iterator[Finding]:
    statement: ast.stmt | None = None
    for node in scope.unconditional():
        if isinstance(node, ast.stmt):
            statement = node
        if not isinstance(node, ast.Call) or statement is None:
            continue
        module, _, draw = traced.dotted(node.func, scope).rpartition(".")
        if module not in ("numpy.random", "random"):
            draw = _drawn_from_generator(node.func, traced, scope)
        if not draw or draw in _NO_DRAWS or draw[:1].isupper():
            continue
        if traced.block and not _is_used(statement, scope):
            continue
        shown = ast.unparse(node.func)
        pure = _DRAWS.get(draw)
        instead = f"`jax.random.{pure}`" if pure else "the matching function of `jax.random`"
        yield side_effect(
            scope,
            line_of(node),
            f"`{shown}` runs while the cell is traced: its numbers become constants, so new "
            "numbers need a new compilation."
            if traced.block
            else f"`{shown}` runs only while {scope.title} is traced, so every call uses the same "
            "numbers.",
            f"Use {instead} with a key that is an argument, split for each use.",
        )


_GENERATORS = ("numpy.random._generator.Generator", "numpy.random.mtrand.RandomState")
_SEEDED = ("numpy.random.default_rng", "numpy.random.RandomState", "random.Random")


def _drawn_from_generator(function: ast.expr, traced: TracedCode, scope: TracedScope) -> str:
    """The method of a generator that is older than the call, or that has no seed of its own.

    A generator that the function makes from a fixed seed gives the same numbers without JAX, too.
    """
    match function:
        case ast.Attribute(value=ast.Call() as made, attr=draw):
            return draw if _is_unseeded(made, traced, scope) else ""
        case ast.Attribute(value=ast.Name(id=name), attr=draw) if name in scope.own:
            made = [
                node.value
                for node in scope.nodes()
                if isinstance(node, ast.Assign)
                and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
            ]
            return draw if made and all(_is_unseeded(m, traced, scope) for m in made) else ""
        case ast.Attribute(value=ast.Name(id=name), attr=draw):
            is_generator = traced.kinds.get(name) in (*_GENERATORS, "random.Random")
            rebound = traced.is_rebound(name, line_of(function), scope)
            return draw if is_generator and not rebound else ""
        case _:
            return ""


def _is_unseeded(made: ast.expr, traced: TracedCode, scope: TracedScope) -> bool:
    return (
        isinstance(made, ast.Call)
        and not made.args
        and not made.keywords
        and traced.dotted(made.func, scope) in _SEEDED
    )


def _is_used(statement: ast.stmt, scope: TracedScope) -> bool:
    """Whether the result of a draw is used elsewhere in this scope."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
            later = (n for n in scope.nodes() if isinstance(n, ast.Name) and n.id == name)
            return any(isinstance(n.ctx, ast.Load) and n.lineno >= statement.lineno for n in later)
        case ast.Expr(value=ast.Call()):
            return statement is not scope.body[-1] and not any(value_names(statement.value))
        case _:
            return True


# The clock

_CLOCKS = frozenset(
    f"time.{name}{unit}"
    for name in ("time", "perf_counter", "monotonic", "process_time")
    for unit in ("", "_ns")
)
_DATES = frozenset(
    f"datetime.{name}"
    for name in ("datetime.now", "datetime.utcnow", "datetime.today", "date.today")
)


def _clock(traced: TracedCode, scope: TracedScope) -> Iterator[Finding]:
    reads = [
        node
        for node in scope.unconditional()
        if isinstance(node, ast.Call) and traced.dotted(node.func, scope) in _CLOCKS | _DATES
    ]
    if not reads or (traced.block and len(reads) < 2):
        return  # one reading in a cell is a date or a seed; two of them measure
    shown = ast.unparse(reads[0].func)
    *others, last = sorted({line_of(node) for node in reads})
    where = f"lines {', '.join(map(str, others))} and {last}" if others else f"line {last}"
    yield side_effect(
        scope,
        min([*others, last]),
        f"`{shown}` runs while {scope.title} is traced, so the difference measures tracing, not "
        "execution."
        if len(reads) > 1
        else f"`{shown}` runs only while {scope.title} is traced, so every call gets the same "
        "time.",
        "Time around the call, after `jax.block_until_ready(result)`, or use the time in this "
        "report.",
        f"The clock is read on {where}. {scope.evidence}",
    )
