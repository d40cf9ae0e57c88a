"""Equations of the instructions that lost their tag while XLA compiled, by the flow of data.

Some passes write instructions without metadata: a matrix-vector product, the windows of a
cumulative sum, the larger part of a reduction. Such an instruction is a part of an equation that
lies between what feeds it and what reads it in the program that XLA received, where everything is
tagged. Where several equations lie there, all of them are candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from jaxscope.analysis.cost.counter import CostCounter
from jaxscope.analysis.hlo import HloModule, Instruction
from jaxscope.analysis.links.dataflow import Dataflow, Edges, is_border
from jaxscope.analysis.links.program_input import PRODUCTS, InputFlow

Equations = Mapping[str, tuple[int, ...]]
"""By instruction: the equations of its tags."""
Opcodes = Mapping[int, set[str]]
"""By equation."""

MOVING = frozenset({
    "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "copy", "transpose",
    "reshape", "broadcast", "convert", "iota", "slice", "opt-barrier", "after-all", "partition-id",
    "replica-id", "copy-start", "copy-done",
})  # fmt: skip
"""Instructions that compute nothing."""

MADE_OF = {
    # A product of vectors becomes a reduction; JAX 0.11 lowers `cumsum` to a scan on a GPU.
    "reduce-window": ("reduce-window", "reduce", "scan", "dot"),
    "reduce": ("reduce", "reduce-window", "scan", "dot"),
    "dot": ("dot",),
    "convolution": ("convolution",),
    "sort": ("sort",),
    "fft": ("fft",),
    "scatter": ("scatter",),
    "gather": ("gather",),
    "custom-call": ("dot", "convolution", "sort", "fft", "custom-call"),
}
"""Costly opcodes of the compiled program, and the opcodes received that they may be made of."""
_COSTLY = frozenset(opcode for made in MADE_OF.values() for opcode in made)


class Received:
    """The program that XLA received: which equations lie between others."""

    def __init__(self, flow: InputFlow, working: Opcodes) -> None:
        """`working` are the opcodes that compute in the compiled program, by equation."""
        nodes = self._nodes = flow.nodes
        self.lost = sorted(
            equation
            for equation, made in flow.made.items()
            if made & _COSTLY and working.get(equation, set()).isdisjoint(MADE_OF)
        )
        """Costly equations of which nothing in the compiled program that is costly has the tag."""
        bits = {equation: 1 << k for k, equation in enumerate(self.lost)}
        own = dict.fromkeys(flow.equations, 0)
        for equation, bit in bits.items():
            for name in nodes[equation]:
                own[name] |= bit
        kept = {
            node
            for equation in working.keys() - bits.keys()
            for node in nodes.get(equation, ())
            if not own[node]
        }
        self._flow = flow
        self._own = own
        self._reach = [self._reached(kept)]
        """Sets before and after each node: first without crossing what was kept, then all."""

    def _reached(self, ends: Collection[str]) -> tuple[dict[str, int], dict[str, int]]:
        """The lost equations before and after each node, as bits; `ends` pass on nothing and are
        not lost."""
        flow, own = self._flow, self._own

        def union(nodes: Iterable[str], sources: Edges) -> dict[str, int]:
            found: dict[str, int] = {}
            passed: dict[str, int] = {}
            for node in nodes:
                mask = own.get(node, 0)
                for source in sources.get(node, ()):
                    mask |= passed.get(source, 0)
                found[node] = mask
                if mask and node not in ends:
                    passed[node] = mask
            return found

        order = flow.from_inputs
        return union(order, flow.feeds), union(reversed(order), flow.reads)

    def makes(self, opcode: str, equation: int) -> bool:
        """Whether an instruction of that opcode may be made of the equation."""
        made = self._flow.made.get(equation)
        return made is not None and not made.isdisjoint(MADE_OF.get(opcode, (opcode,)))

    def products(self, flops: float) -> tuple[int, ...]:
        """The equations of all products with so many FLOPs; none where a product has no tag."""
        return self._flow.products.get(flops, ())

    def between(
        self, feeding: Iterable[str | int], reading: Iterable[str | int], opcode: str = ""
    ) -> list[int]:
        """The lost equations after all that feeds, and before all that reads.

        Those that make the opcode, if one is given. XLA may reorder what it kept: where no equation
        lies next to the given ones, those farther away count.
        """
        for crossing in (False, True):
            if crossing and len(self._reach) == 1:
                self._reach.append(self._reached(()))
            before, after = self._reach[crossing]
            mask = (1 << len(self.lost)) - 1
            for one in feeding:
                mask &= self._mask(after, one)
            for one in reading:
                mask &= self._mask(before, one)
            found: list[int] = []
            while mask:
                found.append(self.lost[(mask & -mask).bit_length() - 1])
                mask &= mask - 1
            if found := [e for e in found if not opcode or self.makes(opcode, e)]:
                return found
        return []

    def _mask(self, masks: Mapping[str, int], anchor: str | int) -> int:
        """An anchor is an equation or a border. One that was not received excludes nothing."""
        nodes = [anchor] if isinstance(anchor, str) else self._nodes.get(anchor, [])
        known = [masks[node] for node in nodes if node in masks]
        found = 0 if known else -1
        for one in known:
            found |= one
        return found


class Attribution:
    """The equations of the untagged instructions of a compiled program."""

    def __init__(self, module: HloModule, tagged: Equations, received: Received | None) -> None:
        self._module = module
        self._tagged = tagged
        self._received = received
        self._counter = CostCounter(module)
        self._flow = Dataflow(module, lambda instruction: instruction.name in tagged)
        self._costly: dict[str, tuple[int, ...]] = {}
        """Of the untagged instructions that are costly."""

    def costly(self, instructions: Iterable[Instruction]) -> Equations:
        """The candidates of costly instructions: what could have been made into their opcode.

        Instructions without any are missing.
        """
        received = self._received
        if received is None:
            return {}
        for instruction in instructions:
            if instruction.opcode not in MADE_OF:
                continue
            feeding, reading = self._around(instruction.name)
            opcode = instruction.opcode
            lost = received.between(feeding, reading, opcode)
            near = (e for e in (*reading, *feeding) if isinstance(e, int))
            found = dict.fromkeys((*lost, *(e for e in near if received.makes(opcode, e))))
            if found:
                self._costly[instruction.name] = tuple(found)
        self._pair_off()
        return self._costly

    def _pair_off(self) -> None:
        """A product becomes one product: what is one's only candidate is no other's."""
        products = {
            name
            for name in self._costly
            if (known := self._module.instruction(name)) is not None and known.opcode in PRODUCTS
        }
        settled: set[int] = set()
        while (
            new := {found[0] for name in products if len(found := self._costly[name]) == 1}
            - settled
        ):
            settled |= new
            for name, found in self._costly.items():
                rest = tuple(equation for equation in found if equation not in settled)
                if len(found) > 1 and rest:
                    self._costly[name] = rest

    def others(self, instruction: Instruction) -> tuple[int, ...]:
        """The candidates of any other instruction: those of a costly one beside it, the one lost
        equation that lies there, what reads it, or what feeds it."""
        name = instruction.name
        known = self._costly.keys()
        for edges in (self._flow.reads, self._flow.feeds) if known else ():
            beside = self._flow.nearest(name, edges, lambda n: n in self._tagged or n in known)
            found = dict.fromkeys(e for n in beside for e in self._costly.get(n, ()))
            if found:
                return tuple(found)
        if self._received is not None and instruction.opcode not in MOVING:
            lost = self._received.between(*self._around(name))
            if len(lost) == 1:
                return (lost[0],)
        for edges in (self._flow.reads, self._flow.feeds):
            found = dict.fromkeys(e for e in self._nearest(name, edges) if isinstance(e, int))
            if found:
                return tuple(found)
        return ()

    def alike(self, instruction: Instruction) -> tuple[int, ...]:
        """All equations that a product can be of: XLA keeps the work of a product that it reorders.

        None for other instructions, and where it is unknown.
        """
        if self._received is None or instruction.opcode not in PRODUCTS:
            return ()
        return self._received.products(self._counter.of_instruction(instruction).flops)

    def mistaken(self, instruction: Instruction) -> tuple[int, ...]:
        """The equations that an instruction with another's tag is of; none where the tag is right.

        A product of which one side is transposed has the tag of that transpose, and one in a loop
        may have that of the loop.
        """
        received = self._received
        own = self._tagged.get(instruction.name, ())
        if received is None or instruction.opcode not in PRODUCTS or not own:
            return ()
        if any(received.makes(instruction.opcode, equation) for equation in own):
            return ()
        feeding, reading = self._around(instruction.name)
        # Inside a loop, its tag tells no order.
        feeding = [one for one in feeding if one not in own]
        for after in (own, [one for one in reading if one not in own]):
            if found := received.between(feeding, after, instruction.opcode):
                return tuple(found)
        return ()

    def _around(self, name: str) -> tuple[list[str | int], list[str | int]]:
        """The nearest equations and borders that feed it, and those that read it."""
        return self._nearest(name, self._flow.feeds), self._nearest(name, self._flow.reads)

    def _nearest(self, name: str, edges: Callable[[str], list[str]]) -> list[str | int]:
        near = self._flow.nearest(name, edges, lambda n: n in self._tagged or is_border(n))
        found = ((n,) if is_border(n) else self._tagged[n][:1] for n in near)
        return list(dict.fromkeys(one for few in found for one in few))
