"""From finished runs to their record: programs as data, compiles, notes."""

from __future__ import annotations

import datetime
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from importlib import metadata

from jaxscope import words
from jaxscope.analysis.cost.program import counted, product_dtype
from jaxscope.analysis.cost.roofline import verdict
from jaxscope.analysis.profile.warnings import SHORTEST_S
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.gradient import gradient_of
from jaxscope.capture.profile.barriers import isolated_profile, seconds_by_source
from jaxscope.capture.profile.memory_plan import buffers_of
from jaxscope.capture.profile.sessions import profile_of
from jaxscope.capture.program import describe as live
from jaxscope.capture.program.compile import Captured
from jaxscope.capture.program.linked_again import linked_again
from jaxscope.capture.program.outdated_traces import outdated_traces
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.program.targets import for_target
from jaxscope.capture.run.context import FinishedRun, Invocation, ProgramFacts
from jaxscope.capture.sharding import program_sharding
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.timing.peaks import PeakCache
from jaxscope.capture.timing.peaks import peaks as measure_peaks
from jaxscope.capture.vmap import batching_of
from jaxscope.model import (
    Batching,
    Compile,
    Cost,
    Environment,
    Form,
    Program,
    Record,
    Source,
    StageKind,
    TextSource,
    Unavailable,
    Value,
    ValueKind,
)
from jaxscope.model.compiles import LINKED_AGAIN, CompileKind
from jaxscope.model.profile import BufferTimeline, Profile
from jaxscope.model.program import TRANSFORM
from jaxscope.version import __version__


@dataclass(frozen=True, slots=True)
class Described:
    """The value of the step `describe`: a program as data, its live texts, and notes."""

    program: Program
    texts: TextSource
    notes: tuple[str, ...]


def describe(finished: FinishedRun, given: Invocation) -> Described:
    """The program of a finished run."""
    facts = finished.wrapped.facts(finished.captured)
    outdated = outdated_traces(
        finished.captured, given.context.namespace, given.context.listener.traces
    )
    again = None
    if given.settings.recompile:
        again = linked_again(finished.captured, given.sources, given.context.say)
    if again is not None:
        finished = replace(finished, captured=again[0])
    handles = finished.captured.handles
    settled = None
    if given.settings.exact:
        given.context.say("compiling again")
        settled = handles.settle()
    program = for_target(_program(finished, facts, given), handles)
    program = judged(
        _profiled(program, finished, given.sources),
        handles,
        given.context.peaks,
        ask=finished.measured.plan is not None,  # a profile is compared with the peaks
    )
    notes = _notes(finished.captured, facts, program.inputs)
    if again is not None and again[1]:
        notes.insert(0, f"{LINKED_AGAIN}: {words.seconds(again[1])}")
    notes += outdated
    if isinstance(settled, Unavailable):
        notes.append(f"The passes of XLA could not be followed: {settled.reason}.")
    elif settled:
        notes.append(f"compiled again to follow the passes of XLA: {words.seconds(settled)}")
    return Described(program, handles, tuple(notes))


def record(
    given: Invocation, described: Sequence[Described], notes: Sequence[str]
) -> tuple[Record, tuple[TextSource, ...]]:
    """The record without findings, and the live texts of its programs in the same order."""
    compiles = given.compiles.compiles(given.sources.all())
    # Before they are sorted: both are in the order in which the programs were met.
    programs = _with_compiles([one.program for one in described], compiles)
    order = sorted(range(len(programs)), key=lambda i: _weight(programs[i]), reverse=True)
    result = Record(
        given.title,
        given.form,
        live.now(),
        live.environment(),
        given.sources.all(),
        programs=tuple([programs[i] for i in order]),
        compiles=compiles,
        notes=(
            *notes,
            *_of_programs(described),
            *given.sources.notes(),
            *given.context.listener.notes,
        ),
        wall_s=time.perf_counter() - given.began,
        compile_time=given.compile_time(),
    )
    return result, tuple([described[i].texts for i in order])


