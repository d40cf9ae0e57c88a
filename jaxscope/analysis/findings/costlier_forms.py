"""Operations with a cheaper form: sorts for a few values, one-hot products, explicit inverses and
products one vector at a time."""

import ast
import math
import re
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence, TracedCode, value_names
from jaxscope.analysis.jaxpr.flow import MOVES, Flow, FlowStep
from jaxscope.analysis.python.statements import own_nodes
from jaxscope.analysis.vmap.lines import place_of
from jaxscope.model import Finding, FindingKind, Form, Program
from jaxscope.words import count, flops

SORTED = 1024
"""Elements per sort from which `top_k` is measurably faster on a CPU."""
FEW = 8
"""`top_k` is reported for at most an eighth of the sorted elements."""
PRODUCT_FLOPS = 1e6
"""Smaller products take microseconds."""
INVERSE_SIZE = 32
"""Rows of a matrix from which its factorization takes longer than a dispatch."""
BATCH_BYTES = 256_000_000
"""Values of all iterations together, up to which a batch of them is no burden."""


def costlier_forms(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Operations of a program for which JAX has a cheaper function."""
    for program, flow in traced.flows:
        on_tpu = any(device.startswith("tpu") for device in program.devices)
        for step in flow.steps:
            if step.is_backward:
                continue
            match step.primitive:
                case "sort":
                    yield from _sort(program, flow, step)
                case "dot_general":
                    if not on_tpu:  # there, a product may be faster than a gather
                        yield from _one_hot(program, flow, step)
                    yield from _inverse(program, flow, step)
                case "scan":
                    yield from _sequential(program, flow, step)
                case _:
                    continue
        if evidence.record.form in (Form.DECORATOR, Form.FUNCTION):
            yield from _call_by_call(evidence, traced, program, flow)


def _call_by_call(
    evidence: Evidence, traced: TracedCode, program: Program, flow: Flow
) -> Iterator[Finding]:
    """`[f(w, x) for x in xs]`, where `f` multiplies a matrix that it takes by one vector."""
    lengths = {fact.name: rows for fact in evidence.names if (rows := _rows(fact.aval)) > 1}
    steps = [
        s
        for s in flow.steps
        if s.primitive == "dot_general"
        and not s.is_backward
        and len(flow.shape(s.outputs[0])) == 1
        and any(flow.origin(i) in flow.arguments and len(flow.shape(i)) == 2 for i in s.inputs)
    ]
    for loop in own_nodes(traced.cell.tree.body) if traced.cell is not None and steps else ():
        call, variable, array = _independent_calls(loop)
        if call is None or traced.compiled_names.get(ast.unparse(call.func)) != program.name:
            continue
        given = [isinstance(a, ast.Name) and a.id == variable for a in call.args]
        work = sum(s.step.flops for s in steps) * lengths.get(array, 0)
        if call.keywords or given.count(True) != 1 or work < PRODUCT_FLOPS:
            continue
        if any(
            variable in value_names(a) for a, it in zip(call.args, given, strict=True) if not it
        ):
            continue
        axes = ", ".join("0" if it else "None" for it in given)
        name = ast.unparse(call.func)
        yield Finding(
            FindingKind.SEQUENTIAL_MAP,
            call.lineno,
            f"Each call of `{name}` multiplies the same matrix by one vector, although no call "
            "needs another.",
            f"Use `jax.vmap({name}, in_axes=({axes}))` under `jax.jit`, which makes one matrix "
            f"product of them.",
            f"The loop goes over the {count(lengths[array], 'row')} of `{array}`.",
        )
        return


def _rows(aval: str) -> int:
    """The rows of a matrix, `float32[300,64]`; 0 for any other value."""
    found = re.fullmatch(r"[a-z0-9_]+\[(\d+),\d+\]", aval)
    return int(found[1]) if found is not None else 0


def _independent_calls(loop: ast.AST) -> tuple[ast.Call | None, str, str]:
    """The call of each iteration, whose results are only collected; its variable; the array."""
    match loop:
        case ast.ListComp(
            elt=ast.Call(func=ast.Name()) as call,
            generators=[
                ast.comprehension(target=ast.Name(id=name), iter=ast.Name(id=array), ifs=[])
            ],
        ):
            return call, name, array
        case ast.For(
            target=ast.Name(id=name),
            iter=ast.Name(id=array),
            body=[
                ast.Expr(
                    value=ast.Call(
                        func=ast.Attribute(attr="append"),
                        args=[ast.Call(func=ast.Name()) as call],
                    )
                )
            ],
        ):
            return call, name, array
        case _:
            return None, "", ""


def _sort(program: Program, flow: Flow, step: FlowStep) -> Iterator[Finding]:
    axis = int(step.step.params.get("dimension", -1))
    used = [(i, v) for i, v in enumerate(step.outputs) if v in flow.readers or v in flow.results]
    if int(step.step.params.get("num_keys", 1)) != 1 or len(used) != 1:
        return
    position, value = used[0]
    shape = flow.shape(value)
    place = place_of(program.equations[step.equation])
    if place is None or not shape or shape[axis] < SORTED or axis % len(shape) != len(shape) - 1:
        return
    if position:  # `top_k` gives indices, and no other values in their order
        payload = flow.maker(step.inputs[position], {"rev", "broadcast_in_dim", "copy"})
        if payload is None or payload.primitive != "iota":
            return
    kept = _kept(flow, value, axis, False)
    if kept is None or kept[0] * FEW > shape[axis]:
        return
    number, largest, ordered = kept
    negated = (maker := flow.makers.get(step.inputs[0])) is not None and maker.primitive == "neg"
    source = "-x" if largest == negated else "x"
    index = "[1]" if position else "[0]"
    sign = "" if largest or position else "-"
    order = f"the {'largest' if largest else 'smallest'} first" if not negated else "them reversed"
    order = "" if ordered else f" It gives {order}."
    whole = f" for `{'arg' if position else ''}sort(-x)`" if negated else ""
    call = f"`{sign}jax.lax.top_k({source}, {number}){index}`"
    fix = f"Use {call}{whole}, along the last axis.{order}"
    if number == 1:
        name = ("arg" if position else "") + ("max" if largest else "min")
        ends = "axis=-1" if len(shape) > 1 else ""
        fix = f"Use `{'(-x)' if negated else 'x'}.{name}({ends})`."
    yield Finding(
        FindingKind.FULL_SORT,
        place[1],
        f"The sort orders {shape[axis]} elements, of which the program uses {number}.",
        fix,
        f"Nothing reads the other {shape[axis] - number}.",
        source=place[0],
    )


def _kept(flow: Flow, value: int, axis: int, reversed_: bool) -> tuple[int, bool, bool] | None:
    """The number of elements that are read, all at one end, whether that is the largest's, and
    whether the outermost comes first, as from `top_k`."""
    if value in flow.results:
        return None
    found: set[bool] = set()
    number, ordered = 0, True
    for reader in flow.readers.get(value, ()):
        if reader.primitive == "rev" and tuple(reader.step.params["dimensions"]) == (axis,):
            inner = _kept(flow, reader.outputs[0], axis, not reversed_)
            if inner is None:
                return None
            number, end, alike = max(number, inner[0]), inner[1], inner[2]
        elif reader.primitive == "slice" and reader.step.params.get("strides") is None:
            start = int(reader.step.params["start_indices"][axis])
            stop = int(reader.step.params["limit_indices"][axis])
            size = flow.shape(value)[axis]
            if start != 0 and stop != size:
                return None
            number, end = max(number, stop - start), (start != 0) != reversed_
            alike = end == reversed_
        else:
            return None
        found.add(end)
        ordered = ordered and alike
    return (number, found.pop(), ordered) if len(found) == 1 else None


def _one_hot(program: Program, flow: Flow, step: FlowStep) -> Iterator[Finding]:
    (contracted, batch) = step.step.params["dimension_numbers"]
    if any(batch) or step.step.flops < PRODUCT_FLOPS:
        return
    for side in (0, 1):
        one_hot = flow.maker(step.inputs[side], {"convert_element_type", "copy"})
        table = step.inputs[1 - side]
        axes = contracted[side]
        if one_hot is None or one_hot.primitive != "eq" or len(axes) != 1 or table < 0:
            continue
        shape = flow.shape(one_hot.outputs[0])
        counts = next(
            (
                m
                for i in one_hot.inputs
                if (m := flow.maker(i)) is not None and m.primitive == "iota"
            ),
            None,
        )
        if counts is None or axes[0] != len(shape) - 1 or len(flow.shape(table)) != 2:
            continue
        own = flow.shape(counts.outputs[0])
        if own[int(counts.step.params["dimension"])] != shape[-1] or contracted[1 - side] != (0,):
            continue
        if math.prod(own) != shape[-1]:
            continue
        place = place_of(program.equations[step.equation])
        if place is None:
            return
        yield Finding(
            FindingKind.ONE_HOT_MATMUL,
            place[1],
            f"This product with a one-hot matrix selects rows of a table of {shape[-1]}.",
            "Index the table, `table[indices]`, which reads only these rows. An index out of range "
            "gives 0 in the product.",
            f"The product takes {flops(step.step.flops)}.",
            source=place[0],
        )
        return


def _inverse(program: Program, flow: Flow, step: FlowStep) -> Iterator[Finding]:
    for side in (0, 1):
        value = step.inputs[side]
        if flow.made_by.get(value) != "inv" or value in flow.results:
            continue
        shape = flow.shape(value)
        readers = [r for r in flow.readers.get(value, ()) if not r.is_backward]
        maker = flow.makers.get(value)
        place = place_of(program.equations[step.equation])
        # An inverse outside a loop that is applied in it is factorized once, too.
        once = maker is not None and maker.body is step.body
        if readers != [step] or not once or place is None or shape[-1] < INVERSE_SIZE:
            continue
        ((left, right), _) = step.step.params["dimension_numbers"]
        if (left, right)[side] != ((len(shape) - 1) if side == 0 else len(shape) - 2,):
            continue
        # With as many right sides as rows, a product makes up for the inverse: no steady gain.
        many = math.prod(flow.shape(step.inputs[1 - side])) >= math.prod(shape)
        gain = "more accurate" if many else "faster and more accurate"
        yield Finding(
            FindingKind.EXPLICIT_INVERSE,
            place[1],
            f"The inverse of a {shape[-1]} × {shape[-1]} matrix is computed for one product only.",
            f"Use `jnp.linalg.solve(a, b)` for `inv(a) @ b`, which is {gain}."
            if side == 0
            else f"Use `jnp.linalg.solve(a.T, b.T).T` for `b @ inv(a)`, which is {gain}.",
            "The inverse solves for every column of the identity, and nothing else reads it.",
            source=place[0],
        )
        return


def _sequential(program: Program, flow: Flow, scan: FlowStep) -> Iterator[Finding]:
    """Products of one vector per iteration, in a loop whose iterations are independent."""
    inner = scan.step.inner[0] if scan.step.inner else None
    if inner is None or inner.carried or inner.times < 2:
        return
    steps = [s for s in flow.steps if any(b.step is scan for b in s.body.around())]
    if any("effect" in s.primitive or "callback" in s.primitive for s in steps):
        return
    held = sum(flow.values[v].bytes for s in steps for v in s.outputs if v >= 0)
    if held * inner.times > BATCH_BYTES:
        return
    for step in steps:
        if step.primitive != "dot_general" or step.body.step is not scan:
            continue
        if step.step.flops * inner.times < PRODUCT_FLOPS or len(flow.shape(step.outputs[0])) != 1:
            continue
        shared = [flow.bodies.get(flow.origin(i, MOVES)) is not step.body for i in step.inputs]
        matrices = [len(flow.shape(i)) == 2 for i in step.inputs]
        vectors = [len(flow.shape(i)) == 1 for i in step.inputs]
        if not any(
            shared[a] and matrices[a] and vectors[1 - a] and not shared[1 - a] for a in (0, 1)
        ):
            continue
        place = place_of(program.equations[step.equation])
        if place is None:
            return
        yield Finding(
            FindingKind.SEQUENTIAL_MAP,
            place[1],
            "Each iteration multiplies the same matrix by one vector, although no iteration needs "
            "another.",
            "Use `jax.vmap`, which makes one matrix product of them, or `jax.lax.map` with a "
            "`batch_size`.",
            f"The loop has {count(int(inner.times), 'iteration')} and no carry; a batch holds at "
            "most 256 MB.",
            source=place[0],
        )
        return
