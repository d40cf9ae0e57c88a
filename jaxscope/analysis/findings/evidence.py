"""What the findings are drawn from: the record of a run and a few facts that only capture sees."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.model import Program, Record, Timing


@dataclass(frozen=True, slots=True)
class Happened:
    """A side effect that was seen while the cell was traced (block) or executed (decorator)."""

    line: int | None
    """The innermost line of the cell that led to it."""
    text: str
    """What was printed, or the file that was opened."""


@dataclass(frozen=True, slots=True)
class NameFact:
    """What a name of the namespace held before the run."""

    name: str
    kind: str
    """`jax.Array`, `numpy.ndarray`, `list`, `dict`, `set`, `logging.Logger`, `torch.Tensor` …: the
    type with its package. For a module `module:` and its name: `module:numpy.random`."""
    aval: str = ""
    """For an array, as `Value.aval` spells it: `float32[4,8]`."""
    foreign: bool = False
    """An array of a library whose arrays JAX does not know."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of a run. A fact that is missing keeps findings silent, never wrong."""

    record: Record
    """Form, sources, programs, compiles and environment; its findings are not read."""
    names: tuple[NameFact, ...] = ()
    """The names that the sources read, as they were before the run; wanted are modules,
    containers, loggers, foreign arrays, and arrays that functions close over."""
    printed: tuple[Happened, ...] | None = None
    """Calls of `print`; None when nobody watched."""
    written: tuple[Happened, ...] | None = None
    """Files opened for writing; None when nobody watched."""
    trace_s: float | None = None
    """Seconds that running the cell under the tracer took (block form only)."""
    computing: tuple[int | None, ...] = ()
    """By program: instructions of the optimized HLO besides parameters, constants, tuples,
    bitcasts and copies; None where the text was not read. `count_computing` counts them."""
    dispatched: tuple[tuple[int, int], ...] = ()
    """(line of the cell, number of operations run there one by one, outside any jit)."""


def timing(program: Program, label: str) -> Timing | None:
    """The timing of this label, if it has samples."""
    return next((t for t in program.timings if t.label == label and t.samples), None)
