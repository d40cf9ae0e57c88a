"""The difference that a pass makes: which instructions take the place of which.

Names are unique, and a pass keeps those of the instructions that it leaves alone. Where an
instruction that stayed reads something else than before, that has the value of what it read before.
So each changed operand connects removed instructions with new ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from jaxscope.analysis.hlo import HloModule, Instruction
from jaxscope.analysis.passes.values import HOLDING, Values


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One value that a pass made in a different way."""

    replaced: tuple[str, ...]
    """The instructions before the pass that had the value."""
    removed: tuple[str, ...]
    """These and what only they needed, where the pass removed it."""
    value: str
    """The instruction that has the value after the pass."""
    created: tuple[str, ...]
    """It and what it needs, where that is new."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The effects of a pass, by names of instructions."""

    moved: Mapping[str, tuple[str, ...]]
    """New instruction → earlier ones that compute the same."""
    rewrites: tuple[Rewrite, ...]
    eliminated: tuple[str, ...]
    """Removed instructions that nothing is known to replace."""
    created: tuple[str, ...]
    """New instructions that are not known to replace anything."""
    holders: Mapping[str, str]
    """New instruction → the fusion or call that it is in."""
    lost: frozenset[str]
    """Instructions before the pass that it did not keep. It may give kept ones other operands."""
    fresh: frozenset[str]
    """Instructions after the pass that it did not keep. XLA may use a name again."""
    literals: frozenset[str] = frozenset()
    """New constants: they belong to what reads them."""


def difference(before: Values, after: Values) -> Difference:
    """Compare the program before a pass with the one after it."""
    return _Comparison(before, after).result()


class _Comparison:
    def __init__(self, before: Values, after: Values) -> None:
        self.before, self.after = before, after
        old, new = before.module.by_name, after.module.by_name
        # Most are the same object: `SimilarModules`.
        self.kept = {name for name, one in new.items() if old.get(name) is one}
        equal = set(self.kept)
        self._steady: list[str] = []
        """Kept ones with the same attributes and different operands."""
        changed = [name for name in new if name not in equal]
        for name in changed:
            one, other = new[name], old.get(name)
            if other is None or other.opcode != one.opcode:
                continue
            if _is_equal(other, one):
                equal.add(name)
            elif _is_same(other, one, before, after):
                if before.operation(other) == after.operation(one):
                    self._steady.append(name)
            else:
                continue
            self.kept.add(name)
        self.lost = frozenset(old.keys() - self.kept)
        self.fresh = frozenset(new.keys() - self.kept)
        if self.fresh:
            kept_apart = self.fresh.isdisjoint
            self._steady += [n for n, i in new.items() if n in equal and not kept_apart(i.operands)]
        self._gone = _working(before.module, self.lost)
        self._new = _working(after.module, self.fresh)
        self._old_order = {name: n for n, name in enumerate(self._gone)}
        self._new_order = {name: n for n, name in enumerate(self._new)}
        self.moved: dict[str, tuple[str, ...]] = {}
        self._match_equal()
        self._left = {one for many in self.moved.values() for one in many}

    def result(self) -> Difference:
        pairs = self._pairs()
        targets, sources = set(pairs), {one for many in pairs.values() for one in many}
        old_ends, new_ends = self._left | sources, self.moved.keys() | targets
        rewrites = tuple([
            Rewrite(
                tuple(replaced),
                _grown(replaced, self.before, self._old_order, old_ends),
                value,
                _grown((value,), self.after, self._new_order, new_ends),
            )
            for value, replaced in pairs.items()
        ])  # fmt: skip
        # One that moved out of a loop leaves something that reads it.
        held = {one for rewrite in rewrites if rewrite.created for one in rewrite.removed}
        made = {one for rewrite in rewrites for one in rewrite.created}
        self._match_named(held, made)
        rewrites = tuple([r for r in rewrites if r.created or self._left.isdisjoint(r.removed)])
        removed = {one for rewrite in rewrites for one in rewrite.removed} | self._left
        created = made | self.moved.keys()
        holders = {name: self.after.holder(name) for name in self._new}
        return Difference(
            self.moved,
            rewrites,
            tuple([name for name in self._gone if name not in removed]),
            tuple([name for name in self._new if name not in created]),
            {name: holder for name, holder in holders.items() if holder},
            self.lost,
            self.fresh,
            frozenset({name for name, new in self._new.items() if new.opcode == "constant"}),
        )

    def _match_equal(self) -> None:
        """Find new instructions that compute the same as earlier ones, of the same operands."""
        if not self._new:
            return
        numbers = _Numbers(self.kept)
        by_number: dict[int, list[str]] = {}
        kinds = {(one.opcode, one.shape.dims) for one in self._new.values()}
        for name, instruction in self.before.module.by_name.items():
            if (instruction.opcode, instruction.shape.dims) in kinds and name not in self._gone:
                number = numbers.know(instruction, self.before)
                by_number.setdefault(number, []).append(instruction.name)
        for name in self._gone:
            number = numbers.of(name, self.before, self._gone)
            by_number.setdefault(number, []).append(name)
        numbers.next()
        for name in self._new:
            if found := by_number.get(numbers.of(name, self.after, self._new)):
                self.moved[name] = tuple(found)

    def _match_named(self, held: Collection[str], made: Collection[str]) -> None:
        """Find the same operations with other operands, by JAX's name, outside all rewrites."""
        by_name: dict[tuple[str, ...], list[str]] = {}
        for name, instruction in self._gone.items():
            if instruction.op_name and name not in held and name not in self._left:
                key = (instruction.op_name, *self.before.operation(instruction))
                by_name.setdefault(key, []).append(name)
        for name, instruction in self._new.items():
            if name not in self.moved and name not in made and instruction.op_name:
                key = (instruction.op_name, *self.after.operation(instruction))
                found = by_name.get(key, [])
                if len(found) == 1:
                    self.moved[name] = tuple(found)
                    self._left.add(found[0])

    def _pairs(self) -> dict[str, dict[str, None]]:
        """By instruction after the pass: the instructions before it that had the same value."""
        found: dict[str, dict[str, None]] = {}

        def pair(old: str, new: str) -> None:
            if old == new or new in self.moved or old in self._left:
                return
            if (old in self._gone or new in self._new) and self._fit(old, new):
                found.setdefault(new, {})[old] = None

        before, after = self.before, self.after
        for name in self._steady:
            for old, new in _zipped(before.operands(name), after.operands(name)):
                pair(old, new)
        for computation in after.module.computations:
            same = before.module.computation(computation.name)
            if computation.is_entry:
                same = before.module.entry_computation
            if same is not None:
                pair(before.maker(same.root.name), after.maker(computation.root.name))
        return found

    def _fit(self, old: str, new: str) -> bool:
        first, second = self.before.module.instruction(old), self.after.module.instruction(new)
        if first is None or second is None:
            return False
        return self.before.operation(first)[1] == self.after.operation(second)[1]


