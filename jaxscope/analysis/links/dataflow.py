"""The flow of data between the instructions of an HLO module, seen through what only holds them.

Fusions and calls are dissolved: data enters their computation at its parameter and leaves it at its
root. Tuples are followed by element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from jaxscope.analysis.hlo import HloModule, Instruction

DISSOLVED = frozenset({"fusion", "call"})
_SEEN_THROUGH = frozenset({"tuple", "get-tuple-element", "parameter", "constant", *DISSOLVED})

Edges = Mapping[str, Sequence[str]]
"""By instruction: what feeds it, or what reads it."""


class Dataflow:
    """The instructions that compute, or that `holds` accepts, and the edges between them.

    The k-th parameter and the k-th result of the program are nodes, too: `input(k)`, `output(k)`.
    """

    def __init__(self, module: HloModule, holds: Callable[[Instruction], bool]) -> None:
        """`holds` decides whether a bitcast is a node or seen through."""
        self._module = module
        self._callers: dict[str, list[Instruction]] = {}
        for instruction in module.instructions():
            if instruction.opcode in DISSOLVED:
                for called in instruction.called:
                    self._callers.setdefault(called, []).append(instruction)
        self.feeds: dict[str, list[str]] = {}
        self.reads: dict[str, list[str]] = {}
        nodes = [
            i
            for i in module.instructions()
            if i.opcode not in _SEEN_THROUGH and (i.opcode != "bitcast" or holds(i))
        ]
        self._nodes = {node.name for node in nodes}
        self._arriving: dict[str, dict[str, None]] = {}
        for node in nodes:
            self._connect(node.name, node.operands)
        root = module.entry_computation.root
        results = root.operands if root.opcode == "tuple" else (root.name,)
        for k, name in enumerate(results):
            self._connect(output(k), (name,))

    def nearest(self, start: str, edges: Edges, anchors: Callable[[str], bool]) -> list[str]:
        """The first anchors on every path from an instruction."""
        seen, border, found = {start}, [start], list[str]()
        while border:
            ahead: list[str] = []
            for node in border:
                for other in edges.get(node, ()):
                    if other in seen:
                        continue
                    seen.add(other)
                    (found if anchors(other) else ahead).append(other)
            if len(seen) > _FARTHEST:
                break
            border = ahead
        return found

    def _connect(self, node: str, operands: Iterable[str]) -> None:
        """Add the edges from the nodes whose values arrive under these names."""
        sources: dict[str, None] = {}
        for name in operands:
            if name in self._nodes:
                sources[name] = None
                continue
            arriving = self._arriving.get(name)
            if arriving is None:
                arriving = self._arriving[name] = self._follow(name)
            sources |= arriving
        if sources:
            self.feeds[node] = list(sources)
        for source in sources:
            self.reads.setdefault(source, []).append(node)

    def _follow(self, name: str) -> dict[str, None]:
        """The nodes whose value arrives under the name of what is no node."""
        found: dict[str, None] = {}
        seen: set[tuple[str, tuple[int, ...]]] = set()
        waiting: list[tuple[str, tuple[int, ...]]] = [(name, ())]
        while waiting:
            place = waiting.pop()
            if place in seen:
                continue
            seen.add(place)
            name, element = place
            instruction = self._module.instruction(name)
            if name in self._nodes:
                found[name] = None
            elif instruction is None:
                continue
            elif instruction.opcode == "parameter":
                number = int(instruction.arguments) if instruction.arguments.isdigit() else 0
                if instruction.computation == self._module.entry:
                    found[input(number)] = None
                callers = self._callers.get(instruction.computation, ())
                waiting += [
                    (c.operands[number], element) for c in callers if number < len(c.operands)
                ]
            else:
                waiting += self._ahead(instruction, element)
        return found

    def _ahead(
        self, instruction: Instruction, element: tuple[int, ...]
    ) -> Iterator[tuple[str, tuple[int, ...]]]:
        match instruction.opcode:
            case "get-tuple-element":
                index = instruction.attribute("index") or "0"
                yield instruction.operands[0], (int(index), *element)
            case "tuple" if element and element[0] < len(instruction.operands):
                yield instruction.operands[element[0]], element[1:]
            case "fusion" | "call":
                for computation in self._module.called(instruction):
                    yield computation.root.name, element
            case _:
                for operand in instruction.operands:
                    yield operand, ()


_FARTHEST = 5_000
"""Instructions to cross in search of an anchor."""


def input(number: int) -> str:
    """The node of the program's parameter with that number."""
    return f"<input {number}>"


def output(number: int) -> str:
    """The node of the program's result with that number."""
    return f"<output {number}>"


def is_border(node: str) -> bool:
    """Whether it is an input or an output of the program."""
    return node.startswith("<")
