"""Differences between the arguments of two calls of one function."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import replace

from jaxscope.analysis.compiles.causes import difference as diff
from jaxscope.analysis.compiles.causes import parts
from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import (
    ArgumentLeaf,
    CallSignature,
    Holder,
    PartKind,
    StaticArgument,
    Structure,
    TracedArgument,
    summary,
)
from jaxscope.model import CauseKind

_LEFT_OUT = "left out"
_NONE = "None"
KEY = "key<"
"""Beginning of the dtype of a new-style random key."""
_Value = TracedArgument | StaticArgument


def arguments(a: CallSignature, b: CallSignature) -> Iterator[Difference]:
    """Changes of the arguments from `a` to `b`, by name, in any calling style.

    NNX numbers the nodes of all arguments together: where one has a new part, the structure of
    another may have different numbers, and no different part.
    """
    found = list(_arguments(a, b))
    same = _with_the_same_parts(a, b)
    structures = [d for d in found if isinstance(d, diff.StructureChange)]
    if any(d.path not in same for d in structures):
        found = [d for d in found if d not in structures or d.path not in same]
    yield from found


def _with_the_same_parts(a: CallSignature, b: CallSignature) -> set[str]:
    old = {x.name: x.structure for x in a.arguments}
    return {
        now.name
        for now in b.arguments
        if (was := old.get(now.name)) is not None
        and (was.paths, was.parts) == (now.structure.paths, now.structure.parts)
    }


def _arguments(a: CallSignature, b: CallSignature) -> Iterator[Difference]:
    old: dict[str, _Value] = {x.name: x for x in (*a.arguments, *a.statics)}
    new: dict[str, _Value] = {x.name: x for x in (*b.arguments, *b.statics)}
    defaults = {*a.parameters, *b.parameters}
    for name, now in new.items():
        before = old.get(name)
        if before is None:
            default = next((one for one in a.omitted if one.name == name), None)
            if isinstance(now, StaticArgument) and default and _differ(default, now):
                yield from parts.in_static(default, now)
            else:
                yield _missing(name, _LEFT_OUT, _text(now), defaults)
            continue
        if before.keyword != now.keyword:
            how = ("passed by keyword", "passed by position")
            yield diff.PlainChange(
                name, how[not before.keyword], how[not now.keyword], kind=CauseKind.CALL_STYLE
            )
        if isinstance(before, StaticArgument) and isinstance(now, StaticArgument):
            if _differ(before, now):
                yield from parts.in_static(before, now)
        elif isinstance(before, TracedArgument) and isinstance(now, TracedArgument):
            yield from _traced(before, now)
        else:
            words = ("static", "traced")
            was = isinstance(before, TracedArgument)
            yield diff.JitOptionChange(name, words[was], words[not was], of_argument=True)
    for name, before in old.items():
        if name not in new:
            default = next((one for one in b.omitted if one.name == name), None)
            if isinstance(before, StaticArgument) and default and _differ(before, default):
                yield from parts.in_static(before, default)
            else:
                yield _missing(name, _text(before), _LEFT_OUT, defaults)


def _differ(before: StaticArgument, now: StaticArgument) -> bool:
    return (before.token, before.type) != (now.token, now.type)


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
    yield from _structure(before, now)
    old = dict(zip(before.structure.paths, before.leaves, strict=False))
    for path, y in zip(now.structure.paths, now.leaves, strict=False):
        x = old.get(path)
        if x is not None and x != y:
            yield from _leaf(now.name + path, x, y)


def _structure(before: TracedArgument, now: TracedArgument) -> Iterator[Difference]:
    moved = _moved_leaves(before, now)
    yield from moved.values()
    was, is_now = (_without(one.structure, moved) for one in (before, now))
    if moved and (was.paths, was.parts) == (is_now.paths, is_now.parts):
        return
    gone = [path for path in was.paths if path not in set(is_now.paths)]
    come = [path for path in is_now.paths if path not in set(was.paths)]
    empty = {part.path for part in (*was.parts, *is_now.parts) if part.text == _NONE}
    if "" not in (*was.paths, *is_now.paths):
        filled = [path for path in (*come, *gone) if path in empty]
        if filled and len(filled) == len(come) + len(gone):
            for path in filled:
                texts = (
                    (_NONE, _leaf_text(now, path))
                    if path in come
                    else (_leaf_text(before, path), _NONE)
                )
                yield diff.StructureChange(now.name + path, *texts, change="container", leaves=1)
            yield from parts.in_fields(now.name, was.parts, is_now.parts)
            return
        if bool(come) != bool(gone):
            states, change = (
                (("absent", "present"), "added") if come else (("present", "absent"), "removed")
            )
            first, leaves = (come or gone)[0], len(gone) + len(come)
            yield diff.StructureChange(
                now.name + first, *states, leaves - 1, change=change, leaves=leaves
            )
            yield from parts.in_fields(now.name, was.parts, is_now.parts)
            return
    leaves = len(gone) + len(come)
    found = parts.in_treedef(now.name, was.parts, is_now.parts)
    yield from found
    if come and gone and found and not any(isinstance(d, diff.StructureChange) for d in found):
        texts = ("absent", "present")
        path, others = now.name + come[0], len(come) - 1
        yield diff.StructureChange(path, *texts, others, change="added", leaves=leaves)
    if not found:
        texts = [summary(a) if a.is_bare else a.structure.text for a in (before, now)]
        cut = parts.around_change(*[" ".join(text.split()) for text in texts])
        yield diff.StructureChange(now.name, *cut, change="container", leaves=leaves)


def _moved_leaves(before: TracedArgument, now: TracedArgument) -> dict[str, Difference]:
    """The leaves that are static in one call, because they are no arrays, and arrays in the other,
    by path."""
    found: dict[str, Difference] = {}
    for path, text in _static_leaves(before, now):
        change = (now.name + path, text, _leaf_text(now, path))
        found[path] = diff.StaticValueChange(*change, of="leaf", traced="now")
    for path, text in _static_leaves(now, before):
        change = (now.name + path, _leaf_text(before, path), text)
        found[path] = diff.StaticValueChange(*change, of="leaf", traced="before")
    return found


def _static_leaves(one: TracedArgument, other: TracedArgument) -> Iterator[tuple[str, str]]:
    """Paths and texts of the static leaves of one call that are arrays in the other."""
    for part in one.structure.parts:
        if part.kind is PartKind.LEAF and part.path in other.structure.paths:
            yield part.path, part.text


def _without(structure: Structure, left_out: Container[str]) -> Structure:
    paths = tuple([path for path in structure.paths if path not in left_out])
    kept = tuple(
        [p for p in structure.parts if p.kind is not PartKind.LEAF or p.path not in left_out]
    )
    return replace(structure, paths=paths, parts=kept)


def _leaf_text(argument: TracedArgument, path: str) -> str:
    pairs = zip(argument.structure.paths, argument.leaves, strict=False)
    return next((leaf.text for at, leaf in pairs if at == path), "")


def _leaf(path: str, x: ArgumentLeaf, y: ArgumentLeaf) -> Iterator[Difference]:
    if x.dtype != y.dtype and KEY in x.dtype + y.dtype:
        # An old key has a dimension that a new one hides in its dtype.
        yield diff.DtypeChange(path, x.text, y.text, cast="")
        yield from _placed(path, x, y)
        return
    if len(x.shape) != len(y.shape):
        shapes = (x.shape, y.shape)
        yield diff.RankChange(path, x.text, y.text, shapes=shapes)
    elif x.shape != y.shape:
        pairs = enumerate(zip(x.shape, y.shape, strict=True))
        yield diff.ShapeChange(
            path,
            x.text,
            y.text,
            axes=tuple([i for i, (p, q) in pairs if p != q]),
            order=_order(x.shape, y.shape),
        )
    if x.dtype != y.dtype:
        yield _dtype(path, x, y)
    elif x.weak != y.weak:
        scalar = not x.shape and not y.shape
        yield diff.WeakTypeChange(path, _held(x), _held(y), dtype=x.dtype, scalar=scalar)
    yield from _placed(path, x, y)


def _dtype(path: str, x: ArgumentLeaf, y: ArgumentLeaf) -> Difference:
    python = Holder.PYTHON
    if x.holder is y.holder is python:
        return diff.ScalarTypeChange(path, _held(x), _held(y), dtypes=(x.dtype, y.dtype))
    texts = x.text, y.text
    if python in (x.holder, y.holder):
        before, after = (
            v.text if v.holder is Holder.OTHER else f"{v.text} ({v.held})" for v in (x, y)
        )
        texts = before, after
    cast = wider(x.dtype, y.dtype)
    weak = (x if x.dtype == cast else y).weak
    changed = x.weak != y.weak
    return diff.DtypeChange(path, *texts, cast=cast, weak=weak, weak_changed=changed)


def _order(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of `after` in the order that gives the sizes of `before`; empty if none does."""
    if len(before) < 2 or sorted(before) != sorted(after):
        return ()
    left = list(enumerate(after))
    found: list[int] = []
    for size in before:
        axis = next((i, n) for i, n in left if n == size)
        left.remove(axis)
        found.append(axis[0])
    return tuple(found)


_DTYPE = re.compile(r"(bool|bf|[a-z]+)(\d*)")
_KINDS_OF_DTYPE = ("bool", "u", "i", "bf", "f", "c")


def wider(a: str, b: str) -> str:
    """The dtype of the two that holds the values of both, as far as one does."""

    def width(dtype: str) -> tuple[int, int]:
        found = _DTYPE.fullmatch(dtype)
        if found is None or found[1] not in _KINDS_OF_DTYPE:
            return -1, 0
        # bfloat16 has the range of float32: of 16 bits, it goes first.
        kind = "f" if found[1] == "bf" else found[1]
        return _KINDS_OF_DTYPE.index(kind), int(found[2] or 1)

    return max(a, b, key=width)


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
