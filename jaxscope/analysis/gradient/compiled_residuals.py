"""Residuals of the compiled program: forward-pass buffers that the backward pass reads.

The residuals of the equations are those that JAX saves. XLA fuses: it may save the argument of a
cosine and compute the cosine where it is needed. So the compiled residuals are a different list,
read from the optimized HLO: results of instructions of a forward pass that instructions of a
backward pass take as operands.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

from jaxscope.analysis.cost import counted
from jaxscope.analysis.hlo import Computation, Instruction, users
from jaxscope.analysis.jaxpr.autodiff_phase import BACKWARD
from jaxscope.analysis.links.line_figures import stage_of
from jaxscope.analysis.links.line_links import Same
from jaxscope.model import Equation, Phase, Program, Stage, StageKind

_NO_WORK = frozenset({"parameter", "constant", "tuple", "after-all", "partition-id", "replica-id"})
_VIEWS = frozenset({"get-tuple-element", "bitcast", "copy", "tuple", "opt-barrier"})
"""They pass their operand through: their producer and their readers count instead."""


@dataclass(frozen=True, slots=True)
class CompiledResidual:
    """One array of the compiled program that is live across forward → backward."""

    instruction: str
    shape: str
    bytes: int
    equation: int
    """The equation that makes it, from XLA's name."""


def compiled_residuals(program: Program) -> tuple[CompiledResidual, ...] | None:
    """The arrays, in the order of the text; None where there is no text, or its links are inexact.

    An array that is live in each iteration of a training loop counts once.
    """
    stage = stage_of(program, StageKind.OPTIMIZED_HLO)
    return None if stage is None or not program.exact else read_residuals(stage, program.equations)


def read_residuals(
    stage: Stage, equations: tuple[Equation, ...]
) -> tuple[CompiledResidual, ...] | None:
    """The same, of an optimized HLO whose exact anchors lead to these equations."""
    return _read(Same(stage), Same(equations))


# The record and each view of one program need the same.
@functools.lru_cache(maxsize=4)
def _read(
    compiled: Same[Stage], of_program: Same[tuple[Equation, ...]]
) -> tuple[CompiledResidual, ...] | None:
    stage, equations = compiled.value, of_program.value
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
            residual
            for computation in known[0].computations
            if not computation.is_fused
            for residual in _in(computation, phases)
        ]
    )


def _in(
    computation: Computation, phases: dict[int, tuple[Phase, int]]
) -> Iterator[CompiledResidual]:
    by_name = {instruction.name: instruction for instruction in computation.instructions}
    readers = users(computation.instructions)
    for instruction in computation.instructions:
        maker = _maker(instruction, by_name)
        if maker is None or maker.line not in phases:
            continue
        phase, equation = phases[maker.line]
        if phase is Phase.FORWARD and _is_read_backward(instruction, readers, phases):
            yield CompiledResidual(
                instruction.name, instruction.shape.text, instruction.shape.bytes, equation
            )


def _maker(instruction: Instruction, by_name: dict[str, Instruction]) -> Instruction | None:
    """The instruction that computes an array; None if it is not an array of its own.

    `get-tuple-element` extracts one of several results.
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
