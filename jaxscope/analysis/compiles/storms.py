"""Storms: many compiles from one line, told as one, with the pattern and what to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from jaxscope.analysis.compiles.causes import PLACE_IT
from jaxscope.analysis.compiles.series import Series, describe, listed
from jaxscope.model import Cause, CauseKind, Compile, CompileKind
from jaxscope.model.compile_log import Storm

LEAST = 3
"""Compiles of one line from which they are one row: two are a compile and its recompile."""

_MANY = 8
"""Recompiles of one line from which they are one row, whatever their reasons."""

_SHAPES = frozenset({CauseKind.SHAPE, CauseKind.RANK, CauseKind.EAGER_SHAPE, CauseKind.VMAP_SIZE})
_JIT_IT = "Put the line into a function under `jax.jit`: then it is one program."
_KEEP_SIZE = (
    "Keep the array at its final size and mask what is not filled yet, or move the loop into one "
    "jitted function with `lax.scan` or `lax.fori_loop`."
)
_GROWING = (
    "Pad `{0}` to a few fixed lengths (the next power of two, say) and pass the true length as an "
    "argument, or keep `{0}` at its final size and fill it with `.at[i].set(…)` in a `lax.scan`."
)
_SHAPE = "Pad `{0}` to a few fixed shapes (buckets) and mask the rest."
_STATIC = (
    "Let `{0}` be traced (take it out of the static arguments) if no shape and no Python `if` "
    "depends on it; else call with few different values."
)
_HOIST = (
    "Make the function once, outside the loop, and pass what changes as an argument: JAX knows a "
    "function by its identity."
)
_BODY = "Define the body once, outside the loop, or put the whole call into one jitted function."

_NEW: dict[CauseKind, tuple[str, str]] = {
    CauseKind.NEW_FUNCTION: ("a new `{0}` each time", _HOIST),
    CauseKind.CLOSURE: ("a new `{0}` each time, with another value closed over", _HOIST),
    CauseKind.REDEFINED: ("`{0}` is defined anew each time", ""),
    CauseKind.EAGER_BODY: ("a new body for `{0}` each time", _BODY),
    CauseKind.STATIC_IDENTITY: ("another static object each time", ""),
    CauseKind.FUNCTION_COLLECTED: ("`{0}` had been freed and was made again each time", _HOIST),
    CauseKind.CACHE_CLEARED: ("the caches were cleared each time", ""),
    CauseKind.CALL_STYLE: ("the arguments are passed in different ways", ""),
    CauseKind.STRUCTURE: ("the structure of an argument changes", ""),
    CauseKind.DTYPE: ("the types of the arguments change", ""),
    CauseKind.WEAK_TYPE: ("Python numbers and arrays take turns", ""),
    CauseKind.DEVICE: ("the device changes", ""),
    CauseKind.SHARDING: ("the sharding changes", ""),
    CauseKind.CONTEXT: ("a setting of JAX changes", ""),
}


def storms(compiles: Sequence[Compile], least: int = LEAST) -> tuple[Storm, ...]:
    """The storms among the compiles, in the order they began.

    A group is the eager operations of one line, or the compiles of one function from one line.
    """
    groups: dict[tuple[str, int, str], list[Compile]] = {}
    for compile in compiles:
        key = line_of(compile)
        if key is not None:
            groups.setdefault(key, []).append(compile)
    return tuple(
        _storm(group) for group in groups.values() if len(group) >= least and _of_one_kind(group)
    )


def line_of(compile: Compile) -> tuple[str, int, str] | None:
    """What the compiles of one group have in common; None where the place is not known."""
    if compile.site is None:
        return None
    name = "" if compile.kind is CompileKind.EAGER else compile.fun_name
    return compile.site.file, compile.site.span.line, name


def _of_one_kind(group: Sequence[Compile]) -> bool:
    """Whether half of the recompiles or more have one reason; else each is told by itself.

    A line that stands in many cells' loops for many reasons is told once all the same.
    """
    kinds = [compile.causes[0].kind for compile in group if compile.is_recompile]
    if group[0].kind is CompileKind.EAGER or not kinds or len(kinds) >= _MANY:
        return True
    most = Counter(kinds).most_common(1)[0][1]
    return most >= 2 and 2 * most >= len(kinds)


def _storm(group: Sequence[Compile]) -> Storm:
    if group[0].kind is CompileKind.EAGER:
        pattern, fix = _eager(group)
    else:
        pattern, fix = _with_exceptions(group, *_function(group))
    return Storm(tuple([compile.serial for compile in group]), pattern, fix)


def _with_exceptions(group: Sequence[Compile], pattern: str, fix: str) -> tuple[str, str]:
    """The pattern, and the reason of those that it does not explain."""
    kind = _main_kind(group)
    others = [c for c in group if c.is_recompile and c.causes[0].kind is not kind]
    if not others:
        return pattern, fix
    reason = others[0].causes[0]
    text = reason.text.rstrip(".")
    exceptions = "once" if len(others) == 1 else f"{len(others)} times"
    fixes = dict.fromkeys(filter(None, (fix, reason.fix)))
    return f"{pattern}; and {exceptions} for another reason: {text}", " ".join(fixes)


def _eager(group: Sequence[Compile]) -> tuple[str, str]:
    cut = [compile for compile in group if any(c.fix == PLACE_IT for c in compile.causes)]
    if 2 * len(cut) > len(group):
        return _cut(cut), PLACE_IT
    if cut:  # JAX's own work beside operations of the user's, which can be changed
        return _eager([compile for compile in group if compile not in cut])
    counts = Counter(compile.fun_name for compile in group)
    name, most = counts.most_common(1)[0]
    if most < LEAST:
        return _operations(tuple(counts)), _JIT_IT
    same = [compile for compile in group if compile.fun_name == name]
    series = _series(same)
    others = f", in {len(counts)} operations" if len(counts) > 1 else f", in `{name}`"
    if series is not None:
        path, found = series
        causes = [cause for compile in same for cause in compile.causes if cause.path == path]
        static = {cause.kind for cause in causes} == {CauseKind.STATIC_VALUE}
        if static and not found.regular:  # the shape that is asked for, say: no array to pad
            return found.text + others, _JIT_IT
        return found.text + others, _KEEP_SIZE if found.regular else _SHAPE.format(path)
    kind = _main_kind(same)
    if kind is not None and kind in _NEW:
        pattern, fix = _NEW[kind]
        return pattern.format(name), fix or _last_fix(same) or _JIT_IT
    return f"`{name}` {most} times", _last_fix(same) or _JIT_IT


def _cut(group: Sequence[Compile]) -> str:
    arrays = [_split(one)[1] for compile in group for one in compile.signature[:1]]
    which = f" ({listed(tuple(dict.fromkeys(arrays)))})" if arrays else ""
    return f"JAX cuts inputs into pieces for their devices{which}"


def _operations(names: Sequence[str]) -> str:
    if len(names) == 1:
        return f"`{names[0]}`"
    return f"{len(names)} different operations ({listed(names)})"


def _function(group: Sequence[Compile]) -> tuple[str, str]:
    name, kind = group[0].fun_name, _main_kind(group)
    if kind is not None and kind in _NEW and kind is not CauseKind.STRUCTURE:
        pattern, fix = _NEW[kind]
        return pattern.format(name), fix or _last_fix(group)
    series = _series(group)
    if series is None:
        known = _NEW.get(kind) if kind is not None else None
        pattern = known[0].format(name) if known is not None else _last_text(group)
        return pattern or f"`{name}` {len(group)} times", _last_fix(group)
    path, found = series
    if kind is CauseKind.STATIC_VALUE or (kind is None and _is_static(path, group)):
        return found.text, _STATIC.format(path)
    return found.text, (_GROWING if found.regular else _SHAPE).format(path)


def _main_kind(group: Sequence[Compile]) -> CauseKind | None:
    """The kind of most causes; of each compile the first one counts."""
    kinds = Counter(
        compile.causes[0].kind for compile in group if compile.causes and compile.is_recompile
    )
    if kinds:
        return kinds.most_common(1)[0][0]
    # Several first calls of one name on one line: each made its own function.
    first = [c for c in group if any(cause.kind is CauseKind.FIRST_CALL for cause in c.causes)]
    return CauseKind.NEW_FUNCTION if len(first) >= LEAST else None


def _series(group: Sequence[Compile]) -> tuple[str, Series] | None:
    """The argument that changed most often, and its row of values."""
    by_path: dict[str, list[str]] = {}
    for compile in group:
        for cause in compile.causes:
            if cause.path and cause.after and (cause.kind in _SHAPES or _has_value(cause)):
                values = by_path.setdefault(cause.path, [cause.before] if cause.before else [])
                values.append(cause.after)
    if not by_path:
        by_path = _by_signature(group)
    changed = {path: len(set(values)) for path, values in by_path.items() if len(set(values)) > 1}
    if not changed:
        return None
    path = max(changed, key=changed.__getitem__)
    found = describe(path, by_path[path])
    own = [c.after for one in group for c in one.causes if c.path == path and c.after]
    if group[0].is_recompile and len(set(own)) >= LEAST:
        # The value before the first one is another line's.
        found = describe(path, own)
    return None if found is None else (path, found)


def _has_value(cause: Cause) -> bool:
    return cause.kind in (CauseKind.STATIC_VALUE, CauseKind.STRUCTURE)


def _by_signature(group: Sequence[Compile]) -> dict[str, list[str]]:
    """Where no cause says what changed: the arguments of the signatures."""
    by_path: dict[str, list[str]] = {}
    for compile in group:
        for argument in compile.signature:
            path, value, _ = _split(argument)
            by_path.setdefault(path, []).append(value)
    return by_path


def _split(argument: str) -> tuple[str, str, bool]:
    """Name, value and whether it is static: of `x: f32[3]` or `n=3`."""
    name, colon, value = argument.partition(": ")
    if colon and "=" not in name:
        return name, value, False
    name, _, value = argument.partition("=")
    return name, value, True


def _is_static(path: str, group: Iterable[Compile]) -> bool:
    return any(
        name == path and static
        for compile in group
        for name, _, static in map(_split, compile.signature)
    )


def _last_fix(group: Sequence[Compile]) -> str:
    return next((c.fix for one in reversed(group) for c in one.causes if c.fix), "")


def _last_text(group: Sequence[Compile]) -> str:
    text = next((c.text for one in reversed(group) for c in one.causes if c.text), "")
    return text.rstrip(".")
