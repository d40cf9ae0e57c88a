"""Two texts of one stage compared by structure: names and order are not changes.

Two lines are the same if they have the same content and their operands are the same lines. Lines
whose whole history is the same are paired first; around a change, lines of the same content are
paired, and then their operands are checked by those pairs. So neither a renumbered name nor a
change further up makes a line a changed one.
"""

import collections
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from jaxscope.analysis.diff.align import Pairs, align
from jaxscope.analysis.diff.ir_functions import IrFunction, IrLine, ir_functions
from jaxscope.model import StageKind
from jaxscope.model.report_diff import ChangeKind, LineChange

_SUFFIX = re.compile(r"(?:[._]?\d+|\.clone|\.remat)+$")
LONG = (
    "This text is too long and repetitive for the best alignment. Every difference is shown, but "
    "moved lines may be shown as changed."
)

Definition = tuple[int, int] | None
"""The line that bound an operand, and the index of the name among those it binds."""


@dataclass(slots=True)
class TextDiff:
    """The changes, by the line numbers of the later text, then of the earlier."""

    changes: list[LineChange] = field(default_factory=list[LineChange])
    moved: int = 0
    caveats: tuple[str, ...] = ()


def compare_texts(kind: StageKind, before: str, after: str) -> TextDiff:
    """The differences between two texts of the same stage."""
    return TextDiff() if before == after else _Comparison(kind, before, after).diff()


@dataclass(slots=True)
class _LinePairs:
    """Lines of one function and their counterparts in the other."""

    forward: dict[int, int]
    changed: frozenset[int] = frozenset()
    """Lines of the first that are paired with a line of different content."""
    moved: int = 0
    best: bool = True


class _Text:
    """The functions of one text, with the hash of the computation of each line."""

    def __init__(self, kind: StageKind, text: str) -> None:
        self.functions = ir_functions(kind, text)
        self.index = {function.name: i for i, function in enumerate(self.functions)}
        self.definitions = [_definitions(function) for function in self.functions]
        self.contents: list[list[int]] = [[] for _ in self.functions]
        """By function: a hash of each line's content, operands and called functions."""
        self.hashes: list[int | None] = [None] * len(self.functions)
        for i in range(len(self.functions)):
            self._hash(i)

    def called(self, line: IrLine) -> list[int]:
        return [self.index[name] for name in line.calls if name in self.index]

    def _hash(self, i: int) -> int:
        # JAX recurses deeper while it traces nested calls than this does while it reads them.
        found = self.hashes[i]
        if found is None:
            self.hashes[i] = 0  # ends a recursion
            made = self.contents[i]
            for line, definitions in zip(self.functions[i].lines, self.definitions[i], strict=True):
                operands = tuple([(made[d[0]], d[1]) if d else None for d in definitions])
                inside = tuple([self._hash(j) for j in self.called(line)])
                made.append(hash((line.key, operands, inside)))
            found = self.hashes[i] = hash(tuple(made))
        return found


def _definitions(function: IrFunction) -> list[tuple[Definition, ...]]:
    bound: dict[str, tuple[int, int]] = {}
    found: list[tuple[Definition, ...]] = []
    for index, line in enumerate(function.lines):
        found.append(tuple([bound.get(name) for name in line.uses]))
        bound.update({name: (index, position) for position, name in enumerate(line.defines)})
    return found


