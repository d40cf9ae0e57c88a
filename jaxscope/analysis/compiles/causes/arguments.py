"""Differences between the arguments of two calls of one function."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import (
    Argument,
    Holder,
    Leaf,
    Signature,
    Static,
    summary,
)
from jaxscope.model import CauseKind

_LEFT_OUT = "left out"


def arguments(a: Signature, b: Signature) -> Iterator[Difference]:
    """What changed in the arguments from `a` to `b`: by name, whichever way they were passed."""
    old: dict[str, Argument | Static] = {x.name: x for x in (*a.arguments, *a.statics)}
    new: dict[str, Argument | Static] = {x.name: x for x in (*b.arguments, *b.statics)}
    defaults = {*a.parameters, *b.parameters}
    for name, now in new.items():
        before = old.get(name)
        if before is None:
            yield _missing(name, _LEFT_OUT, _words(now), defaults)
            continue
        if before.keyword != now.keyword:
            how = ("by keyword", "by position")
            kind = CauseKind.CALL_STYLE
            yield Difference(kind, name, how[not before.keyword], how[not now.keyword], "passed")
        if isinstance(before, Static) and isinstance(now, Static):
            if (before.token, before.type) != (now.token, now.type):
                yield _static(before, now)
        elif isinstance(before, Argument) and isinstance(now, Argument):
            yield from _traced(before, now)
        else:
            words = ("static", "traced")
            was = isinstance(before, Argument)
            yield Difference(CauseKind.JIT_OPTION, name, words[was], words[not was], "role")
    for name, before in old.items():
        if name not in new:
            yield _missing(name, _words(before), _LEFT_OUT, defaults)


def _words(value: Argument | Static) -> str:
    return value.text if isinstance(value, Static) else summary(value)


def _missing(name: str, before: str, after: str, defaults: set[str]) -> Difference:
    if name in defaults:
        return Difference(CauseKind.CALL_STYLE, name, before, after, "default")
    return Difference(CauseKind.STRUCTURE, name, before, after, "argument", atoms=2)


def _static(before: Static, now: Static) -> Difference:
    same_type = before.type == now.type
    kind = CauseKind.STATIC_VALUE
    if before.identity and now.identity and same_type:
        kind = CauseKind.STATIC_IDENTITY
    return Difference(kind, now.name, before.text, now.text, now.type)


def _traced(before: Argument, now: Argument) -> Iterator[Difference]:
    if before.structure.token == now.structure.token:
        # Leaves are interned: those that did not change are the same objects.
        for path, x, y in zip(now.structure.paths, before.leaves, now.leaves, strict=False):
            if x is not y and x != y:
                yield from leaf(now.name + path, x, y)
        return
    yield _structure(before, now)
    old = dict(zip(before.structure.paths, before.leaves, strict=False))
    for path, y in zip(now.structure.paths, now.leaves, strict=False):
        x = old.get(path)
        if x is not None and x != y:
            yield from leaf(now.name + path, x, y)


def _structure(before: Argument, now: Argument) -> Difference:
    name, old, new = now.name, before.structure.paths, now.structure.paths
    gone = [path for path in old if path not in set(new)]
    come = [path for path in new if path not in set(old)]
    kind, atoms = CauseKind.STRUCTURE, 2 + len(gone) + len(come)
    if come and not gone and "" not in (*old, *new):
        first = f"{name}{come[0]}"
        return Difference(kind, first, "absent", "there", "new", len(come) - 1, atoms)
    if gone and not come and "" not in (*old, *new):
        first = f"{name}{gone[0]}"
        return Difference(kind, first, "there", "absent", "gone", len(gone) - 1, atoms)
    texts = _apart(_shape_of(before), _shape_of(now))
    return Difference(kind, name, *texts, "other", atoms=atoms)


def _shape_of(argument: Argument) -> str:
    if argument.is_bare:
        return summary(argument)
    return argument.structure.text


def _apart(a: str, b: str, limit: int = 70) -> tuple[str, str]:
    """Two texts cut to where they differ."""
    if max(len(a), len(b)) <= limit:
        return a, b
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    start = max(start - 10, 0)
    lead = "…" if start else ""
    return tuple(  # type: ignore[return-value]
        [f"{lead}{t[start : start + limit]}{'…' if len(t) > start + limit else ''}" for t in (a, b)]
    )


def leaf(path: str, x: Leaf, y: Leaf) -> Iterator[Difference]:
    """What changed in one leaf."""
    if len(x.shape) != len(y.shape):
        yield Difference(CauseKind.RANK, path, x.text, y.text, atoms=2)
    elif x.shape != y.shape:
        apart = [i for i, (p, q) in enumerate(zip(x.shape, y.shape, strict=True)) if p != q]
        detail = ",".join(map(str, apart))
        yield Difference(CauseKind.SHAPE, path, x.text, y.text, detail, atoms=len(apart))
    if x.dtype != y.dtype:
        yield _dtype(path, x, y)
    elif x.weak != y.weak:
        yield Difference(CauseKind.WEAK_TYPE, path, _held(x), _held(y), x.dtype)
    yield from _placed(path, x, y)


def _dtype(path: str, x: Leaf, y: Leaf) -> Difference:
    python = Holder.PYTHON
    if x.holder is y.holder is python:
        detail = f"{x.dtype} {y.dtype}"
        return Difference(CauseKind.VALUE_KIND, path, _held(x), _held(y), detail)
    if python in (x.holder, y.holder):
        before, after = f"{x.text} ({x.held})", f"{y.text} ({y.held})"
        cast = x.dtype if y.holder is python else y.dtype
        return Difference(CauseKind.DTYPE, path, before, after, cast)
    return Difference(CauseKind.DTYPE, path, x.text, y.text, x.dtype)


def _held(leaf: Leaf) -> str:
    if leaf.holder is Holder.PYTHON:
        return leaf.held
    return f"weakly typed {leaf.held}" if leaf.weak else leaf.held


def _placed(path: str, x: Leaf, y: Leaf) -> Iterator[Difference]:
    if x.place != y.place and x.place and y.place and (x.committed or y.committed):
        kind = CauseKind.SHARDING if x.spread or y.spread else CauseKind.DEVICE
        yield Difference(kind, path, x.place, y.place)
    elif x.committed != y.committed:
        words = [
            f"committed to {leaf.place}" if leaf.committed else "not committed" for leaf in (x, y)
        ]
        spread = "spread" if x.spread or y.spread else ""
        yield Difference(CauseKind.COMMITTED, path, words[0], words[1], spread)
    if x.layout != y.layout:
        yield Difference(CauseKind.LAYOUT, path, x.layout or "default", y.layout or "default")
