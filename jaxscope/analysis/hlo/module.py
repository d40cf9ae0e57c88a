"""A parsed HLO module: computations, their instructions, and Python frames."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

from jaxscope.analysis.hlo.attributes import parse_attributes, unescape
from jaxscope.analysis.hlo.frames import HloFrame, StackFrames, inline_frame
from jaxscope.analysis.hlo.shape import Shape

# The JSON of backend_config is printed bare by newer XLA and as an escaped string by older ones.
_TRIP_COUNT = re.compile(r'known_trip_count\\?":\s*\{\\?"n\\?":\s*\\?"?(\d+)')


MOST_LINES = 200_000
"""Lines of the longest text that is parsed: seconds to link, and some 100 MB."""


def too_long(text: str) -> str:
    """A clause on a text that is too long to be read; empty for others."""
    lines = text.count("\n")
    if lines <= MOST_LINES:
        return ""
    return f"it has {lines:,} lines, and up to {MOST_LINES:,} are read"


class Instruction(NamedTuple):
    """One line `%name = shape opcode(operands), attributes`.

    Made 100 000 times for a large program: a frozen dataclass would take six times as long.
    """

    name: str
    """Without the `%`; unique in the module, and the `hlo_op` of profile events."""
    opcode: str
    shape: Shape
    arguments: str
    """The text in the parentheses: operands, a literal, a parameter's number."""
    operands: tuple[str, ...]
    called: tuple[str, ...]
    """Names of the computations that it runs, in the order of the text."""
    op_name: str
    """JAX's name stack, tags included; empty for instructions that XLA added."""
    frame: int | None
    """Number of the innermost stack frame, for `HloModule.frames` (JAX 0.9 and newer)."""
    is_root: bool
    line: int
    """Line of the module's text, from 1."""
    computation: str
    attributes_text: str
    """The text after the operands."""

    @property
    def attributes(self) -> dict[str, str]:
        """Raw values by name, parsed at each access: keep the result if you need several."""
        return parse_attributes(self.attributes_text)

    def attribute(self, name: str) -> str | None:
        """The raw value of one attribute, or None."""
        if f"{name}=" not in self.attributes_text:
            return None
        return self.attributes.get(name)

    @property
    def custom_call_target(self) -> str | None:
        if "custom_call_target=" not in self.attributes_text:
            return None
        target = self.attribute("custom_call_target")
        return unescape(target.strip('"')) if target else None

    @property
    def trip_count(self) -> int | None:
        """XLA's annotated trip count of a while loop; see also `loops.trip_count`."""
        if self.opcode != "while":
            return None
        count = _TRIP_COUNT.search(self.attributes_text)
        return int(count[1]) if count else None


@dataclass(frozen=True, slots=True)
class Computation:
    """A function of the module: `name (parameters) -> result { instructions }`."""

    name: str
    instructions: tuple[Instruction, ...]
    line: int
    """Line of its heading, from 1."""
    end_line: int
    """Line of its closing brace."""
    is_entry: bool
    _: KW_ONLY
    is_fused: bool
    """Whether it is the inside of a fusion, whose instructions do not run by themselves."""

    @property
    def root(self) -> Instruction:
        """The instruction whose value it returns."""
        # Most often the last one.
        return next((i for i in reversed(self.instructions) if i.is_root), self.instructions[-1])

    @property
    def parameters(self) -> tuple[Instruction, ...]:
        """Its parameters in the order of their numbers."""
        found = [i for i in self.instructions if i.opcode == "parameter"]
        return tuple(sorted(found, key=lambda i: int(i.arguments) if i.arguments.isdigit() else 0))


@dataclass(frozen=True, slots=True)
class HloModule:
    """A parsed module; build it with `parse_module`."""

    name: str
    computations: tuple[Computation, ...]
    """Callees come before callers, as in the text."""
    entry: str
    """Name of the entry computation."""
    attributes_text: str
    """The rest of the heading, as printed."""
    stack_frames: StackFrames
    unread: tuple[int, ...] = ()
    """Lines inside computations that could not be parsed (nothing else depends on them)."""
    _computations: dict[str, Computation] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, Computation]
    )
    _instructions: dict[str, Instruction] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, Instruction]
    )
    _calling: dict[str, list[Instruction]] = field(
        init=False, repr=False, compare=False, default_factory=dict[str, list[Instruction]]
    )
    _lines: dict[int, Instruction] = field(
        init=False, repr=False, compare=False, default_factory=dict[int, Instruction]
    )

    def __post_init__(self) -> None:
        for computation in self.computations:
            self._computations.setdefault(computation.name, computation)
            calling: list[Instruction] = []
            for instruction in computation.instructions:
                self._instructions.setdefault(instruction.name, instruction)
                if instruction.called:
                    calling.append(instruction)
            if calling:
                self._calling.setdefault(computation.name, calling)

    def computation(self, name: str) -> Computation | None:
        return self._computations.get(name)

    def instruction(self, name: str) -> Instruction | None:
        return self._instructions.get(name)

    @property
    def by_name(self) -> Mapping[str, Instruction]:
        """Every instruction by its name, in the order of the text."""
        return self._instructions

    def at_line(self, line: int) -> Instruction | None:
        """The instruction on that line of the text."""
        if not self._lines:
            self._lines.update((one.line, one) for one in self.instructions())
        return self._lines.get(line)

    @property
    def entry_computation(self) -> Computation:
        return self._computations[self.entry]

    def instructions(self) -> Iterator[Instruction]:
        """Every instruction of every computation, in the order of the text."""
        for computation in self.computations:
            yield from computation.instructions

    def operands(self, instruction: Instruction) -> list[Instruction]:
        """The instructions that make its operands."""
        found = map(self._instructions.get, instruction.operands)
        return [source for source in found if source is not None]

    def called(self, instruction: Instruction) -> list[Computation]:
        """The computations that it calls."""
        found = map(self._computations.get, instruction.called)
        return [computation for computation in found if computation is not None]

    def inside(self, instruction: Instruction) -> Iterator[Instruction]:
        """The instructions of the computations that it calls."""
        return itertools.chain.from_iterable(c.instructions for c in self.called(instruction))

    def calling(self, computation: str) -> Sequence[Instruction]:
        """The instructions of a computation that call others."""
        return self._calling.get(computation, ())

    def callers(self, opcode: str) -> dict[str, Instruction]:
        """Computation → the instruction of that opcode that calls it."""
        found = (i for calling in self._calling.values() for i in calling if i.opcode == opcode)
        return {name: instruction for instruction in found for name in instruction.called}

    def frames(self, instruction: Instruction) -> tuple[HloFrame, ...]:
        """The Python stack of an instruction, innermost first; empty if XLA kept none."""
        if instruction.frame is not None:
            return self.stack_frames.stack(instruction.frame)
        return inline_frame(instruction.attribute("metadata") or "")

    @property
    def attributes(self) -> dict[str, str]:
        """Raw values of the heading by name, e.g. `entry_computation_layout`."""
        return parse_attributes(self.attributes_text)


def users(instructions: Iterable[Instruction]) -> dict[str, list[Instruction]]:
    """Value → the instructions with it as an operand, each once."""
    found: dict[str, list[Instruction]] = {}
    for instruction in instructions:
        operands = instruction.operands
        for operand in operands if len(operands) < 2 else dict.fromkeys(operands):
            found.setdefault(operand, []).append(instruction)
    return found
