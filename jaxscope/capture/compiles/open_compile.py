"""One compilation under way: the stage of it that is open, and what continues it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from enum import IntEnum

from jaxscope.capture import _jax
from jaxscope.capture.compiles import guards
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.model.compiles import CompileKind


class CompileStage(IntEnum):
    """The stages of JAX on a cache miss, in order."""

    TRACE = 0
    LOWER = 1
    XLA = 2


@dataclass(slots=True)
class OpenCompile:
    """One compilation under way, and the stage of it that is open."""

    raw: RawCompile
    name: str
    """The function's name in JAX's events."""
    stage: CompileStage
    """The latest stage that began."""
    keys: tuple[tuple[int, int], ...] = ()
    """As in `JaxCall`."""
    request_id: int = 0
    """As in `JaxCall`."""
    function_id: int = 0
    """The identity of `JaxCall.fun`."""
    described: bool = False
    """False for a function traced inside another: on jax 0.8 there are hundreds, and most never
    become a compilation, so they are described only when they are lowered."""
    trace_share: float = 0.0
    """Seconds of its trace to subtract from the enclosing stage once this is a compilation."""
    event_name: str = ""
    """The name in the event that opened the stage: `jit(f)`."""
    misses: int | None = None
    """`_jax.trace_misses` when a trace began."""
    request: _jax.CacheRequest | None = None
    """The request to the persistent cache."""
    inner_s: float = 0.0
    """Seconds of other compilations inside the stage."""
    own_s: float = 0.0
    """Seconds of jaxscope's own work inside the stage."""
    inner: list[OpenCompile] = field(default_factory=list["OpenCompile"])
    """Compilations that began inside the stage."""

    def begin(self, stage: CompileStage, event_name: str, misses: int | None = None) -> None:
        """Open a stage. A compilation has one at a time."""
        self.stage, self.event_name, self.misses = stage, event_name, misses
        self.request, self.inner_s, self.own_s, self.inner = None, 0.0, 0.0, []

    def joins(self, stage: CompileStage, name: str, call: _jax.JaxCall, *, latest: bool) -> bool:
        """Whether this stage continues this compilation.

        It does as a later stage of the same call, or of the same function with ahead-of-time
        stages; of the same name, where they do not show the function.
        Without JAX's frames the name and the order of stages decide.
        """
        if self.stage >= stage or self.name != name or self.raw.error:
            return False
        if self.raw.kind is call.kind is CompileKind.AOT:
            same = call.fun is None or id(call.fun) == self.function_id
            return same and self.request_id == call.request_id
        if not latest:
            return False
        if not self.described or not call.keys:
            return True
        return bool(self.keys) and self.keys[0] in call.keys

    def is_next(self, stage: CompileStage, name: str) -> bool:
        """Whether this is the XLA compilation right after the lowering, in the same call.

        Everything is known then, and JAX's frames need not be read again. Ahead of time, each
        stage may have options of its own, so these are read.
        """
        return (
            stage is CompileStage.XLA
            and self.stage is CompileStage.LOWER
            and self.name == name
            and self.described
            and self.raw.kind is not CompileKind.AOT
            and not self.raw.error
            and bool(self.keys)
            and _jax.still_called(self.keys[0])
        )


def new_compile(stage: CompileStage, name: str) -> OpenCompile:
    """A compilation that begins with this stage, on this thread."""
    thread = threading.current_thread().name
    raw = RawCompile(name, thread, time.time(), guards=guards.counting())
    return OpenCompile(raw, name, stage)


def plain_name(event_name: str) -> str:
    """`f` of `jit(f)`: lowering and XLA name the module, tracing names the function."""
    for prefix in ("jit(", "pmap("):
        if event_name.startswith(prefix) and event_name.endswith(")"):
            return event_name[len(prefix) : -1]
    return event_name
