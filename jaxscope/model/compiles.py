"""Compilations and their causes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope.model.source import Frame


class CauseKind(StrEnum):
    """Kinds of causes, in the order in which the causes of one compilation are listed.

    First what makes the rest a consequence, then what a user can change.
    """

    NEW_FUNCTION = "new_function"
    REDEFINED = "redefined"
    FUNCTION_COLLECTED = "function_collected"
    CLOSURE = "closure"
    CONTEXT = "context"
    CALL_STYLE = "call_style"
    STATIC_IDENTITY = "static_identity"
    STATIC_VALUE = "static_value"
    STRUCTURE = "structure"
    EAGER_BODY = "eager_body"
    EAGER_SHAPE = "eager_shape"
    VMAP_SIZE = "vmap_size"
    RANK = "rank"
    SHAPE = "shape"
    VALUE_KIND = "value_kind"
    DTYPE = "dtype"
    WEAK_TYPE = "weak_type"
    SHARDING = "sharding"
    DEVICE = "device"
    COMMITTED = "committed"
    LAYOUT = "layout"
    DONATION = "donation"
    JIT_OPTION = "jit_option"
    COMPILER_OPTION = "compiler_option"
    CACHE_CLEARED = "cache_cleared"
    LINKED_AGAIN = "linked_again"
    FIRST_CALL = "first_call"
    EAGER_OP = "eager_op"
    UNKNOWN = "unknown"


FIRST_TIMES = frozenset({CauseKind.LINKED_AGAIN, CauseKind.FIRST_CALL, CauseKind.EAGER_OP})
"""Not recompilations of the user's: the program was not compiled before, or not by jaxscope."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One difference to an earlier compilation that made JAX compile again, and the fix."""

    kind: CauseKind
    path: str
    """The argument, as the user writes it: `params['w']`."""
    before: str
    after: str
    text: str
    """The cause as one sentence."""
    _: KW_ONLY
    fix: str
    """The change to make, as one sentence; empty when nothing needs to change."""
    since: str = ""
    """The time (`10:02:03`) before which compilations are unknown; empty where it does not
    matter."""

    @property
    def brief(self) -> str:
        """A few words that may follow "because": `x: f32[4] → f32[5]`, `the code changed`."""
        words = _BRIEF.get(self.kind)
        if words is not None and self.path:
            return words.format(self.path)
        if self.before != self.after:
            return f"{self.path}: {self.before} → {self.after}".removeprefix(": ")
        return f"{self.text[:1].lower()}{self.text[1:]}".rstrip(".")


_BRIEF = {
    CauseKind.NEW_FUNCTION: "{} is a new function object",
    CauseKind.REDEFINED: "{} was redefined",
    CauseKind.FUNCTION_COLLECTED: "{} was garbage-collected",
    CauseKind.CACHE_CLEARED: "JAX's caches were cleared",
    CauseKind.EAGER_OP: "{} ran eagerly",
    CauseKind.EAGER_BODY: "it got a new function",
}


UNOBSERVED = "Compilations may be missing: "
"""Begins the note of a log or a report to which JAX did not report all."""


LINKED_AGAIN = "compiled again to link lines"
"""Begins the note of a report whose program was compiled once more for its links."""


def unobserved(notes: tuple[str, ...]) -> str:
    """The note that compilations may be missing altogether; empty when there is none."""
    return next((note for note in notes if note.startswith(UNOBSERVED)), "")


class CompileKind(StrEnum):
    """The kind of call that was compiled."""

    JIT = "jit"
    EAGER = "eager"
    """A single operation outside any jit."""
    TRANSFORMED = "transformed"
    AOT = "aot"
    """Through `.lower().compile()`, or by jaxscope itself."""
    NESTED = "nested"
    PMAP = "pmap"


class Persistent(StrEnum):
    """The answer of the persistent compilation cache."""

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
    """Seconds of these calls, from the fallback to Python until the results were returned."""
    why: str
    """One sentence."""
    _: KW_ONLY
    fix: str
    """The change to make, as one sentence; empty when there is none."""


@dataclass(frozen=True, slots=True)
class Compile:
    """One pass through trace, lower and XLA. A stage that was a cache hit took 0 seconds."""

    fun_name: str
    kind: CompileKind
    site: Frame | None
    """The call in the user's code."""
    _: KW_ONLY
    trace_s: float
    lower_s: float
    compile_s: float
    """Seconds in XLA, or of the retrieval on a persistent-cache hit; 0 without a call of XLA."""
    signature: tuple[str, ...] = ()
    """One short text per argument: `x: f32[4,8]`."""
    causes: tuple[Cause, ...] = ()
    persistent: Persistent = Persistent.OFF
    persistent_why: str = ""
    """The reason for a persistent-cache miss or an unstored program, as one sentence, or empty."""
    serial: int = 0
    """Counts the compilations of a listener, from 1. `nearest` and `parent` are serials."""
    nearest: int | None = None
    """The earlier compilation that the causes compare it with."""
    parent: int | None = None
    """The compilation whose trace or lowering contains this one."""
    inside_s: float = 0.0
    """Seconds of other compilations while this one was traced and lowered. The three figures are
    self times, so they leave these out."""
    started: float = 0.0
    """Seconds since the epoch; 0 when unknown."""
    thread: str = ""
    """The name of the thread that compiled."""
    cell: int | None = None
    """The number of the cell that ran, as in `In [3]`; None outside a notebook."""
    stack: tuple[Frame, ...] = ()
    """The user's frames at the call, innermost first; the first is `site`."""
    defined: Frame | None = None
    """The definition of the function, if it is the user's own."""
    transform: str = ""
    """The transform that called an already jitted function: `vmap`, `grad`, `scan`; "a transform"
    where JAX does not tell which."""
    error: str = ""
    """The type of the exception that ended it; empty when it succeeded."""

    @property
    def total_s(self) -> float:
        """Self time: compilations inside are counted with themselves."""
        return self.trace_s + self.lower_s + self.compile_s

    @property
    def differs(self) -> bool:
        """Whether something like it was compiled before: the causes name the difference."""
        return any(cause.kind not in FIRST_TIMES for cause in self.causes)

    @property
    def is_recompile(self) -> bool:
        """Whether a jitted function was compiled again: not a further shape of an eager operation,
        which JAX compiles once per shape, and not code that was edited, which is new."""
        if self.kind is CompileKind.EAGER or not self.differs:
            return False
        return not all(cause.kind is CauseKind.REDEFINED and not cause.fix for cause in self.causes)