def _zipped(old: tuple[str, ...], new: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    """Operands by position; none where their number changed, or they changed places."""
    if len(old) != len(new) or (old != new and sorted(old) == sorted(new)):
        return ()
    return zip(old, new, strict=True)


def _grown(
    start: Iterable[str],
    values: Values,
    changed: Mapping[str, int],
    ends: Collection[str],
) -> tuple[str, ...]:
    """Those of the start that changed, and what they read, as far as that changed with them.

    `changed` numbers them in the order of the text.
    """
    found: dict[str, None] = {}
    waiting = [one for one in start if one in changed]
    while waiting:
        name = waiting.pop()
        found[name] = None
        waiting += [
            other
            for other in values.operands(name)
            if other in changed and other not in ends and other not in found
        ]
    return tuple(sorted(found, key=changed.__getitem__))


def _is_equal(old: Instruction, new: Instruction) -> bool:
    """Whether nothing of it changed."""
    return (
        old.arguments == new.arguments
        and old.attributes_text == new.attributes_text
        and old.shape.text == new.shape.text
    )


def _is_same(old: Instruction, new: Instruction, before: Values, after: Values) -> bool:
    """Whether it is the instruction of that name before the pass, and not a later one."""
    # XLA may use a name again.
    if old.op_name != new.op_name and old.operands != new.operands:
        return False
    return bool(old.op_name) or before.operation(old) == after.operation(new)


def _working(module: HloModule, changed: Collection[str]) -> dict[str, Instruction]:
    """By name, in the order of the text, the instructions of these that make values."""
    if not changed:
        return {}
    return {
        name: one
        for name, one in module.by_name.items()
        if name in changed and one.opcode not in HOLDING
    }


class _Numbers:
    """Numbers of instructions: two with the same number compute the same.

    Those that the pass kept are known by their name.
    """

    def __init__(self, kept: Collection[str]) -> None:
        self._kept = kept
        self._numbers: dict[tuple[object, ...], int] = {}
        self._found: dict[str, int] = {}

    def next(self) -> None:
        """Go on with another module."""
        self._found = {}

    def know(self, instruction: Instruction, values: Values) -> int:
        """Number an instruction that was kept, so that a copy of it is found."""
        leaf = self._leaf(instruction.name)
        operands = [self._leaf(one) for one in values.operands(instruction.name)]
        return self._numbers.setdefault((values.operation(instruction), *operands), leaf)

    def of(self, name: str, values: Values, changed: Mapping[str, Instruction]) -> int:
        """Number an instruction that is new or was removed."""
        waiting = [name]
        while waiting:
            name = waiting[-1]
            operands = values.operands(name)
            missing = [o for o in operands if o in changed and o not in self._found]
            if name in self._found:
                waiting.pop()
            elif missing:
                waiting += missing
            else:
                own = [self._found[o] if o in changed else self._leaf(o) for o in operands]
                self._found[name] = self._number(values.operation(changed[name]), *own)
        return self._found.get(name, -1)

    def _leaf(self, name: str) -> int:
        return self._number("kept" if name in self._kept else "other", name)

    def _number(self, *key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))
