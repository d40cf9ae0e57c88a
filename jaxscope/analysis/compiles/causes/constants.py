"""Differences between two programs of one cell in what they do not take as arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from jaxscope.analysis.compiles.causes import difference as diff
from jaxscope.analysis.compiles.causes import parts
from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import (
    ArgumentLeaf,
    CallSignature,
    CapturedValue,
    Holder,
    PartKind,
    Structure,
    TracedArgument,
)

_KEY = re.compile(r"\['(\w+)'\]")


def constants(a: CallSignature, b: CallSignature) -> Iterator[Difference]:
    """Changes of the constants of a cell, also from or to a traced argument."""
    old, new = ({one.name: one for one in call.function.captured} for call in (a, b))
    was, now = _leaves(a), _leaves(b)
    # A block may read a name that it binds itself, where it happens to be bound already.
    known = {_root(path) for path in (*old, *was)} & {_root(path) for path in (*new, *now)}
    for path, one in new.items():
        before = old.get(path)
        if before is not None:
            if before.token != one.token and _is_known(before, one):
                yield _changed(before, one)
        elif (leaf := was.get(_key(path))) is not None and not _is_container(one):
            yield _moved(one, leaf, "before")
        elif not (_is_container(one) or one.left_out or unread(one)) and _counts(b, path, known):
            yield diff.StructureChange(path, "absent", "present", change="added")
    for path, one in old.items():
        if path in new or _is_container(one):
            continue
        if (leaf := now.get(_key(path))) is not None:
            yield _moved(one, leaf, "now")
        elif not (one.left_out or unread(one)) and _counts(b, path, known):
            yield diff.StructureChange(path, "present", "absent", change="removed")


def _counts(call: CallSignature, path: str, known: set[str]) -> bool:
    return bool(call.function.called) or _root(path) in known


def unread(one: CapturedValue) -> bool:
    """Whether it may have changed without a different token: in an object or an array."""
    return any(part.kind in (PartKind.UNREAD, PartKind.OBJECT) for part in one.parts)


def _is_known(before: CapturedValue, now: CapturedValue) -> bool:
    """Whether they surely differ: a new object with equal parts may give the same program."""
    if not (unread(before) or unread(now)):
        return True
    pairs = parts.changed(before.parts, now.parts)
    return (
        bool(pairs) and pairs[0][1].kind is PartKind.VALUE and pairs[0][0].text != pairs[0][1].text
    )


def without_moved(call: CallSignature, other: CallSignature) -> CallSignature:
    """The call without the traced leaves that are constants of the other one."""
    fixed = {_key(one.name) for one in other.function.captured if not _is_container(one)}
    found: list[TracedArgument] = []
    for one in call.arguments:
        pairs = list(zip(one.structure.paths, one.leaves, strict=False))
        kept = [pair for pair in pairs if not _is_in(_key(one.name + pair[0]), fixed)]
        if len(kept) == len(pairs):
            found.append(one)
        elif kept:
            paths = tuple([path for path, _ in kept])
            leaves = tuple([leaf for _, leaf in kept])
            found.append(replace(one, structure=Structure(hash(paths), paths), leaves=leaves))
    return replace(call, arguments=tuple(found))


def _changed(before: CapturedValue, now: CapturedValue) -> Difference:
    if _is_container(before) and _is_container(now):
        change = "class" if before.text == now.text else "container"
        return diff.StructureChange(now.name, before.text, now.text, change=change)
    found = parts.in_captured(before, now)
    return diff.StaticValueChange(
        found.path,
        found.before,
        found.after,
        of="field" if now.of_field else "cell",
        field=now.name,
        type=now.type if found.path == now.name else "",
    )


def _moved(one: CapturedValue, leaf: ArgumentLeaf, traced: Literal["before", "now"]) -> Difference:
    given = leaf.type if leaf.holder in (Holder.PYTHON, Holder.SCALAR) else leaf.text
    was, now = (given, _text(one)) if traced == "before" else (_text(one), given)
    kind = "" if one.left_out else one.type
    return diff.StaticValueChange(one.name, was, now, of="cell", type=kind, traced=traced)


def _text(one: CapturedValue) -> str:
    """`int 1`; `int32 1`; `None`; `1.0 by default`."""
    if one.left_out and one.text != "None":
        return f"{one.text} by default"
    if one.type not in diff.NUMBERS:
        return one.text
    number = one.text.removeprefix(f"np.{one.type}(")
    return f"{one.type} {number if number == one.text else number.removesuffix(')')}"


def _leaves(call: CallSignature) -> dict[str, ArgumentLeaf]:
    return {
        _key(one.name + path): leaf
        for one in call.arguments
        for path, leaf in zip(one.structure.paths, one.leaves, strict=False)
    }


def _key(path: str) -> str:
    """Attributes are keys of a dictionary where a program takes them as arguments."""
    return _KEY.sub(r".\1", path)


def _root(path: str) -> str:
    return re.split(r"[\[.]", path, maxsplit=1)[0]


def _is_in(path: str, roots: set[str]) -> bool:
    return path in roots or any(path.startswith((f"{one}.", f"{one}[")) for one in roots)


def _is_container(one: CapturedValue) -> bool:
    return bool(one.parts) and not one.type and one.parts[0].kind is PartKind.CLASS
