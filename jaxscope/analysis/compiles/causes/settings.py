"""Differences between two calls outside their arguments: options, settings, the function itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import Function, Signature
from jaxscope.model import CauseKind

_DONATE = ("donate_argnums", "donate_argnames")
_X64 = "jax_enable_x64"
_DEFAULT_DEVICE = "jax_default_device"
_MESH = "mesh"
_BY_PYTHON = (CauseKind.DTYPE, CauseKind.WEAK_TYPE, CauseKind.VALUE_KIND)


_CELL = re.compile(r"^<ipython-input-(\d+)-")


def at(file: str, line: int) -> str:
    """`helpers.py:12`, or for a notebook's cell `In [3], line 2`."""
    if not file:
        return ""
    cell = _CELL.match(file)
    if cell is not None:
        return f"In [{cell[1]}], line {line}"
    name = file.replace("\\", "/").rsplit("/", 1)
    if "ipykernel" in name[0]:
        return f"line {line} of a cell"
    return f"{name[-1]}:{line}"


def options(a: Signature, b: Signature) -> Iterator[Difference]:
    """Options of the jit, and those for the compiler."""
    old, new = dict(a.options), dict(b.options)
    for name in {**old, **new}:
        before, after = old.get(name, "none"), new.get(name, "none")
        if before == after:
            continue
        kind = CauseKind.JIT_OPTION
        if name in _DONATE:
            kind = CauseKind.DONATION
        elif name == "compiler_options":
            kind = CauseKind.COMPILER_OPTION
        yield Difference(kind, name, before, after)


def context(a: Signature, b: Signature) -> Iterator[Difference]:
    """JAX's settings by name."""
    if a.context is b.context:
        return
    old, new = dict(a.context), dict(b.context)
    for name in {**old, **new}:
        before, after = old.get(name, "none"), new.get(name, "none")
        if before != after:
            yield Difference(CauseKind.CONTEXT, name, before, after)


def without_consequences(found: list[Difference]) -> list[Difference]:
    """Leaves out what another setting brings with it."""
    settings = {d.path for d in found if d.kind is CauseKind.CONTEXT}
    if _X64 in settings:
        # Under x64 a Python float is f64: nobody changed the argument.
        found = [d for d in found if d.kind not in _BY_PYTHON]
    if _DEFAULT_DEVICE in settings:
        found = [d for d in found if d.kind is not CauseKind.DEVICE]
    if _MESH in settings:
        found = [d for d in found if d.kind is not CauseKind.CONTEXT or d.path == _MESH]
    return found


def functions(a: Function, b: Function, *, elsewhere: bool, dead: bool) -> Iterator[Difference]:
    """Why JAX takes `b` for another function than `a`, which has the same name or the same code.

    `elsewhere`: it was called from another line. `dead`: Python had collected `a` by then.
    """
    if a.serial == b.serial:
        return
    if a.origin and a.origin == b.origin:
        # A cell that is one program: each run makes its function anew, and JAX is asked to compile
        # only what differs.
        if a.text != b.text:
            yield Difference(CauseKind.REDEFINED, "", "", "", "cell")
        yield from held(a, b, CauseKind.STATIC_VALUE)
        return
    place = at(b.file, b.line)
    if a.code == b.code and b.code:
        collected = dead and elsewhere and not b.wrappers
        kind = CauseKind.FUNCTION_COLLECTED if collected else CauseKind.NEW_FUNCTION
        yield Difference(kind, b.name, "", place, " ".join(b.wrappers))
    else:
        how = "edited" if a.text != b.text else "same"
        yield Difference(CauseKind.REDEFINED, b.name, "", place, how)
    yield from held(a, b, CauseKind.CLOSURE)


def held(a: Function, b: Function, kind: CauseKind) -> Iterator[Difference]:
    """Values that the two functions carry along and that differ."""
    old = {value.name: value for value in a.held}
    for now in b.held:
        before = old.get(now.name)
        if before is not None and before.token != now.token:
            yield Difference(kind, now.name, before.text, now.text, "held")
