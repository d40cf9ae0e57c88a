"""The record of a compilation as the listener fills it in, before its causes are known."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from jaxscope.analysis.compiles.causes.explain import Explained
from jaxscope.analysis.compiles.causes.signature import CallSignature
from jaxscope.capture.compiles.guards import Guards
from jaxscope.capture.options.refusals import RetracedError
from jaxscope.capture.source.frames import RawFrame
from jaxscope.model.compiles import CompileKind, Persistent


@dataclass(slots=True)
class RawCompile:
    """Filled in stage by stage while JAX works; holds no array and no function of the user's."""

    fun_name: str
    thread_name: str
    started: float
    """Seconds since the epoch."""
    _: KW_ONLY
    number: int = 0
    """Counts the compilations of a listener, from 1; 0 for a function only traced in another."""
    kind: CompileKind = CompileKind.JIT
    frames: tuple[RawFrame, ...] = ()
    """The user's frames at the call, innermost first."""
    call: CallSignature | None = None
    """The signature of the call; None when JAX's frames did not show it."""
    before: tuple[CallSignature, ...] = ()
    """Traces of the function that JAX held when it was new to the listener."""
    orphaned: bool = False
    """Python had collected the function of the latest compilation of the same code."""
    inside: str = ""
    """The function whose trace or lowering contains this compilation, if any."""
    parent: int | None = None
    """The number of that compilation."""
    inside_s: float = 0.0
    """Seconds of other compilations inside this one."""
    traced: bool = False
    lowered: bool = False
    compiled: bool = False
    """XLA was called, though the answer may have come from the persistent cache."""
    trace_s: float = 0.0
    """Self time, like the other two: without compilations inside."""
    lower_s: float = 0.0
    compile_s: float = 0.0
    persistent: Persistent = Persistent.OFF
    persistent_why: str = ""
    guards: Guards = ()
    """The open guards that it counts for."""
    error: str = ""
    """The type of the exception that ended it."""
    explained: Explained | None = None
    """The causes, once they were requested."""

    @property
    def happened(self) -> bool:
        """False for a call that found everything in JAX's caches, and for a second trace that
        jaxscope refuses."""
        refused = self.error == RetracedError.__name__
        return not refused and (self.traced or self.lowered or self.compiled)

    @property
    def place(self) -> tuple[str, int]:
        """File and line of the call in the user's code."""
        return (self.frames[0].file, self.frames[0].line) if self.frames else ("", 0)
