"""Patterns of repeated recompilation, each with the number of those that it explains."""

from collections import Counter
from collections.abc import Iterable, Sequence

from jaxscope import words
from jaxscope.analysis.compiles.series import ValueSeries, describe, listed
from jaxscope.model import Cause, CauseKind, Compile
from jaxscope.model.compiles import FIRST_TIMES

_SHAPES = frozenset({CauseKind.SHAPE, CauseKind.RANK, CauseKind.EAGER_SHAPE, CauseKind.VMAP_SIZE})
_WITH_VALUES = _SHAPES | {CauseKind.STATIC_VALUE, CauseKind.STRUCTURE}
_WHOLE = frozenset({
    CauseKind.NEW_FUNCTION, CauseKind.REDEFINED, CauseKind.FUNCTION_COLLECTED, CauseKind.CLOSURE,
})  # fmt: skip
"""A new function is compiled whatever its arguments are: the first of these is the reason."""
LEAST = 3
"""Compilations of one line that make a storm: two are a compilation and its recompilation."""
_MOST = 3
"""Reasons of one line that are named."""
_PATHS = 2
"""Arguments that are named where each recompilation may have its own."""
_FIXES = 2
"""Fixes of one reason that are shown, where its recompilations have different ones."""

SHRINKING = "Pad `{0}` to a few fixed lengths, such as powers of two, and pass the true length."
GROWING = (
    f"{SHRINKING} Or allocate its final size once and fill it with `.at[i].set(…)` in a `lax.scan`."
)
SHAPE = "Pad `{0}` to a few fixed shapes (buckets) and mask the padding."
_STATIC = (
    "Trace `{0}` (remove it from the static arguments), unless a shape or a Python branch depends "
    "on it; otherwise keep to a few values."
)
_HOIST = (
    "Create the function once, outside the loop, and pass what changes as an argument: JAX caches "
    "programs by function identity."
)
_STRONG = (
    "Give every argument its dtype before the first call: an array by `jnp.asarray(x, x.dtype)`, a "
    "Python scalar by `jnp.asarray(value, jnp.float32)`."
)
_BODY = "Define the body once, outside the loop, or put the call into a function under `jax.jit`."

PATTERNS: dict[CauseKind | None, tuple[str, str]] = {
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
    CauseKind.WEAK_TYPE: ("weak types of the arguments change", _STRONG),
    CauseKind.DEVICE: ("the device changes", ""),
    CauseKind.SHARDING: ("the sharding changes", ""),
    CauseKind.CONTEXT: ("a config setting of JAX changes", ""),
}
_OF_ARGUMENTS = frozenset({
    CauseKind.STATIC_IDENTITY, CauseKind.STRUCTURE, CauseKind.DTYPE, CauseKind.WEAK_TYPE,
    CauseKind.DEVICE, CauseKind.SHARDING, CauseKind.CONTEXT,
})  # fmt: skip
"""Patterns that leave open which arguments or settings they are of."""

Reason = tuple[CauseKind | None, str]
"""A kind of cause, and the argument where that counts. All changes of the value or the shape of one
argument are one reason, without a kind."""


def reasons(compile: Compile) -> list[Reason]:
    """The reasons of a recompilation, each once."""
    found = [cause for cause in compile.causes if cause.kind not in FIRST_TIMES]
    if found and found[0].kind in _WHOLE:
        found = [found[0], *[cause for cause in found if cause.kind not in _WHOLE]]
    return list(dict.fromkeys(map(_reason, found)))


def _reason(cause: Cause) -> Reason:
    if cause.kind in _SHAPES or cause.kind is CauseKind.STATIC_VALUE:
        return None, cause.path
    return cause.kind, "" if cause.kind in PATTERNS else cause.path


