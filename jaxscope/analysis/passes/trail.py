"""The instructions of a program through all passes, with the equations that they come from.

Many passes write instructions without metadata. Such a one belongs to the equation of what it
replaces, where that is one equation; otherwise it has none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from jaxscope.analysis.hlo import HloModule, Instruction, SimilarModules
from jaxscope.analysis.links.anchors import may_be_lent
from jaxscope.analysis.links.attribution import MADE_OF, MOVING, Equations
from jaxscope.analysis.links.instruction_tags import APPLYING, TagReader
from jaxscope.analysis.links.locator import Locator
from jaxscope.analysis.passes.rewrites import Difference, Rewrite, difference
from jaxscope.analysis.passes.snapshots import Snapshots
from jaxscope.analysis.passes.values import HOLDING, Values

INERT = HOLDING | {"constant"}
"""Opcodes of instructions that belong to no equation of their own."""


@dataclass(frozen=True, slots=True)
class TrailStep:
    """One pass: what it changed, and the equations of what it made."""

    difference: Difference
    equations: Equations
    """Of the new instructions."""


@dataclass(frozen=True, slots=True)
class Trail:
    """All passes in order, by names of instructions."""

    first: Equations
    """Of the instructions of the program that XLA received."""
    steps: tuple[TrailStep, ...]
    settled: Equations
    """Of the instructions of the optimized program that have no tag of their own, or a tag that
    may be that of another: the equations of what they come from, where that is certain."""


def trail(snapshots: Snapshots, locator: Locator) -> Trail:
    """Follow every instruction through the passes.

    Raises LookupError where a text was not kept, and ValueError for one that is not HLO.
    """
    reader, tags = SimilarModules(), TagReader(locator)
    texts = snapshots.texts()
    before = Values(reader.parse(next(texts)))
    first = known = _tagged(tags, before.module)
    own = first
    steps: list[TrailStep] = []
    settled: dict[str, tuple[int, ...]] = {}
    for text in texts:
        values = Values(reader.parse(text), before)
        changed, after = difference(before, values), values.module
        own = _tagged(tags, after)
        reliable = {
            name
            for name in own.keys() & changed.fresh
            if not may_be_lent(after.by_name[name], own[name], locator)
        }
        made = _Origins(before.module, after, changed, known).of_new(reliable)
        old = changed.lost | shared_values(changed, known)
        settled = without(settled, old) | made
        known = without(known, old) | own | settled
        new = {name: known[name] for name in changed.fresh if name in known}
        steps.append(TrailStep(changed, new))
        before = values
    applied = _applied(before.module, known)
    settled |= {name: e for name, e in applied.items() if name not in own}
    return Trail(first, tuple(steps), settled)


def shared_values(changed: Difference, known: Equations) -> set[str]:
    """Kept instructions that took the place of ones of other equations."""
    return {
        rewrite.value
        for rewrite in changed.rewrites
        if not rewrite.created
        and any(known.get(one) != known.get(rewrite.value) for one in rewrite.replaced)
    }


def without(known: Equations, names: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """All but those of these instructions."""
    left = dict(known)
    for name in names:
        left.pop(name, None)
    return left


def _applied(module: HloModule, known: Equations) -> dict[str, tuple[int, ...]]:
    """Instructions of computations that only one equation applies to elements, such as reducers."""
    callers: dict[str, set[tuple[int, ...]]] = {}
    for instruction in module.instructions():
        for called in instruction.called:
            applies = instruction.opcode in APPLYING
            equations = known.get(instruction.name, ()) if applies else ()
            callers.setdefault(called, set()).add(equations)
    return {
        instruction.name: equations
        for computation in module.computations
        if len(of := callers.get(computation.name, set())) == 1 and (equations := next(iter(of)))
        for instruction in computation.instructions
        if instruction.opcode not in INERT
    }


def _tagged(tags: TagReader, module: HloModule) -> dict[str, tuple[int, ...]]:
    by_name = module.by_name
    return {
        name: equations
        for name, equations in tags.equations(module).items()
        if by_name[name].opcode not in INERT
    }


class _Origins:
    def __init__(
        self, before: HloModule, after: HloModule, changed: Difference, known: Equations
    ) -> None:
        self._before, self._after, self._changed, self._known = before, after, changed, known

    def of_new(self, tagged: Collection[str]) -> dict[str, tuple[int, ...]]:
        """The equations of new instructions without a reliable tag, where they are certain."""
        found: dict[str, tuple[int, ...]] = {}
        several: set[str] = set()
        for name, old in self._changed.moved.items():
            if name in tagged or name in self._changed.literals:
                continue
            if origin := self._one(old):
                found[name] = origin
        for rewrite in self._changed.rewrites:
            for name in rewrite.created:
                origin = (
                    None
                    if name in tagged or name in self._changed.literals
                    else self._of(name, rewrite)
                )
                if origin and found.setdefault(name, origin) != origin:
                    several.add(name)  # two values that it is a part of
        return {name: origin for name, origin in found.items() if name not in several}

    def _of(self, name: str, rewrite: Rewrite) -> tuple[int, ...] | None:
        new = self._after.instruction(name)
        if new is None:
            return None
        moving = new.opcode in MOVING
        if not rewrite.removed:  # a copy of a value that stays
            return self._one(rewrite.replaced) if moving else None
        removed = self._instructions(rewrite.removed)
        computing = [one for one in removed if one.opcode not in MOVING]
        if not computing:
            return self._one(rewrite.removed) if moving else None
        alike = self._instructions(rewrite.created, self._after)
        if new.opcode in MADE_OF and sum(one.opcode == new.opcode for one in alike) == 1:
            makers = MADE_OF[new.opcode]
            computing = [one for one in computing if one.opcode in makers] or computing
        return self._one([one.name for one in computing])

    def _instructions(
        self, names: Iterable[str], module: HloModule | None = None
    ) -> list[Instruction]:
        found = map((module or self._before).instruction, names)
        return [one for one in found if one is not None]

    def _one(self, names: Iterable[str]) -> tuple[int, ...] | None:
        """The equations that all of these have; None where one has others or none."""
        origins = {self._known.get(name) for name in names}
        return next(iter(origins)) if len(origins) == 1 else None
