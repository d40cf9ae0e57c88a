"""HLO text as data: the instructions of a compiled program and their Python frames.

module = parse_module(compiled.as_text())
for instruction in real_instructions(module):
    print(instruction.name, instruction.shape.text, module.frames(instruction)[:1])
"""

from jaxscope.analysis.hlo.attributes import numbers
from jaxscope.analysis.hlo.execution import (
    Executions,
    callers_first,
    calls,
    executed_times,
    real_instructions,
)
from jaxscope.analysis.hlo.frames import HloFrame, StackFrames
from jaxscope.analysis.hlo.inline import inlined
from jaxscope.analysis.hlo.loops import trip_count
from jaxscope.analysis.hlo.module import Computation, HloModule, Instruction, too_long, users
from jaxscope.analysis.hlo.parser import HloTextError, parse_module, parsed
from jaxscope.analysis.hlo.shape import Shape, parse_shape
from jaxscope.analysis.hlo.similar import SimilarModules

__all__ = [
    "Computation", "Executions", "HloFrame", "HloModule", "HloTextError", "Instruction",
    "Shape", "SimilarModules", "StackFrames", "callers_first", "calls", "executed_times", "inlined",
    "numbers",
    "parse_module", "parse_shape", "parsed", "real_instructions", "too_long", "trip_count", "users",
]  # fmt: skip
