"""What a call costs besides computing: transfers, dispatch, callbacks, copies, eager operations."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from jaxscope.analysis.findings.code import Reading, line_of, root, value_names
from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.loops import loop_ranges
from jaxscope.analysis.findings.wording import amount, names, seconds, size
from jaxscope.model import (
    CompileKind,
    Cost,
    Finding,
    FindingKind,
    Form,
    Program,
    Roofline,
    Timing,
    Value,
    ValueKind,
)

TRANSFER_BYTES = 64 * 1024
TRANSFER_SHARE = 0.1
"""A transfer is said when it is at least this share of a call. Small NumPy arguments cost some 4 µs
each whatever they hold (14 against 10 µs a call for 10 numbers), so small ones are left out."""
TRANSFER_ALONE_BYTES = 1_000_000
"""Untimed, on a device with its own memory: at 16-32 GB/s of PCIe 4 this takes 30-60 µs, several
times the dispatch of a call."""
DISPATCH_SHARE = 0.5
DISPATCH_S = 50e-6
"""The most that dispatch takes: some 10 µs and 2 µs an output. What returns later has computed
before it returned, as small programs do on the CPU."""
SLOW_DEVICE = 1e9
"""FLOP/s and bytes/s that any device reaches: what needs longer at this rate may be work."""
DONATE_BYTES = 1_000_000
"""From here on the new memory shows: 1000 × 1000 float32 (4 MB) took 303 µs without donation and
190 with it, about 30 µs a MB, three times the dispatch of a call."""
EAGER_COMPILES = 8
"""Compiles of one line in a loop: `x[:i]` compiles once for every `i`, 15-40 ms each."""
EAGER_CALLS = 100
"""Operations run one by one on a line in a loop: 20 µs each, 2 ms together."""
SLOW_TRACE_S = 1.0

_CALLBACKS = {
    "debug_callback": "jax.debug.callback",
    "debug_print": "jax.debug.print",
    "pure_callback": "jax.pure_callback",
    "io_callback": "jax.experimental.io_callback",
}


def calls(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """What can be saved at each call."""
    record = evidence.record
    yield from _slow_trace(evidence)
    for program in record.programs:
        yield from _callbacks(program)
        yield from _transfers(program, reading)
        yield from _dispatch(program)
        if record.form is Form.BLOCK:
            yield from _block_donation(program, reading)
        elif record.form is Form.DECORATOR:
            yield from _decorator_donation(program, reading)
    if record.form is Form.DECORATOR:
        yield from _waiting(evidence, reading)
        yield from _eager(evidence, reading)


def _timing(program: Program, label: str) -> Timing | None:
    return next((t for t in program.timings if t.label == label and t.samples), None)


# Tracing


def _slow_trace(evidence: Evidence) -> Iterator[Finding]:
    record, traced = evidence.record, evidence.trace_s
    if record.form is not Form.BLOCK or traced is None or traced <= SLOW_TRACE_S:
        return
    program = record.programs[0] if record.programs else None
    by_line = Counter(
        frame.span.line
        for equation in (program.equations if program is not None else ())
        for frame in equation.frames[-1:]
        if frame.source == 0
    )
    line, most = by_line.most_common(1)[0] if by_line else (None, 0)
    total = len(program.equations) if program is not None else 0
    yield Finding(
        FindingKind.SLOW_TRACE,
        line,
        f"Tracing the cell takes {seconds(traced)}, and in block form it is paid on every run.",
        "Put the code into a function under `@jax.jit`, which is traced once for each signature; "
        "or trace less: `jax.lax.scan` in place of a Python loop, data made in a cell before.",
        f"The cell ran {seconds(traced)} under the tracer"
        + (f"; line {line} made {most} of {amount(total, 'equation')}." if line else "."),
    )


# Callbacks


def _callbacks(program: Program) -> Iterator[Finding]:
    found: dict[tuple[int, int | None, str], int] = {}
    for equation in program.equations:
        public = _CALLBACKS.get(equation.primitive)
        if public is not None:
            frame = next((f for f in equation.frames if f.source == 0), None)
            frame = frame or next((f for f in equation.frames if f.source is not None), None)
            source = 0 if frame is None or frame.source is None else frame.source
            line = None if frame is None else frame.span.line
            key = (source, line, public)
            found[key] = found.get(key, 0) + 1
    for (source, line, public), number in found.items():
        if public.startswith("jax.debug"):
            fix = (
                "Take it out of what you time and of what runs often, or guard it by a static flag."
            )
        else:
            fix = (
                "Write it with `jnp` if you can; otherwise call it seldom, with much work at a "
                "time, or do that part outside the compiled function."
            )
        call = _timing(program, "call") or _timing(program, "first call")
        took = f" A call took {seconds(call.median_s)}." if call is not None else ""
        yield Finding(
            FindingKind.CALLBACK,
            line,
            f"`{public}` makes the program call Python back: calls of {program.title} leave "
            "JAX's fast path and wait for the interpreter.",
            fix,
            f"The program has {amount(number, 'callback')} from here; a callback was measured to "
            f"raise a call of 3-7 µs to 50-360 µs.{took}",
            source,
        )


# Transfers


def _from_numpy(value: Value) -> bool:
    return value.kind is ValueKind.TRACED and value.reason.startswith("NumPy array")


def _transfers(program: Program, reading: Reading) -> Iterator[Finding]:
    host = [value for value in program.inputs if _from_numpy(value)]
    total = sum(value.bytes or 0 for value in host)
    transfer, call = _timing(program, "transfer"), _timing(program, "call")
    if not host:
        return
    if transfer is not None and call is not None:
        worth = total >= TRANSFER_BYTES and transfer.median_s >= TRANSFER_SHARE * call.median_s
        measured = (
            f"the transfer took {seconds(transfer.median_s)}, a call {seconds(call.median_s)}"
        )
    else:
        on_host = all(device.startswith("cpu") for device in program.devices)
        worth = total >= TRANSFER_ALONE_BYTES and not on_host
        measured = "the transfer was not timed"
    if not worth:
        return
    variables = list(dict.fromkeys(root(value.name) for value in host))
    _, line = _first_read(variables[0], reading)
    are, it = ("is a NumPy array", "It goes") if len(host) == 1 else ("are NumPy arrays", "They go")
    yield Finding(
        FindingKind.HOST_TRANSFER,
        line,
        f"{names(variables)} {are} in host memory. {it} to the device anew at every call.",
        f"Put it there once, before: `{variables[0]} = jnp.asarray({variables[0]})`.",
        f"{amount(len(host), 'input')} of {size(total)}; {measured}.",
    )


def _first_read(name: str, reading: Reading) -> tuple[int, int | None]:
    cell = reading.cell
    if cell is None:
        return 0, None
    lines = [
        node.lineno
        for node in ast.walk(cell.tree)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    return 0, min(lines, default=None)


def _waiting(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Results fetched to the host on every pass of a loop that calls a compiled function."""
    cell = reading.cell
    if cell is None:
        return
    compiled = {program.name for program in evidence.record.programs}
    for loop in cell.tree.body:
        if not isinstance(loop, ast.For | ast.While):
            continue
        results: set[str] = set()
        tested = {name for test in _tests(loop) for name in value_names(test)}
        for statement in loop.body:
            match statement:
                case ast.Assign(targets=targets, value=ast.Call(func=ast.Name(id=called))) if (
                    called in compiled
                ):
                    stored = (n for t in targets for n in ast.walk(t))
                    results |= {n.id for n in stored if isinstance(n, ast.Name)}
                case ast.Assign() | ast.Expr() | ast.AugAssign():
                    fetched = _fetched(statement, results, reading)
                    if fetched is None or results & tested:
                        continue  # a loop that stops by its results has to wait for them
                    call, name = fetched
                    yield Finding(
                        FindingKind.HOST_TRANSFER,
                        line_of(call),
                        f"`{ast.unparse(call)}` waits for the device on every pass of the loop: "
                        "the next call is only prepared when this one is done.",
                        f"Keep `{name}` as an array in the loop, and convert after it or on "
                        "every hundredth pass.",
                        f"The loop on line {loop.lineno} calls a compiled function, and this line "
                        "asks for its result without a condition.",
                    )
                    return
                case _:
                    continue


