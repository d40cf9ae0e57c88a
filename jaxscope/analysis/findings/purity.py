"""Side effects: what Python does while it traces, and the compiled program never does again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxscope.analysis.findings.code import Reading, Scope, line_of, value_names
from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.model import Finding, FindingKind

# What JAX prints for a tracer: `Traced<float32[3]>with<…>`, `JitTracer(float32[3])` (0.8 to 0.12).
TRACER_TEXT = re.compile(r"Traced<|\b\w*Tracer[(<]")

_CLOCKS = frozenset(
    f"time.{name}{unit}"
    for name in ("time", "perf_counter", "monotonic", "process_time")
    for unit in ("", "_ns")
)
_LOG_METHODS = frozenset({"debug", "info", "warning", "error", "critical", "exception", "log"})
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
_CHANGING = {
    "list": {"append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"},
    "dict": {"update", "pop", "setdefault", "clear", "popitem"},
    "set": {"add", "update", "discard", "remove", "clear", "pop"},
}


def purity(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Every side effect of traced code, one finding a line."""
    yield from _prints(evidence, reading)
    yield from _files(evidence, reading)
    for scope in reading.scopes:
        yield from _random(reading, scope)
        yield from _clock(reading, scope)
        yield from _logging(reading, scope)
        if not reading.block:
            yield from _mutations(reading, scope)


def _finding(scope: Scope, line: int | None, message: str, fix: str, evidence: str) -> Finding:
    return Finding(FindingKind.TRACE_ONLY_EFFECT, line, message, fix, evidence, scope.source)


def _ran(scope: Scope) -> str:
    if not scope.name:
        return "In block form the whole cell runs while JAX traces it."
    return f"The body of `{scope.name}` ran while JAX traced it: the program has it inside."


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
                    yield _block_print(line, scope, _ran(scope))
                continue
            shows = text is not None and TRACER_TEXT.search(text)
            also = ", and it shows tracers instead of values" if shows else ""
            yield _finding(
                scope,
                line,
                f"`print` runs while {scope.what} is traced: it prints at the first call "
                f"only{also}.",
                _PRINT_FIX,
                _ran(scope) if text is None else f"While tracing it printed `{text}`.",
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
    return _finding(
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
            yield _finding(
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
                _ran(scope),
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


# Random numbers and the clock


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
        yield _finding(
            scope,
            line_of(node),
            message,
            f"Use {instead} with a key that comes in as an argument and is split for each use.",
            _ran(scope),
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
    yield _finding(
        scope,
        lines[0],
        message,
        "Measure around the call, after `jax.block_until_ready(result)`; or take the time from "
        "this report.",
        f"The clock is read on {_lines(lines)}. {_ran(scope)}",
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
        yield _finding(
            scope,
            line_of(node),
            f"`{ast.unparse(node.func)}` runs while {scope.what} is traced: it logs {often}.",
            "Log the result after the call, or use `jax.debug.callback` to log at every call.",
            _ran(scope),
        )


# State

_CARRY = "return the new value and carry it into the next call"


def _mutations(reading: Reading, scope: Scope) -> Iterator[Finding]:
    declared = {
        name for node in scope.nodes() if isinstance(node, ast.Global) for name in node.names
    }
    seen: set[tuple[str, int]] = set()
    for node in scope.certain():
        name, fix = _changed(node, declared, reading, scope)
        if not name or (name, line_of(node)) in seen:
            continue
        seen.add((name, line_of(node)))
        yield _finding(
            scope,
            line_of(node),
            f"`{name}` is changed while {scope.what} is traced: this happens at the first call, "
            "and not again until something makes JAX trace anew.",
            fix,
            _ran(scope),
        )


def _changed(node: ast.AST, declared: set[str], reading: Reading, scope: Scope) -> tuple[str, str]:
    """The outer name or attribute that a node changes, and the pure form."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if name in declared:
            return name, f"Give `{name}` as an argument, {_CARRY}: `{name} = f({name}, x)`."
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))) if (
            name not in scope.own and method in _CHANGING.get(reading.kinds.get(name, ""), ())
        ):
            return name, (
                f"Return what you want to put into `{name}` as a further result, and do "
                f"`{name}.{method}(...)` outside; under `jax.grad` use `has_aux=True`."
            )
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()) if (
            name not in scope.own and reading.kinds.get(name) in ("list", "dict")
        ):
            return name, f"Return the value and store it in `{name}` outside the function."
        case ast.AugAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=attribute)) if (
            _self_is_static(scope, reading)
        ):
            return f"self.{attribute}", (
                f"Give `{attribute}` as an argument, {_CARRY}; a static `self` is only looked at "
                "while tracing."
            )
        case _:
            return "", ""


def _self_is_static(scope: Scope, reading: Reading) -> bool:
    """Whether the method has a decorator such as `@partial(jax.jit, static_argnums=0)`."""
    for code in reading.codes:
        for node in code.functions if code.index == scope.source else ():
            if node.name == scope.name and tuple(node.body) == scope.body:
                decorators = " ".join(ast.unparse(d) for d in node.decorator_list)
                return "jit" in decorators and "static_arg" in decorators
    return False
