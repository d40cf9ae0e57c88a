"""The Python of two reports: pairs of sources, and of lines in them."""

import difflib
import re
from collections import Counter
from dataclasses import dataclass

from jaxscope.analysis.diff.align import align
from jaxscope.model import Source
from jaxscope.model.report_diff import ChangeKind, LineChange, SourceDiff

_COMPARISONS = 400
"""Pairs of lines that are compared character by character, some 50 µs each."""
_ALIKE = 0.55
_WRAPS = re.compile(r"[%@]|def ")
"""The line of a magic, a decorator or a function at the top level."""


@dataclass(frozen=True, slots=True)
class SourcePairs:
    """The sources of both reports, paired."""

    before: tuple[Source, ...]
    after: tuple[Source, ...]
    partner: dict[int, int]
    """Index of a source in the later report by its index in the earlier one."""
    lines: dict[int, dict[int, int]]
    """By index in the earlier report: the later number of each unchanged or edited line."""
    diffs: tuple[SourceDiff, ...]

    def later(self, source: int, line: int) -> tuple[int, int] | None:
        """Source and line of the later report that a line of the earlier one became."""
        found = self.lines.get(source, {}).get(line)
        return None if found is None else (self.partner[source], found)

    def code(self, source: int, line: int, *, earlier: bool = False) -> str:
        """The text of a line; empty where it is not saved."""
        sources = self.before if earlier else self.after
        lines = sources[source].text.splitlines() if source < len(sources) else []
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def pair_sources(before: tuple[Source, ...], after: tuple[Source, ...]) -> SourcePairs:
    """Pair the two cells, and other sources with the same file or name.

    A cell is paired with the source of the other report that has most of its lines, where that
    one's program is of a function that is defined elsewhere: the two differ in how they are
    wrapped, which is no change.
    """
    partner = _first_pair(before, after)
    for i, source in enumerate(before[1:], 1):
        if i in partner:
            continue
        for j, other in enumerate(after[1:], 1):
            known = source.file == other.file or (source.name, source.kind) == (
                other.name,
                other.kind,
            )
            if known and j not in partner.values():
                partner[i] = j
                break
    lines: dict[int, dict[int, int]] = {}
    diffs: list[SourceDiff] = []
    for i, j in partner.items():
        lines[i], changes = _lines(before[i], after[j])
        if changes:
            diffs.append(SourceDiff(after[j].name, tuple(changes)))
    return SourcePairs(before, after, partner, lines, tuple(diffs))


def _first_pair(before: tuple[Source, ...], after: tuple[Source, ...]) -> dict[int, int]:
    if not before or not after:
        return {}
    pairs = [(0, 0)]
    if before[0].kind is not after[0].kind:
        pairs += [(0, j) for j in range(1, len(after))] + [(i, 0) for i in range(1, len(before))]
    return dict([max(pairs, key=lambda pair: _shared(before[pair[0]], after[pair[1]]))])


def _shared(one: Source, other: Source) -> int:
    """The number of lines of code that two sources have in common."""
    counts = [Counter(filter(None, map(_bare, each.text.splitlines()))) for each in (one, other)]
    return (counts[0] & counts[1]).total()


def _bare(line: str) -> str:
    """A line without what a function around it adds: indentation and `return`."""
    return line.strip().removeprefix("return ")


def _alike(old: list[str], gap_old: range, new: list[str], gap_new: range) -> dict[int, int]:
    """Pairs of edited lines in a gap, in order: most of their text is the same.

    In a long gap, lines are paired by their order alone.
    """
    if len(gap_old) * len(gap_new) > _COMPARISONS:
        return dict(zip(gap_old, gap_new, strict=False))
    found: dict[int, int] = {}
    first = gap_new.start
    for k in gap_old:
        rated = [
            (difflib.SequenceMatcher(None, old[k].strip(), new[m].strip()).ratio(), -m)
            for m in range(first, gap_new.stop)
        ]
        ratio, place = max(rated, default=(0.0, 0))
        if ratio >= _ALIKE and old[k].strip():
            found[k] = -place
            first = -place + 1
    return found


def _lines(before: Source, after: Source) -> tuple[dict[int, int], list[LineChange]]:
    """Later line by earlier line, unchanged or edited, and the changes other than blank lines."""
    wrapped = before.kind is not after.kind
    form = _bare if wrapped else str
    old, new = ([line.rstrip() for line in one.text.splitlines()] for one in (before, after))
    pairs, _ = align([form(line) for line in old], [form(line) for line in new])
    paired = {i + 1: j + 1 for i, j in pairs}
    changes: list[LineChange] = []
    last_old = last_new = 0
    for i, j in [*pairs, (len(old), len(new))]:
        gap_old, gap_new = range(last_old, i), range(last_new, j)
        alike = _alike(old, gap_old, new, gap_new)
        paired.update({k + 1: m + 1 for k, m in alike.items()})
        edited = {m: k for k, m in alike.items()}
        left = [k for k in gap_old if k not in alike]
        for m in gap_new:
            until = min((k for n, k in edited.items() if n >= m), default=gap_old.stop)
            while left and left[0] < until:
                k = left.pop(0)
                changes.append(LineChange(ChangeKind.REMOVED, k + 1, None, old[k]))
            if m in edited:
                k = edited[m]
                changes.append(LineChange(ChangeKind.CHANGED, k + 1, m + 1, old[k], new[m]))
            else:
                changes.append(LineChange(ChangeKind.ADDED, None, m + 1, new=new[m]))
        changes += [LineChange(ChangeKind.REMOVED, k + 1, None, old[k]) for k in left]
        last_old, last_new = i + 1, j + 1
    return paired, [
        c
        for c in changes
        if (c.old.strip() or c.new.strip())
        and not (wrapped and c.kind is not ChangeKind.CHANGED and _WRAPS.match(c.old or c.new))
    ]
