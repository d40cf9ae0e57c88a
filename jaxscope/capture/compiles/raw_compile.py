"""A compile as the listener saw it, before its cause is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxscope.analysis.compiles.causes import Explained, Signature, unknown
from jaxscope.capture.source.frames import RawFrame
from jaxscope.model.compiles import Compile, CompileKind, Persistent
from jaxscope.model.source import Frame, Source, Span

if TYPE_CHECKING:
    from jaxscope.capture.compiles.history import History


@dataclass(slots=True)
class RawCompile:
    """Filled in stage by stage while JAX works; holds no array and no function of the user's."""

    fun_name: str
    thread: int
    thread_name: str
    started: float
    """Seconds since the epoch."""
    number: int = 0
    """Counts the compiles of a listener, from 1; 0 for what only was traced inside another."""
    kind: CompileKind = CompileKind.JIT
    frames: tuple[RawFrame, ...] = ()
    """The user's frames at the call, innermost first."""
    call: Signature | None = None
    """What it was called with; None when JAX's frames did not show it."""
    before: tuple[Signature, ...] = ()
    """Traces of the function that JAX held when it was new to the listener."""
    orphaned: bool = False
    """Python had collected the function of the latest compile of the same code."""
    inside: str = ""
    """The function that was being traced meanwhile, if any."""
    parent: int | None = None
    """The number of the compile that was being traced or lowered meanwhile."""
    inside_s: float = 0.0
    """Seconds of other compiles inside it."""
    traced: bool = False
    lowered: bool = False
    compiled: bool = False
    """XLA was asked, though the answer may have come from the persistent cache."""
    trace_s: float = 0.0
    """Self time, like the other two: without compiles that happened inside."""
    lower_s: float = 0.0
    compile_s: float = 0.0
    persistent: Persistent = Persistent.OFF
    persistent_why: str = ""
    error: str = ""
    """The type of the exception that ended it."""
    traced_before: bool | None = None
    """Whether JAX had traced the function before the listening began; None when it cannot say."""
    history: History | None = None
    """What else was compiled; None once this compile is too old to be kept."""
    _explained: Explained | None = None

    @property
    def happened(self) -> bool:
        """False for a call that found everything in JAX's caches."""
        return self.traced or self.lowered or self.compiled

    @property
    def signature(self) -> tuple[str, ...]:
        """One short text an argument."""
        return self.call.texts() if self.call is not None else ()

    @property
    def place(self) -> tuple[str, int]:
        """File and line of the call in the user's code."""
        return (self.frames[0].file, self.frames[0].line) if self.frames else ("", 0)

    def explained(self) -> Explained:
        """Why it happened; worked out once, when first asked for."""
        if self._explained is None:
            if self.history is None:
                return Explained(())
            try:
                self._explained = self.history.explain(self)
            except Exception as error:  # a report is more than its causes
                why = f"jaxscope could not work it out ({type(error).__name__}: {error})"
                self._explained = Explained((unknown(self.fun_name, why),))
        return self._explained

    def to_compile(self, sources: Sequence[Source] = ()) -> Compile:
        """The compile as data, with its causes."""
        explained = self.explained()
        stack = tuple([frame.locate(sources) for frame in self.frames])
        return Compile(
            fun_name=self.fun_name,
            kind=self.kind,
            site=stack[0] if stack else None,
            trace_s=self.trace_s,
            lower_s=self.lower_s,
            compile_s=self.compile_s,
            signature=self.signature,
            causes=explained.causes,
            persistent=self.persistent,
            persistent_why=self.persistent_why,
            serial=self.number,
            nearest=explained.nearest,
            parent=self.parent,
            inside_s=self.inside_s,
            started=self.started,
            thread=self.thread_name,
            stack=stack,
            defined=self._defined(sources),
            transform=self.call.transform if self.call is not None else "",
            error=self.error,
        )

    def _defined(self, sources: Sequence[Source]) -> Frame | None:
        known = self.call.function if self.call is not None else None
        if known is None or not known.file or known.internal:
            return None
        index = next((i for i, source in enumerate(sources) if source.file == known.file), None)
        return Frame(index, known.file, known.name, Span(known.line, 0, known.line, 0))
