"""From a function to a compiled program: one trace, one lowering, at most one compile.

A cell is traced on every run. Its compiled program is reused when XLA's input is the same: the
StableHLO without locations, the arguments that it keeps, and their shardings.
"""

from __future__ import annotations

import collections
import hashlib
import time
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import jax
import numpy as np

from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.functions import CellIdentity, program_of_cell
from jaxscope.capture.devices import devices
from jaxscope.capture.jaxpr.callbacks import callback_marks
from jaxscope.capture.jaxpr.tags import Tagged, adopt, tag
from jaxscope.capture.jaxpr.untransformed import Base, Untransformed
from jaxscope.capture.options.composition import JIT, Composition
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.program.describe import argument_infos
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.vmap import watching, without_arrays

_OTHER_TEXT = (
    "the program was compiled for another text of this cell, so its lines are matched by "
    "primitive, name and position"
)
PROGRAMS_PER_CELL = 8
"""Compiled programs kept per cell: alternating shapes should not recompile."""

VMAPS_PER_CELL = 256


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """A jitted function, the arguments to trace it for, and their names."""

    name: str
    transforms: tuple[str, ...]
    jitted: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    _: KW_ONLY
    paths: tuple[str, ...] = ()
    """Names of the flat leaves, where the caller has better ones than JAX."""
    composition: Composition = JIT
    """The transforms with their options, outermost first."""
    base: Base | None = None
    """The program inside the transforms; None for a decorated function, where only JAX has it."""
    statics: Mapping[str, str] = field(default_factory=dict[str, str])
    """Values that the program holds as constants, by name, in short texts."""
    programs: Programs | None = None
    """Compiled programs of earlier runs, which may be reused; None: none."""
    tagged: Tagged | None = None
    """The jaxpr where it was tagged while JAX lowered it."""
    vmaps: Sequence[_jax.VmapEntry] = ()
    """Values that entered a vmap before the trace."""

    @property
    def untransformed(self) -> Untransformed | None:
        """The traced program of one example, with the shapes that it takes.

        None under jit alone, for a decorated function, and before the trace.
        """
        return None if self.base is None else self.base.known


@dataclass(frozen=True, slots=True)
class CachedProgram:
    """A compiled program that later runs of the same cell may reuse."""

    call: Any
    """The jitted function of the run that compiled it, which a user would call."""
    compiled: Any
    tagged: Tagged
    paths: tuple[str, ...]
    treedef: Any
    spare: Mapping[str, Any]
    """Placeholders for the arguments that the program does not use."""

    def arrange(self, leaves: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The leaves as this program's arguments, without other inputs of the present cell."""
        flat = [self.spare[p] if p in self.spare else leaves[p] for p in self.paths]
        return jax.tree_util.tree_unflatten(self.treedef, flat)


Say = Callable[[str], None]
"""Notify of the phase that begins: `tracing`, `compiling`."""

Key = tuple[str, Hashable]
"""A program's hash, and the settings of JAX that it was traced under."""


class Programs:
    """The latest compiled programs of one cell."""

    def __init__(self) -> None:
        self._entries: collections.OrderedDict[Key, CachedProgram] = collections.OrderedDict()
        self.vmaps: collections.deque[_jax.VmapEntry] = collections.deque(maxlen=VMAPS_PER_CELL)
        """Values that entered a vmap in earlier runs: JAX traces a helper function only once."""
        self._parts: dict[str, Programs] = {}

    def part(self, name: str) -> Programs:
        """The programs of one function of the cell."""
        return self._parts.setdefault(name, Programs())

    def get(self, key: Key) -> CachedProgram | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: Key, entry: CachedProgram) -> None:
        self._entries[key] = entry
        while len(self._entries) > PROGRAMS_PER_CELL:
            self._entries.popitem(last=False)


@dataclass(frozen=True, slots=True)
class TracedProgram:
    """A program that JAX has traced, with tagged equations."""

    request: CompileRequest
    traced: Any
    """JAX's `Traced`; None where the user gave a later stage."""
    tagged: Tagged | None
    """None where no jaxpr is known."""
    trace_s: float = 0.0
    vmaps: Sequence[_jax.VmapEntry] = ()
    """Values that entered a vmap while JAX traced it."""
    stage: Any = None
    """The stage that the user gave: a `Traced`, `Lowered` or `Compiled`."""


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
        """Names of the flat arguments of this run."""
        return _paths(self.request, self.handles)

    def leaves(self) -> list[Any]:
        """The flat arguments of this run."""
        return _leaves(self.request)

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
        return self.entry.arrange(dict(zip(_paths(self.request), flat, strict=True)))


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
    """Trace the request and tag its equations.

    Raises what the user's code raises while it is traced, and what JAX raises for it.
    """
    say("tracing")
    vmaps: list[_jax.VmapEntry] = []
    with program_of_cell(_identity(request, sources)):
        began = time.perf_counter()
        with watching(vmaps):
            traced = request.jitted.trace(*request.args, **request.kwargs)
        trace_s = time.perf_counter() - began
    earlier: tuple[_jax.VmapEntry, ...] = ()
    if request.programs is not None:
        earlier = tuple(request.programs.vmaps)
        request.programs.vmaps.extend(without_arrays(vmaps))
    tagged = request.tagged or tag(traced, sources)
    return TracedProgram(request, traced, tagged, trace_s, (*request.vmaps, *vmaps, *earlier))


