"""From a recompilation of a cell to the change that its fix advises, as an edit of the text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jaxscope.analysis.variants import eager
from jaxscope.analysis.variants.hoisting import hoisted
from jaxscope.analysis.variants.padding import call_at, in_buckets
from jaxscope.analysis.variants.static_arguments import without_static
from jaxscope.model import CauseKind, Compile, CompileKind, Finding, FindingKind, Record
from jaxscope.model.source import Frame
from jaxscope.model.variants import Aim, Change

_FIRST_AXIS = re.compile(r"\(axis (\d+)\)")
_SIZE = re.compile(r"\[(\d+)")
"""Of the first axis."""
_FEW_SIZES = 2
"""Sizes that are padded to the larger one: a last batch that is smaller."""
_OPTION = re.compile(r"`-t (\w+)`")
_CALLS = "The fix is in the values that the calls pass, which are yours."
_STATICS = "The fix is in a static object that the calls pass, which is yours."
_SETTING = "A setting changes between the calls: set it once at the top."
_LEAST_EAGER = 8
"""Compilations of one eager operation on a line, as in a storm."""
_LEAST_BODIES = 3
"""Compilations of one line because a `scan` has a new body, as in a storm."""
_LEAST_CREATED = 3
"""First calls of one function on a line, which creates it each time, as in a storm."""


@dataclass(frozen=True, slots=True)
class Recompilation:
    """Compilations of one function by one line, of which some came again for a reason."""

    compiles: tuple[Compile, ...]
    """In the order they began."""

    @property
    def again(self) -> Compile:
        """The last that has a reason."""
        found = [one for one in self.compiles if one.differs]
        return found[-1] if found else self.compiles[-1]

    @property
    def kind(self) -> CauseKind:
        causes = self.again.causes
        return causes[0].kind if causes else CauseKind.UNKNOWN

    @property
    def site(self) -> Frame | None:
        return self.again.site


def recompilations(record: Record) -> tuple[Recompilation, ...]:
    """Functions that the cell compiled again with a fix, in the order in which they began.

    Of the eager operations on one line the first, since the fix is that of the line.
    """
    groups: dict[tuple[str, int, str], list[Compile]] = {}
    for one in record.compiles:
        if one.site is not None:
            key = (one.site.file, one.site.span.line, one.fun_name)
            groups.setdefault(key, []).append(one)
    known = any(one.kind is FindingKind.EAGER for one in record.findings)
    found: dict[tuple[str, int, str], Recompilation] = {}
    for (file, line, name), group in groups.items():
        eager = group[0].kind is CompileKind.EAGER
        if _repeats(group) and not (known and eager):
            found.setdefault((file, line, "" if eager else name), Recompilation(tuple(group)))
    return tuple(found.values())


def _repeats(group: Sequence[Compile]) -> bool:
    if group[0].kind is CompileKind.EAGER:
        bodies = [one for one in group if any(c.kind is CauseKind.EAGER_BODY for c in one.causes)]
        return len(group) >= _LEAST_EAGER or len(bodies) >= _LEAST_BODIES
    first = [one for one in group if any(c.kind is CauseKind.FIRST_CALL for c in one.causes)]
    advised = [one for one in group if one.is_recompile and any(c.fix for c in one.causes)]
    return bool(advised) or len(first) >= _LEAST_CREATED


Rule = Callable[[Recompilation, Record], Change | str]


def created_once(found: Recompilation, record: Record) -> Change | str:
    """The function created once, before the loop or the function that creates it."""
    name, reason = found.again.fun_name, ""
    for frame in (found.again.defined, *found.again.stack):
        if frame is None or frame.source is None or frame.source >= len(record.sources):
            continue
        lines = [
            one.span.line
            for one in (found.again.defined, *found.again.stack)
            if one is not None and one.source == frame.source
        ]
        made = hoisted(record.sources[frame.source].text, lines, name)
        if not isinstance(made, str):
            return Change(made.title, made.line, frame.source, made.text, aim=Aim.COMPILATIONS)
        reason = reason or made
    return reason or "The function is created in code that is not in the report."


def traced(found: Recompilation, record: Record) -> Change | str:
    """A static argument that is traced: `-t`, or without it in `static_argnames`."""
    causes = [one for one in found.again.causes if one.kind is CauseKind.STATIC_VALUE]
    options = [option[1] for one in causes if (option := _OPTION.search(one.fix))]
    line = found.site.span.line if found.site is not None else None
    if options:
        title = f"`-t {','.join(options)}`"
        return Change(title, None, traced=tuple(options), aim=Aim.COMPILATIONS)
    names = [one.path for one in causes]
    for number, source in enumerate(record.sources):
        made = without_static(source.text, found.again.fun_name, names)
        if made:
            shown = ", ".join(f"`{name}`" for name in names)
            title = f"{shown} traced instead of static"
            return Change(title, line, number, made, aim=Aim.COMPILATIONS)
    return f"The `jax.jit` of `{found.again.fun_name}` with its static arguments is not in a cell."


def padded(found: Recompilation, record: Record) -> Change | str:
    """Arguments whose first axis changes, padded to a power of two or the larger of two sizes."""
    site = found.site
    if site is None or site.source is None or site.source >= len(record.sources):
        return "The call is in code that is not in the report."
    causes = [one for compile in found.compiles for one in compile.causes]
    shapes = [one for one in causes if one.kind is CauseKind.SHAPE]
    for one in shapes:
        axis = _FIRST_AXIS.search(one.text)
        if axis is None or axis[1] != "0":
            return f"`{one.path}` changes along another axis than the first."
    names = [one.partition(":")[0] for one in found.again.signature]
    roots = list(dict.fromkeys(re.split(r"[.\[]", one.path)[0] for one in shapes))
    text = record.sources[site.source].text
    call = call_at(text, site, found.again.fun_name)
    if call is None or any(isinstance(one, ast.Starred) for one in call.args):
        return "The line has no plain call of the function."
    given: list[ast.expr] = []
    for root in roots:
        keyword = next((one.value for one in call.keywords if one.arg == root), None)
        place = names.index(root) if root in names else len(call.args)
        if keyword is None and place >= len(call.args):
            return f"`{root}` is not an argument of the call."
        given.append(keyword or call.args[place])
    seen = {int(size) for one in shapes for size in _SIZE.findall(f"{one.before} {one.after}")}
    bucket = max(seen) if len(seen) <= _FEW_SIZES else None
    forms = [in_buckets(text, call, roots, given, bucket, cut=cut) for cut in (False, True)]
    to = "a power of two" if bucket is None else str(bucket)
    title = f"{' and '.join(f'`{root}`' for root in roots)} padded to {to}"
    first, second = [
        Change(title, site.span.line, site.source, one, aim=Aim.COMPILATIONS) for one in forms
    ]
    return Change(
        title, first.line, first.source, first.text, aim=Aim.COMPILATIONS, others=(second,)
    )


def _eager(found: Recompilation, record: Record) -> Change | str:
    site = found.site
    if site is None or site.source is None or site.source >= len(record.sources):
        return "The line is not in the report."
    finding = Finding(FindingKind.EAGER, site.span.line, "", "", "", source=site.source)
    made = eager.one_jit(finding, record.sources[site.source].text)
    if isinstance(made, str):
        return made
    return Change(made.title, made.line, made.source, made.text, aim=Aim.COMPILATIONS)


_VARIANTS: Mapping[CauseKind, Rule | str] = {
    CauseKind.NEW_FUNCTION: created_once,
    CauseKind.REDEFINED: created_once,
    CauseKind.FUNCTION_COLLECTED: created_once,
    CauseKind.CLOSURE: created_once,
    CauseKind.CONTEXT: _SETTING,
    CauseKind.CALL_STYLE: "The calls pass an argument in two ways, and both are yours.",
    CauseKind.STATIC_IDENTITY: _STATICS,
    CauseKind.STATIC_VALUE: traced,
    CauseKind.STRUCTURE: _CALLS,
    CauseKind.EAGER_BODY: _eager,
    CauseKind.EAGER_SHAPE: _eager,
    CauseKind.EAGER_OP: _eager,
    CauseKind.VMAP_SIZE: _CALLS,
    CauseKind.RANK: _CALLS,
    CauseKind.SHAPE: padded,
    CauseKind.VALUE_KIND: _CALLS,
    CauseKind.DTYPE: _CALLS,
    CauseKind.WEAK_TYPE: _CALLS,
    CauseKind.SHARDING: _CALLS,
    CauseKind.DEVICE: _CALLS,
    CauseKind.COMMITTED: _CALLS,
    CauseKind.LAYOUT: _CALLS,
    CauseKind.DONATION: _SETTING,
    CauseKind.JIT_OPTION: _SETTING,
    CauseKind.COMPILER_OPTION: _SETTING,
    CauseKind.CACHE_CLEARED: "The caches were cleared by a call.",
    CauseKind.LINKED_AGAIN: "jaxscope compiled it again, not the cell.",
    CauseKind.FIRST_CALL: created_once,
    CauseKind.UNKNOWN: "The reason is unknown.",
}
"""The rewrite of each kind of cause, or the reason why there is none."""


def change_of_recompilation(found: Recompilation, record: Record) -> Change | str:
    """The change that the fix of a recompilation advises, or the reason why none is tried."""
    rule = _VARIANTS[found.kind]
    if isinstance(rule, str):
        return rule
    try:
        return rule(found, record)
    except SyntaxError:
        return "The source is not plain Python, so it cannot be edited."