def explained(group: Sequence[Compile]) -> tuple[str, str]:
    """The patterns of the recompilations of one function on one line, and the fixes."""
    again = [compile for compile in group if compile.differs]
    if not again:
        return _unexplained(group)
    counts = Counter(reason for compile in again for reason in reasons(compile))
    members = {r: [c for c in again if r in reasons(c)] for r, _ in counts.most_common()}
    texts: list[str] = []
    fixes: dict[str, list[str]] = {}  # the arguments of each
    elsewhere, of = group[0].differs, f" of {len(again)} recompilations"
    stated: set[Reason] = set()
    for reason, mine in members.items():
        if reason in stated or len(texts) == _MOST:
            continue
        alike = [r for r, others in members.items() if r[0] is reason[0] is None and others == mine]
        alike = [r for r in alike if r not in stated] or [reason]
        widest = max(alike, key=lambda r: len({c.after for c in _causes(mine, r)}))
        causes = _causes(mine, widest)
        if len(mine) == 1 < len(again):
            text, fix, path = causes[-1].text.rstrip("."), causes[-1].fix, ""
        else:
            name = group[0].fun_name
            text, fix, path = _pattern(name, widest[0], causes, elsewhere=elsewhere)
        # Not their number: arguments that change alike are one cause.
        if beside := [path for _, path in alike if path not in ("", widest[1])]:
            text += f", and `{beside[0]}`{' and others' if len(beside) > 1 else ''} with it"
        if len(mine) < len(again) and len(mine) > 1:
            text, of = f"{text} in {len(mine)}{of}", ""
        elif len(mine) < len(again):
            text = f"once: {text}"
        if len(mine) < len(again):
            text = text.replace(" each time", "")
        stated.update(alike)
        texts.append(text)
        fixes.setdefault(fix, []).append(path)
    if rest := [compile for compile in again if not stated.issuperset(reasons(compile))]:
        texts.append(f"{len(rest)} for further reasons")
    named = [fix.format("` and `".join(paths)) if paths[0] else fix for fix, paths in fixes.items()]
    said = [fix for fix in named if not any(fix != other and fix in other for other in named)]
    return "; ".join(texts), " ".join(filter(None, said))


def _pattern(
    name: str, kind: CauseKind | None, causes: Sequence[Cause], *, elsewhere: bool
) -> tuple[str, str, str]:
    """The clause and the fix of one reason, and the argument where the fix has a place for it.

    `elsewhere`: the series begins after a call on a different line.
    """
    fix = next((cause.fix for cause in reversed(causes) if cause.fix), "")
    kinds, paths = {cause.kind for cause in causes}, {cause.path for cause in causes}
    values = [cause.after for cause in causes if cause.after]
    if not (elsewhere and len(set(values)) >= LEAST):
        values = [value for one in causes for value in (one.before, one.after) if value]
    one = kind in (None, CauseKind.STRUCTURE) and len(paths) == 1
    noun = "structures" if kind is CauseKind.STRUCTURE else "values"
    found = describe(causes[0].path, values, noun) if one and causes[0].path else None
    if found is not None:
        if kinds & _SHAPES or (found.regular and CauseKind.STRUCTURE in kinds):
            return found.text, _padding(found), causes[0].path
        return found.text, fix, ""
    if len(paths) > 1:
        fix = " ".join(list(dict.fromkeys(cause.fix for cause in causes if cause.fix))[:_FIXES])
    if kind is CauseKind.NEW_FUNCTION and len({c.text for c in causes}) == 1 and "jax.jit(" in fix:
        return causes[-1].text.rstrip("."), fix, ""  # it names the call that returns a new one
    if kind is CauseKind.REDEFINED and not any(paths):
        texts = tuple(dict.fromkeys(cause.text.rstrip(".") for cause in causes))
        return "; ".join(texts[:_PATHS]), fix, ""
    if kind in PATTERNS:
        text, own = PATTERNS[kind]
        text, which = text.format(name), dict.fromkeys(one.path for one in causes if one.path)
        if kind in _OF_ARGUMENTS and which:
            text += f" ({words.names(tuple(which), _PATHS)})"
        return text, own or fix, ""
    briefs = tuple(dict.fromkeys(cause.brief for cause in causes))
    return causes[-1].text.rstrip(".") if len(briefs) == 1 else listed(briefs), fix, ""


def _causes(group: Iterable[Compile], reason: Reason) -> list[Cause]:
    return [cause for one in group for cause in one.causes if _reason(cause) == reason]


def _unexplained(group: Sequence[Compile]) -> tuple[str, str]:
    """The pattern of compilations that were not compared with each other."""
    found = widest_series(group)
    if found is None:
        return f"`{group[0].fun_name}` {len(group)} times", ""
    path, values = found
    given = [split(argument) for compile in group for argument in compile.signature]
    if any(name == path and is_static for name, _, is_static in given):
        return values.text, _STATIC.format(path)
    return values.text, _padding(values).format(path)


def main_kind(group: Sequence[Compile]) -> CauseKind | None:
    """The most frequent first cause of the recompilations."""
    kinds = Counter(compile.causes[0].kind for compile in group if compile.differs)
    return kinds.most_common(1)[0][0] if kinds else None


def widest_series(group: Sequence[Compile]) -> tuple[str, ValueSeries] | None:
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
            path, value, _ = split(argument)
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


def split(argument: str) -> tuple[str, str, bool]:
    """Name, value and whether it is static, of `x: f32[3]` or `n=3`."""
    name, colon, value = argument.partition(": ")
    if colon and "=" not in name:
        return name, value, False
    name, _, value = argument.partition("=")
    return name, value, True


def _padding(values: ValueSeries) -> str:
    if not values.regular:
        return SHAPE
    return SHRINKING if values.falls else GROWING