class _Comparison:
    """Two texts with their paired functions, and the paired lines of each pair."""

    def __init__(self, kind: StageKind, before: str, after: str) -> None:
        self.a, self.b = _Text(kind, before), _Text(kind, after)
        self.partners: dict[int, int] = {}
        self.lines: dict[int, _LinePairs] = {}
        self._pair_functions()

    def diff(self) -> TextDiff:
        found: list[LineChange] = []
        for i, j in self.partners.items():
            found += self._changes(i, j)
        taken = set(self.partners.values())
        for i, function in enumerate(self.a.functions):
            if i not in self.partners:
                found += [_removed(line) for line in function.lines]
        for j, function in enumerate(self.b.functions):
            if j not in taken:
                found += [_added(line) for line in function.lines]
        found.sort(key=lambda c: (c.after or c.before or 0, c.before or 0))
        pairs = self.lines.values()
        caveats = () if all(p.best for p in pairs) else (LONG,)
        return TextDiff(found, sum(p.moved for p in pairs), caveats)

    # Functions

    def _pair_functions(self) -> None:
        """From the entry on by their callers; the rest by content, then by name."""
        a, b = self.a, self.b
        headings = [
            (i, b.index[f.name])
            for i, f in enumerate(a.functions)
            if f.name in ("module", "HloModule") and f.name in b.index
        ]
        entries = [[i for i, f in enumerate(text.functions) if f.entry] for text in (a, b)]
        self._follow([*headings, *zip(*entries, strict=False)])
        names = [[_SUFFIX.sub("", f.name) for f in text.functions] for text in (a, b)]
        for keys_a, keys_b in ((a.hashes, b.hashes), names):
            taken = set(self.partners.values())
            free: dict[object, list[int]] = {}
            for j, key in enumerate(keys_b):
                if j not in taken:
                    free.setdefault(key, []).append(j)
            rest = [
                (i, free.get(key, [])) for i, key in enumerate(keys_a) if i not in self.partners
            ]
            self._follow([(i, others.pop(0)) for i, others in rest if others])

    def _follow(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Pair these functions, and those that their paired lines call."""
        taken = set(self.partners.values())
        waiting = collections.deque(pairs)
        while waiting:
            i, j = waiting.popleft()
            if i in self.partners or j in taken:
                continue
            self.partners[i] = j
            taken.add(j)
            self.lines[i] = self._pair_lines(i, j)
            for k, m in self.lines[i].forward.items():
                waiting.extend(self._called(i, j, k, m))

    def _called(self, i: int, j: int, k: int, m: int) -> Iterator[tuple[int, int]]:
        a, b = self.a, self.b
        inside = a.called(a.functions[i].lines[k]), b.called(b.functions[j].lines[m])
        return zip(*inside, strict=False)

    # Lines

    def _pair_lines(self, i: int, j: int) -> _LinePairs:
        content_a, content_b = self.a.contents[i], self.b.contents[j]
        if content_a == content_b:
            return _LinePairs({k: k for k in range(len(content_a))})
        lines_a, lines_b = self.a.functions[i].lines, self.b.functions[j].lines
        pairs, best = align(content_a, content_b)
        forward = dict(pairs)
        # Inside the gaps by the lines' own content.
        for gap_a, gap_b in _gaps(pairs, len(content_a), len(content_b)):
            found, complete = align(
                [lines_a[k].key for k in gap_a], [lines_b[m].key for m in gap_b]
            )
            best = best and complete
            forward.update({gap_a[k]: gap_b[m] for k, m in found})
        # Elsewhere: the same from the parameters on, or the same with operands that are paired.
        taken = set(forward.values())
        by_content: dict[int, collections.deque[int]] = {}
        by_operands: dict[Hashable, collections.deque[int]] = {}
        for m, line in enumerate(lines_b):
            if m not in taken:
                operands = self.b.definitions[j][m]
                by_content.setdefault(content_b[m], collections.deque()).append(m)
                by_operands.setdefault((line.key, operands), collections.deque()).append(m)
        moved = 0
        for k, line in enumerate(lines_a):
            if k in forward:
                continue
            operands = tuple(
                [d and (forward.get(d[0], -1), d[1]) for d in self.a.definitions[i][k]]
            )
            for others in (by_content.get(content_a[k]), by_operands.get((line.key, operands))):
                while others and others[0] in taken:
                    others.popleft()
                if others:
                    forward[k] = others.popleft()
                    taken.add(forward[k])
                    moved += 1
                    break
        likely = _likely(lines_a, lines_b, forward, taken)
        forward.update(likely)
        return _LinePairs(forward, frozenset(k for k, _ in likely), moved, best)

    def _changes(self, i: int, j: int) -> Iterator[LineChange]:
        a, b = self.a, self.b
        lines_a, lines_b = a.functions[i].lines, b.functions[j].lines
        pairs = self.lines[i]
        taken = set(pairs.forward.values())
        for k, line in enumerate(lines_a):
            if k not in pairs.forward:
                yield _removed(line)
        for m, line in enumerate(lines_b):
            if m not in taken:
                yield _added(line)
        for k, m in pairs.forward.items():
            if a.contents[i][k] == b.contents[j][m]:
                continue
            same = (
                k not in pairs.changed
                and self._same_operands(i, j, k, m, taken)
                and all(
                    self.partners.get(x) == y or a.hashes[x] == b.hashes[y]
                    for x, y in self._called(i, j, k, m)
                )
            )
            if not same:
                old, new = lines_a[k], lines_b[m]
                yield LineChange(ChangeKind.CHANGED, old.number, new.number, old.text, new.text)

    def _same_operands(self, i: int, j: int, k: int, m: int, taken: set[int]) -> bool:
        """Whether operands are on paired lines, or on a removed and an added line."""
        forward = self.lines[i].forward
        for x, y in zip(self.a.definitions[i][k], self.b.definitions[j][m], strict=False):
            if x is None or y is None:
                if x is not y:
                    return False
                continue
            if x[1] == y[1] and self.a.contents[i][x[0]] == self.b.contents[j][y[0]]:
                continue
            if x[0] in forward:
                if (forward[x[0]], x[1]) != y:
                    return False
            elif y[0] in taken:
                return False
        return True


def _removed(line: IrLine) -> LineChange:
    return LineChange(ChangeKind.REMOVED, line.number, None, line.text)


def _added(line: IrLine) -> LineChange:
    return LineChange(ChangeKind.ADDED, None, line.number, new=line.text)


def _gaps(pairs: Pairs, length_a: int, length_b: int) -> list[tuple[range, range]]:
    found: list[tuple[range, range]] = []
    last_a = last_b = 0
    for k, m in [*pairs, (length_a, length_b)]:
        if k > last_a and m > last_b:
            found.append((range(last_a, k), range(last_b, m)))
        last_a, last_b = k + 1, m + 1
    return found


def _likely(
    lines_a: Sequence[IrLine], lines_b: Sequence[IrLine], forward: dict[int, int], taken: set[int]
) -> Pairs:
    """Likely counterparts of different content, between the same neighbors.

    The same operation first; then by order, where as many are left on both sides.
    """
    steady: Pairs = []
    last = -1
    for k in sorted(forward):
        if forward[k] > last:
            steady.append((k, forward[k]))
            last = forward[k]
    found: Pairs = []
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