def _tests(loop: ast.For | ast.While) -> Iterator[ast.expr]:
    for node in ast.walk(loop):
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            yield node.test


def _fetched(
    statement: ast.stmt, results: set[str], reading: Reading
) -> tuple[ast.Call, str] | None:
    """A call such as `float(loss)`, `loss.item()`, `np.asarray(loss)` on one of the results."""
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Name(id="float" | "int"), args=[ast.Name(id=name)]):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="item" | "tolist")):
                pass
            case ast.Call(func=function, args=[ast.Name(id=name), *_]) if reading.dotted(
                function
            ) in ("numpy.asarray", "numpy.array", "jax.device_get"):
                pass
            case _:
                continue
        if name in results:
            return node, name
    return None


# Dispatch


def _dispatch(program: Program) -> Iterator[Finding]:
    call, dispatch = program.call, _timing(program, "dispatch")
    if call is None or not call.samples or dispatch is None or not program.equations:
        return
    share = dispatch.median_s / call.median_s
    if share <= DISPATCH_SHARE or dispatch.median_s > DISPATCH_S:
        return
    if isinstance(program.roofline, Roofline):
        if program.roofline.verdict != "dispatch-bound":
            return
    elif not _is_little(program, call.median_s):
        return
    yield Finding(
        FindingKind.DISPATCH_BOUND,
        None,
        f"A call of {program.title} spends most of its time on the way to the program, not in it.",
        "Do more at each call: move the loop around it inside with `jax.lax.scan`, or batch many "
        "calls into one with `jax.vmap`.",
        f"{100 * share:.0f} % of the {seconds(call.median_s)} of a call "
        f"({amount(len(call.samples), 'round')}) are over before JAX returns.",
    )


