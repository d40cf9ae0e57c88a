"""Compilations and why they happened."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from jaxscope.model.source import Frame


class CauseKind(StrEnum):
    """Why something compiled."""

    FIRST_CALL = "first_call"
    SHAPE = "shape"
    RANK = "rank"
    DTYPE = "dtype"
    WEAK_TYPE = "weak_type"
    VALUE_KIND = "value_kind"
    STATIC_VALUE = "static_value"
    STATIC_IDENTITY = "static_identity"
    CALL_STYLE = "call_style"
    STRUCTURE = "structure"
    NEW_FUNCTION = "new_function"
    REDEFINED = "redefined"
    CLOSURE = "closure"
    FUNCTION_COLLECTED = "function_collected"
    COMMITTED = "committed"
    DEVICE = "device"
    SHARDING = "sharding"
    LAYOUT = "layout"
    DONATION = "donation"
    JIT_OPTION = "jit_option"
    COMPILER_OPTION = "compiler_option"
    CONTEXT = "context"
    CACHE_CLEARED = "cache_cleared"
    EAGER_OP = "eager_op"
    EAGER_SHAPE = "eager_shape"
    EAGER_BODY = "eager_body"
    VMAP_SIZE = "vmap_size"
    UNKNOWN = "unknown"


FIRST_TIMES = frozenset({CauseKind.FIRST_CALL, CauseKind.EAGER_OP})
"""A function or an operation that had not been compiled before: nothing went wrong."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One difference that made JAX compile again, and how to avoid it."""

    kind: CauseKind
    path: str
    """Which argument, as the user writes it: `params['w']`."""
    before: str
    after: str
    text: str
    """The cause as one sentence."""
    fix: str
    """What to change, as one sentence; empty when nothing needs changing."""

    @property
    def brief(self) -> str:
        """A few words that may follow "because": `x: f32[4] → f32[5]`, `the code changed`."""
        words = _BRIEF.get(self.kind)
        if words is not None and self.path:
            return words.format(self.path)
        if self.before or self.after:
            return f"{self.path}: {self.before} → {self.after}".removeprefix(": ")
        return f"{self.text[:1].lower()}{self.text[1:]}".rstrip(".")


_BRIEF = {
    CauseKind.NEW_FUNCTION: "{} is a new function object",
    CauseKind.REDEFINED: "{} was defined again",
    CauseKind.FUNCTION_COLLECTED: "{} had been collected by Python",
    CauseKind.CACHE_CLEARED: "JAX's caches were cleared",
    CauseKind.EAGER_OP: "{} had not been used outside a jit before",
    CauseKind.EAGER_BODY: "{} was given a new function",
}


class CompileKind(StrEnum):
    """What was compiled."""

    JIT = "jit"
    EAGER = "eager"
    """A single operation outside any jit."""
    TRANSFORMED = "transformed"
    AOT = "aot"
    """Through `.lower().compile()`, or by jaxscope itself."""
    NESTED = "nested"
    PMAP = "pmap"


class Persistent(StrEnum):
    """What the persistent compilation cache did."""

    OFF = "off"
    HIT = "hit"
    WRITTEN = "written"
    """A miss, stored for the next process."""
    NOT_WRITTEN = "not_written"
    """A miss, too small or too quick to be stored."""


@dataclass(frozen=True, slots=True)
class SlowCall:
    """Calls of a jitted function that went through Python although nothing compiled."""

    fun_name: str
    site: Frame | None
    calls: int
    total_s: float
    """Seconds of these calls, from where C++ gave up to where it was given the results."""
    why: str
    """One sentence."""
    fix: str
    """What to change, as one sentence; empty when nothing can be."""


@dataclass(frozen=True, slots=True)
class Compile:
    """One pass through trace, lower and XLA. A stage that was a cache hit took 0 seconds."""

    fun_name: str
    kind: CompileKind
    site: Frame | None
    """Where the call stands in the user's code."""
    trace_s: float
    lower_s: float
    compile_s: float
    """Seconds in XLA, or of the retrieval on a persistent-cache hit; 0 when XLA was not asked."""
    signature: tuple[str, ...] = ()
    """One short text an argument: `x: f32[4,8]`."""
    causes: tuple[Cause, ...] = ()
    persistent: Persistent = Persistent.OFF
    persistent_why: str = ""
    """Why the persistent cache did not have it or was not given it, as one sentence; empty when
    there is nothing to say."""
    serial: int = 0
    """Counts the compiles that the listener saw, from 1. `nearest` and `parent` are serials."""
    nearest: int | None = None
    """The earlier compile that the causes compare it with."""
    parent: int | None = None
    """The compile whose trace or lowering it happened in."""
    inside_s: float = 0.0
    """Seconds of other compiles while this one was traced and lowered. The three figures are self
    times, so they leave these out."""
    started: float = 0.0
    """Seconds since the epoch; 0 when not known."""
    thread: str = ""
    """The name of the thread that compiled."""
    cell: int | None = None
    """The number of the cell that ran, as in `In [3]`; None outside a notebook."""
    stack: tuple[Frame, ...] = ()
    """The user's frames at the call, innermost first; the first is `site`."""
    defined: Frame | None = None
    """Where the function is defined, when it is the user's own."""
    transform: str = ""
    """What an already jitted function was called under: `vmap`, `grad`, `scan`."""
    error: str = ""
    """The type of the exception that ended it; empty when it went through."""

    @property
    def total_s(self) -> float:
        """Self time: what happened inside is counted with what happened there."""
        return self.trace_s + self.lower_s + self.compile_s

    @property
    def inclusive_s(self) -> float:
        """From start to end, other compiles inside it included."""
        return self.total_s + self.inside_s

    @property
    def is_recompile(self) -> bool:
        """Something like it had been compiled before: the causes say what was different."""
        return any(cause.kind not in FIRST_TIMES for cause in self.causes)
