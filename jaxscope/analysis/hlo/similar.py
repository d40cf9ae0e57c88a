"""Parse HLO texts that have most of their lines in common, such as those around a pass."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass

from jaxscope.analysis.hlo.frames import StackFrames
from jaxscope.analysis.hlo.module import Computation, HloModule, Instruction
from jaxscope.analysis.hlo.parser import (
    COMPUTATION,
    MODULE,
    HloTextError,
    read_attributes,
    read_instruction,
)
from jaxscope.analysis.hlo.shape import parse_shape


@dataclass(frozen=True, slots=True)
class _Block:
    lines: list[str]
    computation: Computation
    fused: tuple[str, ...]
    """The computations that its fusions call."""


class SimilarModules:
    """Parses texts one after the other, and of each only the lines that are new.

    A computation with the lines that it had in the text before is the same object, and one line of
    a computation is always the same `Instruction`. Their `line` is not one of the text.
    """

    def __init__(self) -> None:
        self._shape = functools.cache(parse_shape)
        self._attributes = functools.cache(read_attributes)
        self._known: dict[str, dict[str, Instruction | None]] = {}
        self._blocks: dict[str, _Block] = {}

    def parse(self, lines: list[str]) -> HloModule:
        """Parse the lines of a module without frame tables.

        Raises HloTextError if it has no computation.
        """
        blocks: list[_Block] = []
        start = 0
        for end in [index for index, line in enumerate(lines) if line.startswith("}")]:
            for index in range(start, end):
                if heading := COMPUTATION.match(lines[index]):
                    block = lines[index + 1 : end]
                    blocks.append(self._block(heading[2], block, is_entry=bool(heading[1])))
                    break
            start = end + 1
        fused = {name for block in blocks for name in block.fused}
        blocks = [_placed(b, fused) for b in blocks if b.computation.instructions]
        if not blocks:
            raise HloTextError("This text has no HLO computation.")
        self._blocks = {block.computation.name: block for block in blocks}
        computations = tuple([block.computation for block in blocks])
        entry = next((c.name for c in computations if c.is_entry), computations[-1].name)
        name, heading = "", ""
        if module := MODULE.match(lines[0]):
            name, heading = module[1], module[2]
        return HloModule(name, computations, entry, heading, StackFrames())

    def _block(self, name: str, lines: list[str], *, is_entry: bool) -> _Block:
        old = self._blocks.get(name)
        if old is not None and old.lines == lines and old.computation.is_entry == is_entry:
            return old
        known = self._known.setdefault(name, {})
        for number, line in enumerate(lines, 1):
            if line not in known:
                known[line] = read_instruction(line, number, name, self._shape, self._attributes)
        instructions = tuple([i for i in map(known.__getitem__, lines) if i is not None])
        computation = Computation(name, instructions, 0, 0, is_entry, is_fused=False)
        fused = (one for i in instructions if i.opcode == "fusion" for one in i.called)
        return _Block(lines, computation, tuple(fused))


def _placed(block: _Block, fused: set[str]) -> _Block:
    is_fused = block.computation.name in fused
    if block.computation.is_fused == is_fused:
        return block
    made = dataclasses.replace(block.computation, is_fused=is_fused)
    return dataclasses.replace(block, computation=made)
