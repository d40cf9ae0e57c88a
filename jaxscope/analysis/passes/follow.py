"""The instructions of one source line, or one instruction, through all passes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.passes.rewrites import Difference
from jaxscope.analysis.passes.snapshots import Snapshots, plain
from jaxscope.analysis.passes.trail import Trail
from jaxscope.analysis.passes.values import Values
from jaxscope.model.compiler.passes import (
    FollowedInstructions,
    InstructionChange,
    PassChanges,
    PassEffect,
)

_NAME = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = .*$", re.MULTILINE)


def follow_equations(
    snapshots: Snapshots, trail: Trail, equations: Collection[int], subject: str
) -> FollowedInstructions:
    """The instructions of these equations in each pass."""
    wanted = frozenset(equations)

    def mine(known: Iterable[tuple[str, tuple[int, ...]]]) -> set[str]:
        return {name for name, few in known if not wanted.isdisjoint(few)}

    tracked = [mine(trail.first.items())]
    exact = True
    for step in trail.steps:
        # The value of a merged one is an instruction of another line from here on.
        passed = _forward(step.difference, tracked[-1], merged=False)
        unknown = passed - step.difference.kept - step.equations.keys()
        exact = exact and not unknown
        known = passed & (step.difference.kept | unknown)
        tracked.append(known | mine(step.equations.items()))
    return _followed(snapshots, trail, tracked, subject, exact)


def follow_instruction(snapshots: Snapshots, trail: Trail, name: str) -> FollowedInstructions:
    """One instruction in each pass: its origin and its replacements.

    The optimized program's one of that name, else that of the latest program that has one. Raises
    LookupError where none has.
    """
    number = len(trail.steps)
    while not re.search(rf"^\s+(?:ROOT )?%?{re.escape(name)} = ", snapshots.raw(number), re.M):
        number -= 1
        if number < 0:
            raise LookupError(f"No pass has an instruction %{name}.")
    start = set(Values(parse_module(snapshots.raw(number))).inside(name))
    tracked = [start]
    for step in reversed(trail.steps[:number]):
        tracked.insert(0, _backward(step.difference, tracked[0]))
    for step in trail.steps[number:]:
        tracked.append(_forward(step.difference, tracked[-1]))
    return _followed(snapshots, trail, tracked, f"%{name}", exact=True)


def _forward(changed: Difference, names: Collection[str], *, merged: bool = True) -> set[str]:
    """The instructions after a pass that these are, or that take their place."""
    found = {name for name in names if name in changed.kept}
    found |= {new for new, old in changed.moved.items() if not set(old).isdisjoint(names)}
    for rewrite in changed.rewrites:
        if not set(rewrite.removed).isdisjoint(names):
            found |= set(rewrite.created or ((rewrite.value,) if merged else ()))
    return found - changed.literals


def _backward(changed: Difference, names: Collection[str]) -> set[str]:
    """The instructions before a pass that these were, or whose place they take."""
    found = {name for name in names if name in changed.kept}
    found |= {old for new in names for old in changed.moved.get(new, ())}
    for rewrite in changed.rewrites:
        if not set(rewrite.created).isdisjoint(names):
            found |= set(rewrite.removed or rewrite.replaced)
    return found


def _followed(
    snapshots: Snapshots, trail: Trail, tracked: list[set[str]], subject: str, exact: bool
) -> FollowedInstructions:
    steps: list[PassChanges] = []
    for compiler_pass, step in zip(snapshots.passes, trail.steps, strict=True):
        number = compiler_pass.number
        made = changes_of(step.difference, tracked[number - 1], tracked[number])
        if made:
            old, new = _lines(snapshots, number - 1), _lines(snapshots, number)
            changes = tuple([
                InstructionChange(kind, old(before), new(after), into)
                for kind, before, after, into in made
            ])  # fmt: skip
            steps.append(PassChanges(compiler_pass, changes))
    first, last = (_lines(snapshots, n)(tracked[n]) for n in (0, len(trail.steps)))
    return FollowedInstructions(subject, first, tuple(steps), last, exact)


Change = tuple[PassEffect, Collection[str], Collection[str], str]


def changes_of(changed: Difference, old: Collection[str], new: Collection[str]) -> list[Change]:
    """The changes that one of the instructions takes part in."""
    found: list[Change] = []
    for rewrite in changed.rewrites:
        if set(rewrite.removed).isdisjoint(old) and set(rewrite.created).isdisjoint(new):
            continue
        kind = PassEffect.REWRITTEN if rewrite.removed else PassEffect.CREATED
        if not rewrite.created:
            kind = PassEffect.MERGED
        found.append((kind, rewrite.removed, rewrite.created or (rewrite.value,), ""))
    moved: dict[str, tuple[set[str], set[str]]] = {}
    for name, sources in changed.moved.items():
        mine = [one for one in sources if one in old]
        if name in new or mine:
            before, after = moved.setdefault(changed.holders.get(name, ""), (set(), set()))
            before |= set(mine or sources)
            after.add(name)
    found += [(PassEffect.MOVED, *sides, into) for into, sides in moved.items()]
    if gone := [name for name in changed.eliminated if name in old]:
        found.append((PassEffect.ELIMINATED, gone, (), ""))
    if made := [name for name in changed.created if name in new]:
        found.append((PassEffect.CREATED, (), made, ""))
    return found


def lines_by_name(snapshots: Snapshots, number: int) -> dict[str, str]:
    """By name: the line of each instruction in the text after that many passes."""
    return {found[1]: found[0] for found in _NAME.finditer(snapshots.raw(number))}


def _lines(snapshots: Snapshots, number: int) -> Callable[[Iterable[str]], tuple[str, ...]]:
    """Gives the lines of instructions in the text after that many passes, in its order."""
    lines = lines_by_name(snapshots, number)

    def of(names: Iterable[str]) -> tuple[str, ...]:
        wanted = set(names)
        return tuple(
            [plain(line).removeprefix("ROOT ") for name, line in lines.items() if name in wanted]
        )

    return of
