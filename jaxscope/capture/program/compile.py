"""From a function to a compiled program: one trace, one lowering, at most one compile.

A cell is traced on every run. Its compiled program is used again when what XLA would be given is
the same: the StableHLO without locations, the arguments that it keeps, and where they lie.
"""

from __future__ import annotations

import collections
import hashlib
import time
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.cell_identity import CellIdentity, program_of_cell
from jaxscope.capture.devices import devices
from jaxscope.capture.jaxpr.callbacks import callback_marks
from jaxscope.capture.jaxpr.tags import Tagged, adopt, compiled_from, tag
from jaxscope.capture.jaxpr.untransformed import Base, Untransformed
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.capture.options.settings import Settings
from jaxscope.capture.options.stack import JIT, Stack
from jaxscope.capture.program.describe import argument_infos
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.sources import Sources
from jaxscope.capture.vmap.axes import watching, without_arrays

_OTHER_TEXT = (
    "the program was compiled for another text of this cell, so its lines are matched by "
    "primitive, name and position"
)
PROGRAMS_PER_CELL = 8
"""Compiled programs kept for each cell: shapes that alternate should not compile again."""

VMAPS_PER_CELL = 256


@dataclass(frozen=True, slots=True)
class Request:
    """A jitted function and the arguments to capture it for."""

    name: str
    transforms: tuple[str, ...]
    jitted: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    """Names of the flat leaves, when the caller knows better ones than JAX."""
    stack: Stack = JIT
    """The transforms with their options, outermost first."""
    base: Base | None = None
    """The program under the transforms; None where only JAX has it (a decorated function)."""
    statics: Mapping[str, str] = field(default_factory=dict[str, str])
    """Values that the program holds as constants, by name, in short texts."""

    @property
    def untransformed(self) -> Untransformed | None:
        """The program of one example as it was traced, with the shapes that it takes.

        None under nothing but jit, for a decorated function, and before the request was captured.
        """
        return None if self.base is None else self.base.known


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled program that later runs of the same cell may use."""

    call: Any
    """The jitted function of the run that compiled it: what a user would call."""
    compiled: Any
    tagged: Tagged
    paths: tuple[str, ...]
    treedef: Any
    spare: Mapping[str, Any]
    """Stand-ins for the arguments that the program does not use."""

    def arrange(self, leaves: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The leaves as this program's arguments, whatever else the cell reads by now."""
        flat = [self.spare[p] if p in self.spare else leaves[p] for p in self.paths]
        return jax.tree_util.tree_unflatten(self.treedef, flat)


Key = tuple[str, Hashable]
"""A program's hash, and the settings of JAX that it was traced under."""


class Programs:
    """The compiled programs of one cell, the latest kept."""

    def __init__(self) -> None:
        self._entries: collections.OrderedDict[Key, Compiled] = collections.OrderedDict()
        self.vmaps: collections.deque[_jax.VmapEntry] = collections.deque(maxlen=VMAPS_PER_CELL)
        """What entered a vmap in earlier runs: a function that the cell calls is traced once."""

    def get(self, key: Key) -> Compiled | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: Key, entry: Compiled) -> None:
        self._entries[key] = entry
        while len(self._entries) > PROGRAMS_PER_CELL:
            self._entries.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Captured:
    """A program that is ready to run, with the handles that its report needs."""

    request: Request
    handles: Handles
    entry: Compiled
    reused: bool
    trace_s: float
    vmaps: Sequence[_jax.VmapEntry] = ()
    """What entered a vmap while JAX traced it."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Names of the flat arguments of this run."""
        return _paths(self.request, self.handles)

    def leaves(self) -> list[Any]:
        """The flat arguments of this run."""
        return _leaves(self.request)

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
def context(settings: Settings) -> Generator[Any]:
    """The device and precision that the settings ask for; yields the device or None."""
    with ExitStack() as stack:
        device = None
        if settings.x64:
            stack.enter_context(jax.enable_x64(True))
        if settings.device is not None:
            device = devices.find(settings.device)
            stack.enter_context(jax.default_device(device))
        yield device


@calls_user_code
def capture(
    request: Request,
    sources: Sources,
    programs: Programs | None = None,
    say: Callable[[str], None] = lambda phase: None,
    tagged: Tagged | None = None,
) -> Captured:
    """Trace, tag and lower the request; compile it unless `programs` holds the same program.

    `tagged` is given where the program was tagged while JAX lowered it.

    Raises what the user's code raises while it is traced, and what JAX raises for it.
    """
    cell = None
    if programs is not None:
        text = sources.all()[0].text if sources.all() else ""
        cell = CellIdentity(programs, text, request.statics)
    with program_of_cell(cell):
        return _captured(request, sources, programs, say, tagged)


