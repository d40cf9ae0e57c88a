"""What to compare: the contestants, their inputs and sizes, and when to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxscope.model.comparison import Mode


class PlanError(ValueError):
    """There is nothing sensible to measure; a whole sentence says why."""


Size = Mapping[str, float]
"""One point of a sweep: `{"n": 64}`; `{}` when there is no sweep."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One contestant's code."""

    label: str
    """Unique in the plan: `numpy`, `jax: fused`."""
    contestant: str
    """A registered name: `numpy`, `jax`, `jax-eager`, `torch`, `torch-compile`, `torchscript`,
    `torch-func`, `c`, or one that a plug-in brings."""
    function: Callable[..., Any] | str
    """Called with the inputs in order, as arrays of this contestant; for `c` the source text."""
    namespaced: bool = False
    """The function takes the contestant's array namespace first: `f(xp, x)`."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What only this contestant understands, such as `{"donate": (0,)}`."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When enough was measured, and when it is too much."""

    precision: float = 0.02
    """Half the width that a ratio's interval may have."""
    min_rounds: int = 51
    """For calls of at most 50 ms; 11 for longer ones."""
    max_rounds: int = 1001
    seconds: float = 10.0
    """Rounds of one size."""
    total_s: float | None = None
    """The whole comparison."""
    call_s: float = 20.0
    """A single call that takes longer is taken to hang."""
    compile_s: float = 120.0
    """A compilation that takes longer is given up."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come; given to `Plan.progress` a few times a second at most."""

    text: str
    """`n=64: round 31`, `jax: compiling for 5 s` …"""
    done: float
    """From 0 to 1."""


def no_inputs(size: Size) -> Mapping[str, Any]:
    """For contestants that take none."""
    return {}


@dataclass(frozen=True, slots=True)
class Plan:
    """One comparison. The first entry is the baseline unless `baseline` names another."""

    entries: tuple[Entry, ...]
    inputs: Callable[[Size], Mapping[str, Any]] = no_inputs
    """Makes the inputs of a size, by name and in order: NumPy arrays or numbers."""
    input_bytes: Callable[[Size], int] | None = None
    """What `inputs` will take, so that a size that exceeds the memory is skipped, not made."""
    sizes: tuple[Size, ...] = ()
    devices: tuple[str, ...] = ()
    """`cpu`, `cuda:0` …; empty: every device that each contestant sees."""
    grad: tuple[int, ...] = ()
    """Differentiate for these inputs, each framework its own way."""
    vmap: tuple[int | None, ...] = ()
    """Batch axis of each input (None: the same for all), each framework its own way."""
    mode: Mode = Mode.LATENCY
    baseline: str = ""
    check: bool = True
    """Compare the results with float64 NumPy."""
    tolerance: float | None = None
    """Largest relative difference; None: 64·eps·√n by dtype and size."""
    reference: Callable[..., Any] | None = None
    """What the results should be, for NumPy inputs in float64; None: the NumPy contestant's own
    code or any namespaced one's, else the first contestant's results."""
    columns: bool = True
    """Also the passes apart from the rounds: dispatch, kernel and memory."""
    limits: Limits = field(default_factory=Limits)
    sessions: int = 1
    """Fresh processes; 1 measures in this one."""
    seed: int = 0
    title: str = ""
    progress: Callable[[Progress], None] | None = None


def validate(plan: Plan) -> None:
    """Raises PlanError when nothing can be measured by it."""
    if not plan.entries:
        raise PlanError("There is nothing to compare: give at least one contestant.")
    labels = [entry.label for entry in plan.entries]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise PlanError(f"Two contestants are called `{twice}`: give each a name of its own.")
    if plan.baseline and plan.baseline not in labels:
        raise PlanError(
            f"The baseline `{plan.baseline}` is none of the contestants: {', '.join(labels)}."
        )
    if plan.sessions < 1:
        raise PlanError(f"sessions is {plan.sessions}; it must be 1 or more.")
    if plan.limits.max_rounds < 1:
        raise PlanError(f"max_rounds is {plan.limits.max_rounds}; it must be 1 or more.")
