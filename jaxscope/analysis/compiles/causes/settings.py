"""Differences outside the arguments: the function itself, options of the jit, trace context."""

import re
from collections.abc import Iterator

from jaxscope import words
from jaxscope.analysis.compiles.causes import difference as diff
from jaxscope.analysis.compiles.causes import parts
from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import CallSignature, CapturedValue, JittedFunction
from jaxscope.model import CauseKind

MESH = "mesh"
OWNER = "self"
"""Name of the object that a method is bound to, as a captured value."""
UNNAMED = "setting "
"""Beginning of the name of a setting of which only the position in JAX's key is known."""
ABSENT = "none"
"""Instead of the value of a setting or an option that is not there."""
LEAKS = "jax_check_tracer_leaks"
_X64 = "jax_enable_x64"
_DEFAULT_DEVICE = "jax_default_device"
_OPTIONS: dict[str, diff.PlainKind] = {
    "donate_argnums": CauseKind.DONATION,
    "donate_argnames": CauseKind.DONATION,
    "donate": CauseKind.DONATION,
    "compiler_options": CauseKind.COMPILER_OPTION,
}
_LONGEST = 120
"""Characters of an option that are shown."""
_LEAD = 30
_DTYPE_KIND = re.compile(r"[a-z]+")
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


def options(a: CallSignature, b: CallSignature) -> Iterator[Difference]:
    """Options of the jit, and those for the compiler."""
    for name, *texts in _changed(a.options, b.options):
        before, after = _where_they_differ(*texts)
        if (kind := _OPTIONS.get(name)) is not None:
            yield diff.PlainChange(name, before, after, kind=kind)
        else:
            yield diff.JitOptionChange(name, before, after)


def _where_they_differ(before: str, after: str) -> tuple[str, str]:
    """Two long texts, cut to where they begin to differ."""
    if max(len(before), len(after)) <= _LONGEST:
        return before, after
    pairs = enumerate(zip(before, after, strict=False))
    same = next((i for i, (a, b) in pairs if a != b), min(len(before), len(after)))
    start = max(0, same - _LEAD)
    lead = "…" if start else ""
    return lead + words.cut(before[start:], _LONGEST), lead + words.cut(after[start:], _LONGEST)


def context(a: CallSignature, b: CallSignature) -> Iterator[Difference]:
    """JAX's settings by name."""
    if a.context is b.context:
        return
    changes = list(_changed(a.context, b.context))
    named = {change[1:] for change in changes if not change[0].startswith(UNNAMED)}
    added = [name for name, before, _ in changes if before == ABSENT and name != MESH]
    for name, before, after in changes:
        # jax 0.8 has some settings twice in its key, once without a name.
        again = name.startswith(UNNAMED) and (before, after) in named
        if not again and name not in added[1:]:  # an import adds all of its settings
            yield diff.PlainChange(name, before, after, kind=CauseKind.CONTEXT)


def _changed(
    a: tuple[tuple[str, str], ...], b: tuple[tuple[str, str], ...]
) -> Iterator[tuple[str, str, str]]:
    old, new = dict(a), dict(b)
    for name in {**old, **new}:
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        if before != after:
            yield name, before, after


def without_consequences(found: list[Difference]) -> list[Difference]:
    """Leave out what follows from a changed setting."""
    settings = {d.path for d in found if d.kind is CauseKind.CONTEXT}
    if _X64 in settings:
        # Under x64 a Python float is f64: the argument itself did not change.
        found = [d for d in found if not (d.kind is CauseKind.WEAK_TYPE or _is_wider(d))]
    if _DEFAULT_DEVICE in settings:
        found = [d for d in found if d.kind is not CauseKind.DEVICE]
    if MESH in settings:
        found = [d for d in found if d.kind is not CauseKind.CONTEXT or d.path == MESH]
    return found


def _is_wider(d: Difference) -> bool:
    """Whether it is a dtype of the same kind: f64 in place of f32."""
    if isinstance(d, diff.ScalarTypeChange):
        return d.before == d.after
    kinds = [_DTYPE_KIND.match(text) for text in (d.before, d.after)]
    return isinstance(d, diff.DtypeChange) and len({kind and kind[0] for kind in kinds}) == 1


def functions(
    a: JittedFunction, b: JittedFunction, *, elsewhere: bool, dead: bool
) -> Iterator[Difference]:
    """Differences that make `b` a different function to JAX than `a`, of the same name or code.

    `elsewhere`: it was called from a different line. `dead`: Python had collected `a` by then.
    """
    if a.object_id == b.object_id:
        return
    if a.cell_id and a.cell_id == b.cell_id:
        # A cell that is one program: each run creates its function, and JAX compiles only what
        # differs.
        if a.code_hash != b.code_hash:
            yield diff.Redefinition(b.called, code="edited", of_cell=True)
        elif reads := reread(a, b):
            yield diff.Redefinition("", code="edited", reads=reads, of_cell=True)
        return
    place = f"{b.cell}, line {b.line}" if b.cell else at(b.file, b.line)
    if a.code_id != b.code_id or not b.code_id:
        code = "edited" if a.code_hash != b.code_hash else "same"
        if code == "same" and b.is_lambda and _written(a) != _written(b):
            yield diff.NewFunction(b.name, "", place, elsewhere=True)
        else:
            reads = reread(a, b) if code == "same" else ()
            yield diff.Redefinition(
                b.name, "", place, code="edited" if reads else code, reads=reads
            )
    elif dead and elsewhere and not b.wrappers:
        yield diff.PlainChange(b.name, "", place, kind=CauseKind.FUNCTION_COLLECTED)
    else:
        owner = b.owner if a.owner_id != b.owner_id else ""
        yield diff.NewFunction(b.name, "", place, wrappers=b.wrappers, owner=owner)
    for before, now in _recaptured(a, b):
        found = parts.in_captured(before, now)
        if found.path != OWNER:  # the new function says so
            yield found


def _written(known: JittedFunction) -> tuple[str, int, int]:
    """The place of its text; a cell that runs again has a new number and the same text."""
    return _CELL.sub("", known.file), known.line, known.column


def reread(a: JittedFunction, b: JittedFunction) -> tuple[str, ...]:
    """Names that both read and that stand for something else now."""
    old = dict(a.reads)
    return tuple([name for name, token in b.reads if old.get(name, token) != token])


def _recaptured(
    a: JittedFunction, b: JittedFunction
) -> Iterator[tuple[CapturedValue, CapturedValue]]:
    old = {value.name: value for value in a.captured}
    for now in b.captured:
        before = old.get(now.name)
        if before is not None and before.token != now.token:
            yield before, now
