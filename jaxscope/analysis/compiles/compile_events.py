"""XLA's passes and kernels from the events of a profiler session around one compilation.

Events nest on each thread, and threads compile kernels at the same time. Of nested events the
innermost counts; of parallel ones each instant is split evenly, as in the time profile. Names are
those of xla/service/cpu/cpu_compiler.cc, seen on jaxlib 0.8.1 to 0.12; an unknown event counts
under its own name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from jaxscope.analysis.trace.event import Op, TraceEvent, shares
from jaxscope.model.compiler.compile_time import CompilationPhase

LLVM = "LLVM"
"""Kernels in LLVM, which writes no names."""
EMITTER = "thunk emitter"
_KERNEL = ("FusionCompiler::Compile", "EmitKernel")
_WAITS = (
    "backend_compile",
    "PjRtCpuClient::Compile",
    "PjRtStreamExecutor",
    "CpuCompiler::",
    "Codegen",
    "JitCompiler::",
    "HLO passes",
    "ThunkEmitter::ConsumeKernels",
)
"""Events that wait for those on other threads: they count where nothing else runs."""
_CODEGEN = (
    "CpuCompiler::CompileCpuExecutable",
    "Codegen",
    "JitCompiler",
    "ThunkEmitter",
    "FusionCompiler",
    "TaskDispatcher",
)
_NOT_OURS = ("PjitFunction", "ParseArguments", "ThreadpoolListener", "ThunkExecutor", "end: ")
_MODULE = re.compile(r"^(?:__compute_module_)?(.+?)(?:_elemental)?(?:_kernel)?(?:_module)?$")
_PIPELINE = re.compile(r" \([^()]*\)$")


@dataclass(frozen=True, slots=True)
class XlaPart:
    """Seconds of one pass or kernel in a compilation."""

    phase: CompilationPhase
    name: str
    seconds: float
    kernel: bool = False
    """Whether `name` is a kernel: an instruction of the optimized HLO."""
    named: bool = True
    """Whether XLA named it: not the time in which only an outer event was open."""


def xla_parts(events: Iterable[TraceEvent], whole_s: float) -> tuple[XlaPart, ...]:
    """The parts of one call of XLA; they add up to `whole_s`, the unnamed rest included."""
    ops: list[Op] = []
    kinds: dict[str, XlaPart] = {}
    waiting: set[str] = set()
    for thread, mine in _by_thread(events).items():
        for start, end, path in _innermost(mine):
            part, waits = _part(thread, path)
            key = f"{part.phase}|{part.kernel}|{part.name}|{waits}"
            kinds[key] = part
            if waits:
                waiting.add(key)
            ops.append(Op(key, "", 0, 0, 0, thread=thread, start=start, end=end))
    found = shares(ops, waiting)
    seconds = {k: ns * 1e-9 for times in (found.by_op, found.overhead) for k, ns in times.items()}
    covered = sum(seconds.values())
    scale = min(whole_s / covered, 1.0) if covered > 0 else 0.0
    merged: dict[tuple[CompilationPhase, str, bool, bool], float] = {}
    for key, value in seconds.items():
        part = kinds[key]
        kind = (part.phase, part.name, part.kernel, part.named)
        merged[kind] = merged.get(kind, 0.0) + value * scale
    parts = [XlaPart(p, n, s, kernel, named) for (p, n, kernel, named), s in merged.items()]
    rest = whole_s - sum(part.seconds for part in parts)
    if rest > 0:
        parts.append(XlaPart(CompilationPhase.PASSES, "", rest, named=False))
    return tuple(sorted(parts, key=lambda part: -part.seconds))


def _by_thread(events: Iterable[TraceEvent]) -> Mapping[str, list[TraceEvent]]:
    found: dict[str, list[TraceEvent]] = {}
    for event in events:
        runs = "hlo_op" in event.stats or event.name.startswith(_NOT_OURS)
        if not runs and event.end > event.start:
            found.setdefault(event.thread, []).append(event)
    return found


def _innermost(
    events: list[TraceEvent],
) -> Iterator[tuple[float, float, tuple[TraceEvent, ...]]]:
    """Stretches of a thread in which the same event is the innermost, with its enclosing ones."""
    events.sort(key=lambda event: (event.start, -event.end))
    stack: list[TraceEvent] = []
    at = 0.0
    for event in events:
        while stack and stack[-1].end <= event.start:
            if stack[-1].end > at:
                yield at, stack[-1].end, tuple(stack)
            at = max(at, stack.pop().end)
        if stack and event.start > at:
            yield at, event.start, tuple(stack)
        stack.append(event)
        at = max(at, event.start)
    while stack:
        if stack[-1].end > at:
            yield at, stack[-1].end, tuple(stack)
        at = max(at, stack.pop().end)


def _part(thread: str, path: tuple[TraceEvent, ...]) -> tuple[XlaPart, bool]:
    """The part of an innermost event, and whether it waits for events on other threads."""
    name = path[-1].name
    for event in reversed(path):
        if event.name.startswith(_KERNEL) and (module := event.stats.get("module")):
            kernel = _MODULE.sub(r"\1", str(module))
            return XlaPart(CompilationPhase.CODEGEN, kernel, 0.0, kernel=True), False
    inside = any(event.name.startswith(_CODEGEN) for event in path) or "codegen" in thread
    phase = CompilationPhase.CODEGEN if inside else CompilationPhase.PASSES
    if name.startswith("ThunkEmitter::ConsumeKernels"):
        return XlaPart(phase, EMITTER, 0.0), True
    if name.startswith(_WAITS):
        # Of JAX itself, around everything; the other names are XLA's.
        named = not name.startswith("backend_compile")
        return XlaPart(phase, _PIPELINE.sub("", name) if named else "", 0.0, named=named), True
    if name.startswith("TaskDispatcher"):
        return XlaPart(phase, LLVM, 0.0), False
    if name.startswith("ThunkEmitter"):
        return XlaPart(phase, EMITTER, 0.0), False
    return XlaPart(phase, _PIPELINE.sub("", name), 0.0), False
