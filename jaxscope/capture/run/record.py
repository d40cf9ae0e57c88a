"""The record of a run, put together from its live parts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import jax

from jaxscope.analysis.cost.roofline import verdict
from jaxscope.capture.compiles.listener import Listener, Run
from jaxscope.capture.devices import memory
from jaxscope.capture.inputs.arguments import Arguments
from jaxscope.capture.jaxpr.gradient import differentiation
from jaxscope.capture.options.stack import applied, differentiates
from jaxscope.capture.profile.barriers import isolated_profile, seconds_by_source
from jaxscope.capture.profile.memory_plan import buffers_of
from jaxscope.capture.profile.sessions import profile_of
from jaxscope.capture.program import describe
from jaxscope.capture.program.compile import Captured
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.run.measure import Measured
from jaxscope.capture.sharding import partition
from jaxscope.capture.source.sources import Sources
from jaxscope.capture.timing.peaks import PeakCache
from jaxscope.capture.timing.peaks import peaks as measure_peaks
from jaxscope.capture.vmap.read import batching_of
from jaxscope.model import (
    Batching,
    Compile,
    Cost,
    Form,
    Partition,
    Program,
    Record,
    StageKind,
    TextSource,
    Timing,
    Unavailable,
    Value,
    ValueKind,
)
from jaxscope.model.memory_plan import BufferTimeline
from jaxscope.model.profile import Profile


@dataclass(frozen=True, slots=True)
class Part:
    """One program of a run with what only its form knows."""

    captured: Captured
    measured: Measured
    arguments: Arguments | None = None
    labels: tuple[str, ...] = ()
    """Names of the results; empty for JAX's own order."""
    statics: tuple[Value, ...] = ()
    python: str = ""
    mapped: Mapping[str, str] = field(default_factory=dict[str, str])
    """What maps do with the inputs, by path, where `arguments` does not say it."""


def record(
    title: str,
    form: Form,
    parts: Sequence[Part],
    compiles: Run,
    sources: Sources,
    listener: Listener,
    peaks: PeakCache,
    notes: Sequence[str],
    began: float,
) -> tuple[Record, tuple[TextSource, ...]]:
    """The record without findings, and the live texts of its programs in the same order."""
    programs = [
        judged(
            _profiled(_program(part, sources), part, sources),
            part.captured.handles,
            peaks,
            ask=part.measured.plan is not None,  # a profile is read against the roofs
        )
        for part in parts
    ]
    made = compiles.compiles(sources.all())
    # Before they are sorted: both are in the order in which the programs were met.
    programs = _with_compiles(programs, made)
    order = sorted(range(len(programs)), key=lambda i: -_weight(programs[i]))
    result = Record(
        title,
        form,
        describe.now(),
        describe.environment(),
        sources.all(),
        programs=tuple([programs[i] for i in order]),
        compiles=made,
        findings=(),
        notes=(*notes, *_notes(parts), *listener.notes),
        wall_s=time.perf_counter() - began,
    )
    return result, tuple([parts[i].captured.handles for i in order])


def judged(program: Program, handles: Handles, peaks: PeakCache, *, ask: bool = False) -> Program:
    """The program with its roofline verdict, once the peaks of its device are known.

    `ask` measures them, which takes up to half a second.
    """
    call = program.call
    if call is None or not call.samples:
        call = _profiled_call(program)
    if call is None or isinstance(program.cost, Unavailable):
        return program
    devices = describe.device_objects(handles)
    device = devices[0]
    known = measure_peaks(device, peaks) if ask else peaks.get(device)
    if known is None:
        return program
    dispatch = next((t for t in program.timings if t.label == "dispatch"), None)
    cost = program.cost
    if device.platform == "cpu" and len(devices) > 1:
        cost = _of_all(cost, len(devices))
    return replace(program, roofline=verdict(cost, call, dispatch, known))


