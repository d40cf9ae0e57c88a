"""Differences between the arguments of two calls of one function."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.analysis.compiles.causes import difference as diff
from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import (
    ArgumentLeaf,
    CallSignature,
    Holder,
    StaticArgument,
    TracedArgument,
    summary,
)
from jaxscope.model import CauseKind

_LEFT_OUT = "left out"
_Value = TracedArgument | StaticArgument


def arguments(a: CallSignature, b: CallSignature) -> Iterator[Difference]:
    """Changes of the arguments from `a` to `b`, by name, in any calling style."""
    old: dict[str, _Value] = {x.name: x for x in (*a.arguments, *a.statics)}
    new: dict[str, _Value] = {x.name: x for x in (*b.arguments, *b.statics)}
    defaults = {*a.parameters, *b.parameters}
    for name, now in new.items():
        before = old.get(name)
        if before is None:
            yield _missing(name, _LEFT_OUT, _text(now), defaults)
            continue
        if before.keyword != now.keyword:
            how = ("passed by keyword", "passed by position")
            yield diff.PlainChange(
                name, how[not before.keyword], how[not now.keyword], kind=CauseKind.CALL_STYLE
            )
        if isinstance(before, StaticArgument) and isinstance(now, StaticArgument):
            if (before.token, before.type) != (now.token, now.type):
                texts = (name, before.text, now.text)
                if before.identity and now.identity and before.type == now.type:
                    yield diff.StaticIdentityChange(*texts, type=now.type)
                else:
                    yield diff.StaticValueChange(*texts)
        elif isinstance(before, TracedArgument) and isinstance(now, TracedArgument):
            yield from _traced(before, now)
        else:
            words = ("static", "traced")
            was = isinstance(before, TracedArgument)
            yield diff.JitOptionChange(name, words[was], words[not was], of_argument=True)
    for name, before in old.items():
        if name not in new:
            yield _missing(name, _text(before), _LEFT_OUT, defaults)


def _text(value: _Value) -> str:
    return value.text if isinstance(value, StaticArgument) else summary(value)


def _missing(name: str, before: str, after: str, defaults: set[str]) -> Difference:
    if name in defaults:
        before, after = (t if t == _LEFT_OUT else f"passed ({t})" for t in (before, after))
        return diff.PlainChange(name, before, after, kind=CauseKind.CALL_STYLE)
    return diff.StructureChange(name, before, after, change="argument")


def _traced(before: TracedArgument, now: TracedArgument) -> Iterator[Difference]:
    if before.structure.token == now.structure.token:
        # Leaves are interned: those that did not change are the same objects.
        for path, x, y in zip(now.structure.paths, before.leaves, now.leaves, strict=False):
            if x is not y and x != y:
                yield from _leaf(now.name + path, x, y)
        return
    yield _structure(before, now)
    old = dict(zip(before.structure.paths, before.leaves, strict=False))
    for path, y in zip(now.structure.paths, now.leaves, strict=False):
        x = old.get(path)
        if x is not None and x != y:
            yield from _leaf(now.name + path, x, y)


def _structure(before: TracedArgument, now: TracedArgument) -> Difference:
    old, new = before.structure.paths, now.structure.paths
    gone = [path for path in old if path not in set(new)]
    come = [path for path in new if path not in set(old)]
    leaves, bare = len(gone) + len(come), "" in (*old, *new)
    if not bare and bool(come) != bool(gone):
        states, change = (
            (("absent", "present"), "added") if come else (("present", "absent"), "removed")
        )
        return diff.StructureChange(
            now.name + (come or gone)[0], *states, leaves - 1, change=change, leaves=leaves
        )
    was, is_now = (summary(a) if a.is_bare else a.structure.text for a in (before, now))
    texts = _around_change(was, is_now)
    return diff.StructureChange(now.name, *texts, change="container", leaves=leaves)


def _around_change(a: str, b: str, limit: int = 70) -> tuple[str, str]:
    """Two texts cut to where they differ."""
    if max(len(a), len(b)) <= limit:
        return a, b
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    start = max(start - 10, 0)

    def cut(text: str) -> str:
        end = "…" if len(text) > start + limit else ""
        return f"{'…' if start else ''}{text[start : start + limit]}{end}"

    return cut(a), cut(b)


def _leaf(path: str, x: ArgumentLeaf, y: ArgumentLeaf) -> Iterator[Difference]:
    if len(x.shape) != len(y.shape):
        yield diff.PlainChange(path, x.text, y.text, kind=CauseKind.RANK)
    elif x.shape != y.shape:
        pairs = enumerate(zip(x.shape, y.shape, strict=True))
        yield diff.ShapeChange(
            path, x.text, y.text, axes=tuple([i for i, (p, q) in pairs if p != q])
        )
    if x.dtype != y.dtype:
        yield _dtype(path, x, y)
    elif x.weak != y.weak:
        yield diff.WeakTypeChange(path, _held(x), _held(y), dtype=x.dtype)
    yield from _placed(path, x, y)


def _dtype(path: str, x: ArgumentLeaf, y: ArgumentLeaf) -> Difference:
    python = Holder.PYTHON
    if x.holder is y.holder is python:
        return diff.ScalarTypeChange(path, _held(x), _held(y), dtypes=(x.dtype, y.dtype))
    if python in (x.holder, y.holder):
        before, after = f"{x.text} ({x.held})", f"{y.text} ({y.held})"
        cast = x.dtype if y.holder is python else y.dtype
        return diff.DtypeChange(path, before, after, cast=cast)
    return diff.DtypeChange(path, x.text, y.text, cast=x.dtype)


def _held(leaf: ArgumentLeaf) -> str:
    return (
        f"weakly typed {leaf.held}" if leaf.weak and leaf.holder is not Holder.PYTHON else leaf.held
    )


def _placed(path: str, x: ArgumentLeaf, y: ArgumentLeaf) -> Iterator[Difference]:
    spread = x.spread or y.spread
    if x.place != y.place and x.place and y.place and (x.committed or y.committed):
        kind = CauseKind.SHARDING if spread else CauseKind.DEVICE
        yield diff.PlainChange(path, x.place, y.place, kind=kind)
    elif x.committed != y.committed:
        was, now = (f"committed to {v.place}" if v.committed else "uncommitted" for v in (x, y))
        yield diff.CommitChange(path, was, now, spread=spread)
    if x.layout != y.layout:
        texts = x.layout or "default", y.layout or "default"
        yield diff.PlainChange(path, *texts, kind=CauseKind.LAYOUT)
