"""The input of the rules: the record of a run and a few facts that only capture sees."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from jaxscope.model import Program, Record, Timing


@dataclass(frozen=True, slots=True)
class ObservedSideEffect:
    """A side effect observed while the cell was traced (block form) or executed (decorator)."""

    line: int | None
    """The innermost line of the cell that led to it."""
    text: str
    """The printed text, or the file that was opened."""


@dataclass(frozen=True, slots=True)
class NameFact:
    """The type of a name's value before the run."""

    name: str
    kind: str
    """`jax.Array`, `numpy.ndarray`, `list`, `dict`, `set`, `logging.Logger`, `torch.Tensor` …: the
    type with its package. For a module `module:` and its name: `module:numpy.random`."""
    aval: str = ""
    """For an array, as `Value.aval` spells it: `float32[4,8]`."""
    foreign: bool = False
    """An array of a library whose arrays JAX cannot trace."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts of a run. A missing fact keeps findings silent, never wrong."""

    record: Record
    """Form, sources, programs, compiles and environment; its findings are not read."""
    names: tuple[NameFact, ...] = ()
    """The names that the sources read, as they were before the run; of use are modules,
    containers, loggers, non-JAX arrays, and arrays that functions close over."""
    printed: tuple[ObservedSideEffect, ...] | None = None
    """Calls of `print`; None when they were not recorded."""
    written: tuple[ObservedSideEffect, ...] | None = None
    """Files opened for writing; None when they were not recorded."""
    trace_s: float | None = None
    """Seconds of tracing the cell (block form only)."""
    _: KW_ONLY
    computing: tuple[int | None, ...] = ()
    """Result of `count_computing` for each program; None where the text was not read."""


def timing(program: Program, label: str) -> Timing | None:
    """The timing of this label, if it has samples."""
    return next((t for t in program.timings if t.label == label and t.samples), None)
