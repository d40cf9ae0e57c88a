"""The first part in which two compared values differ, by its path."""

from collections.abc import Iterator, Sequence

from jaxscope.analysis.compiles.causes import difference as diff
from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import (
    CapturedValue,
    PartKind,
    StaticArgument,
    StaticPart,
)
from jaxscope.model import CauseKind

Pair = tuple[StaticPart, StaticPart]

_BY_IDENTITY = (PartKind.FUNCTION, PartKind.OBJECT)
_LONGEST = 70  # characters of a value
_Order = dict[PartKind, int]
_URGENT: _Order = {PartKind.VALUE: 0, PartKind.LEAF: 0, PartKind.CLASS: 1, PartKind.LENGTH: 2}


def changed(old: Sequence[StaticPart], new: Sequence[StaticPart]) -> list[Pair]:
    """The differing part of each static field, the first of its kind.

    Where a field holds new functions that close over a changed value, that value is the part: the
    functions differ because of it. What changed inside a function that is the same object is none.
    """
    known = {(part.path, part.kind): part for part in old}
    found: dict[str, list[Pair]] = {}
    for part in new:
        before = known.get((part.path, part.kind))
        if before is not None and _differs(before, part):
            found.setdefault(part.field, []).append((before, part))
    return [min(pairs, key=lambda pair: _URGENT.get(pair[1].kind, 3)) for pairs in found.values()]


def replaced(old: Sequence[StaticPart], new: Sequence[StaticPart]) -> Pair | None:
    """The first part that is of another kind: a value in place of a container, for example."""
    known, now = ({part.path: part for part in reversed(parts)} for parts in (old, new))
    for path, part in reversed(now.items()):
        before = known.get(path)
        if before is not None and before.kind is not part.kind and not _same_owner(before, part):
            return before, part
    return None


def _renewed(old: Sequence[StaticPart], new: Sequence[StaticPart], field: str) -> str:
    """The first new function or object of the field in place of one of the same name."""
    known = {(part.path, part.kind): part for part in old if part.kind in _BY_IDENTITY}
    for part in new:
        before = known.get((part.path, part.kind)) if part.field == field else None
        if before is not None and _differs(before, part) and before.text == part.text:
            return part.path
    return ""


def _differs(before: StaticPart, now: StaticPart) -> bool:
    return before.token != now.token and not _same_owner(before, now)


def _same_owner(before: StaticPart, now: StaticPart) -> bool:
    return bool(now.owner) and before.owner == now.owner


def _pairs(old: Sequence[StaticPart], new: Sequence[StaticPart]) -> list[Pair]:
    found = changed(old, new)
    other = None if found else replaced(old, new)
    return found if other is None else [other]


def _is_below(path: str, above: str) -> bool:
    return path.startswith(above) and path[len(above) : len(above) + 1] in ("", ".", "[", "<")


def unread(parts: Sequence[StaticPart]) -> bool:
    """Whether some of the value was not read, so that equal parts prove nothing."""
    return any(part.kind is PartKind.UNREAD for part in parts)


def in_treedef(name: str, old: Sequence[StaticPart], new: Sequence[StaticPart]) -> list[Difference]:
    """Differences between two treedefs of one argument besides their leaves."""
    pairs = _pairs(old, new)
    # An object of another class has other fields.
    others = [now.path for before, now in pairs if _other_class(before, now)]
    return [
        _of_treedef(name, before, now, renewed=_renewed(old, new, now.field))
        for before, now in pairs
        if _other_class(before, now) or not any(_is_below(now.path, one) for one in others)
    ]


def _other_class(before: StaticPart, now: StaticPart) -> bool:
    return now.kind is PartKind.CLASS is before.kind and before.text != now.text


def in_fields(name: str, old: Sequence[StaticPart], new: Sequence[StaticPart]) -> list[Difference]:
    """Differences in the static fields, where the leaves differ too."""
    own, now = (
        # The keys of an ordered dictionary are the paths of its leaves.
        [part for part in parts if part.field and not part.field.endswith(".keys()")]
        for parts in (old, new)
    )
    return in_treedef(name, own, now)


def _of_treedef(name: str, before: StaticPart, now: StaticPart, *, renewed: str) -> Difference:
    path, texts = name + now.path, around_change(before.text, now.text)
    field = name + now.field
    if now.kind is PartKind.CLASS is before.kind and not now.field:
        change = "class" if before.text == now.text else "container"
        return diff.StructureChange(path, *texts, change=change)
    if now.kind is PartKind.LENGTH:
        return diff.StructureChange(path, *texts, change="length")
    if now.kind in _BY_IDENTITY and now.kind is before.kind:
        return diff.StaticIdentityChange(path, *texts, type=str(now.kind), field=field)
    of = "leaf" if now.kind is PartKind.LEAF else "field"
    renewed = renewed and name + renewed
    return diff.StaticValueChange(path, *texts, of=of, field=field, renewed=renewed)


def in_static(before: StaticArgument, now: StaticArgument) -> Iterator[Difference]:
    """Differences between two values of a static argument."""
    whole = (now.name, *around_change(before.text, now.text))
    kinds = {one.kind for value in (before, now) for one in value.parts[:1]}
    functions = kinds == {PartKind.FUNCTION}
    alike = functions or (before.type == now.type and kinds.issubset(_BY_IDENTITY))
    if before.identity and now.identity and alike:
        kind = str(PartKind.FUNCTION) if functions else now.type
        yield diff.StaticIdentityChange(*whole, type=kind, own=now.own)
        return
    pairs = _pairs(before.parts, now.parts)
    if not pairs:
        yield diff.StaticValueChange(*whole)
    for old, new in pairs:
        path, texts = now.name + new.path, around_change(old.text, new.text)
        if old.kind is not new.kind and not new.path:
            yield diff.StaticValueChange(*whole)
        elif new.kind in _BY_IDENTITY:
            field = now.name if new.path else ""
            kind = str(new.kind) if field or new.kind is PartKind.FUNCTION else now.type
            yield diff.StaticIdentityChange(path, *texts, type=kind, field=field, own=now.own)
        elif new.kind is PartKind.VALUE:
            renewed = _renewed(before.parts, now.parts, new.field)
            yield diff.StaticValueChange(path, *texts, renewed=renewed and now.name + renewed)
        elif before.text != now.text and not now.text.endswith("…"):
            yield diff.StaticValueChange(*whole)
        else:
            yield diff.StaticValueChange(path, f"{new.kind} {texts[0]}", f"{new.kind} {texts[1]}")


def in_captured(before: CapturedValue, now: CapturedValue) -> Difference:
    """The difference between two values that a function captured."""
    pairs = _pairs(before.parts, now.parts)
    if not pairs:
        texts = around_change(before.text, now.text)
        return diff.PlainChange(now.name, *texts, kind=CauseKind.CLOSURE)
    old, new = pairs[0]
    texts = around_change(old.text, new.text)
    return diff.PlainChange(now.name + new.path, *texts, kind=CauseKind.CLOSURE)


def around_change(a: str, b: str) -> tuple[str, str]:
    """Two texts cut to where they differ."""
    if max(len(a), len(b)) <= _LONGEST:
        return a, b
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    start = max(start - 10, 0)

    def cut(text: str) -> str:
        end = "…" if len(text) > start + _LONGEST else ""
        return f"{'…' if start else ''}{text[start : start + _LONGEST]}{end}"

    return cut(a), cut(b)
