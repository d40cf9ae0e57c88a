"""Repeated recompilation ("storms"): compilations of one line as one row, with pattern and fix."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.analysis.compiles.causes.no_difference import PLACE_IT
from jaxscope.analysis.compiles.series import listed
from jaxscope.analysis.compiles.storm_patterns import (
    LEAST,
    PATTERNS,
    SHAPE,
    explained,
    main_kind,
    reasons,
    split,
    widest_series,
)
from jaxscope.model import CauseKind, Compile, CompileKind
from jaxscope.model.compile_log import Storm

_MANY = 8
"""Recompilations of one line that make a storm, whatever their causes, and compilations of one
eager operation."""

LineKey = tuple[str, int, str | int | None]

_JIT_IT = (
    "Put the line into a function under `jax.jit`, so that it compiles as one program, unless "
    "its sizes depend on values."
)
_FEW_SIZES = "Keep to a few sizes, or use NumPy for this line, which compiles nothing."
_KEEP_SIZE = (
    "Keep the array at its final size and mask the unfilled part, or move the loop into `lax.scan` "
    "or `lax.fori_loop`."
)


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
    """Whether at least half of the recompilations have one reason, or there are very many."""
    if group[0].kind is CompileKind.EAGER:
        return _repeats(group)
    again = [compile for compile in group if compile.differs]
    if not again:  # first calls are of different functions, or under different transforms
        return not any(c.kind is CauseKind.FIRST_CALL for one in group for c in one.causes)
    if len(again) >= _MANY:
        return True
    counts = Counter(reason for compile in again for reason in reasons(compile))
    most = max(counts.values())
    return most >= 2 and 2 * most >= len(again)


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
        pattern, fix = explained(group)
    return Storm(tuple([compile.serial for compile in group]), pattern, fix)


def _eager(group: Sequence[Compile]) -> tuple[str, str]:
    sharded = [compile for compile in group if any(c.fix == PLACE_IT for c in compile.causes)]
    others = [compile for compile in group if compile not in sharded]
    if sharded and not (others and _repeats(others)):
        arrays = [split(one)[1] for compile in sharded for one in compile.signature[:1]]
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
    if 2 * sum(compile in same for compile in bodies) > len(same):
        pattern, fix = PATTERNS[CauseKind.EAGER_BODY]
        return pattern.format(name), fix
    series = widest_series(same)
    others = f", in {len(counts)} operations" if len(counts) > 1 else f", in `{name}`"
    if series is not None:
        path, found = series
        causes = [cause for compile in same for cause in compile.causes if cause.path == path]
        static = {cause.kind for cause in causes} == {CauseKind.STATIC_VALUE}
        if path == name and len(counts) == 1:
            others = ""
        if not found.regular and (static or len(counts) > 1 or found.ranks > 1):
            # Requested shapes, or the leaves of a tree: no array can be padded.
            alone = static or len(counts) == 1
            return found.text + others if alone else f"`{name}` {most} times{others}", _JIT_IT
        arrays = all("[" in cause.after for cause in causes)
        fix = SHAPE.format(path) if arrays else _FEW_SIZES
        return found.text + others, _KEEP_SIZE if found.regular else fix
    causes = [cause for compile in same for cause in compile.causes]
    pattern, fix = PATTERNS.get(main_kind(same), (f"`{{0}}` {most} times", ""))
    own = next((cause.fix for cause in reversed(causes) if cause.fix), "")
    return pattern.format(name), fix or own or _JIT_IT


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
