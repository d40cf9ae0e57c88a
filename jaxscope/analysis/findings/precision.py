"""64-bit types requested while JAX truncates them to 32 bits."""

import ast
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence, TracedCode, root
from jaxscope.analysis.python.parse import Code
from jaxscope.model import Finding, FindingKind, ValueKind
from jaxscope.words import names

_WIDE = {"float64": "float32", "complex128": "complex64"}
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
    for node in ast.walk(code.tree):
        if not isinstance(node, ast.Call) or not _ran(code, node, traced):
            continue
        called = traced.dotted(node.func)
        if called.rpartition(".")[2] in _QUERIES:
            continue
        types = [*(k.value for k in node.keywords if k.arg == "dtype"), *node.args]
        wide = next((w for a in types if (w := _wide(a, called, node, traced))), "")
        if not wide or node.lineno in done:
            continue
        done.add(node.lineno)
        yield Finding(
            FindingKind.FLOAT64_DISABLED,
            node.lineno,
            f"`{ast.unparse(node)[:60]}` requests {wide} but gets {_WIDE[wide]}.",
            f"For 64 bits, {_ENABLE}. Otherwise request {_WIDE[wide]}.",
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


def _wide(argument: ast.expr, called: str, call: ast.Call, traced: TracedCode) -> str:
    """`float64` if this argument requests it from JAX."""
    module, _, name = traced.dotted(argument).rpartition(".")
    if module == "jax.numpy" and name in _WIDE:
        return name
    if not called.startswith("jax."):
        return ""
    if module == "numpy" and name in _WIDE:
        return name
    is_type = any(k.value is argument for k in call.keywords if k.arg == "dtype")
    if is_type and isinstance(argument, ast.Constant) and argument.value in _WIDE:
        return str(argument.value)
    return ""