def minimal(
    title: str, form: Form, sources: Sequence[Source], notes: Sequence[str], wall_s: float
) -> Record:
    """A minimal `Record` for a run that could not be inspected; calls nothing of JAX."""
    x64 = getattr(getattr(sys.modules.get("jax"), "config", None), "jax_enable_x64", False)
    return Record(
        title,
        form,
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        Environment(
            __version__,
            _version("jax"),
            _version("jaxlib"),
            platform.python_version(),
            platform=f"{platform.system()}-{platform.release()} {platform.machine()}",
            devices=(),
            x64=bool(x64),
        ),
        tuple(sources),
        programs=(),
        compiles=(),
        notes=tuple(notes),
        wall_s=wall_s,
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"


def judged(program: Program, handles: Handles, peaks: PeakCache, *, ask: bool = False) -> Program:
    """The program with its roofline verdict, if the peaks of its device are known.

    `ask` measures unknown ones, which takes up to half a second.
    """
    call = program.call
    if call is None or not call.samples or isinstance(program.cost, Unavailable):
        return program
    devices = live.device_objects(handles)
    device = devices[0]
    dtype = "float32" if device.platform == "cpu" else _product_dtype(handles)
    known = measure_peaks(device, peaks, dtype) if ask else peaks.get(device, dtype)
    if known is None:
        return program
    dispatch = next((t for t in program.timings if t.label == "dispatch"), None)
    cost = program.cost
    if device.platform == "cpu" and len(devices) > 1:
        cost = _of_all(cost, len(devices))
    return replace(program, roofline=verdict(cost, call, dispatch, known))


def _product_dtype(handles: Handles) -> str:
    found = counted(handles.text(StageKind.OPTIMIZED_HLO).text)
    return product_dtype(*found) if found is not None else "float32"


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


def _program(finished: FinishedRun, facts: ProgramFacts, given: Invocation) -> Program:
    sources = given.sources
    captured, handles = finished.captured, finished.captured.handles
    request, tagged = captured.request, handles.tagged
    # A tagged program can also come back from a cache with other tags, or with none.
    doubt = handles.doubt()
    reasons: dict[str, str] = {}
    paths, leaves = captured.paths, captured.named_leaves()
    if facts.arguments is not None:
        reasons = {leaf.path: leaf.reason for leaf in facts.arguments.leaves}
        by_path = {leaf.path: leaf.value for leaf in facts.arguments.leaves}
        leaves = [by_path.get(path) for path in paths]
    for path, leaf in zip(paths, leaves, strict=False):
        if path in facts.mapped:
            reasons[path] = f"{live.kind_of(leaf)}, {facts.mapped[path]}".removeprefix(", ")
    inputs = live.inputs(handles, paths, reasons, leaves)
    outputs = live.outputs(handles, facts.labels)
    regions = handles.regions
    batching = batching_of(captured, sources, regions)
    return Program(
        captured.request.name,
        captured.request.transforms,
        live.devices(handles),
        (*inputs, *facts.statics),
        outputs,
        constants=live.constants(
            handles, request.called or request.jitted, given.context.namespace, facts.statics
        ),
        equations=tagged.equations,
        timings=finished.measured.timings,
        cost=live.cost(handles),
        memory=handles.memory,
        effects=live.effects(handles),
        exact=not doubt,
        inexact_why=doubt,
        tag=tagged.hash,
        python=facts.python,
        stack=captured.request.composition.applied,
        gradient=gradient_of(
            tagged,
            paths,
            sources.all(),
            None if doubt else handles.text(StageKind.OPTIMIZED_HLO),
            batching if isinstance(batching, Batching) else None,
            regions,
        ),
        sharding=program_sharding(handles, inputs, outputs),
        vmap=batching,
    )


def _profiled(program: Program, finished: FinishedRun, sources: SourceFiles) -> Program:
    """With the time by line, if the program was profiled."""
    captured, measured = finished.captured, finished.measured
    handles, sessions = captured.handles, measured.sessions
    if isinstance(sessions, Unavailable):
        # XLA's memory plan needs no profiled call; where it fails too, one reason is enough.
        plan = buffers_of(program, handles)
        known = plan if isinstance(plan, BufferTimeline) else None
        return replace(program, profile=sessions, buffers=known)
    if not sessions:
        return program
    number = len(sources.all())
    handles.trace = measured.trace
    isolated = None
    if measured.plan is not None and measured.plan.isolate_lines:
        try:
            leaves = captured.traced_leaves()
            isolated = isolated_profile(program, handles, leaves, sources, measured.plan)
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
        found = replace(found, sampling_note=measured.sampling_note)
    buffers = buffers_of(program, handles)
    return replace(program, profile=found, isolated=isolated, buffers=buffers)


def _weight(program: Program) -> tuple[float, float]:
    """Seconds per call, where dispatch does not dominate them, then FLOPs.

    Those of the first call, which is slower, only where it was the only one.
    """
    measured = {t.label: t.median_s for t in program.timings if t.samples}
    seconds = measured.get("call", measured.get("first call"))
    flops = getattr(program.cost, "flops", 0.0)
    return 0.0 if seconds is None else max(seconds, SHORTEST_S), flops


def _with_compiles(programs: Sequence[Program], compiles: Sequence[Compile]) -> list[Program]:
    """Each program with the compiles of its function; signatures of one name in their order.

    A compile of the function under `vjp` or another transform is of a different program.
    """
    waiting: defaultdict[tuple[str, bool], list[int]] = defaultdict(list)
    for index, made in enumerate(compiles):
        waiting[made.fun_name, made.kind is CompileKind.TRANSFORMED].append(index)
    keys = [(program.name, TRANSFORM in program.transforms) for program in programs]
    result: list[Program] = []
    for key, program in zip(keys, programs, strict=True):
        mine = waiting[key]
        if not mine and program.transforms[:1] == ("pmap",):
            pmapped = ((name, False) for name in _jax.PMAPPED)
            mine = next((waiting[one] for one in pmapped if one in waiting), [])
        taken = tuple(mine[:1]) if keys.count(key) > 1 else tuple(mine)
        waiting[key] = mine[len(taken) :]
        result.append(replace(program, compiles=taken))
    return result


def _of_programs(described: Sequence[Described]) -> list[str]:
    """The notes on the programs; one that is not on all of them names its program."""
    first = described[0].notes if described else ()
    common = [note for note in first if all(note in one.notes for one in described)]
    return common + [
        f"{one.program.title}: {words.continued(note)}"
        for one in described
        for note in one.notes
        if note not in common
    ]


def _notes(captured: Captured, facts: ProgramFacts, inputs: Sequence[Value]) -> list[str]:
    notes: list[str] = []
    handles = captured.handles
    reached = handles.tagged.equations or live.outputs(handles, facts.labels)
    if not reached and not live.argument_infos(handles):
        notes.append(
            "The program is empty: it has no traced input and no JAX operation, so Python computed "
            "everything while tracing."
        )
    left_out = [value.name for value in inputs if value.kind is ValueKind.UNUSED]
    shared = _shared(left_out, facts)
    if given := [name for name in left_out if name in facts.given and name not in shared]:
        one = len(given) == 1
        notes.append(
            f"{words.names(given)} {'is a result as it is' if one else 'are results as they are'}: "
            f"the program does not take {'it' if one else 'them'}."
        )
    unused = [name for name in left_out if name not in shared and name not in given]
    if unused:
        # A derivative by an unused input may exist, and is constant.
        derived = captured.request.composition.differentiates
        what = "the value of " if derived else ""
        inputs_named = words.listed([f"`{name}`" for name in unused], most=3, last="or")
        notes.append(f"No result depends on {what}{inputs_named}.")
    if shared:
        first = tuple(dict.fromkeys(shared.values()))
        be = "is" if len(shared) == 1 else "are"
        same, takes = ("array", "it") if len(first) == 1 else ("arrays", "each")
        notes.append(
            f"{words.names(tuple(shared))} {be} the same {same} as {words.names(first)}: "
            f"the program takes {takes} once."
        )
    return notes


def _shared(unused: Collection[str], facts: ProgramFacts) -> dict[str, str]:
    """Inputs that the program does not take, because an input that it takes is the same array."""
    if facts.arguments is None:
        return {}
    return {
        leaf.path: leaf.same_as
        for leaf in facts.arguments.leaves
        if leaf.same_as and leaf.path in unused and leaf.same_as not in unused
    }
