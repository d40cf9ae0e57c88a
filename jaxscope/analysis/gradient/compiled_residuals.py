"""What the compiled program hands from its forward passes to its backward passes.

The residuals of the equations are what JAX asks for. XLA fuses: it may hand on the argument of a
cosine and compute the cosine where it is needed, so what stands in memory between the passes is
another list. It is read from the optimized HLO: results of instructions of a forward pass that
instructions of a backward pass take as operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxscope.analysis.hlo import Computation, Instruction
from jaxscope.analysis.links.line_figures import BACKWARD, counted, stage_of
from jaxscope.model import Equation, Phase, Program, Stage, StageKind

_NO_WORK = frozenset({"parameter", "constant", "tuple", "after-all", "partition-id", "replica-id"})
_VIEWS = frozenset({"get-tuple-element", "bitcast", "copy", "tuple", "opt-barrier"})
"""They hand on what they get: whose it is, and who reads it, is asked of others."""


@dataclass(frozen=True, slots=True)
class Handed:
    """One array of the compiled program that a backward pass takes over."""

    instruction: str
    shape: str
    bytes: int
    equation: int
    """The equation whose result it is, as far as XLA's name says."""


def handed_on(program: Program) -> tuple[Handed, ...] | None:
    """The arrays, in the order of the text; None where there is no text, or its links are guesses.

    What a loop of training hands on in each of its rounds counts once.
    """
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    return None if stage is None or not program.exact else handed_in(stage, program.equations)


def handed_in(stage: Stage, equations: Sequence[Equation]) -> tuple[Handed, ...] | None:
    """The same, of an optimized HLO whose exact anchors lead to these equations."""
    known = counted(stage.text)
    if known is None:
        return None
    phases: dict[int, tuple[Phase, int]] = {
        anchor.line: (equations[anchor.equations[0]].phase, anchor.equations[0])
        for anchor in stage.anchors
        if anchor.exact and anchor.equations
    }
    return tuple(
        [
            handed
            for computation in known[0].computations
            if not computation.is_fused
            for handed in _in(computation, phases)
        ]
    )


def _in(computation: Computation, phases: dict[int, tuple[Phase, int]]) -> Iterator[Handed]:
    by_name = {instruction.name: instruction for instruction in computation.instructions}
    readers: dict[str, list[Instruction]] = {}
    for instruction in computation.instructions:
        for operand in instruction.operands:
            readers.setdefault(operand, []).append(instruction)
    for instruction in computation.instructions:
        maker = _maker(instruction, by_name)
        if maker is None or maker.line not in phases:
            continue
        phase, equation = phases[maker.line]
        if phase is Phase.FORWARD and _is_read_backward(instruction, readers, phases):
            yield Handed(
                instruction.name, instruction.shape.text, instruction.shape.bytes, equation
            )


def _maker(instruction: Instruction, by_name: dict[str, Instruction]) -> Instruction | None:
    """Who computes the array that this instruction stands for; None if it is no array of its own.

    One of several results is taken out by `get-tuple-element`.
    """
    if instruction.opcode == "get-tuple-element":
        source = by_name.get(instruction.operands[0])
        return None if source is None or source.opcode in _NO_WORK | _VIEWS else source
    if instruction.opcode in _NO_WORK | _VIEWS or instruction.shape.parts:
        return None
    return instruction


def _is_read_backward(
    instruction: Instruction,
    readers: dict[str, list[Instruction]],
    phases: dict[int, tuple[Phase, int]],
) -> bool:
    seen = {instruction.name}
    waiting = [instruction.name]
    while waiting:
        for reader in readers.get(waiting.pop(), ()):
            if reader.opcode in _VIEWS:
                if reader.name not in seen:
                    seen.add(reader.name)
                    waiting.append(reader.name)
            elif reader.line in phases and phases[reader.line][0] in BACKWARD:
                return True
    return False
