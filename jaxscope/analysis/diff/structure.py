"""Two texts of one stage compared by structure: names and order are not changes.

A line is the same as another when it says the same and its operands are the same lines. What says
the same and comes from the same all the way up is paired first; around a change, what says the
same is paired, and then its operands are checked by those pairs. So neither a renumbered name nor
a change further up makes a line a changed one.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from jaxscope.analysis.diff.align import align
from jaxscope.analysis.diff.units import Line, Unit, units
from jaxscope.model import StageKind
from jaxscope.model.report_diff import Change, LineChange

_DEEPEST = 200
"""Units inside units up to which contents are compared; deeper ones are compared by themselves."""
_SUFFIX = re.compile(r"(?:[._]?\d+|\.clone|\.remat)+$")
LONG = (
    "One part of this text is so long and repeats itself so much that its lines were paired window "
    "by window: every difference is there, and lines may be shown as changed that only moved."
)


@dataclass(slots=True)
class Compared:
    """The changes, by the numbers of the earlier text, then those of the later."""

    changes: list[LineChange] = field(default_factory=list[LineChange])
    moved: int = 0
    doubts: tuple[str, ...] = ()


@dataclass(slots=True)
class _Pairing:
    """Which line of one unit stands for which of the other."""

    forward: dict[int, int]
    changed: set[int]
    """Lines of the first that are paired and do not say the same."""
    moved: int
    best: bool


class _Text:
    """The units of one text, with the hash of what each line computes."""

    def __init__(self, kind: StageKind, text: str) -> None:
        self.units = units(kind, text)
        self.index = {unit.name: i for i, unit in enumerate(self.units)}
        self.origins = [_origins(unit) for unit in self.units]
        self.deep: list[list[int] | None] = [None] * len(self.units)
        self.hashes: list[int] = [0] * len(self.units)
        for i in range(len(self.units)):
            self._hash(i, 0)

    def called(self, line: Line) -> list[int]:
        return [self.index[name] for name in line.calls if name in self.index]

    def content(self, unit: int) -> list[int]:
        return self.deep[unit] or []

    def _hash(self, unit: int, depth: int) -> int:
        if self.deep[unit] is None:
            made: list[int] = []
            self.deep[unit] = made
            for line, origins in zip(self.units[unit].lines, self.origins[unit], strict=True):
                operands = tuple([(made[o[0]], o[1]) if o else None for o in origins])
                inside = (
                    tuple([self._hash(u, depth + 1) for u in self.called(line)])
                    if depth < _DEEPEST
                    else ()
                )
                made.append(hash((line.key, operands, inside)))
            self.hashes[unit] = hash(tuple(made))
        return self.hashes[unit]


Origin = tuple[int, int] | None
"""The line that bound an operand, and as which of its names."""


def _origins(unit: Unit) -> list[tuple[Origin, ...]]:
    bound: dict[str, tuple[int, int]] = {}
    found: list[tuple[Origin, ...]] = []
    for index, line in enumerate(unit.lines):
        found.append(tuple([bound.get(name) for name in line.uses]))
        bound.update({name: (index, position) for position, name in enumerate(line.defines)})
    return found


def compare_texts(kind: StageKind, before: str, after: str) -> Compared:
    """What is different between two texts of the same stage."""
    if before == after:
        return Compared()
    a, b = _Text(kind, before), _Text(kind, after)
    partners, pairings = _pair_units(a, b)
    result = Compared()
    for i, j in partners.items():
        pairing = pairings[i]
        result.moved += pairing.moved
        if not pairing.best:
            result.doubts = (LONG,)
        _collect(a, b, i, j, pairing, partners, result)
    taken = set(partners.values())
    for i, unit in enumerate(a.units):
        if i not in partners:
            result.changes += [_removed(line) for line in unit.lines]
    for j, unit in enumerate(b.units):
        if j not in taken:
            result.changes += [_added(line) for line in unit.lines]
    result.changes.sort(key=lambda c: (c.after or c.before or 0, c.before or 0))
    return result


def _removed(line: Line) -> LineChange:
    return LineChange(Change.REMOVED, line.number, None, line.text)


def _added(line: Line) -> LineChange:
    return LineChange(Change.ADDED, None, line.number, new=line.text)


def _pair_units(a: _Text, b: _Text) -> tuple[dict[int, int], dict[int, _Pairing]]:
    """Units from the entry on by who calls them; the rest by content, then by name."""
    partners: dict[int, int] = {}
    pairings: dict[int, _Pairing] = {}
    taken: set[int] = set()
    waiting: collections.deque[tuple[int, int]] = collections.deque(_starts(a, b))

    def follow() -> None:
        while waiting:
            i, j = waiting.popleft()
            if i in partners or j in taken:
                continue
            partners[i] = j
            taken.add(j)
            pairing = pairings[i] = _pair_lines(a, b, i, j)
            for k, m in pairing.forward.items():
                inside = zip(
                    a.called(a.units[i].lines[k]), b.called(b.units[j].lines[m]), strict=False
                )
                waiting.extend(inside)

    follow()
    for key_a, key_b in (
        (a.hashes, b.hashes),
        ([_SUFFIX.sub("", u.name) for u in a.units], [_SUFFIX.sub("", u.name) for u in b.units]),
    ):
        free: dict[object, list[int]] = {}
        for j in range(len(b.units)):
            if j not in taken:
                free.setdefault(key_b[j], []).append(j)
        for i in range(len(a.units)):
            others = free.get(key_a[i], [])
            if i not in partners and others:
                waiting.append((i, others.pop(0)))
        follow()
    return partners, pairings


def _starts(a: _Text, b: _Text) -> list[tuple[int, int]]:
    def of(text: _Text) -> list[int]:
        return [i for i, u in enumerate(text.units) if u.entry]

    heading = [
        (i, b.index[u.name])
        for i, u in enumerate(a.units)
        if u.name in ("module", "HloModule") and u.name in b.index
    ]
    return [*heading, *zip(of(a), of(b), strict=False)]


def _pair_lines(a: _Text, b: _Text, i: int, j: int) -> _Pairing:
    deep_a, deep_b = a.content(i), b.content(j)
    if deep_a == deep_b:
        return _Pairing({k: k for k in range(len(deep_a))}, set(), 0, True)
    lines_a, lines_b = a.units[i].lines, b.units[j].lines
    pairs, best = align(deep_a, deep_b)
    forward = dict(pairs)
    taken = set(forward.values())
    # Inside the gaps by what the lines say.
    for gap_a, gap_b in _gaps(pairs, len(deep_a), len(deep_b)):
        keys_a = [lines_a[k].key for k in gap_a]
        keys_b = [lines_b[m].key for m in gap_b]
        found, well = align(keys_a, keys_b)
        best = best and well
        forward.update({gap_a[k]: gap_b[m] for k, m in found})
    taken = set(forward.values())
    moved = 0
    # Elsewhere: the same from the parameters on, or the same of operands that are paired already.
    by_content: dict[int, collections.deque[int]] = {}
    by_operands: dict[Hashable, collections.deque[int]] = {}
    for m, line in enumerate(lines_b):
        if m not in taken:
            by_content.setdefault(deep_b[m], collections.deque()).append(m)
            by_operands.setdefault((line.key, b.origins[j][m]), collections.deque()).append(m)
    for k, line in enumerate(lines_a):
        if k in forward:
            continue
        operands = tuple([o and (forward.get(o[0], -1), o[1]) for o in a.origins[i][k]])
        for others in (by_content.get(deep_a[k]), by_operands.get((line.key, operands))):
            while others and others[0] in taken:
                others.popleft()
            if others:
                forward[k] = others.popleft()
                taken.add(forward[k])
                moved += 1
                break
    changed: set[int] = set()
    for k, m in _likely(lines_a, lines_b, forward, taken):
        forward[k] = m
        changed.add(k)
    return _Pairing(forward, changed, moved, best)


def _gaps(pairs: list[tuple[int, int]], length_a: int, length_b: int) -> list[tuple[range, range]]:
    found: list[tuple[range, range]] = []
    last_a = last_b = 0
    for k, m in [*pairs, (length_a, length_b)]:
        if k > last_a and m > last_b:
            found.append((range(last_a, k), range(last_b, m)))
        last_a, last_b = k + 1, m + 1
    return found


def _likely(
    lines_a: Sequence[Line], lines_b: Sequence[Line], forward: dict[int, int], taken: set[int]
) -> list[tuple[int, int]]:
    """Lines between the same neighbors that stand for each other, though they say other things.

    The same operation first; then, where as many are left on both sides, by their order.
    """
    steady: list[tuple[int, int]] = []
    last = -1
    for k in sorted(forward):
        if forward[k] > last:
            steady.append((k, forward[k]))
            last = forward[k]
    found: list[tuple[int, int]] = []
    for gap_a, gap_b in _gaps(steady, len(lines_a), len(lines_b)):
        left_a = [k for k in gap_a if k not in forward]
        left_b = [m for m in gap_b if m not in taken]
        if not left_a or not left_b:
            continue
        same, _ = align(
            [lines_a[k].operation for k in left_a], [lines_b[m].operation for m in left_b]
        )
        found += [(left_a[x], left_b[y]) for x, y in same]
        for rest_a, rest_b in _gaps(same, len(left_a), len(left_b)):
            if len(rest_a) == len(rest_b):
                found += [(left_a[x], left_b[y]) for x, y in zip(rest_a, rest_b, strict=True)]
    return found


def _collect(
    a: _Text, b: _Text, i: int, j: int, pairing: _Pairing, partners: dict[int, int], to: Compared
) -> None:
    lines_a, lines_b = a.units[i].lines, b.units[j].lines
    taken = set(pairing.forward.values())
    to.changes += [_removed(x) for k, x in enumerate(lines_a) if k not in pairing.forward]
    to.changes += [_added(x) for m, x in enumerate(lines_b) if m not in taken]
    deep_a, deep_b = a.content(i), b.content(j)
    for k, m in pairing.forward.items():
        if deep_a[k] == deep_b[m]:
            continue
        inside = zip(a.called(lines_a[k]), b.called(lines_b[m]), strict=False)
        same = (
            k not in pairing.changed
            and _same_operands(
                a.origins[i][k], b.origins[j][m], pairing.forward, taken, deep_a, deep_b
            )
            and all(partners.get(x) == y or a.hashes[x] == b.hashes[y] for x, y in inside)
        )
        if not same:
            old, new = lines_a[k], lines_b[m]
            to.changes.append(
                LineChange(Change.CHANGED, old.number, new.number, old.text, new.text)
            )


def _same_operands(
    old: tuple[Origin, ...],
    new: tuple[Origin, ...],
    forward: dict[int, int],
    taken: set[int],
    deep_a: list[int],
    deep_b: list[int],
) -> bool:
    """Operands on lines that stand for each other, or on a removed and an added line."""
    for x, y in zip(old, new, strict=False):
        if x is None or y is None:
            if x is not y:
                return False
            continue
        if x[1] == y[1] and deep_a[x[0]] == deep_b[y[0]]:
            continue
        if x[0] in forward:
            if (forward[x[0]], x[1]) != y:
                return False
        elif y[0] in taken:
            return False
    return True
