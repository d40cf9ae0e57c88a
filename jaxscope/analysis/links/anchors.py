"""Which equations each line of a lowered or compiled text came from."""

from collections.abc import Iterable, Mapping

from jaxscope.analysis.hlo import HloFrame, HloModule, Instruction, callers_first
from jaxscope.analysis.links.candidates import Candidates
from jaxscope.analysis.links.tag_paths import NOWHERE, Chain, Chains, Place
from jaxscope.analysis.links.tags import tags_of
from jaxscope.analysis.stablehlo import Operation, StableText
from jaxscope.model import Anchor

STALE = (
    "the compiled program came from the persistent cache of an edited program, whose lines differ"
)
ADDED = "it names no equation, and stands beside instructions of this line"
CONTAINED = "it names no equation, and is part of the work of this line"

# Instructions that compute nothing: without a tag they get no link.
_PLAIN = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
# What runs a computation in its own place, so that its line stands for all inside.
_HOLDERS = frozenset({"fusion", "call", "async-start", "custom-call"})
_REACH = 6
"""How many untagged instructions to pass when looking for a neighbor that has a tag."""
_NEIGHBORS = 8
"""More neighbors than this mean that the instruction belongs to none of them in particular."""


class Locator:
    """From a name stack to equations: by tags, else by what the name and the frames say."""

    def __init__(
        self,
        chains: Chains,
        candidates: Candidates,
        why: str,
        *,
        other: str = STALE,
        trust_frames: bool = True,
    ) -> None:
        """`why` says why the text has no tags, and is empty when it has; `other` says how the
        tags of another program may come to stand in it. `trust_frames` is False for a text that
        may have come from a cache: its frames may be those of a program edited since."""
        self.chains = chains
        self._candidates = candidates
        self._why = why
        self._other = other
        self._trust_frames = trust_frames

    def place(self, name: str, callers: Iterable[Chain]) -> Place:
        """The exact place of a name, or `NOWHERE`.

        XLA joins the names of operations that it makes one of by semicolons.
        """
        if ";" not in name:
            tags = tags_of(name)
            return self.chains.find(tags, callers) if tags else NOWHERE
        places = [self.place(part, callers) for part in name.split(";")]
        return Place(
            tuple(dict.fromkeys(i for place in places for i in place.equations)),
            tuple(dict.fromkeys(chain for place in places for chain in place.chains)),
        )

    def guess(self, name: str, frames: Iterable[HloFrame]) -> tuple[tuple[int, ...], str]:
        """Candidates for a name that leads to no exact place, and why it does not."""
        if not name:
            return (), ""
        tags = tags_of(name)
        if tags and len(self.chains):
            # The frames are those of the other text too: its line numbers would mislead.
            return self._candidates.find(name, ()), self._other
        if self._why:
            return self._candidates.find(name, frames if self._trust_frames else ()), self._why
        return (), ""


def stablehlo_anchors(module: StableText, locator: Locator) -> tuple[Anchor, ...]:
    """Anchors of a StableHLO text; a function that is called at several places has the equations
    of all of them on its lines."""
    calls: dict[str, list[Operation]] = {}
    for operation in module.operations:
        if operation.callee:
            calls.setdefault(operation.callee, []).append(operation)
    contexts: dict[str, tuple[Chain, ...]] = {}

    def context(function: str) -> tuple[Chain, ...]:
        known = contexts.get(function)
        if known is None:
            contexts[function] = ()
            chains: dict[Chain, None] = {}
            for call in calls.get(function, ()):
                around = context(call.function)
                place = locator.place(call.location.name, around)
                chains.update(dict.fromkeys(place.chains or around))
            known = contexts[function] = tuple(chains)
        return known

    anchors: list[Anchor] = []
    for operation in module.operations:
        around = context(operation.function)
        place = locator.place(operation.location.name, around)
        equations = place.equations or _of_chains(locator.chains, around)
        if equations:
            anchors.append(Anchor(operation.line, equations))
            continue
        equations, why = locator.guess(operation.location.name, operation.location.frames)
        if equations:
            anchors.append(Anchor(operation.line, equations, False, why))
    return tuple(anchors)


def hlo_anchors(
    module: HloModule, locator: Locator, shown: Mapping[int, int]
) -> tuple[Anchor, ...]:
    """Anchors of an HLO text, by the line numbers that `shown` gives for the module's own."""
    return _HloAnchors(module, locator).collect(shown)


def _of_chains(chains: Chains, around: Iterable[Chain]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(i for chain in around for i in chains.equations(chain)))


