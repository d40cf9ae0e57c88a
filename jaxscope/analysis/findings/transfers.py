"""Arguments copied to the device on every call, and results fetched in every iteration."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxscope.analysis.findings.evidence import Evidence, TracedCode, root, timing, value_names
from jaxscope.model import Finding, FindingKind, Form, Program, Value, ValueKind
from jaxscope.words import count, names, seconds, size

TRANSFER_BYTES = 64 * 1024
TRANSFER_SHARE = 0.1
"""Of a call. Small NumPy arguments cost some 4 µs each whatever their size (14 against 10 µs per
call for 10 numbers), so small ones are left out."""
TRANSFER_ALONE_BYTES = 1_000_000
"""Untimed, on a device with its own memory: at 16-32 GB/s of PCIe 4 this takes 30-60 µs, several
times the dispatch of a call."""


def transfers(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """NumPy arguments, and loops that wait for each result."""
    for program in evidence.record.programs:
        yield from _transfers(program, traced)
    if evidence.record.form in (Form.DECORATOR, Form.FUNCTION):
        yield from _waiting(evidence, traced)


def from_numpy(value: Value) -> bool:
    """Whether an argument is a NumPy array in host memory."""
    return value.kind is ValueKind.TRACED and value.reason.startswith("NumPy array")


def _transfers(program: Program, traced: TracedCode) -> Iterator[Finding]:
    host = [value for value in program.inputs if from_numpy(value)]
    total = sum(value.bytes or 0 for value in host)
    transfer, call = timing(program, "transfer"), timing(program, "call")
    if not host:
        return
    if transfer is not None and call is not None:
        worth = total >= TRANSFER_BYTES and transfer.median_s >= TRANSFER_SHARE * call.median_s
        measured = (
            f"the transfer takes {seconds(transfer.median_s)}, a call {seconds(call.median_s)}"
        )
    else:
        on_host = all(device.startswith("cpu") for device in program.devices)
        worth = total >= TRANSFER_ALONE_BYTES and not on_host
        measured = "the transfer was not timed"
    if not worth:
        return
    variables = list(dict.fromkeys(root(value.name) for value in host))
    first = variables[0]
    are = "is a NumPy array, copied" if len(host) == 1 else "are NumPy arrays, copied"
    yield Finding(
        FindingKind.HOST_TRANSFER,
        min(traced.name_lines(first, ast.Load), default=None),
        f"{names(variables)} {are} to the device on every call.",
        f"Copy once, before the call: `{first} = jnp.asarray({first})`.",
        f"{count(len(host), 'input')} of {size(total)}; {measured}.",
    )


def _waiting(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Results fetched to the host in every iteration of a loop that calls a compiled function."""
    cell = traced.cell
    inside = {id(s) for scope in traced.scopes if scope.source == 0 for s in scope.nodes()}
    for loop in ast.walk(cell.tree) if cell is not None else ():
        if not isinstance(loop, ast.For | ast.While) or id(loop) in inside:
            continue
        results: set[str] = set()
        tested = _stopping(loop)
        for statement in loop.body:
            match statement:
                case ast.Assign(targets=targets, value=ast.Call(func=ast.Name(id=called))) if (
                    called in traced.compiled_names
                ):
                    stored = (n for t in targets for n in ast.walk(t))
                    results |= {n.id for n in stored if isinstance(n, ast.Name)}
                case ast.Assign() | ast.Expr() | ast.AugAssign() | ast.If():
                    fetched = _fetched(statement, results, traced)
                    if fetched is None or results & tested:
                        continue  # a loop that stops by its results has to wait for them
                    shown, line, fix = fetched
                    yield Finding(
                        FindingKind.HOST_TRANSFER,
                        line,
                        f"`{shown}` blocks until the device is done, in every iteration of the "
                        "loop.",
                        fix,
                        f"The loop on line {loop.lineno} calls a compiled function, and this line "
                        "always fetches its result.",
                    )
                    return
                case _:
                    continue


def _stopping(loop: ast.For | ast.While) -> set[str]:
    """Names that decide when a loop ends, or whether an iteration goes on."""
    tests: list[ast.expr] = []
    for node in ast.walk(loop):
        match node:
            case ast.While(test=test) | ast.Assert(test=test):
                tests.append(test)
            case ast.If(test=test) if any(
                isinstance(n, ast.Break | ast.Continue | ast.Return | ast.Raise)
                for n in ast.walk(node)
            ):
                tests.append(test)
            case _:
                continue
    return {name for test in tests for name in value_names(test)}


class _Fetch(NamedTuple):
    shown: str
    line: int
    fix: str


def _fetched(statement: ast.stmt, results: set[str], traced: TracedCode) -> _Fetch | None:
    """`float(loss)`, `loss.item()`, `np.asarray(loss)`, `print(loss)` or `if loss < best` on one of
    the results."""
    if isinstance(statement, ast.If):
        names = [name for name in value_names(statement.test) if name in results]
        # `if step % 100 == 0 and loss < best` waits sometimes, `if state is None` never.
        decides = isinstance(statement.test, ast.Compare) and not any(
            isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in statement.test.ops
        )
        if not names or not decides:
            return None
        return _Fetch(
            f"if {ast.unparse(statement.test)}",
            statement.lineno,
            f"Compare on the device, with `jnp.where` or `jnp.minimum`, or test `{names[0]}` every "
            "hundredth iteration.",
        )
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Name(id="float" | "int"), args=[ast.Name(id=name)]):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="item" | "tolist")):
                pass
            case ast.Call(func=function, args=[ast.Name(id=name), *_]) if traced.dotted(
                function
            ) in ("numpy.asarray", "numpy.array", "jax.device_get"):
                pass
            case ast.Call(func=ast.Name(id="print"), args=arguments):
                shown = (n for a in arguments for n in value_names(a))
                name = next((n for n in shown if n in results), "")
            case _:
                continue
        if name in results:
            return _Fetch(
                ast.unparse(node),
                node.lineno,
                f"Keep `{name}` as an array in the loop, and convert it after the loop or every "
                "hundredth iteration.",
            )
    return None
