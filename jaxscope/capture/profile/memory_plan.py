"""The memory plan of a compiled program, asked of XLA."""

from __future__ import annotations

from jaxscope.analysis.memory.plan import module_messages, timeline
from jaxscope.analysis.profile import of_equations
from jaxscope.capture.profile import profiler
from jaxscope.capture.program.stages import Handles
from jaxscope.model import Memory, Program, StageKind, Unavailable
from jaxscope.model.memory_plan import BufferTimeline


def buffers_of(program: Program, handles: Handles) -> BufferTimeline | Unavailable:
    """What is alive while the program runs. Runs nothing; takes 2 to 30 ms, with the number of
    live programs in the process, because XLA tells its plan only in a profiler's trace."""
    module = handles.module()
    if isinstance(module, Unavailable):
        return module
    try:
        with profiler.recording(hlo_protos=True) as recording:
            pass
        stage = handles.text(StageKind.OPTIMIZED_HLO)
        places = {
            name: origin.place for name, origin in of_equations(program, stage, module, 0).items()
        }
        innermost = of_equations(program, stage, module, None)
        inside = {name: origin.place for name, origin in innermost.items() if origin.place.source}
        known = {instruction.name for instruction in module.instructions()}
        for name, message in module_messages(recording.xspace).items():
            if name.rpartition("(")[0] != module.name:
                continue
            found = timeline(message, places, inside)
            if found is None:
                return Unavailable("this XLA does not write down when buffers are freed")
            # Several programs may share a name, also one function at two shapes.
            if all(step.instruction in known for step in found.steps) and _fits(found, program):
                return found
    except Exception as error:
        return Unavailable(str(error) or type(error).__name__)
    return Unavailable("XLA no longer has the plan of this program")


def _fits(found: BufferTimeline, program: Program) -> bool:
    """Whether the plan is of this size; constants are in the plan and in no other figure."""
    memory = program.memory
    if not isinstance(memory, Memory):
        return True
    least = memory.argument + memory.output - memory.alias
    return found.temp == memory.temp and least <= found.static