def _is_little(program: Program, call_s: float) -> bool:
    """Whether even a slow device would do the work in a fraction of the call."""
    if not isinstance(program.cost, Cost):
        return False
    cost = program.cost
    # A vectorised exp or sin takes some 25 operations.
    work = (cost.flops + 25 * cost.transcendentals + cost.bytes_accessed) / SLOW_DEVICE
    return not cost.doubts and work < DISPATCH_SHARE * call_s


# Donation


def _block_donation(program: Program, reading: Reading) -> Iterator[Finding]:
    results = {value.name: value for value in program.outputs}
    replaced = [
        value
        for value in program.inputs
        if value.kind is ValueKind.TRACED
        and not _from_numpy(value)
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
                and all(v.kind is ValueKind.TRACED and not _from_numpy(v) for v in leaves)
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


# Eager code


def _eager(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """Lines of loops outside any jit, where JAX runs or compiles operation by operation."""
    cell = reading.cell
    if cell is None:
        return
    ranges = loop_ranges(cell)
    compiled: dict[int, list[float]] = {}
    for made in evidence.record.compiles:
        if made.kind is CompileKind.EAGER and made.site is not None and made.site.source == 0:
            compiled.setdefault(made.site.span.line, []).append(made.total_s)
    ran = dict(evidence.dispatched)
    lines = [
        line
        for line in compiled.keys() | ran.keys()
        if any(first <= line <= last for first, last in ranges)
        and (len(compiled.get(line, ())) >= EAGER_COMPILES or ran.get(line, 0) >= EAGER_CALLS)
    ]
    if not lines:
        return
    line = max(lines, key=lambda n: (sum(compiled.get(n, ())), ran.get(n, 0)))
    times = compiled.get(line, [])
    parts = [f"Line {line} ran {ran[line]} operations one by one"] if line in ran else []
    if times:
        parts.append(
            f"line {line} compiled {amount(len(times), 'operation')} in {seconds(sum(times))}"
        )
    more = f", and {amount(len(lines) - 1, 'further line')} did alike" if len(lines) > 1 else ""
    said = "; ".join(parts)
    yield Finding(
        FindingKind.EAGER,
        line,
        "The loop runs JAX operations one by one outside any `jax.jit`"
        + (
            ", and compiles some of them anew on each pass."
            if len(times) >= EAGER_COMPILES
            else "."
        ),
        "Put the body into a function under `@jax.jit`; for slices that grow use "
        "`jax.lax.dynamic_slice` with a fixed size, or a mask.",
        f"{said[:1].upper()}{said[1:]}{more}.",
    )
