"""From a function to a compiled program: one trace, one lowering, at most one compile.

A cell is traced on every run. Its compiled program is reused when XLA's input is the same: the
StableHLO without locations, the arguments that it keeps, and their shardings.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from jaxscope.analysis.targets.names import Target
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import own_work
from jaxscope.capture.compiles.signature.functions import CellIdentity, program_of_cell
from jaxscope.capture.devices import devices
from jaxscope.capture.jaxpr.dataflow import RegionReader
from jaxscope.capture.jaxpr.gradient import reader_ahead
from jaxscope.capture.jaxpr.tags import Tagged, adopt, has_tags, tag
from jaxscope.capture.jaxpr.tracing import observed_tracing
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.program import identity
from jaxscope.capture.program.describe import argument_infos
from jaxscope.capture.program.input_reader import InputReader
from jaxscope.capture.program.request import (
    CachedProgram,
    CompileRequest,
    TracedProgram,
)
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.targets.compiled import compile_for, lower_for
from jaxscope.capture.targets.environment import TargetError
from jaxscope.capture.timing.sampling import quiet_gc
from jaxscope.capture.tree_paths import of_jaxs_names
from jaxscope.capture.vmap import without_arrays
from jaxscope.model import Source

_OTHER_TEXT = (
    "the program was compiled for another text of this cell, so its lines are matched by "
    "primitive, name and position"
)
_READ_MEANWHILE = 200
"""Equations from which a program is worth a thread that reads them."""
Say = Callable[[str], None]
"""Notify of the phase that begins: `tracing`, `compiling`."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A compiled program that is ready to run, with the handles that its report needs."""

    request: CompileRequest
    handles: Handles
    entry: CachedProgram
    reused: bool
    trace_s: float
    vmaps: Sequence[_jax.VmapEntry] = ()
    """Values that entered a vmap while JAX traced it."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The caller's names of the flat arguments, else JAX's own, else their numbers."""
        request, number = self.request, len(self.leaves())
        numbers = (number, len(argument_infos(self.handles)))
        if request.paths and len(request.paths) in numbers:
            return request.paths
        try:
            known = _jax.argument_names(self.handles.traced)
            known = of_jaxs_names(request.jitted, request.args, request.kwargs, known)
        except Exception:
            known = ()
        # JAX names traced arguments; static ones are leaves of the call, but not inputs.
        return known if known and len(known) in numbers else request.names()

    def leaves(self) -> list[Any]:
        """The flat arguments of this run."""
        return self.request.leaves()

    def named_leaves(self) -> list[Any]:
        """Those that `paths` name: without static ones where JAX named them."""
        return self.traced_leaves() if len(self.paths) < len(self.leaves()) else self.leaves()

    def traced_leaves(self) -> list[Any]:
        """The same without static ones."""
        jitted, kwargs = self.request.jitted, dict(self.request.kwargs)
        return jax.tree_util.tree_leaves(_jax.traced_arguments(jitted, self.request.args, kwargs))

    def arguments(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as the compiled program takes them."""
        if not self.reused:
            return tuple(args), dict(kwargs)
        flat = jax.tree_util.tree_leaves((tuple(args), dict(kwargs)))
        return self.entry.arrange(dict(zip(self.request.names(), flat, strict=True)))


@contextmanager
def device_and_precision(settings: Settings) -> Generator[Any]:
    """Apply the device and precision of the settings; yields the device or None."""
    with ExitStack() as stack:
        device = None
        if settings.x64:
            stack.enter_context(jax.enable_x64(True))
        if settings.device is not None:
            device = devices.find(settings.device)
            stack.enter_context(jax.default_device(device))
        yield device


@calls_user_code
def trace_program(request: CompileRequest, sources: SourceFiles, say: Say) -> TracedProgram:
    """Trace the request.

    Raises what the user's code raises while it is traced, and what JAX raises for it.
    """
    say("tracing")
    vmaps: list[_jax.VmapEntry] = []
    with _staging(request, sources), _own_work(request):
        began = time.perf_counter()
        with observed_tracing(vmaps):
            traced = request.trace()
        trace_s = time.perf_counter() - began
    earlier: tuple[_jax.VmapEntry, ...] = ()
    if request.programs is not None:
        earlier = tuple(request.programs.vmaps)
        request.programs.vmaps.extend(without_arrays(vmaps))
    return TracedProgram(request, traced, trace_s, (*request.vmaps, *vmaps, *earlier))


@calls_user_code
def compile_program(
    program: TracedProgram, sources: SourceFiles, say: Say, target: Target | None = None
) -> Captured:
    """Tag and lower the program; compile it unless the request has the same program already.

    With a target, its own compiler does, in another process. Raises what JAX raises for the
    program, and TargetError.
    """
    if program.stage is not None:
        if target is not None:
            return _stage_for(program, sources, say, target)
        return _compiled_stage(program, sources, say)
    request, traced = program.request, program.traced
    tagged = request.tagged
    if tagged is None or not has_tags(traced):  # traced again: the cell has cleared JAX's caches
        with quiet_gc():  # the tracers of the whole program are still young
            tagged = tag(traced, sources, request.site)
    with _staging(request, sources), _own_work(request):
        say("lowering")
        lower = traced.lower if target is None else functools.partial(lower_for, traced, target)
        lowered = _hiding_frames(lower)()
        received = InputReader(tagged, lowered)
        stores = identity.stores(request, traced, lowered, "" if target is None else target.name)
        entry = next((found for one, key in stores if (found := one.get(key))), None)
        reused = entry is not None
        if entry is None:
            say("compiling" if target is None else f"compiling for {target.name}")
            with _read_meanwhile(received, tagged, request.paths, sources.all()):
                if target is None:
                    compiled = _hiding_frames(lowered.compile)()
                else:
                    compiled = compile_for(lowered, target)
            entry = _cached(request, compiled, lowered, tagged)
        for one, key in stores:
            one.put(key, entry)
    earlier = next((found for one, key in stores if (found := one.handles.get(key))), None)
    if reused:
        regions = received.regions
        if earlier is not None and not program.vmaps and _is_same(tagged, regions, earlier):
            tagged, regions = earlier.tagged, earlier.regions
        else:
            # The program carries the tags of the run that compiled it.
            tagged = adopt(tagged, entry.tagged) or replace(tagged, other=_OTHER_TEXT)
        received = InputReader(tagged, lowered, regions)
    handles = Handles(traced, lowered, entry.compiled, tagged, sources, received)
    handles.stored = entry.stored
    if earlier is not None:
        handles.reuse(earlier)
    for one, key in stores:
        one.handles[key] = handles
    return Captured(request, handles, entry, reused, program.trace_s, program.vmaps)


def _hiding_frames(step: Callable[[], Any]) -> Callable[[], Any]:
    with suppress(Exception):  # of a different JAX: its errors show more of its frames
        return _jax.hiding_frames(step)
    return step


def _is_same(tagged: Tagged, regions: RegionReader, earlier: Handles) -> bool:
    """Whether a program is that of an earlier run, lines, names and what it leaves out included, so
    that what was read of that one holds for it. A vmap is read by the objects of its own trace."""
    old = earlier.tagged
    if not tagged.hash or tagged.hash != old.hash or tagged.tag_paths != old.tag_paths:
        return False
    if tagged.equations != old.equations:
        return False
    try:
        return regions.computation(tagged.jaxpr) == earlier.regions.computation(old.jaxpr)
    except Exception:  # a parameter that cannot be compared
        return False


@contextmanager
def _read_meanwhile(
    received: InputReader, tagged: Tagged, names: Sequence[str], sources: Sequence[Source]
) -> Generator[None]:
    """Read what needs only the jaxpr in a thread: XLA compiles without Python's lock."""

    if tagged.body is None or len(tagged.equations) < _READ_MEANWHILE:
        yield
        return
    parts: list[Callable[[], object]] = [received.read_ahead]
    with suppress(Exception):  # who needs it later reads it, and says why it cannot
        parts.append(reader_ahead(tagged, names, sources, received.regions))

    def read() -> None:
        for part in parts:
            with suppress(Exception):
                part()

    worker = threading.Thread(target=read, name="jaxscope dataflow", daemon=True)
    with suppress(RuntimeError):  # no more threads
        worker.start()
    try:
        yield
    finally:
        if worker.ident is not None:
            worker.join()


@calls_user_code
def uncompiled(program: TracedProgram, sources: SourceFiles) -> Captured:
    """The traced program, tagged, of a call that JAX runs here before a target's compiler sees it.

    Its request keeps the tags; `compile_program` makes the program of a target of it.
    """
    request, traced = program.request, program.traced
    tagged = request.tagged or tag(traced, sources, request.site)
    entry = _cached(request, lambda *a, **k: traced.lower().compile()(*a, **k), None, tagged)
    handles = Handles(traced, None, None, tagged, sources)
    request = replace(request, tagged=tagged)
    return Captured(request, handles, entry, False, program.trace_s, program.vmaps)


def _own_work(request: CompileRequest) -> AbstractContextManager[None]:
    """Keep what compiles again of a program that the cell has compiled out of the compile log."""
    return own_work() if request.again else nullcontext()


def _staging(request: CompileRequest, sources: SourceFiles) -> AbstractContextManager[None]:
    """Let the compile log know the call, which JAX does not show where it had traced it before."""
    call = request.pmapped and replace(request.pmapped, request_id=id(request))
    if call is None:
        call = _jax.staged_call(request.jitted, request.args, request.kwargs, id(request))
    return program_of_cell(_identity(request, sources), call)


def _identity(request: CompileRequest, sources: SourceFiles) -> CellIdentity | None:
    """The cell that the compile log compares with its earlier runs."""
    owner = request.called if request.programs is None else request.programs
    if owner is None:
        return None
    cell = sources.all()
    text = cell[0].text if cell else ""
    read, paths = request.reads, request.paths
    return CellIdentity(owner, text, request.constants, request.called, read, paths)


def traced_by_user(stage: Any) -> TracedProgram:
    """The program of a `Traced`, `Lowered` or `Compiled` of the user's."""
    if isinstance(stage, jax.stages.Traced):
        request = CompileRequest(stage.fun_name, ("jit",), None, ())
        return TracedProgram(request, stage, stage=stage)
    name = _jax.lowered_name(stage)
    request = CompileRequest(name or "program", ("jit",) if name else (), None, ())
    return TracedProgram(request, None, stage=stage)


@calls_user_code
def _compiled_stage(program: TracedProgram, sources: SourceFiles, say: Say) -> Captured:
    """A stage of the user's, compiled. Its links are exact unless it was lowered before."""
    stage = program.stage
    lowered = stage if isinstance(stage, jax.stages.Lowered) else None
    tagged = None
    if program.traced is not None:
        say("compiling")
        tagged = tag(program.traced, sources)
        lowered = program.traced.lower()
    elif lowered is not None and (foreign := _jax.foreign_platforms(lowered)):
        raise TargetError(
            f"It was lowered for {foreign[0]}, but JAX would compile it for this machine. "
            "Pass its Traced with `jaxscope.options(target=…)`, or read `lowered.as_text()`."
        )
    compiled = stage if lowered is None else lowered.compile()
    handles = Handles(program.traced, lowered, compiled, tagged, sources)
    handles.stored = b"" if lowered is None else _stored(compiled, lowered, handles.tagged)
    entry = CachedProgram(compiled, compiled, handles.tagged, paths=(), treedef=None, spare={})
    return Captured(program.request, handles, entry, False, 0.0)


def _stage_for(program: TracedProgram, sources: SourceFiles, say: Say, target: Target) -> Captured:
    """A `Traced` of the user's, compiled for a target."""
    traced = program.traced
    if traced is None:
        kind = type(program.stage).__name__
        raise TargetError(
            f"A {kind} was lowered for the devices of this machine: pass the function, or its "
            f"Traced, to compile it for {target.name}."
        )
    tagged = tag(traced, sources)
    say("lowering")
    lowered = lower_for(traced, target)
    say(f"compiling for {target.name}")
    compiled = compile_for(lowered, target)
    handles = Handles(traced, lowered, compiled, tagged, sources)
    entry = CachedProgram(compiled, compiled, tagged, paths=(), treedef=None, spare={})
    return Captured(program.request, handles, entry, False, 0.0)


def _cached(request: CompileRequest, compiled: Any, lowered: Any, tagged: Tagged) -> CachedProgram:
    leaves, treedef = jax.tree_util.tree_flatten((tuple(request.args), dict(request.kwargs)))
    try:
        kept = _jax.kept_arguments(lowered)
    except Exception:  # then all arguments count as kept
        kept = None
    paths = request.names()
    spare = {
        path: _placeholder(leaf)
        for position, (path, leaf) in enumerate(zip(paths, leaves, strict=True))
        if kept is not None and position not in kept
    }
    stored = _stored(compiled, lowered, tagged)
    return CachedProgram(request.jitted, compiled, tagged, paths, treedef, spare, stored)


def _stored(compiled: Any, lowered: Any, tagged: Tagged) -> bytes:
    """The executable of a program with a sort on a CPU; empty for others."""
    if all(one.primitive != "sort" for one in tagged.equations):
        return b""
    try:
        return b"" if _jax.cpu_devices(lowered) is None else _jax.serialized(compiled)
    except Exception:  # then its stages below HLO have this reason once they are requested
        return b""


def _placeholder(leaf: Any) -> Any:
    """A value of the leaf's type that holds no memory."""
    if not isinstance(leaf, (jax.Array, np.ndarray)) or getattr(leaf, "weak_type", False):
        return leaf
    if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.extended):
        return leaf
    return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape)
