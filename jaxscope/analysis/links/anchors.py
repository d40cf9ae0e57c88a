"""The equations behind each line of a lowered or compiled text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from jaxscope.analysis.hlo import HloModule, Instruction, inlined
from jaxscope.analysis.links.attribution import MADE_OF, MOVING, Attribution, Received
from jaxscope.analysis.links.dataflow import DISSOLVED
from jaxscope.analysis.links.instruction_tags import HOLDERS, PLAIN, InstructionTags
from jaxscope.analysis.links.locator import Locator
from jaxscope.analysis.links.program_input import (
    PRODUCTS,
    InputFlow,
    ProgramInput,
    flow_of_module,
)
from jaxscope.analysis.links.tags import CleanText, TagPath
from jaxscope.analysis.stablehlo import Operation, StableText
from jaxscope.model import Anchor

ADDED = "it names no equation; matched by what feeds it and what reads it"
LENT = "it names another equation; matched by what feeds it and what reads it"
CONTAINED = "it names no equation; matched by the instruction around it"

# Primitives whose tag XLA may give to a product: one that it merged, or that is around it.
_LENDING = frozenset({"transpose", "scan", "while", "cond"})
_WITHOUT_WORK = MOVING | DISSOLVED
_NEIGHBORS = 8
"""An instruction with more neighbors belongs to none of them in particular."""


def stablehlo_anchors(module: StableText, locator: Locator) -> tuple[Anchor, ...]:
    """Anchors of a StableHLO text; lines of a function have the equations of all its calls."""
    calls: dict[str, list[Operation]] = {}
    for operation in module.operations:
        if operation.callee:
            calls.setdefault(operation.callee, []).append(operation)
    contexts: dict[str, tuple[TagPath, ...]] = {}

    def context(function: str) -> tuple[TagPath, ...]:
        known = contexts.get(function)
        if known is None:
            contexts[function] = ()
            paths: dict[TagPath, None] = {}
            for call in calls.get(function, ()):
                around = context(call.function)
                match = locator.match(call.location.name, around)
                paths.update(dict.fromkeys(match.paths or around))
            known = contexts[function] = tuple(paths)
        return known

    anchors: list[Anchor] = []
    for operation in module.operations:
        around = context(operation.function)
        match = locator.match(operation.location.name, around)
        equations = match.equations or locator.paths.equations_of(around)
        if equations:
            anchors.append(Anchor(operation.line, equations))
            continue
        equations, why = locator.guess(operation.location.name, operation.location.frames)
        if equations:
            anchors.append(Anchor(operation.line, equations, False, why))
    return tuple(anchors)


def hlo_anchors(
    module: HloModule,
    locator: Locator,
    received: ProgramInput | None = None,
    settled: Mapping[str, tuple[int, ...]] | None = None,
    shown: CleanText | None = None,
) -> tuple[Anchor, ...]:
    """Anchors of an HLO text; where it has no tags any more, `shown` has them.

    `received` is the program before XLA's passes; it is read only where it settles something.
    `settled` are equations of instructions without a reliable tag, followed through the passes.
    """
    return _HloAnchors(module, locator, received, shown=shown).collect(settled or {})


def may_be_lent(instruction: Instruction, equations: Iterable[int], locator: Locator) -> bool:
    """Whether a tag with these equations may be that of something that XLA merged into it."""
    primitives = map(locator.primitive, equations)
    return instruction.opcode in PRODUCTS and all(name in _LENDING for name in primitives)


class _HloAnchors:
    def __init__(
        self,
        module: HloModule,
        locator: Locator,
        received: ProgramInput | None = None,
        shown: CleanText | None = None,
    ) -> None:
        self._module = module
        self._locator = locator
        self._received = received or ProgramInput()
        self._tags = InstructionTags(module, locator, shown=shown)
        self._exact = self._tags.found.exact
        self._guessed = self._tags.found.guessed
        self._among: dict[str, tuple[int, ...]] = {}
        self._held: dict[str, tuple[int, ...]] = {}
        self._settled: set[str] = set()

    def collect(self, settled: Mapping[str, tuple[int, ...]]) -> tuple[Anchor, ...]:
        if self._exact:
            self._settle(settled)
        # Without any tag, nothing says where in the program an instruction is.
        if self._exact:
            self._attribute()
        # Those of all others are known since their tag was read: each round over the instructions
        # of a large program costs a twentieth of the links.
        found, anchors = self._tags.found, self._tags.found.anchors
        settled_here = (self._module.by_name[name] for name in self._settled)
        for instruction in (*found.untagged, *found.products, *found.holders, *settled_here):
            if (anchor := self._anchor(instruction)) is not None:
                anchors[instruction.line] = anchor
            else:
                anchors.pop(instruction.line, None)
        return tuple([anchors[line] for line in sorted(anchors)])

    def _settle(self, settled: Mapping[str, tuple[int, ...]]) -> None:
        for name, equations in settled.items():
            instruction = self._module.instruction(name)
            if instruction is None or instruction.opcode in PLAIN:
                continue
            if name not in self._exact or self._is_doubtful(instruction):
                self._exact[name] = equations
                self._settled.add(name)
                self._guessed.pop(name, None)

    def _attribute(self) -> None:
        """Give untagged instructions the equations that the flow of data leaves, as a guess."""
        found = self._tags.found
        known = found.exact.keys(), found.guessed.keys()
        missing = [i for i in found.untagged if not any(i.name in names for names in known)]
        tagged = self._tags.tagged()
        doubtful = [i for i in found.products if self._is_doubtful(i)]
        if not missing and not doubtful:
            return
        costly = [i for i in missing if i.opcode in MADE_OF]
        received = self._read_received(tagged) if costly or doubtful else None
        flow = Attribution(self._module, tagged, received)
        for instruction in doubtful:
            if found := flow.mistaken(instruction):
                del self._exact[instruction.name]
                self._guess(instruction, found, LENT)
                self._among[instruction.name] = flow.alike(instruction)
        for name, found in flow.costly(costly).items():
            self._guessed[name] = found, ADDED
        for instruction in costly:
            self._among[instruction.name] = flow.alike(instruction)
        for instruction in missing:
            if instruction.name in self._guessed:
                continue
            if found := flow.others(instruction):
                self._guess(instruction, found, ADDED)
            else:
                callers = self._tags.callers.get(instruction.computation, ())
                around = (self._exact.get(c.name) or self._guess_of(c) for c in callers)
                self._guess(instruction, [i for found in around for i in found[:1]], CONTAINED)

    def _guess(self, instruction: Instruction, found: Iterable[int], why: str) -> None:
        candidates = tuple(dict.fromkeys(found))
        if 0 < len(candidates) <= _NEIGHBORS:
            self._guessed[instruction.name] = candidates, why

    def _guess_of(self, instruction: Instruction) -> tuple[int, ...]:
        return self._guessed.get(instruction.name, ((), ""))[0]

    def _is_doubtful(self, instruction: Instruction) -> bool:
        """Whether its tag may be that of another equation."""
        own = self._exact.get(instruction.name) if instruction.opcode in PRODUCTS else None
        return (
            own is not None
            and instruction.name not in self._settled
            and may_be_lent(instruction, own, self._locator)
        )

    def _read_received(self, tagged: Mapping[str, tuple[int, ...]]) -> Received | None:
        """The program that XLA received; None where its text or its tags are not known."""
        working: dict[int, set[str]] = {}
        instructions = self._module.by_name
        for name, equations in tagged.items():
            if (opcode := instructions[name].opcode) not in _WITHOUT_WORK:
                for equation in equations:
                    if equation in working:
                        working[equation].add(opcode)
                    else:
                        working[equation] = {opcode}
        flow = self._flow_of_input(working.keys())
        return None if flow is None else Received(flow, working)

    def _flow_of_input(self, working: Set[int]) -> InputFlow | None:
        """The flow of what XLA received, with these equations in it as far as they are known."""
        flow = self._received.flow(self._module)
        if flow is not None and flow.nodes.keys() >= working:
            return flow
        module = self._received.text()
        module = None if module is None else inlined(module)
        if module is None:
            return None
        return flow_of_module(module, InstructionTags(module, self._locator).tagged())

    def _inside(self, instruction: Instruction) -> tuple[int, ...]:
        """The exact equations inside a fusion or call."""
        held = self._held.get(instruction.name)
        if held is None:
            self._held[instruction.name] = ()
            found: dict[int, None] = {}
            for computation in self._module.called(instruction):
                # The root first: it is the result of the fusion.
                for inner in reversed(computation.instructions):
                    opcode = inner.opcode
                    if opcode in PLAIN:
                        continue
                    for equation in self._exact.get(inner.name, ()):
                        found[equation] = None
                    if opcode in HOLDERS:
                        found.update(dict.fromkeys(self._inside(inner)))
            held = self._held[instruction.name] = tuple(found)
        return held

    def _anchor(self, instruction: Instruction) -> Anchor | None:
        line = instruction.line
        own = self._exact.get(instruction.name, ())
        inside = self._inside(instruction) if instruction.opcode in HOLDERS else ()
        if inside:
            return Anchor(line, tuple(dict.fromkeys(own + inside)))
        if own:
            return Anchor(line, own)
        guess = self._guessed.get(instruction.name) or self._guess_inside(instruction)
        if guess is None:
            return None
        return Anchor(line, guess[0], False, guess[1], self._among.get(instruction.name, ()))

    def _guess_inside(self, instruction: Instruction) -> tuple[tuple[int, ...], str] | None:
        """The guesses of what a fusion without any tag holds."""
        if instruction.opcode not in HOLDERS:
            return None
        found = dict.fromkeys(
            equation
            for inner in self._module.inside(instruction)
            for equation in self._guess_of(inner)
        )
        return (tuple(found), ADDED) if 0 < len(found) <= _NEIGHBORS else None
