"""A program for a target as data: whether it fits, its memory plan and its padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from jaxscope import words
from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.profile.line_owners import of_equations
from jaxscope.analysis.targets.buffers import Buffers, held_buffers, schedule, timeline
from jaxscope.analysis.targets.padding import padded_arrays
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.targets.compiled import TargetProgram
from jaxscope.model import Memory, Program, StageKind, Unavailable
from jaxscope.model.compiler.target import CompiledFor
from jaxscope.model.profile import BufferTimeline, SourceLine

_PREALLOCATED = 0.75
"""Share of a GPU's memory that JAX allocates at its start (`XLA_PYTHON_CLIENT_MEM_FRACTION`)."""


def for_target(program: Program, handles: Handles) -> Program:
    """The program with the facts of its target; as it is where it has none."""
    found = handles.foreign
    if found is None:
        return program
    buffers = found.buffers
    places, inside = _places(program, handles)
    padding, held = (), ()
    plan: BufferTimeline | Unavailable
    if isinstance(buffers, Buffers):
        found_module = handles.module()
        module = found_module if isinstance(found_module, HloModule) else None
        names = {} if module is None else _inputs(module, program)
        everywhere = {**inside, **places}
        padding = padded_arrays(buffers, places, names)
        steps = schedule(buffers)
        held = held_buffers(buffers, steps, everywhere, names, module)
        plan = Unavailable(f"the compiler of {found.target.name} writes no live ranges")
        if steps is not None:
            plan = timeline(buffers, steps, places, inside, module)
    else:
        plan = buffers
    kind = found.target.kind
    fits, verdict, needs = _fit(found, program.memory)
    target = CompiledFor(
        found.target.name,
        str(found.answer.facts.get("device_kind", "")),
        int(found.answer.facts.get("devices", 0)),
        found.answer.compiler,
        fits=fits,
        verdict=verdict,
        needs=needs,
        memory=kind.memory,
        held=held,
        padding=padding,
        seconds=found.answer.facts.get("seconds"),
        peak_flops=kind.flops,
        peak_bytes=kind.bytes_per_s,
    )
    peaks = Unavailable(f"the program was compiled for {target.target} and not run")
    return replace(program, target=target, buffers=plan, roofline=peaks)


def _fit(found: TargetProgram, memory: Memory | Unavailable) -> tuple[bool | None, str, int | None]:
    """Whether the program fits, the reason, and the bytes that it needs."""
    needs = found.buffers.needs if isinstance(found.buffers, Buffers) else None
    if needs is None and isinstance(memory, Memory):
        needs = memory.peak
    if found.out_of_memory:
        return False, found.out_of_memory, needs
    has = found.target.kind.memory
    if found.target.platform == "tpu":
        return True, "The compiler placed all of it in the memory of one device.", needs
    if has is None or needs is None:
        return None, "The memory of this target is not known.", needs
    held, share = words.size(has), words.percent(_PREALLOCATED)
    by = "By the compiler's memory plan, which does not check it"
    if needs > has:
        return False, f"{by}: it needs {words.size(needs)} of {held}.", needs
    if needs > _PREALLOCATED * has:
        return True, f"{by}: it needs more than the {share} of {held} that JAX allocates.", needs
    return True, f"{by}: it needs {words.size(needs)} of {held}.", needs


def _places(
    program: Program, handles: Handles
) -> tuple[Mapping[str, SourceLine], Mapping[str, SourceLine]]:
    """The lines of the instructions, of the first source and of others."""
    module = handles.module()
    if not isinstance(module, HloModule):
        return {}, {}
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    owners = of_equations(program.equations, stage, module, 0)
    innermost = of_equations(program.equations, stage, module, None)
    return (
        {name: owner.place for name, owner in owners.items()},
        {name: owner.place for name, owner in innermost.items() if owner.place.source},
    )


def _inputs(module: HloModule, program: Program) -> Mapping[str, str]:
    """Names of the inputs, by parameter; none where their numbers differ."""
    parameters: Sequence[str] = [one.name for one in module.entry_computation.parameters]
    taken = [one.name for one in program.inputs if one.kind in ("traced", "donated")]
    return dict(zip(parameters, taken, strict=True)) if len(parameters) == len(taken) else {}