class _HloAnchors:
    def __init__(self, module: HloModule, locator: Locator) -> None:
        self._module = module
        self._locator = locator
        self._exact: dict[str, tuple[int, ...]] = {}
        self._guessed: dict[str, tuple[tuple[int, ...], str]] = {}
        self._contexts: dict[str, dict[Chain, None]] = {}
        # The instructions that run a computation, and whether all of them are plain calls.
        self._callers: dict[str, list[Instruction]] = {}
        self._held: dict[str, tuple[int, ...]] = {}

    def collect(self, shown: Mapping[int, int]) -> tuple[Anchor, ...]:
        reached = callers_first(self._module)
        names = {computation.name for computation in reached}
        reached += [c for c in self._module.computations if c.name not in names]
        for computation in reached:
            for instruction in computation.instructions:
                self._locate(instruction)
        for computation in reached:
            self._inherit(computation.instructions)
        anchors: list[Anchor] = []
        for computation in self._module.computations:
            for instruction in computation.instructions:
                anchor = self._anchor(instruction, shown.get(instruction.line))
                if anchor is not None:
                    anchors.append(anchor)
        anchors.sort(key=lambda anchor: anchor.line)
        return tuple(anchors)

    def _locate(self, instruction: Instruction) -> None:
        around = self._contexts.get(instruction.computation, {})
        place = self._locator.place(instruction.op_name, around)
        equations = place.equations
        if not equations and instruction.opcode not in _PLAIN and self._is_called(instruction):
            equations = _of_chains(self._locator.chains, around)
        if equations:
            self._exact[instruction.name] = equations
        else:
            name = instruction.op_name
            frames = () if not name else self._module.frames(instruction)
            guess = self._locator.guess(name, frames)
            if guess[0] and instruction.opcode not in _PLAIN:
                self._guessed[instruction.name] = guess
        for called in instruction.called:
            context = self._contexts.setdefault(called, {})
            context.update(dict.fromkeys(place.chains) if place.chains else around)
            self._callers.setdefault(called, []).append(instruction)

    def _is_called(self, instruction: Instruction) -> bool:
        """Whether the computation around it is a function, all of which is its callers' work."""
        callers = self._callers.get(instruction.computation, ())
        return bool(callers) and all(caller.opcode == "call" for caller in callers)

    def _inherit(self, instructions: tuple[Instruction, ...]) -> None:
        """Give instructions without a place the equations of their neighbors, as a guess."""
        missing = [
            i
            for i in instructions
            if i.name not in self._exact
            and i.name not in self._guessed
            and i.opcode not in _PLAIN
            and not self._holds_known(i)
        ]
        if not missing:
            return
        users: dict[str, list[str]] = {}
        for instruction in instructions:
            for operand in instruction.operands:
                users.setdefault(operand, []).append(instruction.name)
        operands = {instruction.name: list(instruction.operands) for instruction in instructions}
        for instruction in missing:
            name = instruction.name
            found = self._nearest(name, users) or self._nearest(name, operands)
            why = ADDED
            if not found:
                callers = self._callers.get(instruction.computation, ())
                found = tuple(
                    dict.fromkeys(i for c in callers for i in self._exact.get(c.name, ())[:1])
                )
                why = CONTAINED
            if 0 < len(found) <= _NEIGHBORS:
                self._guessed[instruction.name] = found, why

    def _nearest(self, start: str, neighbors: Mapping[str, list[str]]) -> tuple[int, ...]:
        """Equations of the tagged instructions that can be reached first from `start`."""
        seen = {start}
        border = [start]
        for _ in range(_REACH):
            ahead = [n for name in border for n in neighbors.get(name, ()) if n not in seen]
            seen.update(ahead)
            found = dict.fromkeys(
                i for name in ahead for i in (self._exact.get(name) or self._holding(name))[:1]
            )
            if found:
                return tuple(found)
            border = list(dict.fromkeys(ahead))
            if not border:
                break
        return ()

    def _holding(self, name: str) -> tuple[int, ...]:
        instruction = self._module.instruction(name)
        return () if instruction is None else self._inside(instruction)

    def _holds_known(self, instruction: Instruction) -> bool:
        return bool(self._inside(instruction))

    def _inside(self, instruction: Instruction) -> tuple[int, ...]:
        """The equations that a fusion holds: exact ones, of all it calls."""
        if instruction.opcode not in _HOLDERS or not instruction.called:
            return ()
        held = self._held.get(instruction.name)
        if held is None:
            self._held[instruction.name] = ()
            found: dict[int, None] = {}
            for called in instruction.called:
                computation = self._module.computation(called)
                if computation is None:
                    continue
                # The root first: it gives the fusion its result.
                for inner in reversed(computation.instructions):
                    if inner.opcode not in _PLAIN:
                        found.update(dict.fromkeys(self._exact.get(inner.name, ())))
                        found.update(dict.fromkeys(self._inside(inner)))
            held = self._held[instruction.name] = tuple(found)
        return held

    def _anchor(self, instruction: Instruction, line: int | None) -> Anchor | None:
        if line is None:
            return None
        own = self._exact.get(instruction.name, ())
        inside = self._inside(instruction)
        if own or inside:
            return Anchor(line, tuple(dict.fromkeys(own + inside)))
        guess = self._guessed.get(instruction.name)
        if guess is None:
            return None
        return Anchor(line, guess[0], False, guess[1])
