"""The plan of a comparison: implementations, inputs, sizes, and when to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from jaxscope.model.comparison import TimingMode


class PlanError(ValueError):
    """The plan cannot be measured; the text is a whole sentence."""


Size = Mapping[str, float]
"""One point of a sweep: `{"n": 64}`; `{}` when there is no sweep."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One implementation's code."""

    label: str
    """Unique in the plan: `numpy`, `jax: fused`."""
    implementation: str
    """A registered name: `numpy`, `jax`, `torch` …, or that of a plug-in."""
    function: Callable[..., Any] | str
    """Called with the inputs in order, as arrays of this implementation; for `c` source text."""
    namespaced: bool = False
    """The function takes the implementation's array namespace first: `f(xp, x)`."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options of this implementation alone, such as `{"donate_argnums": (0,)}`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits at which a measurement is complete, or takes too long."""

    precision: float = 0.02
    """The half width of a ratio's interval at which the rounds end."""
    min_rounds: int = 51
    """For calls of at most 50 ms; 11 for longer ones."""
    max_rounds: int = 1001
    seconds: float = 10.0
    """Of the rounds of one size."""
    total_s: float | None = None
    """Of the whole comparison."""
    _: KW_ONLY
    call_s: float = 20.0
    """A single call that takes longer counts as hanging."""
    compile_s: float = 120.0
    """A compilation that takes longer is abandoned."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run, passed to `Plan.progress` a few times per second at most."""

    text: str
    """`n=64: round 31`, `jax: compiling for 5 s` …"""
    done: float
    """From 0 to 1."""


def no_inputs(size: Size) -> Mapping[str, Any]:
    """No inputs, at any size."""
    return {}


def no_notes() -> tuple[str, ...]:
    """No notes."""
    return ()


def nothing_to_restore() -> None:
    """The code changes no object that it is not given."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One comparison. The first entry is the baseline unless `baseline` names another."""

    entries: tuple[Entry, ...]
    inputs: Callable[[Size], Mapping[str, Any]] = no_inputs
    """The inputs of a size, by name and in order: NumPy arrays or numbers."""
    input_bytes: Callable[[Size], int] | None = None
    """The memory of `inputs`, so that a size that does not fit is skipped before it is created."""
    sizes: tuple[Size, ...] = ()
    devices: tuple[str, ...] = ()
    """`cpu`, `cuda:0` …; empty: every device that each implementation sees."""
    _: KW_ONLY
    grad: tuple[int, ...] = ()
    """Positions of inputs to differentiate for, in each framework's own way."""
    vmap: tuple[int | None, ...] = ()
    """Batch axis of each input (None: not batched), in each framework's own way."""
    mode: TimingMode = TimingMode.LATENCY
    baseline: str = ""
    check: bool = True
    """Compare the results with float64 NumPy."""
    tolerance: float | None = None
    """Largest relative difference; None: 64·eps·√n by dtype and size."""
    reference: Callable[..., Any] | None = None
    """Computes the expected results from NumPy inputs in float64. None: the code for NumPy or any
    namespaced code, else JAX's, else the first implementation's results."""
    columns: bool = True
    """Also measure dispatch, device time and memory, apart from the rounds."""
    limits: Limits = field(default_factory=Limits)
    processes: int = 1
    """The number of fresh processes; 1 measures in this one."""
    seed: int = 0
    title: str = ""
    progress: Callable[[Progress], None] | None = None
    restore: Callable[[], None] = nothing_to_restore
    """Gives objects that the code reads, such as Flax NNX models, the state that they had before
    it ran. Called between the rows and at the end."""
    notes: Callable[[], tuple[str, ...]] = no_notes
    """Sentences about the code and its inputs, read when all was measured."""


def validate(plan: Plan) -> None:
    """Raise PlanError when the plan cannot be measured."""
    if not plan.entries:
        raise PlanError("There is nothing to compare. Give at least one implementation.")
    labels = [entry.label for entry in plan.entries]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise PlanError(f"Two implementations are labeled `{twice}`. Give each a label of its own.")
    if plan.baseline and plan.baseline not in labels:
        raise PlanError(
            f"The baseline `{plan.baseline}` is not compared. There are {', '.join(labels)}."
        )
    if plan.processes < 1:
        raise PlanError(f"processes is {plan.processes}; it must be 1 or more.")
    if plan.limits.max_rounds < 1:
        raise PlanError(f"max_rounds is {plan.limits.max_rounds}; it must be 1 or more.")
