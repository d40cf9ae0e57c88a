"""The Python of two reports: pairs of sources, and of lines in them."""

import difflib
from dataclasses import dataclass

from jaxscope.analysis.diff.align import align
from jaxscope.model import Source
from jaxscope.model.report_diff import ChangeKind, LineChange, SourceDiff

_COMPARISONS = 400
"""Pairs of lines that are compared character by character, some 50 µs each."""
_ALIKE = 0.55


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
    """Pair the two cells, and other sources with the same file or name."""
    partner: dict[int, int] = {0: 0} if before and after else {}
    for i, source in enumerate(before[1:], 1):
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
        lines[i], changes = _lines(before[i].text, after[j].text)
        if changes:
            diffs.append(SourceDiff(after[j].name, tuple(changes)))
    return SourcePairs(before, after, partner, lines, tuple(diffs))


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


def _lines(before: str, after: str) -> tuple[dict[int, int], list[LineChange]]:
    """Later line by earlier line, unchanged or edited, and the changes other than blank lines."""
    old = [line.rstrip() for line in before.splitlines()]
    new = [line.rstrip() for line in after.splitlines()]
    pairs, _ = align(old, new)
    paired = {i + 1: j + 1 for i, j in pairs}
    changes: list[LineChange] = []
    last_old = last_new = 0
    for i, j in [*pairs, (len(old), len(new))]:
        gap_old, gap_new = range(last_old, i), range(last_new, j)
        alike = _alike(old, gap_old, new, gap_new)
        paired.update({k + 1: m + 1 for k, m in alike.items()})
        changes += [
            LineChange(ChangeKind.REMOVED, k + 1, None, old[k]) for k in gap_old if k not in alike
        ]
        edited = {m: k for k, m in alike.items()}
        for m in gap_new:
            if m in edited:
                number, text = edited[m] + 1, old[edited[m]]
                changes.append(LineChange(ChangeKind.CHANGED, number, m + 1, text, new[m]))
            else:
                changes.append(LineChange(ChangeKind.ADDED, None, m + 1, new=new[m]))
        last_old, last_new = i + 1, j + 1
    return paired, [c for c in changes if c.old.strip() or c.new.strip()]
