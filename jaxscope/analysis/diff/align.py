"""Which items of one sequence are the same as which of another, also for very long ones."""

from __future__ import annotations

import bisect
import collections
import difflib
from collections.abc import Hashable, Sequence

_WORK = 400_000
"""Pairs of equal items that difflib may look at: some 0.1 s, for it looks at them repeatedly."""
_LENGTH = 4000

Pairs = list[tuple[int, int]]


def align(a: Sequence[Hashable], b: Sequence[Hashable]) -> tuple[Pairs, bool]:
    """Pairs of indices of equal items, ascending in both, and whether they are the best there are.

    difflib is quadratic, so common ends are cut off first, and a long rest is cut where an item
    is unique in both. A long rest without such items is paired in one sweep, which finds a common
    sequence though perhaps not the longest: then the second result is False.
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
        if _small(part_a, part_b):
            matcher = difflib.SequenceMatcher(None, part_a, part_b, autojunk=False)
            for start_a, start_b, size in matcher.get_matching_blocks():
                found += [(low_a + start_a + k, low_b + start_b + k) for k in range(size)]
            continue
        anchors = _unique(part_a, part_b)
        if not anchors:
            best = False
            found += [(low_a + i, low_b + j) for i, j in _sweep(part_a, part_b)]
            continue
        previous = (low_a, low_b)
        for i, j in anchors:
            found.append((low_a + i, low_b + j))
            waiting.append((previous[0], low_a + i, previous[1], low_b + j))
            previous = (low_a + i + 1, low_b + j + 1)
        waiting.append((previous[0], high_a, previous[1], high_b))
    return sorted(found), best


def _small(a: Sequence[Hashable], b: Sequence[Hashable]) -> bool:
    if len(a) > _LENGTH or len(b) > _LENGTH:
        return False
    of_a, of_b = collections.Counter(a), collections.Counter(b)
    return sum(count * of_b[item] for item, count in of_a.items()) <= _WORK


def _unique(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Items that stand once in each, the longest run of them that ascends in both."""
    of_a, of_b = collections.Counter(a), collections.Counter(b)
    place = {item: j for j, item in enumerate(b) if of_b[item] == 1}
    pairs = [(i, place[item]) for i, item in enumerate(a) if of_a[item] == 1 and item in place]
    return _ascending(pairs)


def _ascending(pairs: Pairs) -> Pairs:
    """The longest subsequence with ascending second indices (patience sorting)."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        at = bisect.bisect_left(ends, j)
        before.append(last[at - 1] if at else -1)
        ends[at : at + 1] = [j]
        last[at : at + 1] = [index]
    chain: Pairs = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _sweep(a: Sequence[Hashable], b: Sequence[Hashable]) -> Pairs:
    """Occurrences of an item paired in order, then the longest ascending run of those pairs."""
    places: dict[Hashable, collections.deque[int]] = {}
    for j, item in enumerate(b):
        places.setdefault(item, collections.deque()).append(j)
    pairs: Pairs = []
    for i, item in enumerate(a):
        waiting = places.get(item)
        if waiting:
            pairs.append((i, waiting.popleft()))
    return _ascending(pairs)
