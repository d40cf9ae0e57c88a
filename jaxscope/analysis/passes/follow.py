"""The instructions of one source line, or one instruction, through all passes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.passes.rewrites import Difference
from jaxscope.analysis.passes.snapshots import Snapshots, named_lines, plain
from jaxscope.analysis.passes.trail import Trail
from jaxscope.analysis.passes.values import Values
from jaxscope.model.compiler.passes import (
    FollowedInstructions,
    InstructionChange,
    PassChanges,
    PassEffect,
)


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
        new = passed & step.difference.fresh
        exact = exact and new <= step.equations.keys()
        known = passed - (new & step.equations.keys())
        tracked.append(known | mine(step.equations.items()))
    return _followed(snapshots, trail, tracked, subject, exact)


def follow_instruction(snapshots: Snapshots, trail: Trail, name: str) -> FollowedInstructions:
    """One instruction in each pass: its origin and its replacements.

    The optimized program's one of that name, else that of the latest program that has one. Raises
    LookupError where none has.
    """
    texts = list(named_lines(snapshots))
    number = max((n for n, lines in enumerate(texts) if name in lines), default=-1)
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
    found = {name for name in names if name not in changed.lost}
    found |= {new for new, old in changed.moved.items() if not set(old).isdisjoint(names)}
    for rewrite in changed.rewrites:
        if not set(rewrite.removed).isdisjoint(names):
            found |= set(rewrite.created or ((rewrite.value,) if merged else ()))
    return found - changed.literals


def _backward(changed: Difference, names: Collection[str]) -> set[str]:
    """The instructions before a pass that these were, or whose place they take."""
    found = {name for name in names if name not in changed.fresh}
    found |= {old for new in names for old in changed.moved.get(new, ())}
    for rewrite in changed.rewrites:
        if not set(rewrite.created).isdisjoint(names):
            found |= set(rewrite.removed or rewrite.replaced)
    return found


def _followed(
    snapshots: Snapshots, trail: Trail, tracked: list[set[str]], subject: str, exact: bool
) -> FollowedInstructions:
    steps: list[PassChanges] = []
    texts = named_lines(snapshots)
    old = next(texts)
    first = _lines(old, tracked[0])
    for compiler_pass, step, new in zip(snapshots.passes, trail.steps, texts, strict=True):
        number = compiler_pass.number
        changes = tuple([
            InstructionChange(kind, _lines(old, before), _lines(new, after), into)
            for kind, before, after, into in changes_of(
                step.difference, tracked[number - 1], tracked[number]
            )
        ])  # fmt: skip
        if changes:
            steps.append(PassChanges(compiler_pass, changes))
        old = new
    return FollowedInstructions(subject, first, tuple(steps), _lines(old, tracked[-1]), exact)


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
    moved: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for name, sources in changed.moved.items():
        mine = [one for one in sources if one in old]
        if name in new or mine:
            before, after = moved.setdefault(changed.holders.get(name, ""), ({}, {}))
            before |= dict.fromkeys(mine or sources)
            after[name] = None
    for into, (before, after) in moved.items():
        found.append((PassEffect.MOVED, tuple(before), tuple(after), into))
    if gone := [name for name in changed.eliminated if name in old]:
        found.append((PassEffect.ELIMINATED, gone, (), ""))
    if made := [name for name in changed.created if name in new]:
        found.append((PassEffect.CREATED, (), made, ""))
    return found


def _lines(text: Mapping[str, str], names: Collection[str]) -> tuple[str, ...]:
    """The lines of these instructions, in the order of the text."""
    wanted = frozenset(names)
    return tuple([
        plain(line).removeprefix("ROOT ") for name, line in text.items() if name in wanted
    ])  # fmt: skip
