"""Pairs of equal items in two sequences, also in very long ones."""

import bisect
import collections
import difflib
from collections.abc import Hashable, Sequence

_WORK = 400_000
"""Pairs of equal items up to which difflib is used: some 0.1 s, as it visits pairs repeatedly."""
_LENGTH = 4000
_RUNS = (1, 6, 24)
"""Lengths of runs to look for: lines that repeat are often unique with those below."""
_WINDOW = 200

Pairs = list[tuple[int, int]]


def align(a: Sequence[Hashable], b: Sequence[Hashable]) -> tuple[Pairs, bool]:
    """Pairs of indices of equal items, ascending in both, and whether they are the most possible.

    difflib is quadratic, so common ends are removed first, and a long rest is split where an item
    or a run of items is unique in both. A long rest without any is paired window by window, which
    may miss the longest common sequence: then the second result is False.
    """
    found: Pairs = []
    waiting = [(0, len(a), 0, len(b))]
    best = True
    while waiting:
        low_a, high_a, low_b, high_b = waiting.pop()
        while low_a < high_a and low_b < high_b and a[low_a] == b[low_b]:
            found.append((low_a, low_b))
            low_a, low_b = low_a + 1, low_b + 1
        while low_a < high_a and low_b < high_b and a[high_a - 1] == b[high_b - 1]:
            high_a, high_b = high_a - 1, high_b - 1
            found.append((high_a, high_b))
        if low_a == high_a or low_b == high_b:
            continue
        part_a, part_b = a[low_a:high_a], b[low_b:high_b]
        of_a, of_b = collections.Counter(part_a), collections.Counter(part_b)
        work = sum(count * of_b[item] for item, count in of_a.items())  # pairs of equal items
        if not work:
            continue
        if work <= _WORK and max(len(part_a), len(part_b)) <= _LENGTH:
            found += [(low_a + i, low_b + j) for i, j in _closely(part_a, part_b)]
            continue
        runs = (_unique(part_a, part_b, size) for size in _RUNS)
        anchors = next((run for run in runs if run), [])
        if not anchors:
            best = False
            found += [(low_a + i, low_b + j) for i, j in _windows(part_a, part_b)]
            continue
        previous = (low_a, low_b)
        for i, j in anchors:
            found.append((low_a + i, low_b + j))
            waiting.append((previous[0], low_a + i, previous[1], low_b + j))
            previous = (low_a + i + 1, low_b + j + 1)
        waiting.append((previous[0], high_a, previous[1], high_b))
    return sorted(found), best


def _closely(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    blocks = difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    return [(i + k, j + k) for i, j, size in blocks for k in range(size)]


def _unique(a: Sequence[Hashable], b: Sequence[Hashable], size: int) -> Pairs:
    """Starts of runs of `size` items that are unique in each sequence, ascending in both."""
    if size > 1:
        a = [tuple(a[i : i + size]) for i in range(len(a) - size + 1)]
        b = [tuple(b[j : j + size]) for j in range(len(b) - size + 1)]
    of_a, of_b = collections.Counter(a), collections.Counter(b)
    place = {item: j for j, item in enumerate(b) if of_b[item] == 1}
    pairs = [(i, place[item]) for i, item in enumerate(a) if of_a[item] == 1 and item in place]
    return _ascending(pairs)


def _ascending(pairs: Pairs) -> Pairs:
    """The longest subsequence with ascending second indices (patience sorting)."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int | None] = []
    for index, (_, j) in enumerate(pairs):
        at = bisect.bisect_left(ends, j)
        before.append(last[at - 1] if at else None)
        ends[at : at + 1] = [j]
        last[at : at + 1] = [index]
    longest: Pairs = []
    index = last[-1] if last else None
    while index is not None:
        longest.append(pairs[index])
        index = before[index]
    longest.reverse()
    return longest


def _windows(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Pairs found by difflib in a sliding window, the first half of each window kept."""
    pairs: Pairs = []
    i = j = 0
    while i < len(a) and j < len(b):
        found = _closely(a[i : i + _WINDOW], b[j : j + _WINDOW])
        last = i + _WINDOW >= len(a) or j + _WINDOW >= len(b)
        kept = found if last else [pair for pair in found if pair[0] < _WINDOW // 2]
        pairs += [(i + x, j + y) for x, y in kept]
        if last:
            break
        step = (kept[-1][0] + 1, kept[-1][1] + 1) if kept else (_WINDOW // 2, _WINDOW // 2)
        i, j = i + step[0], j + step[1]
    return pairs
