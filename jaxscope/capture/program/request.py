"""A program to compile, and the compiled programs of earlier runs that it may reuse."""

from __future__ import annotations

import collections
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from types import FunctionType
from typing import Any

import jax

from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.constants import Constant
from jaxscope.capture.jaxpr.tags import Tagged
from jaxscope.capture.jaxpr.untransformed import Base, Untransformed
from jaxscope.capture.options.composition import JIT, Composition
from jaxscope.capture.options.error_origin import calls_user_code
from jaxscope.model import Frame

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
    constants: Sequence[Constant] = ()
    """All that may decide the program of a cell beside its arguments."""
    reads: tuple[tuple[str, int], ...] = ()
    """Hashes of the functions that the cell reads, and of what these read."""
    called: Any = None
    """The function of the user's where the program is one call of it."""
    pmapped: _jax.JaxCall | None = None
    """The user's call of a pmapped function, of which `jitted` is JAX's own form."""
    programs: Programs | None = None
    """Compiled programs of earlier runs, which may be reused; None: none."""
    tagged: Tagged | None = None
    """The jaxpr where it was tagged while JAX lowered it."""
    site: tuple[Frame, ...] = ()
    """Frames of the call in a cell: those of an equation that no frame of the user's leads to."""
    again: bool = False
    """Whether the cell has compiled it before."""
    vmaps: Sequence[_jax.VmapEntry] = ()
    """Values that entered a vmap before the trace."""
    traced_by: Callable[[], Any] | None = None
    """Traces it, where only the library that calls the jitted function can; None: JAX alone."""

    @calls_user_code
    def trace(self) -> Any:
        """JAX's `Traced`. Raises what the user's code raises, and what JAX raises for it."""
        if self.traced_by is not None:
            traced = self.traced_by()
        else:
            traced = self.jitted.trace(*self.args, **self.kwargs)
        with suppress(Exception):  # of a different JAX: an array changed in place may be stale
            _jax.renew_constants(traced.jaxpr)
        return traced

    @property
    def untransformed(self) -> Untransformed | None:
        """The traced program of one example, with the shapes that it takes.

        None under jit alone, for a decorated function, and before the trace.
        """
        return None if self.base is None else self.base.known

    def leaves(self) -> list[Any]:
        """The flat arguments."""
        return jax.tree_util.tree_leaves((tuple(self.args), dict(self.kwargs)))

    def names(self) -> tuple[str, ...]:
        """The caller's names of the flat arguments, else their numbers."""
        number = len(self.leaves())
        named = self.paths and len(self.paths) == number
        return self.paths if named else tuple([str(i) for i in range(number)])


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
    stored: bytes = field(default=b"", repr=False)
    """See `Handles.stored`."""

    def arrange(self, leaves: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The leaves as this program's arguments, without other inputs of the present cell."""
        flat = [self.spare[p] if p in self.spare else leaves[p] for p in self.paths]
        return jax.tree_util.tree_unflatten(self.treedef, flat)


Key = tuple[str, Hashable]
"""A program's hash, and the settings of JAX that it was traced under and the `Ref`s it captured."""


class Programs:
    """The latest compiled programs of one cell."""

    def __init__(self) -> None:
        self._entries: collections.OrderedDict[Key, CachedProgram] = collections.OrderedDict()
        self.vmaps: collections.deque[_jax.VmapEntry] = collections.deque(maxlen=VMAPS_PER_CELL)
        """Values that entered a vmap in earlier runs: JAX traces a helper function only once."""
        self.handles: weakref.WeakValueDictionary[Key, Any] = weakref.WeakValueDictionary()
        """The live texts of the latest run of each program."""
        self._parts: dict[str, Programs] = {}

    @staticmethod
    def of(function: Any) -> Programs | None:
        """Those of a Python function, as long as it lives; None for another callable."""
        if type(function) is not FunctionType:
            return None
        return _OF_FUNCTIONS.setdefault(function, Programs())

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


_OF_FUNCTIONS: weakref.WeakKeyDictionary[FunctionType, Programs] = weakref.WeakKeyDictionary()
"""The programs do not hold their function, whose values a call lets go."""


@dataclass(frozen=True, slots=True)
class TracedProgram:
    """A program that JAX has traced."""

    request: CompileRequest
    traced: Any
    """JAX's `Traced`; None where the user gave a later stage."""
    trace_s: float = 0.0
    vmaps: Sequence[_jax.VmapEntry] = ()
    """Values that entered a vmap while JAX traced it."""
    stage: Any = None
    """The stage that the user gave: a `Traced`, `Lowered` or `Compiled`."""
