"""A compile as the listener saw it, before its cause is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxscope.capture.frames import RawFrame
from jaxscope.model.compiles import Cause, CauseKind, Compile, CompileKind, Persistent
from jaxscope.model.source import Source


@dataclass(slots=True)
class RawCompile:
    """Filled in stage by stage while JAX works; holds no array and no function of the user's."""

    fun_name: str
    thread: int
    started: float
    """Seconds since the epoch."""
    number: int = 0
    """Counts the compiles of a listener, from 1."""
    kind: CompileKind = CompileKind.JIT
    frames: tuple[RawFrame, ...] = ()
    """The user's frames at the call, innermost first."""
    signature: tuple[str, ...] = ()
    inside: str = ""
    """The function that was being traced meanwhile, if any."""
    traced: bool = False
    lowered: bool = False
    compiled: bool = False
    """XLA was asked, though the answer may have come from the persistent cache."""
    trace_s: float = 0.0
    """Self time, like the other two: without compiles that happened inside."""
    lower_s: float = 0.0
    compile_s: float = 0.0
    persistent: Persistent = Persistent.OFF
    error: str = ""
    """The type of the exception that ended it."""
    first: bool = False
    """This function had not been compiled before, as far as anyone knows."""
    traced_before: bool | None = None
    """What JAX's own cache said of a function new to the listener; None when it cannot say."""

    @property
    def happened(self) -> bool:
        """False for a call that found everything in JAX's caches."""
        return self.traced or self.lowered or self.compiled

    def to_compile(self, sources: Sequence[Source] = ()) -> Compile:
        """The compile as data. Of the causes only the first call is known here."""
        return Compile(
            fun_name=self.fun_name,
            kind=self.kind,
            site=self.frames[0].locate(sources) if self.frames else None,
            trace_s=self.trace_s,
            lower_s=self.lower_s,
            compile_s=self.compile_s,
            signature=self.signature,
            causes=self._causes(),
            persistent=self.persistent,
        )

    def _causes(self) -> tuple[Cause, ...]:
        if not self.first or self.kind is CompileKind.EAGER:
            return ()
        if self.traced_before is None:
            text = f"This is the first compile of `{self.fun_name}` that jaxscope has seen."
        else:
            text = f"`{self.fun_name}` had not been compiled before."
        return (Cause(CauseKind.FIRST_CALL, "", "", "", text, ""),)
