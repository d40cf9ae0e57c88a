"""The program before one pass and after it: its changed lines by what the pass did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from jaxscope.analysis.hlo import SimilarModules
from jaxscope.analysis.links.tags import clean_hlo
from jaxscope.analysis.passes.follow import changes_of
from jaxscope.analysis.passes.rewrites import Difference, difference
from jaxscope.analysis.passes.snapshots import Snapshots, name_of, plain
from jaxscope.analysis.passes.values import Values
from jaxscope.model.compiler.passes import PassComparison, PassDiffGroup
from jaxscope.model.report_diff import ChangeKind, LineChange

MOST_LINES = 4000
"""Lines of a program that are shown whole."""
_AROUND = 6
"""Lines around a changed one that are shown of a longer program."""


def pass_diff(snapshots: Snapshots, number: int) -> PassComparison:
    """Compare the programs around the pass of that number (from 1).

    Raises LookupError where a text was not kept, and ValueError for one that is not HLO.
    """
    reader = SimilarModules()
    sides = [snapshots.raw(n).split("\n") for n in (number - 1, number)]
    old = Values(reader.parse(sides[0]))
    changed = difference(old, Values(reader.parse(sides[1]), old))
    before, after = (clean_hlo("\n".join(lines)).text.split("\n") for lines in sides)
    pairs = list(_groups(before, after, changed))
    old_shown, old_numbers = _shown(before, {i for _, found in pairs for i, _ in found if i})
    new_shown, new_numbers = _shown(after, {j for _, found in pairs for _, j in found if j})

    def change(i: int, j: int) -> LineChange:
        both = ChangeKind.CHANGED if i else ChangeKind.ADDED
        return LineChange(
            both if j else ChangeKind.REMOVED,
            old_numbers[i] if i else None,
            new_numbers[j] if j else None,
            plain(before[i - 1]) if i else "",
            plain(after[j - 1]) if j else "",
        )

    return PassComparison(
        snapshots.passes[number - 1],
        "\n".join(old_shown),
        "\n".join(new_shown),
        tuple(
            [
                PassDiffGroup(caption, tuple([change(*at) for at in found]))
                for caption, found in pairs
            ]
        ),
    )


Places = list[tuple[int, int]]
"""Lines of both texts, from 1; 0 where one side has none."""


def _groups(
    before: Sequence[str], after: Sequence[str], changed: Difference
) -> Iterator[tuple[str, Places]]:
    """Each changed line once, under what the pass did to it."""
    old_lines, new_lines = _by_name(before), _by_name(after)
    old_left, new_left = _only(before, after), _only(after, before)
    found: dict[str, Places] = {}
    for kind, old, new, into in changes_of(changed, old_lines.keys(), new_lines.keys()):
        caption = f"{kind.value} into %{into}" if into else kind.value
        places = found.setdefault(caption, [])
        olds = [i for name in old if (i := old_lines.get(name, 0)) in old_left]
        news = [j for name in new if (j := new_lines.get(name, 0)) in new_left]
        for i, j in zip_longest(olds, news, fillvalue=0):
            places.append((i, j))
            old_left.discard(i)
            new_left.discard(j)
    # An instruction that keeps its name reads something else now.
    kept = found.setdefault("other operands or attributes", [])
    for name, i in old_lines.items():
        j = new_lines.get(name, 0)
        if i in old_left and j in new_left:
            kept.append((i, j))
            old_left.discard(i)
            new_left.discard(j)
    rest = found.setdefault("computations, constants and arguments", [])
    rest += [(i, 0) for i in sorted(old_left) if before[i - 1].strip(" }")]
    rest += [(0, j) for j in sorted(new_left) if after[j - 1].strip(" }")]
    for caption, places in found.items():
        if places:
            yield caption, places


def _by_name(lines: Sequence[str]) -> dict[str, int]:
    return {name: n for n, line in enumerate(lines, 1) if (name := name_of(line))}


def _only(lines: Sequence[str], other: Sequence[str]) -> set[int]:
    """Numbers of the lines that the other text has not."""
    known = {plain(line) for line in other}
    return {n for n, line in enumerate(lines, 1) if plain(line) not in known}


def _shown(lines: Sequence[str], changed: set[int]) -> tuple[list[str], Mapping[int, int]]:
    """The lines to show, and for each its number among them."""
    if len(lines) <= MOST_LINES:
        return list(lines), {n: n for n in range(1, len(lines) + 1)}
    near = {n for at in changed for n in range(at - _AROUND, at + _AROUND + 1)} | {1}
    shown: list[str] = []
    numbers: dict[int, int] = {}
    last = 0
    for n in sorted(near & set(range(1, len(lines) + 1))):
        if n > last + 1:
            shown.append(f"  … {n - last - 1} lines …")
        shown.append(lines[n - 1])
        numbers[n] = len(shown)
        last = n
    if last < len(lines):
        shown.append(f"  … {len(lines) - last} lines …")
    return shown, numbers
