"""Types other than intended: 64 bits that JAX truncates, and products promoted to 32."""

import ast
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence, TracedCode, root
from jaxscope.analysis.jaxpr.flow import MOVES, Flow, FlowStep
from jaxscope.analysis.python.parse import Code
from jaxscope.analysis.vmap.lines import place_of
from jaxscope.model import Equation, Finding, FindingKind, Program, ValueKind
from jaxscope.words import flops, names

_WIDE = {"float64": "float32", "complex128": "complex64"}
_REQUESTED = {**_WIDE, "int64": "int32", "uint64": "uint32"}
"""A NumPy array of int64 is no request for it: that is NumPy's default."""
WIDE_BYTES = 64 * 1024
"""On the device. Below, NumPy's float64 is nearly always its default and not intended, and the
report's table of inputs shows both types."""
# These only inspect the type.
_QUERIES = frozenset({"finfo", "iinfo", "issubdtype", "result_type", "promote_types", "dtype"})

_ENABLE = "run with `--x64` or set `jax.config.update('jax_enable_x64', True)`"


def precision(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """float64 in the text or in the inputs while x64 is off."""
    if evidence.record.environment.x64 or any(
        # The text enables x64 itself, for a part or for all of it.
        "enable_x64" in code.source.text or "experimental.x64" in code.source.text
        for code in traced.codes
    ):
        return
    yield from _inputs(evidence, traced)
    for code in traced.codes:
        yield from _requested(code, traced)


def _inputs(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    wide: dict[str, str] = {}
    total = 0
    for program in evidence.record.programs:
        for value in program.inputs:
            given = next((w for w in _WIDE if value.reason == f"NumPy array of {w}"), None)
            if given is not None and value.kind in (ValueKind.TRACED, ValueKind.DONATED):
                wide[root(value.name)] = given
                total += value.bytes or 0
    if total < WIDE_BYTES:
        return
    first, given = next(iter(wide.items()))
    yield Finding(
        FindingKind.FLOAT64_DISABLED,
        min(traced.name_lines(first), default=None),
        f"{names(list(wide))} {'is' if len(wide) == 1 else 'are'} NumPy {given}, but JAX computes "
        f"in {_WIDE[given]}.",
        f"For 64 bits, {_ENABLE}. Otherwise convert before the call: "
        f"`{first} = {first}.astype({_WIDE[given]!r})`.",
        f"`jax_enable_x64` is off, and {given} is NumPy's default. A comparison with NumPy "
        "compares two precisions.",
    )


def _requested(code: Code, traced: TracedCode) -> Iterator[Finding]:
    done: set[int] = set()
    for node in code.nodes:
        if not isinstance(node, ast.Call) or not _ran(code, node, traced):
            continue
        called = traced.dotted(node.func)
        name = called.rpartition(".")[2]
        if name in _QUERIES:
            continue
        match node.func:
            case ast.Attribute(value=value, attr="astype" | "view") if _is_jax(code, value, traced):
                called = "jax.Array.astype"
            case _:
                pass
        types = [*(k.value for k in node.keywords if k.arg == "dtype"), *node.args]
        wide = next((w for a in types if (w := _wide(a, called, traced))), "")
        if called.startswith("jax.numpy.") and name in _REQUESTED:
            wide = name
        if not wide or node.lineno in done:
            continue
        done.add(node.lineno)
        yield Finding(
            FindingKind.FLOAT64_DISABLED,
            node.lineno,
            f"`{ast.unparse(node)[:60]}` requests {wide} but gets {_REQUESTED[wide]}.",
            f"For 64 bits, {_ENABLE}. Otherwise request {_REQUESTED[wide]}.",
            "`jax_enable_x64` is off, so JAX truncates 64-bit types to 32 bits.",
            source=code.index,
        )


def _ran(code: Code, node: ast.Call, traced: TracedCode) -> bool:
    """Whether the call ran: everything in the cell did, of other sources only traced functions."""
    if code.index == 0:
        return True
    return any(
        scope.source == code.index
        and scope.body[0].lineno <= node.lineno <= (scope.body[-1].end_lineno or 0)
        for scope in traced.scopes
    )


def _is_jax(code: Code, value: ast.expr, traced: TracedCode) -> bool:
    """Whether an expression of traced code is a JAX array for certain."""
    return any(
        scope.source == code.index
        and any(node is value for node in scope.nodes())
        and traced.is_jax_array(value, scope)
        for scope in traced.scopes
    )


def _wide(argument: ast.expr, called: str, traced: TracedCode) -> str:
    """`float64` if this argument requests it from JAX."""
    module, _, name = traced.dotted(argument).rpartition(".")
    if module == "jax.numpy" and name in _REQUESTED:
        return name
    if not called.startswith("jax."):
        return ""
    if module == "numpy" and name in _REQUESTED:
        return name
    if isinstance(argument, ast.Constant) and argument.value in tuple(_REQUESTED):
        return str(argument.value)
    return ""


PRODUCT_FLOPS = 1e6
"""Smaller products take microseconds in any type."""
_NARROW = {"bf16": "bfloat16", "f16": "float16"}
_SCALED = frozenset({"mul", "add", "sub", "div", "max", "min", "pow"})
_ELEMENTWISE = _SCALED | MOVES | {"tanh", "exp", "log", "logistic", "neg", "sin", "cos", "select_n"}
_CHAIN = 24


def promotion(evidence: Evidence, traced: TracedCode) -> Iterator[Finding]:
    """Products of float32 because one scalar of that type met a narrower array."""
    for program, flow in traced.flows:
        for step in flow.steps:
            if step.primitive == "convert_element_type" and not step.is_backward:
                yield from _promoted(program, flow, step, traced)


def _promoted(
    program: Program, flow: Flow, cast: FlowStep, traced: TracedCode
) -> Iterator[Finding]:
    narrow = _NARROW.get(flow.dtype(cast.inputs[0]))
    equation = program.equations[cast.equation]
    if narrow is None or flow.dtype(cast.outputs[0]) != "f32" or cast.functions:
        return
    readers = flow.readers.get(cast.outputs[0], [])
    if len(readers) != 1 or readers[0].primitive not in _SCALED:
        return
    (scaled,) = readers
    others = [i for i in scaled.inputs if i != cast.outputs[0]]
    scalar = len(others) == 1 and (others[0] < 0 or flow.shape(flow.origin(others[0])) == ())
    place = place_of(equation)
    # A cast of the user's own has a place of its own.
    if not scalar or place is None or program.equations[scaled.equation].frames != equation.frames:
        return
    shown = _expression(equation, traced)
    product = _product(flow, scaled.outputs[0])
    if not shown or product is None:
        return
    line = place_of(program.equations[product.equation])
    if line is None:
        return
    where = f" on line {line[1]}" if line[0] == place[0] and line[1] != place[1] else ""
    yield Finding(
        FindingKind.TYPE_PROMOTION,
        place[1],
        f"`{shown}` promotes {narrow} to float32, so the product{where} takes and gives float32.",
        f"Use a Python number, or cast the scalar to {narrow}. "
        "`jax_numpy_dtype_promotion='strict'` reports every promotion.",
        f"The product takes {flops(product.step.flops)}; its operand is "
        f"{flow.values[scaled.outputs[0]].aval} instead of {flow.values[cast.inputs[0]].aval}.",
        source=place[0],
    )


def _expression(equation: Equation, traced: TracedCode) -> str:
    """The user's operation between two values that an equation comes from, as text."""
    frame = equation.frame
    if frame is None or frame != equation.frames[0]:
        return ""
    for code in traced.codes:
        if code.index != frame.source:
            continue
        for node in code.nodes:
            if (
                isinstance(node, ast.BinOp)
                and code.position(node.lineno, node.col_offset)
                == (frame.span.line, frame.span.column)
                and code.position(node.end_lineno or 0, node.end_col_offset or 0)
                == (frame.span.end_line, frame.span.end_column)
            ):
                return ast.unparse(node)[:60]
    return ""


def _product(flow: Flow, value: int) -> FlowStep | None:
    """The first large product that reads a value in float32, through elementwise operations."""
    waiting = [value]
    for _ in range(_CHAIN):
        if not waiting:
            return None
        current = waiting.pop(0)
        for reader in flow.readers.get(current, ()):
            if reader.is_backward:
                continue
            if reader.primitive in ("dot_general", "conv_general_dilated"):
                if reader.step.flops >= PRODUCT_FLOPS:
                    return reader
            elif reader.primitive in _ELEMENTWISE and flow.dtype(reader.outputs[0]) == "f32":
                waiting.append(reader.outputs[0])
    return None