def _profiled_call(program: Program) -> Timing | None:
    """The calls that a profile made with the profiler off, of a program too slow to time."""
    found = program.profile
    if not isinstance(found, Profile):
        return None
    samples = tuple([s for session in found.sessions for s in session.unprofiled])
    return Timing("call", found.device, samples) if samples else None


def _of_all(cost: Cost, devices: int) -> Cost:
    """The work of all simulated devices: they share the cores that the peaks were measured on."""
    shared = f"this is the work of {devices} simulated devices, which share the machine"
    return replace(
        cost,
        flops=cost.flops * devices,
        transcendentals=cost.transcendentals * devices,
        bytes_accessed=cost.bytes_accessed * devices,
        warnings=(*cost.warnings, shared),
    )


def _program(part: Part, sources: Sources) -> Program:
    captured, handles = part.captured, part.captured.handles
    tagged = handles.tagged
    # Also a tagged program can come back from a cache with other tags, or with none.
    doubt = handles.doubt()
    leaves = captured.leaves()
    reasons: dict[str, str] = {}
    paths: Sequence[str] = captured.paths
    if len(paths) < len(leaves):
        leaves = captured.traced_leaves()
    if part.arguments is not None:
        reasons = {slot.path: slot.reason for slot in part.arguments.slots}
        by_path = {slot.path: slot.value for slot in part.arguments.slots}
        leaves = [by_path.get(path) for path in paths]
    for path, leaf in zip(paths, leaves, strict=False):
        if path in part.mapped:
            reasons[path] = f"{describe.kind_of(leaf)}, {part.mapped[path]}".removeprefix(", ")
    inputs = describe.inputs(handles, paths, reasons, leaves)
    outputs = describe.outputs(handles, part.labels)
    batching = batching_of(captured, sources)
    return Program(
        captured.request.name,
        captured.request.transforms,
        describe.devices(handles),
        (*inputs, *part.statics),
        outputs,
        constants=describe.constants(handles),
        equations=tagged.equations,
        timings=part.measured.timings,
        cost=describe.cost(handles),
        memory=memory.memory(handles.compiled),
        effects=describe.effects(handles),
        exact=not doubt,
        inexact_why=doubt,
        tag=tagged.hash,
        python=part.python,
        stack=applied(captured.request.stack),
        differentiation=differentiation(
            tagged,
            paths,
            sources.all(),
            None if doubt else handles.text(StageKind.OPTIMIZED_HLO),
            batching if isinstance(batching, Batching) else None,
        ),
        partition=_partition(handles, inputs, outputs),
        batching=batching,
    )


def _partition(handles: Handles, ins: Sequence[Value], outs: Sequence[Value]) -> Partition | None:
    """How the program lies on its devices; None when there is only one."""
    found = describe.device_objects(handles)
    if len(found) < 2:
        return None
    information = describe.argument_infos(handles)
    stage = handles.traced or handles.lowered or handles.compiled
    results = jax.tree_util.tree_leaves(getattr(stage, "out_info", ()))
    placed = describe.shardings(handles.compiled, "input_shardings", len(information))
    taken = [
        sharding if value.kind is not ValueKind.UNUSED else None
        for value, sharding in zip(ins, placed, strict=False)
    ]
    given = describe.shardings(handles.compiled, "output_shardings", len(results))
    return partition(
        handles,
        found,
        [(v.name, i, s) for v, i, s in zip(ins, information, taken, strict=False)],
        [(v.name, i, s) for v, i, s in zip(outs, results, given, strict=False)],
    )


