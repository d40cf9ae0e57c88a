"""The equations of the instructions of an HLO module, by their own tags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from jaxscope.analysis.hlo import Computation, HloFrame, HloModule, Instruction, callers_first
from jaxscope.analysis.links.dataflow import DISSOLVED
from jaxscope.analysis.links.locator import Locator
from jaxscope.analysis.links.program_input import PRODUCTS
from jaxscope.analysis.links.tags import CleanText, TagPath
from jaxscope.model import Anchor

PLAIN = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
"""Instructions that compute nothing: untagged ones get no link."""
HOLDERS = frozenset({"fusion", "call", "async-start", "custom-call"})
"""Instructions whose line represents the computation inside."""
APPLYING = frozenset({
    "reduce", "reduce-window", "sort", "scatter", "map", "select-and-scatter", "all-reduce",
    "reduce-scatter", "scan",
})  # fmt: skip
"""Instructions that apply the computation that they call to elements."""


@dataclass(slots=True)
class Located:
    """The equations of the instructions of a computation or a module, by their names."""

    exact: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    guessed: dict[str, tuple[tuple[int, ...], str]] = field(
        default_factory=dict[str, tuple[tuple[int, ...], str]]
    )
    untagged: list[Instruction] = field(default_factory=list[Instruction])
    """Those that compute something and have no tag."""
    products: list[Instruction] = field(default_factory=list[Instruction])
    """Those with a tag."""
    holders: list[Instruction] = field(default_factory=list[Instruction])
    anchors: dict[int, Anchor] = field(default_factory=dict[int, Anchor])
    """By line: those of the other instructions with a tag."""

    def add(self, other: Located) -> None:
        self.exact |= other.exact
        self.guessed |= other.guessed
        self.untagged += other.untagged
        self.products += other.products
        self.holders += other.holders
        self.anchors |= other.anchors


_Calls = list[tuple[Instruction, tuple[TagPath, ...]]]
"""Instructions that call computations, and their own paths."""


class _Read(NamedTuple):
    """A computation that was read before."""

    computation: Computation
    around: tuple[TagPath, ...]
    """Those of its callers."""
    is_function: bool
    located: Located
    calls: _Calls


class InstructionTags:
    """The equations of the instructions of a module by their tags, or by names that lost them."""

    def __init__(
        self,
        module: HloModule,
        locator: Locator,
        known: dict[str, _Read] | None = None,
        shown: CleanText | None = None,
    ) -> None:
        """`known` has the computations of earlier modules, and is updated; `shown` has the tags
        where the text has none any more."""
        self._shown = shown
        self._module = module
        self._locator = locator
        self._known = known
        self._contexts: dict[str, dict[TagPath, None]] = {}
        self.found = Located()
        self.callers: dict[str, list[Instruction]] = {}
        """By computation: the instructions that run it."""
        self._locate_all()

    def tagged(self) -> dict[str, tuple[int, ...]]:
        """The equations of the instructions that have tags, without what is applied to elements."""
        applied = {
            computation
            for computation, callers in self.callers.items()
            if all(caller.opcode in APPLYING for caller in callers)
        }
        within = {
            one.name
            for c in self._module.computations
            if c.name in applied
            for one in c.instructions
        }
        tagged = dict(self.found.exact)
        for name in within:
            tagged.pop(name, None)
        return tagged

    def equations(self) -> dict[str, tuple[int, ...]]:
        """The equations of all located instructions; guesses only where nothing is exact."""
        return self.found.exact or {name: guess[0] for name, guess in self.found.guessed.items()}

    def _locate_all(self) -> None:
        """Callers first."""
        reached = callers_first(self._module)
        names = {computation.name for computation in reached}
        reached += [c for c in self._module.computations if c.name not in names]
        for computation in reached:
            self._locate(computation)

    def _locate(self, computation: Computation) -> None:
        around = tuple(self._contexts.get(computation.name, ()))
        callers = self.callers.get(computation.name, ())
        is_function = bool(callers) and all(caller.opcode == "call" for caller in callers)
        if self._known is None:
            calls = self._read(computation, around, is_function, self.found)
        else:
            found = self._known.get(computation.name)
            if (
                found is None
                or found.computation is not computation
                or (found.around, found.is_function) != (around, is_function)
            ):
                located = Located()
                calls = self._read(computation, around, is_function, located)
                found = _Read(computation, around, is_function, located, calls)
                self._known[computation.name] = found
            self.found.add(found.located)
            calls = found.calls
        for instruction, paths in calls:
            for called in instruction.called:
                context = self._contexts.setdefault(called, {})
                context.update(dict.fromkeys(paths or around))
                self.callers.setdefault(called, []).append(instruction)

    def _read(
        self,
        computation: Computation,
        around: tuple[TagPath, ...],
        is_function: bool,
        found: Located,
    ) -> _Calls:
        """Add what is known of a computation to `found`."""
        exact, anchors, calls = found.exact, found.anchors, _Calls()
        names = None if self._shown is None else self._shown.names
        whole = self._locator.whole
        for instruction in computation.instructions:
            name = instruction.op_name if names is None else names[instruction.line - 1]
            opcode = instruction.opcode
            if not name and opcode in PLAIN:
                continue
            if opcode in HOLDERS:
                found.holders.append(instruction)
            match = whole.get(name) or self._locator.match(name, around)
            equations = match.equations
            # The computation around it is a function, and so the work of its callers.
            if not equations and is_function and opcode not in PLAIN:
                equations = self._locator.paths.equations_of(around)
            if equations:
                exact[instruction.name] = equations
                if opcode not in HOLDERS:
                    anchors[instruction.line] = Anchor(instruction.line, equations)
                if opcode in PRODUCTS:
                    found.products.append(instruction)
            elif opcode not in PLAIN:
                if name:
                    guess = self._locator.guess(name, self._frames(instruction))
                    if guess[0]:
                        found.guessed[instruction.name] = guess
                if opcode not in DISSOLVED:
                    found.untagged.append(instruction)
            if instruction.called:
                calls.append((instruction, match.paths))
        return calls

    def _frames(self, instruction: Instruction) -> tuple[HloFrame, ...]:
        kept = self._shown.frames(instruction) if self._shown else ()
        return kept or self._module.frames(instruction)


class TagReader:
    """Reads the tags of modules that have most computations in common, each of these once."""

    def __init__(self, locator: Locator) -> None:
        self._locator = locator
        self._known: dict[str, _Read] = {}

    def equations(self, module: HloModule) -> dict[str, tuple[int, ...]]:
        """By instruction: the equations of its tags; without tags in the text, those that fit.

        The frames of a computation that was read before are those of that time.
        """
        return InstructionTags(module, self._locator, self._known).equations()