def _captured(
    request: Request,
    sources: Sources,
    programs: Programs | None,
    say: Callable[[str], None],
    tagged: Tagged | None,
) -> Captured:
    say("tracing")
    began = time.perf_counter()
    vmaps: list[_jax.VmapEntry] = []
    with watching(vmaps):
        traced = request.jitted.trace(*request.args, **request.kwargs)
    trace_s = time.perf_counter() - began
    if programs is not None:
        earlier = tuple(programs.vmaps)
        programs.vmaps.extend(without_arrays(vmaps))
        vmaps = [*vmaps, *earlier]
    tagged = tagged or tag(traced, sources)
    say("lowering")
    lowered = traced.lower()
    key = None if programs is None else _key(request, traced, lowered)
    entry = None if programs is None or key is None else programs.get(key)
    reused = entry is not None
    if entry is None:
        say("compiling")
        entry = _compiled(request, lowered.compile(), lowered, tagged, request.jitted)
        if programs is not None and key is not None:
            programs.put(key, entry)
    if reused:
        # The program carries the tags of the run that compiled it.
        tagged = adopt(tagged, entry.tagged) or compiled_from(tagged, _OTHER_TEXT)
    handles = Handles(traced, lowered, entry.compiled, tagged, sources)
    return Captured(request, handles, entry, reused, trace_s, vmaps)


@calls_user_code
def finished(traced: Any, sources: Sources, say: Callable[[str], None]) -> Captured:
    """A `Traced` of the user's, lowered and compiled; exact unless it was lowered before."""
    say("compiling")
    tagged = tag(traced, sources)
    lowered = traced.lower()
    compiled = lowered.compile()
    request = Request(traced.fun_name, ("jit",), None, ())
    entry = _compiled(request, compiled, lowered, tagged, compiled)
    return Captured(request, Handles(traced, lowered, compiled, tagged, sources), entry, False, 0.0)


@calls_user_code
def opened(stage: Any, sources: Sources) -> Captured:
    """A `Lowered` or `Compiled` of the user's: nothing is traced, and its links are not exact."""
    lowered = stage if isinstance(stage, jax.stages.Lowered) else None
    compiled = stage if lowered is None else lowered.compile()
    handles = Handles(None, lowered, compiled, None, sources)
    treedef = jax.tree_util.tree_structure(stage.args_info)
    entry = Compiled(compiled, compiled, handles.tagged, (), treedef, {})
    return Captured(Request("program", (), None, ()), handles, entry, False, 0.0)


def _key(request: Request, traced: Any, lowered: Any) -> Key | None:
    """The program's identity; None when it cannot be told, and then nothing is used again.

    JAX's settings belong to it: under another one JAX would trace the earlier function again, even
    if the program is the same.
    """
    try:
        key = (identity(request, traced, lowered), _jax.trace_context())
        hash(key)
        return key
    except Exception:
        return None


def identity(request: Request, traced: Any, lowered: Any) -> str:
    """A hash of all that decides what XLA compiles and how its results look in Python."""
    leaves = _leaves(request)
    kept = _jax.kept_arguments(lowered)
    digest = hashlib.sha256(lowered.as_text().encode())
    for position, (path, leaf) in enumerate(zip(_paths(request), leaves, strict=True)):
        if kept is None or position in kept:
            digest.update(f"{path}:{_place(leaf)};".encode())
    for position, aval in enumerate(traced.jaxpr.in_avals):
        if kept is None or position in kept:
            digest.update(f"{aval.str_short()}{getattr(aval, 'weak_type', '')};".encode())
    for aval in traced.jaxpr.out_avals:
        digest.update(f"{aval.str_short()}{getattr(aval, 'weak_type', '')};".encode())
    digest.update(repr(callback_marks(traced.jaxpr)).encode())
    for constant in _jax.constant_arguments(lowered):
        digest.update(np.asarray(constant).tobytes())
    return digest.hexdigest()


def _place(leaf: Any) -> str:
    if not isinstance(leaf, jax.Array) or not leaf.committed:
        return ""
    layout = getattr(getattr(leaf, "format", None), "layout", None)
    return f"{leaf.sharding}/{layout}"


def _compiled(request: Request, compiled: Any, lowered: Any, tagged: Tagged, call: Any) -> Compiled:
    arguments = (tuple(request.args), dict(request.kwargs))
    leaves, treedef = jax.tree_util.tree_flatten(arguments)
    try:
        kept = _jax.kept_arguments(lowered)
    except Exception:  # then all arguments count as kept
        kept = None
    paths = _paths(request)
    spare = {
        path: _stand_in(leaf)
        for position, (path, leaf) in enumerate(zip(paths, leaves, strict=True))
        if kept is not None and position not in kept
    }
    return Compiled(call, compiled, tagged, paths, treedef, spare)


def _stand_in(leaf: Any) -> Any:
    """A value of the leaf's type that holds no memory."""
    if isinstance(leaf, jax.Array) and jax.numpy.issubdtype(leaf.dtype, jax.dtypes.extended):
        return leaf
    if isinstance(leaf, (jax.Array, np.ndarray)):
        if getattr(leaf, "weak_type", False):
            return leaf
        return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape)
    return leaf


def _leaves(request: Request) -> list[Any]:
    return jax.tree_util.tree_leaves((tuple(request.args), dict(request.kwargs)))


def _paths(request: Request, handles: Handles | None = None) -> tuple[str, ...]:
    """The caller's names of the flat arguments, else JAX's own, else their numbers."""
    number = len(_leaves(request))
    if request.paths and len(request.paths) == number:
        return request.paths
    try:
        known = () if handles is None else _jax.argument_names(handles.traced)
    except Exception:
        known = ()
    # JAX names what it traces; static arguments are leaves of the call and no inputs.
    if known and handles is not None and len(known) in (number, len(argument_infos(handles))):
        return known
    return tuple([str(i) for i in range(number)])