def _profiled(program: Program, part: Part, sources: Sources) -> Program:
    """With the time by line, if the program was profiled."""
    sessions = part.measured.sessions
    if isinstance(sessions, Unavailable):
        # XLA's plan of the memory needs no traced call; where it fails, too, one reason is enough.
        plan = buffers_of(program, part.captured.handles)
        known = plan if isinstance(plan, BufferTimeline) else None
        return replace(program, profile=sessions, buffers=known)
    if not sessions:
        return program
    handles, number = part.captured.handles, len(sources.all())
    handles.trace = part.measured.trace
    isolated = None
    if part.measured.plan is not None and part.measured.plan.isolate_lines:
        try:
            leaves = part.captured.traced_leaves()
            isolated = isolated_profile(program, handles, leaves, sources, part.measured.plan)
        except Exception as error:
            isolated = Unavailable(
                f"its inputs could not be read ({type(error).__name__}: {error})"
            )
    try:
        split = seconds_by_source(isolated, number)
        found = profile_of(program, handles, sessions, number, split)
    except Exception as error:
        found = Unavailable(f"the trace could not be read ({type(error).__name__}: {error})")
    if isinstance(found, Profile):
        found = replace(found, sampling_note=part.measured.sampling_note)
    buffers = buffers_of(program, handles)
    return replace(program, profile=found, isolated=isolated, buffers=buffers)


def _weight(program: Program) -> float:
    """Seconds of a call where it was timed, else FLOPs on a scale far below."""
    first = next((t for t in program.timings if t.label in ("call", "first call")), None)
    if first is not None and first.samples:
        return first.median_s
    cost = program.cost
    return getattr(cost, "flops", 0.0) * 1e-18


_PMAPPED = ("_fun", "call_wrapped")
"""What JAX 0.9 and later, and 0.8, call the program of any pmap that was not called as such."""


def _with_compiles(programs: Sequence[Program], compiles: Sequence[Compile]) -> list[Program]:
    """Each program with the compiles of its function; signatures of one name in their order."""
    waiting: dict[str, list[int]] = {}
    for index, made in enumerate(compiles):
        waiting.setdefault(made.fun_name, []).append(index)
    names = [program.name for program in programs]
    result: list[Program] = []
    for program in programs:
        mine = waiting.get(program.name, [])
        if not mine and program.transforms[:1] == ("pmap",):
            mine = next((waiting[name] for name in _PMAPPED if name in waiting), [])
        taken = tuple(mine[:1]) if names.count(program.name) > 1 else tuple(mine)
        waiting[program.name] = mine[len(taken) :]
        result.append(replace(program, compiles=taken))
    return result


def _notes(parts: Sequence[Part]) -> list[str]:
    notes: list[str] = []
    for part in parts:
        if _empty(part):
            notes.append(
                "The program is empty: there is no traced input and no operation of JAX, so Python "
                "computed everything while JAX traced."
            )
        shared = _shared(part)
        unused = _names([name for name in _unused(part) if name not in shared])
        if unused and differentiates(part.captured.request.stack):
            # A derivative by it can be there, and is constant.
            notes.append(f"No result depends on the value of {unused}.")
        elif unused:
            notes.append(f"No result depends on {unused}.")
        for stands in dict.fromkeys(shared.values()):
            again = [name for name, path in shared.items() if path == stands]
            verb = "is" if len(again) == 1 else "are"
            notes.append(
                f"{_names(again)} {verb} the same array as `{stands}`: the program takes it once."
            )
    return notes


def _empty(part: Part) -> bool:
    """Whether the program is given nothing, does nothing and gives nothing back."""
    handles = part.captured.handles
    if handles.tagged.equations or describe.outputs(handles, part.labels):
        return False
    return not describe.argument_infos(handles)


def _unused(part: Part) -> list[str]:
    values = describe.inputs(part.captured.handles, part.captured.paths, {}, ())
    return [value.name for value in values if value.kind is ValueKind.UNUSED]


def _shared(part: Part) -> dict[str, str]:
    """The inputs that the program does not take, since another that it takes is the same array."""
    if part.arguments is None:
        return {}
    unused = set(_unused(part))
    return {
        slot.path: slot.same_as
        for slot in part.arguments.slots
        if slot.same_as and slot.path in unused and slot.same_as not in unused
    }


def _names(paths: Sequence[str]) -> str:
    names = [f"`{path}`" for path in paths]
    if len(names) > 3:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return ", ".join(names)
