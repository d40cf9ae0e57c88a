"""Memory that a donation or a checkpoint would save."""

import ast
import math
from collections import Counter
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence, TracedCode, root
from jaxscope.analysis.findings.transfers import from_numpy
from jaxscope.analysis.jaxpr.flow import Flow
from jaxscope.model import Finding, FindingKind, Form, Memory, Program, ValueKind
from jaxscope.words import names, percent, size

DONATE_BYTES = 1_000_000
"""1000 × 1000 float32 (4 MB) took 303 µs without donation and 190 with it: about 30 µs per MB,
three times the dispatch of a call."""
SAVED_BYTES = 256_000_000
"""Less is no burden to a current device; the report's chapter lists it all the same."""
SAVED_SHARE = 0.3
"""Of the program's peak. In loops the estimate counts the equations, of which XLA may keep a third
less (layers of matrix products and tanh): the true saving is still worth the change."""
MOST_WORK = 0.5
"""FLOPs recomputed, as a share of all. One more forward pass is a third of a training step."""


def donation(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Undonated inputs that a result of the same shape and dtype replaces."""
    record = evidence.record
    flows = {id(program): flow for program, flow in traced.flows}
    for program in record.programs:
        if id(program) in flows and not _may_be_in_place(flows[id(program)]):
            continue
        if record.form is Form.BLOCK:
            yield from _block_donation(program, traced)
        elif record.form in (Form.DECORATOR, Form.FUNCTION):
            yield from _decorator_donation(program, traced)


_READ_WHOLE = frozenset({
    "concatenate", "conv_general_dilated", "dot_general", "gather", "rev", "sort", "transpose"
})  # fmt: skip
"""Operations that need their operand until their result is complete: XLA copies a donated one."""


def _may_be_in_place(flow: Flow) -> bool:
    """Whether some large result is made by an operation that can write over an argument."""
    for value in flow.outputs:
        maker = flow.makers.get(value)
        read = () if maker is None else map(flow.origin, maker.inputs)
        if math.prod(flow.shape(value)) < DONATE_BYTES / 8:
            continue
        if maker is None or maker.primitive not in _READ_WHOLE:
            return True
        if not any(one in flow.arguments for one in read):
            return True
    return False


def _block_donation(program: Program, traced: TracedCode) -> Iterator[Finding]:
    results = {value.name: value for value in program.outputs}
    replaced = [
        value
        for value in program.inputs
        if value.kind is ValueKind.TRACED
        and not from_numpy(value)
        and value.name in results
        and results[value.name].aval == value.aval
        and not _is_kept(root(value.name), traced)
    ]
    total = sum(value.bytes or 0 for value in replaced)
    if total < DONATE_BYTES:
        return
    variables = list(dict.fromkeys(root(value.name) for value in replaced))
    yield _donation(variables, total, max(traced.name_lines(variables[0], ast.Store), default=None))


def _decorator_donation(program: Program, traced: TracedCode) -> Iterator[Finding]:
    """`params = step(params, x)` at the top level, the result shaped like the argument."""
    cell = traced.cell
    if cell is None:
        return
    functions = (f for code in traced.codes for f in code.functions)
    function = next((f for f in functions if f.name == program.name), None)
    if function is None:
        return
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    for statement in _top_statements(cell.tree.body):
        match statement:
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id=called)) as call) if (
                traced.compiled_names.get(called) == program.name
            ):
                pass
            case _:
                continue
        stored = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        values = (*call.args, *(keyword.value for keyword in call.keywords))
        given = [
            (parameter, argument.id)
            for parameter, argument in (
                *zip(parameters, call.args, strict=False),
                *((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg),
            )
            if isinstance(argument, ast.Name)
            and argument.id in stored
            # A buffer cannot be donated and given as another argument too.
            and sum(_holds(value, argument.id) for value in values) == 1
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
                and not _is_kept(name, traced)
            ):
                free -= needed
                chosen.append(parameter)
                total += sum(v.bytes or 0 for v in leaves)
        if total >= DONATE_BYTES:
            own = called != function.name or any(map(_jits, function.decorator_list))
            yield _donation(chosen, total, statement.lineno, program.name, own=own)
            return


def _jits(decorator: ast.expr) -> bool:
    found = (getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(decorator))
    return any(name.endswith("jit") for name in found)


def _donation(
    variables: list[str], total: int, line: int | None, function: str = "", *, own: bool = False
) -> Finding:
    """`own` says that the cell jits the function itself: then `-d` does not reach it."""
    argnames = repr(variables[0]) if len(variables) == 1 else repr(tuple(variables))
    jit = f"jit `{function}` with `donate_argnames={argnames}`"
    cell = f"Run the cell with `-d {','.join(variables)}`"
    fix = f"J{jit[1:]}" if own else f"{cell}, or {jit}" if function else cell
    return Finding(
        FindingKind.MISSED_DONATION,
        line,
        f"{names(variables)} {'is' if len(variables) == 1 else 'are'} replaced by a result of the "
        "same shape and dtype, but not donated.",
        f"{fix}, so that the result reuses the buffer. The old array is deleted.",
        f"{size(total)} could be reused on every call.",
    )


def _top_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        if isinstance(statement, ast.For | ast.While | ast.With | ast.If):
            yield from _top_statements(statement.body)


def _is_kept(name: str, traced: TracedCode) -> bool:
    """Whether there is another reference to the old array: `old = w`, `history.append(w)`,
    `w = w0` or `state = (w0, 0)` in the cell, or a name of an earlier one."""
    cell = traced.cell
    if name in traced.shared:
        return True
    for node in _where_it_is_global(cell.tree, name) if cell is not None else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=stored)], value=held) if stored == name and _holds(
                held
            ):
                return True
            case ast.Assign(targets=[_, _, *_] as targets) if any(_holds(t, name) for t in targets):
                return True
            case ast.Assign(value=item) | ast.AnnAssign(value=ast.expr() as item):
                kept = [item]
            case ast.AugAssign(value=ast.List() | ast.Tuple() | ast.Dict() as item):
                kept = [item]
            case ast.Call(func=ast.Attribute(attr=method), args=items) if method in _KEEPING:
                kept = items
            case _:
                continue
        if any(_holds(item, name) for item in kept):
            return True
    return False


_KEEPING = ("append", "appendleft", "add", "insert", "extend", "put", "setdefault", "update")


def _holds(value: ast.expr, name: str = "") -> bool:
    """Whether a value is the array of this name itself, or a container of it; of any, without."""
    match value:
        case ast.Name(id=found):
            return not name or found == name
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Dict(values=items):
            return any(_holds(item, name) for item in items)
        case ast.IfExp(body=first, orelse=second):
            return _holds(first, name) or _holds(second, name)
        case ast.BinOp(right=ast.List() | ast.Tuple() | ast.Dict() as second):
            return _holds(second, name)
        case ast.Call(func=ast.Name(id="dict" | "list" | "tuple"), args=items, keywords=named):
            return any(_holds(item, name) for item in (*items, *(one.value for one in named)))
        case _:
            return False


def _where_it_is_global(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """This node and those inside, without functions that have a parameter of this name."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            arguments = (one for one in ast.walk(child.args) if isinstance(one, ast.arg))
            if any(one.arg == name for one in arguments):
                continue
        yield from _where_it_is_global(child, name)


def checkpoints(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Saved residuals that make much of the peak, where `jax.checkpoint` surely saves them."""
    for program in evidence.record.programs:
        found, memory = program.gradient, program.memory
        if found is None or not isinstance(memory, Memory):
            continue
        total = found.forward_flops + found.backward_flops
        for advice in found.checkpoints:
            if (
                advice.freed_bytes >= max(SAVED_BYTES, SAVED_SHARE * memory.peak)
                and advice.flops <= MOST_WORK * total
                # Outside loops, CSE in XLA for the CPU may undo a checkpoint.
                and (advice.loop or not any(d.startswith("cpu") for d in program.devices))
            ):
                name = advice.function.rpartition("<locals>.")[2]
                applied = "jax.checkpoint" + ("" if name == "<lambda>" else f"({name})")
                share = advice.flops / total if total else 0.0
                yield Finding(
                    FindingKind.SAVED_RESIDUALS,
                    advice.line,
                    f"The forward pass saves the residuals of all {advice.calls:g} calls of "
                    f"`{name}` for the backward pass.",
                    f"Use `{applied}`, which recomputes them one call at a time. A "
                    "`policy` selects residuals to save.",
                    f"Estimate: {size(advice.freed_bytes)} less of the {size(memory.peak)} peak, "
                    f"for {percent(share)} more FLOPs.",
                    source=advice.source,
                )
                break
