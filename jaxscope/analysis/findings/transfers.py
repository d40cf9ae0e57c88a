"""Arguments copied to the device on every call, and results fetched in every iteration."""

import ast
from collections.abc import Iterator

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
    if cell is None:
        return
    compiled = {program.name for program in evidence.record.programs}
    for loop in cell.tree.body:
        if not isinstance(loop, ast.For | ast.While):
            continue
        results: set[str] = set()
        tested = {
            name
            for node in ast.walk(loop)
            if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert)
            for name in value_names(node.test)
        }
        for statement in loop.body:
            match statement:
                case ast.Assign(targets=targets, value=ast.Call(func=ast.Name(id=called))) if (
                    called in compiled
                ):
                    stored = (n for t in targets for n in ast.walk(t))
                    results |= {n.id for n in stored if isinstance(n, ast.Name)}
                case ast.Assign() | ast.Expr() | ast.AugAssign():
                    fetched = _fetched(statement, results, traced)
                    if fetched is None or results & tested:
                        continue  # a loop that stops by its results has to wait for them
                    call, name = fetched
                    yield Finding(
                        FindingKind.HOST_TRANSFER,
                        call.lineno,
                        f"`{ast.unparse(call)}` blocks until the device is done, in every "
                        "iteration of the loop.",
                        f"Keep `{name}` as an array in the loop, and convert it after the loop or "
                        "every hundredth iteration.",
                        f"The loop on line {loop.lineno} calls a compiled function, and this line "
                        "always fetches its result.",
                    )
                    return
                case _:
                    continue


def _fetched(
    statement: ast.stmt, results: set[str], traced: TracedCode
) -> tuple[ast.Call, str] | None:
    """A call such as `float(loss)`, `loss.item()`, `np.asarray(loss)` on one of the results."""
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
            case _:
                continue
        if name in results:
            return node, name
    return None
