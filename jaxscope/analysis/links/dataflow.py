"""The flow of data between the instructions of an HLO module, seen through what only holds them.

Fusions and calls are dissolved: data enters their computation at its parameter and leaves it at its
root. Tuples are followed by element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from jaxscope.analysis.hlo import Computation, HloModule, Instruction, users

DISSOLVED = frozenset({"fusion", "call"})
_SEEN_THROUGH = frozenset({"tuple", "get-tuple-element", "parameter", "constant", *DISSOLVED})

Edges = Mapping[str, Sequence[str]]
"""By instruction: what feeds it, or what reads it."""


class Dataflow:
    """The instructions that compute, or that `holds` accepts, and the edges between them.

    The k-th parameter and the k-th result of the program are nodes, too: `input(k)`, `output(k)`.
    Edges are found when they are asked for: most instructions have tags, and few others are near
    one without.
    """

    def __init__(self, module: HloModule, holds: Callable[[Instruction], bool]) -> None:
        """`holds` decides whether a bitcast is a node or seen through."""
        self._module = module
        self._holds = holds
        self._callers: dict[str, list[Instruction]] = {}
        for computation in module.computations:
            for instruction in module.calling(computation.name):
                if instruction.opcode in DISSOLVED:
                    for called in instruction.called:
                        self._callers.setdefault(called, []).append(instruction)
        root = module.entry_computation.root
        self._results = root.operands if root.opcode == "tuple" else (root.name,)
        self._places: dict[str, list[int]] = {}
        """Where a value is among the results."""
        for place, name in enumerate(self._results):
            self._places.setdefault(name, []).append(place)
        self._arriving: dict[str, dict[str, None]] = {}
        self._reads: dict[str, list[str]] = {}
        self._users: dict[str, dict[str, list[Instruction]]] = {}
        self._parameters: dict[str, dict[int, str]] = {}

    def edges(self) -> tuple[Edges, Edges]:
        """All of them: what feeds each node, and what reads it."""
        feeds: dict[str, list[str]] = {}
        reads: dict[str, list[str]] = {}
        nodes = [(i.name, i.operands) for i in self._module.instructions() if self._is_node(i)]
        for node, operands in (*nodes, *((output(k), (r,)) for k, r in enumerate(self._results))):
            if sources := self._sources(operands):
                feeds[node] = sources
            for source in sources:
                reads.setdefault(source, []).append(node)
        return feeds, reads

    def feeds(self, node: str) -> list[str]:
        """The nodes whose values an instruction gets."""
        instruction = self._module.instruction(node)
        return [] if instruction is None else self._sources(instruction.operands)

    def reads(self, node: str) -> list[str]:
        """The nodes that get an instruction's value, in the order of the text."""
        known = self._reads.get(node)
        if known is None:
            instructions, results = self._reached(node)
            readers = [
                i for i in instructions if node in i.operands or node in self._sources(i.operands)
            ]
            known = [i.name for i in sorted(readers, key=lambda i: i.line)]
            known += [output(k) for k in results if node in self._sources((self._results[k],))]
            self._reads[node] = known
        return known

    def nearest(
        self, start: str, edges: Callable[[str], Iterable[str]], anchors: Callable[[str], bool]
    ) -> list[str]:
        """The first anchors on every path from an instruction."""
        seen, border, found = {start}, [start], list[str]()
        while border:
            ahead: list[str] = []
            for node in border:
                for other in edges(node):
                    if other in seen:
                        continue
                    seen.add(other)
                    (found if anchors(other) else ahead).append(other)
            if len(seen) > _FARTHEST:
                break
            border = ahead
        return found

    def _is_node(self, instruction: Instruction) -> bool:
        opcode = instruction.opcode
        return opcode not in _SEEN_THROUGH and (opcode != "bitcast" or self._holds(instruction))

    def _sources(self, operands: Iterable[str]) -> list[str]:
        """The nodes whose values arrive under these names."""
        sources: dict[str, None] = {}
        for name in operands:
            arriving = self._arriving.get(name)
            if arriving is None:
                arriving = self._arriving[name] = self._follow(name)
            sources |= arriving
        return list(sources)

    def _reached(self, node: str) -> tuple[list[Instruction], list[int]]:
        """The nodes and the results that may get the value, whatever is its place in a tuple."""
        found: dict[str, Instruction] = {}
        seen, waiting = {node}, [node]
        while waiting:
            instruction = self._module.instruction(waiting.pop())
            if instruction is None:
                continue
            ahead: list[str] = []
            for user in self._users_of(instruction):
                if user.opcode in DISSOLVED:
                    for computation in self._module.called(user):
                        parameters = self._parameters_of(computation)
                        ahead += [
                            parameters[place]
                            for place, operand in enumerate(user.operands)
                            if operand == instruction.name and place in parameters
                        ]
                elif self._is_node(user):
                    found[user.name] = user
                else:
                    ahead.append(user.name)
            computation = self._module.computation(instruction.computation)
            if computation is not None and computation.root.name == instruction.name:
                ahead += [caller.name for caller in self._callers.get(computation.name, ())]
            waiting += [name for name in ahead if name not in seen]
            seen.update(ahead)
        results = sorted(k for name in seen for k in self._places.get(name, ()))
        return list(found.values()), results

    def _parameters_of(self, computation: Computation) -> dict[int, str]:
        """Their names, by number."""
        known = self._parameters.get(computation.name)
        if known is None:
            known = self._parameters[computation.name] = {
                _number(one): one.name
                for one in computation.instructions
                if one.opcode == "parameter"
            }
        return known

    def _users_of(self, instruction: Instruction) -> Sequence[Instruction]:
        computation = self._module.computation(instruction.computation)
        everything = computation.instructions if computation else ()
        if len(everything) < _WORTH_AN_INDEX:
            return [one for one in everything if instruction.name in one.operands]
        known = self._users.get(instruction.computation)
        if known is None:
            known = self._users[instruction.computation] = users(everything)
        return known.get(instruction.name, ())

    def _follow(self, name: str) -> dict[str, None]:
        """The nodes whose value arrives under a name; of a node, itself."""
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
            if instruction is None:
                continue
            if self._is_node(instruction):
                found[name] = None
            elif instruction.opcode == "parameter":
                number = _number(instruction)
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


_WORTH_AN_INDEX = 200
"""Instructions of a computation that is not searched for each reader: few of a fusion are asked
for."""
_FARTHEST = 5_000
"""Instructions to cross in search of an anchor."""


def _number(parameter: Instruction) -> int:
    return int(parameter.arguments) if parameter.arguments.isdigit() else 0


def input(number: int) -> str:
    """The node of the program's parameter with that number."""
    return f"<input {number}>"


def output(number: int) -> str:
    """The node of the program's result with that number."""
    return f"<output {number}>"


def is_border(node: str) -> bool:
    """Whether it is an input or an output of the program."""
    return node.startswith("<")