@calls_user_code
def compile_program(program: TracedProgram, sources: SourceFiles, say: Say) -> Captured:
    """Lower the program; compile it unless the request has the same program already.

    Raises what JAX raises for the program.
    """
    if program.stage is not None:
        return _compiled_stage(program, sources, say)
    request, traced, tagged = program.request, program.traced, program.tagged
    assert tagged is not None
    with program_of_cell(_identity(request, sources)):
        say("lowering")
        lowered = traced.lower()
        key = None if request.programs is None else _key(request, traced, lowered)
        entry = None if request.programs is None or key is None else request.programs.get(key)
        reused = entry is not None
        if entry is None:
            say("compiling")
            entry = _cached(request, lowered.compile(), lowered, tagged)
            if request.programs is not None and key is not None:
                request.programs.put(key, entry)
    if reused:
        # The program carries the tags of the run that compiled it.
        tagged = adopt(tagged, entry.tagged) or replace(tagged, other=_OTHER_TEXT)
    handles = Handles(traced, lowered, entry.compiled, tagged, sources)
    return Captured(request, handles, entry, reused, program.trace_s, program.vmaps)


def _identity(request: CompileRequest, sources: SourceFiles) -> CellIdentity | None:
    """The cell that the compile log compares with its earlier runs."""
    if request.programs is None:
        return None
    cell = sources.all()
    return CellIdentity(request.programs, cell[0].text if cell else "", request.statics)


def traced_by_user(stage: Any, sources: SourceFiles) -> TracedProgram:
    """The program of a `Traced`, `Lowered` or `Compiled` of the user's."""
    if isinstance(stage, jax.stages.Traced):
        request = CompileRequest(stage.fun_name, ("jit",), None, ())
        return TracedProgram(request, stage, tag(stage, sources), stage=stage)
    return TracedProgram(CompileRequest("program", (), None, ()), None, None, stage=stage)


@calls_user_code
def _compiled_stage(program: TracedProgram, sources: SourceFiles, say: Say) -> Captured:
    """A stage of the user's, compiled. Its links are exact unless it was lowered before."""
    stage = program.stage
    lowered = stage if isinstance(stage, jax.stages.Lowered) else None
    if program.traced is not None:
        say("compiling")
        lowered = program.traced.lower()
    compiled = stage if lowered is None else lowered.compile()
    handles = Handles(program.traced, lowered, compiled, program.tagged, sources)
    entry = CachedProgram(compiled, compiled, handles.tagged, paths=(), treedef=None, spare={})
    return Captured(program.request, handles, entry, False, 0.0)


def _key(request: CompileRequest, traced: Any, lowered: Any) -> Key | None:
    """The program's identity; None where it is unknown, so that nothing is reused.

    JAX's settings belong to it: with other settings JAX would trace the earlier function again,
    even if the program is the same.
    """
    try:
        key = (identity(request, traced, lowered), _jax.trace_context())
        hash(key)
        return key
    except Exception:
        return None


def identity(request: CompileRequest, traced: Any, lowered: Any) -> str:
    """A hash of everything that determines XLA's input and the results' Python types."""
    kept = _jax.kept_arguments(lowered)
    digest = hashlib.sha256(lowered.as_text().encode())
    for position, (path, leaf) in enumerate(zip(_paths(request), _leaves(request), strict=True)):
        if kept is None or position in kept:
            where = ""
            if isinstance(leaf, jax.Array) and leaf.committed:
                where = f"{leaf.sharding}/{getattr(getattr(leaf, 'format', None), 'layout', None)}"
            digest.update(f"{path}:{where};".encode())
    taken = [a for i, a in enumerate(traced.jaxpr.in_avals) if kept is None or i in kept]
    for aval in (*taken, *traced.jaxpr.out_avals):
        digest.update(f"{aval.str_short()}{getattr(aval, 'weak_type', '')};".encode())
    digest.update(repr(callback_marks(traced.jaxpr)).encode())
    for constant in _jax.constant_arguments(lowered):
        digest.update(np.asarray(constant).tobytes())
    return digest.hexdigest()


def _cached(request: CompileRequest, compiled: Any, lowered: Any, tagged: Tagged) -> CachedProgram:
    leaves, treedef = jax.tree_util.tree_flatten((tuple(request.args), dict(request.kwargs)))
    try:
        kept = _jax.kept_arguments(lowered)
    except Exception:  # then all arguments count as kept
        kept = None
    paths = _paths(request)
    spare = {
        path: _placeholder(leaf)
        for position, (path, leaf) in enumerate(zip(paths, leaves, strict=True))
        if kept is not None and position not in kept
    }
    return CachedProgram(request.jitted, compiled, tagged, paths, treedef, spare)


def _placeholder(leaf: Any) -> Any:
    """A value of the leaf's type that holds no memory."""
    if not isinstance(leaf, (jax.Array, np.ndarray)) or getattr(leaf, "weak_type", False):
        return leaf
    if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.extended):
        return leaf
    return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape)


def _leaves(request: CompileRequest) -> list[Any]:
    return jax.tree_util.tree_leaves((tuple(request.args), dict(request.kwargs)))


def _paths(request: CompileRequest, handles: Handles | None = None) -> tuple[str, ...]:
    """The caller's names of the flat arguments, else JAX's own, else their numbers."""
    number = len(_leaves(request))
    if request.paths and len(request.paths) == number:
        return request.paths
    try:
        known = () if handles is None else _jax.argument_names(handles.traced)
    except Exception:
        known = ()
    # JAX names traced arguments; static ones are leaves of the call, but not inputs.
    if known and handles is not None and len(known) in (number, len(argument_infos(handles))):
        return known
    return tuple([str(i) for i in range(number)])
