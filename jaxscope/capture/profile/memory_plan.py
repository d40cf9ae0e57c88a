"""The memory plan of a compiled program, from a profiler trace."""

from __future__ import annotations

from jaxscope.analysis.memory.plan import module_messages, timeline
from jaxscope.analysis.profile.line_owners import of_equations
from jaxscope.capture.profile import profiler
from jaxscope.capture.program.stages import Handles
from jaxscope.model import Memory, Program, StageKind, Unavailable
from jaxscope.model.profile import BufferTimeline


def buffers_of(program: Program, handles: Handles) -> BufferTimeline | Unavailable:
    """Live memory over the schedule. Runs nothing; takes 2 to 30 ms, depending on the number of
    live programs, because XLA reports its plan only in a profiler trace."""
    module = handles.module()
    if isinstance(module, Unavailable):
        return module
    reason = "XLA gives no plan of this program's memory"
    try:
        with profiler.recording(hlo_protos=True) as recording:
            pass
        stage = handles.text(StageKind.OPTIMIZED_HLO)
        owners = of_equations(program.equations, stage, module, 0)
        innermost = of_equations(program.equations, stage, module, None)
        places = {name: owner.place for name, owner in owners.items()}
        inside = {name: owner.place for name, owner in innermost.items() if owner.place.source}
        for name, message in module_messages(recording.xspace).items():
            if name.rpartition("(")[0] != module.name:
                continue
            found = timeline(message, places, inside)
            if found is None:
                return Unavailable("this XLA does not record when buffers are freed")
            # Several programs may share a name, such as one function at two shapes.
            known = all(module.instruction(step.instruction) for step in found.steps)
            if known and _fits(found, program):
                return found
            reason = "XLA's plan does not match the instructions or sizes of this program"
    except Exception as error:
        return Unavailable(str(error) or type(error).__name__)
    return Unavailable(reason)


def _fits(found: BufferTimeline, program: Program) -> bool:
    """Whether the plan has the program's sizes; only the plan includes constants."""
    memory = program.memory
    if not isinstance(memory, Memory):
        return True
    least = memory.argument + memory.output - memory.alias
    return found.temp == memory.temp and least <= found.static
