"""Repeated recompilation ("storms"): compilations of one line as one row, with pattern and fix."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jaxscope.analysis.compiles.causes.no_difference import PLACE_IT
from jaxscope.analysis.compiles.series import ValueSeries, describe, listed
from jaxscope.model import CauseKind, Compile, CompileKind
from jaxscope.model.compile_log import Storm

LEAST = 3
"""Compilations of one line that make a storm: two are a compilation and its recompilation."""

_MANY = 8
"""Recompilations of one line that make a storm, whatever their causes, and compilations of one
eager operation."""

LineKey = tuple[str, int, str | int | None]

_SHAPES = frozenset({CauseKind.SHAPE, CauseKind.RANK, CauseKind.EAGER_SHAPE, CauseKind.VMAP_SIZE})
_WITH_VALUES = _SHAPES | {CauseKind.STATIC_VALUE, CauseKind.STRUCTURE}
_JIT_IT = (
    "Put the line into a function under `jax.jit`, so that it compiles as one program, unless "
    "its sizes depend on values."
)
_KEEP_SIZE = (
    "Keep the array at its final size and mask the unfilled part, or move the loop into `lax.scan` "
    "or `lax.fori_loop`."
)
_GROWING = (
    "Pad `{0}` to a few fixed lengths, such as powers of two, and pass the true length. Or "
    "allocate its final size once and fill it with `.at[i].set(…)` in a `lax.scan`."
)
_SHAPE = "Pad `{0}` to a few fixed shapes (buckets) and mask the padding."
_STATIC = (
    "Trace `{0}` (remove it from the static arguments), unless a shape or a Python branch depends "
    "on it; otherwise keep to a few values."
)
_HOIST = (
    "Create the function once, outside the loop, and pass what changes as an argument: JAX caches "
    "programs by function identity."
)
_BODY = "Define the body once, outside the loop, or put the call into a function under `jax.jit`."

_PATTERNS: dict[CauseKind | None, tuple[str, str]] = {
    CauseKind.NEW_FUNCTION: ("a new `{0}` each time", _HOIST),
    CauseKind.CLOSURE: ("a new `{0}` each time, closing over a different value", _HOIST),
    CauseKind.REDEFINED: ("`{0}` is redefined each time", ""),
    CauseKind.EAGER_BODY: ("a new body for `{0}` each time", _BODY),
    CauseKind.STATIC_IDENTITY: ("a different static object each time", ""),
    CauseKind.FUNCTION_COLLECTED: ("`{0}` was garbage-collected and recreated each time", _HOIST),
    CauseKind.CACHE_CLEARED: ("the caches were cleared each time", ""),
    CauseKind.CALL_STYLE: ("the arguments are passed in different ways", ""),
    CauseKind.STRUCTURE: ("the pytree structure (treedef) of an argument changes", ""),
    CauseKind.DTYPE: ("the dtypes of the arguments change", ""),
    CauseKind.WEAK_TYPE: ("Python scalars and arrays alternate", ""),
    CauseKind.DEVICE: ("the device changes", ""),
    CauseKind.SHARDING: ("the sharding changes", ""),
    CauseKind.CONTEXT: ("a config setting of JAX changes", ""),
}


def storms(compiles: Sequence[Compile]) -> tuple[Storm, ...]:
    """The storms among the compilations, in the order they began.

    A group is the eager operations of one line, or the compilations of one function there. Eager
    operations make a storm where one of them compiles again and again: a few shapes, such as those
    of the parameters of a network, are ordinary work.
    """
    groups: dict[LineKey, list[Compile]] = {}
    for compile in compiles:
        key = line_of(compile)
        if key is not None:
            groups.setdefault(key, []).append(compile)
    return tuple(
        _storm(group) for group in groups.values() if len(group) >= LEAST and _of_one_kind(group)
    )


def line_of(compile: Compile) -> LineKey | None:
    """The key of a group: file, line, and the function or the cell; None for an unknown place.

    Eager operations compile once per shape, so that each run of a cell counts for itself.
    """
    if compile.site is None:
        return None
    eager = compile.kind is CompileKind.EAGER
    of = compile.cell if eager else compile.fun_name
    return compile.site.file, compile.site.span.line, of


def _of_one_kind(group: Sequence[Compile]) -> bool:
    """Whether at least half of the recompilations have one cause, or there are very many."""
    if group[0].kind is CompileKind.EAGER:
        return _repeats(group)
    kinds = [compile.causes[0].kind for compile in group if compile.differs]
    if not kinds or len(kinds) >= _MANY:
        return True
    most = Counter(kinds).most_common(1)[0][1]
    return most >= 2 and 2 * most >= len(kinds)


def _repeats(group: Sequence[Compile]) -> bool:
    """Whether one eager operation of a line compiles again and again."""
    sharded = [compile for compile in group if any(c.fix == PLACE_IT for c in compile.causes)]
    bodies = [c for c in group if any(cause.kind is CauseKind.EAGER_BODY for cause in c.causes)]
    most = max(Counter(compile.fun_name for compile in group).values())
    return most >= _MANY or max(len(sharded), len(bodies)) >= LEAST


def _storm(group: Sequence[Compile]) -> Storm:
    if group[0].kind is CompileKind.EAGER:
        pattern, fix = _eager(group)
    else:
        pattern, fix = _with_exceptions(group, *_function(group))
    return Storm(tuple([compile.serial for compile in group]), pattern, fix)


def _with_exceptions(group: Sequence[Compile], pattern: str, fix: str) -> tuple[str, str]:
    """The pattern, and the first cause that it does not explain."""
    kind = _main_kind(group)
    others = [c for c in group if c.differs and c.causes[0].kind is not kind]
    if not others:
        return pattern, fix
    reason = others[0].causes[0]
    text = reason.text.rstrip(".")
    exceptions = "once" if len(others) == 1 else f"{len(others)} times"
    fixes = dict.fromkeys(filter(None, (fix, reason.fix)))
    return f"{pattern}; {exceptions} for a different reason: {text}", " ".join(fixes)


def _eager(group: Sequence[Compile]) -> tuple[str, str]:
    sharded = [compile for compile in group if any(c.fix == PLACE_IT for c in compile.causes)]
    others = [compile for compile in group if compile not in sharded]
    if sharded and not (others and _repeats(others)):
        arrays = [_split(one)[1] for compile in sharded for one in compile.signature[:1]]
        which = f" ({listed(tuple(dict.fromkeys(arrays)))})" if arrays else ""
        return f"JAX shards inputs over their devices{which}", PLACE_IT
    if sharded:  # beside operations of the user's, which can be changed
        return _eager(others)
    counts = Counter(compile.fun_name for compile in group)
    name, most = counts.most_common(1)[0]
    bodies = [c for c in group if any(cause.kind is CauseKind.EAGER_BODY for cause in c.causes)]
    if most < _MANY and bodies:
        name, most = bodies[0].fun_name, len(bodies)
    same = [compile for compile in group if compile.fun_name == name]
    series = _series(same)
    others = f", in {len(counts)} operations" if len(counts) > 1 else f", in `{name}`"
    if series is not None:
        path, found = series
        causes = [cause for compile in same for cause in compile.causes if cause.path == path]
        static = {cause.kind for cause in causes} == {CauseKind.STATIC_VALUE}
        if not found.regular and (static or len(counts) > 1):
            # Requested shapes, or the leaves of a tree: no array can be padded.
            return f"`{name}` {most} times{others}" if not static else found.text + others, _JIT_IT
        return found.text + others, _KEEP_SIZE if found.regular else _SHAPE.format(path)
    pattern, fix = _PATTERNS.get(_main_kind(same), (f"`{{0}}` {most} times", ""))
    return pattern.format(name), fix or _last(same, "fix") or _JIT_IT


def _function(group: Sequence[Compile]) -> tuple[str, str]:
    name, kind = group[0].fun_name, _main_kind(group)
    pattern, fix = _PATTERNS.get(kind, ("", ""))
    series = None if pattern and kind is not CauseKind.STRUCTURE else _series(group)
    if series is None:
        pattern = pattern.format(name) or _last(group, "text").rstrip(".")
        return pattern or f"`{name}` {len(group)} times", fix or _last(group, "fix")
    path, found = series
    arguments = [_split(argument) for compile in group for argument in compile.signature]
    root = re.split(r"[.\[]", path)[0]
    static = any(name == root and is_static for name, _, is_static in arguments)
    if kind is CauseKind.STATIC_VALUE and root in [name for name, _, s in arguments if not s]:
        return found.text, _last(group, "fix")  # a static field of a traced argument
    if kind is CauseKind.STATIC_VALUE or (kind is None and static):
        return found.text, _STATIC.format(path)
    return found.text, (_GROWING if found.regular else _SHAPE).format(path)


def _main_kind(group: Sequence[Compile]) -> CauseKind | None:
    """The most frequent first cause of the recompilations."""
    kinds = Counter(
        compile.causes[0].kind for compile in group if compile.causes and compile.differs
    )
    if kinds:
        return kinds.most_common(1)[0][0]
    # Several first calls of one name on one line: each created its own function.
    first = [c for c in group if any(cause.kind is CauseKind.FIRST_CALL for cause in c.causes)]
    return CauseKind.NEW_FUNCTION if len(first) >= LEAST else None


def _series(group: Sequence[Compile]) -> tuple[str, ValueSeries] | None:
    """The argument with the most values, and the series of these values."""
    by_path: dict[str, list[str]] = {}
    for compile in group:
        for cause in compile.causes:
            if cause.path and cause.after and cause.kind in _WITH_VALUES:
                values = by_path.setdefault(cause.path, [cause.before] if cause.before else [])
                values.append(cause.after)
    if not by_path:
        # The causes name no argument: by the signatures.
        for argument in (argument for compile in group for argument in compile.signature):
            path, value, _ = _split(argument)
            by_path.setdefault(path, []).append(value)
    changed = {path: len(set(values)) for path, values in by_path.items() if len(set(values)) > 1}
    if not changed:
        return None
    path = max(changed, key=changed.__getitem__)
    found = describe(path, by_path[path])
    own = [c.after for one in group for c in one.causes if c.path == path and c.after]
    if group[0].differs and len(set(own)) >= LEAST:
        # The value before the first one belongs to a different line.
        found = describe(path, own)
    return None if found is None else (path, found)


def _split(argument: str) -> tuple[str, str, bool]:
    """Name, value and whether it is static, of `x: f32[3]` or `n=3`."""
    name, colon, value = argument.partition(": ")
    if colon and "=" not in name:
        return name, value, False
    name, _, value = argument.partition("=")
    return name, value, True


def _last(group: Sequence[Compile], field: Literal["fix", "text"]) -> str:
    found = (getattr(c, field) for one in reversed(group) for c in one.causes)
    return next(filter(None, found), "")


@dataclass(frozen=True, slots=True)
class StormUpdate:
    """The change of one storm since its last update."""

    storm: int
    """Counts the storms, from 1."""
    serials: tuple[int, ...]
    """The compilations that joined it."""
    pattern: str
    """The change from one compilation to the next; empty when they no longer have a pattern in
    common, so that each stays its own entry."""
    fix: str


@dataclass(slots=True)
class _Line:
    compiles: list[Compile]
    reported: int = 0
    """Number of them in earlier updates."""
    storm: int = 0
    """0 while it is not a storm."""


class LiveStorms:
    """The compilations that one subscriber received, by line."""

    def __init__(self) -> None:
        self._lines: dict[LineKey, _Line] = {}
        self._changed: dict[LineKey, None] = {}
        self._count = 0

    def add(self, compile: Compile) -> None:
        """Add a successful compilation; its serial gives its position."""
        key = line_of(compile)
        if key is None:
            return
        self._lines.setdefault(key, _Line([])).compiles.append(compile)
        self._changed[key] = None

    def updates(self) -> tuple[StormUpdate, ...]:
        """The storms that changed since the last call."""
        changed, self._changed = self._changed, {}
        found = [self._update(self._lines[key]) for key in changed]
        return tuple([one for one in found if one is not None])

    def _update(self, line: _Line) -> StormUpdate | None:
        if len(line.compiles) < LEAST:
            return None
        made = storms(sorted(line.compiles, key=lambda compile: compile.serial))
        if not made and not line.storm:
            return None
        if not line.storm:
            self._count += 1
            line.storm = self._count
        joined = tuple([compile.serial for compile in line.compiles[line.reported :]])
        line.reported = len(line.compiles)
        pattern, fix = (made[0].pattern, made[0].fix) if made else ("", "")
        return StormUpdate(line.storm, joined, pattern, fix)
