"""Sixty-four bits asked for, thirty-two given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxscope.analysis.findings.evidence import Evidence
from jaxscope.analysis.findings.source_code import Reading, root
from jaxscope.analysis.python.parse import Code
from jaxscope.model import Finding, FindingKind, ValueKind
from jaxscope.words import names

_WIDE = {"float64": "float32", "complex128": "complex64"}
WIDE_BYTES = 64 * 1024
"""On the device. Below, NumPy's float64 is nearly always its default and nobody's wish, and the
report's table of inputs shows both types."""
# These only look at the type.
_QUESTIONS = frozenset({"finfo", "iinfo", "issubdtype", "result_type", "promote_types", "dtype"})


def precision(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    """float64 in the text or in the inputs while x64 is off."""
    if evidence.record.environment.x64 or any(_enables(code) for code in reading.codes):
        return
    yield from _inputs(evidence, reading)
    for code in reading.codes:
        yield from _asked(code, evidence, reading)


def _enables(code: Code) -> bool:
    """Whether the text turns x64 on itself, for a part or for all of it."""
    return "enable_x64" in code.source.text or "experimental.x64" in code.source.text


def _inputs(evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    wide: dict[str, str] = {}
    together = 0
    for program in evidence.record.programs:
        for value in program.inputs:
            given = next((w for w in _WIDE if value.reason == f"NumPy array of {w}"), None)
            if given is not None and value.kind in (ValueKind.TRACED, ValueKind.DONATED):
                wide[root(value.name)] = given
                together += value.bytes or 0
    if together < WIDE_BYTES:
        return
    variables = list(wide)
    given = wide[variables[0]]
    line = min(
        (
            node.lineno
            for code in reading.codes[:1]
            for node in ast.walk(code.tree)
            if isinstance(node, ast.Name) and node.id == variables[0]
        ),
        default=None,
    )
    yield Finding(
        FindingKind.FLOAT64_DISABLED,
        line,
        f"{names(variables)} {'is' if len(variables) == 1 else 'are'} NumPy {given}, and JAX "
        f"computes with {_WIDE[given]}.",
        "For 64 bits run with `--x64` or set `jax.config.update('jax_enable_x64', True)`; else "
        f"convert before: `{variables[0]} = {variables[0]}.astype({_WIDE[given]!r})`.",
        "`jax_enable_x64` is off, and NumPy makes "
        f"{given} unless told otherwise, so a comparison with NumPy compares two precisions.",
    )


def _asked(code: Code, evidence: Evidence, reading: Reading) -> Iterator[Finding]:
    done: set[int] = set()
    for node in ast.walk(code.tree):
        if not isinstance(node, ast.Call) or not _counts(code, node, reading):
            continue
        called = reading.dotted(node.func)
        if called.rpartition(".")[2] in _QUESTIONS:
            continue
        wide = next((w for a in _types(node) if (w := _wide(a, called, node, reading))), "")
        if not wide or node.lineno in done:
            continue
        done.add(node.lineno)
        yield Finding(
            FindingKind.FLOAT64_DISABLED,
            node.lineno,
            f"`{ast.unparse(node)[:60]}` asks for {wide} and gets {_WIDE[wide]}.",
            "Run with `--x64` or set `jax.config.update('jax_enable_x64', True)` before the first "
            f"array; or ask for {_WIDE[wide]}, which is what you have.",
            "`jax_enable_x64` is off, so JAX cuts 64-bit types down to 32 bits.",
            code.index,
        )


def _counts(code: Code, node: ast.Call, reading: Reading) -> bool:
    """Whether the call was run: all of the cell counts, of other sources only traced functions."""
    if code.index == 0:
        return True
    return any(
        scope.source == code.index
        and scope.body[0].lineno <= node.lineno <= (scope.body[-1].end_lineno or 0)
        for scope in reading.scopes
    )


def _types(node: ast.Call) -> list[ast.expr]:
    named = [k.value for k in node.keywords if k.arg == "dtype"]
    return [*named, *node.args]


def _wide(argument: ast.expr, called: str, call: ast.Call, reading: Reading) -> str:
    """`float64` if this argument asks JAX for it."""
    module, _, name = reading.dotted(argument).rpartition(".")
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
