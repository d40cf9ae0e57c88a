"""The batched equations of a program under `jax.vmap`, and the results of their batching rules."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum


class BatchingResult(StrEnum):
    """The operation that a batching rule made of an operation on one example."""

    EXTRA_BATCH_DIMENSION = "extra_batch_dimension"
    """The same operation on arrays with an extra dimension."""
    DOT_GENERAL = "dot_general"
    """A matrix product with one unbatched side: one larger matrix product."""
    BATCHED_DOT_GENERAL = "batched_dot_general"
    """A matrix product per example: a `dot_general` with a batch dimension."""
    GATHER = "gather"
    """A slice or an index that differs between examples: a gather."""
    SCATTER = "scatter"
    """An update at a position that differs between examples: a scatter."""
    GROUPED_CONVOLUTION = "grouped_convolution"
    """A convolution with a kernel per example: one with feature groups."""
    SELECT_ALL_BRANCHES = "select_all_branches"
    """A `cond` or `switch` whose predicate is batched: all branches, then a select."""
    WHILE_UNTIL_ALL_DONE = "while_until_all_done"
    """A `while_loop` whose condition is batched: it runs until the last example is done."""
    SEQUENTIAL_LOOP = "sequential_loop"
    """A loop over the batch, one example after the other."""
    BATCHED_LIBRARY_CALL = "batched_library_call"
    """A library call that takes the whole batch."""


@dataclass(frozen=True, slots=True)
class BatchAxis:
    """One `vmap`; calls of it from the same place are one axis."""

    name: str
    """`axis_name`; empty when it has none."""
    size: int
    """Examples."""
    line: int | None
    """Line that calls the batched function; None for the whole program."""
    source: int = 0
    """Index in `Record.sources`."""


@dataclass(frozen=True, slots=True)
class BatchedEquation:
    """One equation under a vmap."""

    equation: int
    """Its id."""
    under: tuple[int, ...]
    """The axes around it, outermost first: indices in `Batching.axes`."""
    over: tuple[int, ...]
    """Those of them that it is batched over; it is unbatched along the others."""
    flops: float = 0.0
    """FLOPs in one run of the program, counted on the jaxpr; a loop of unknown length counts
    once."""
    result: BatchingResult | None = None
    """None where it is unbatched."""
    _: KW_ONLY
    detail: str = ""
    """Shapes of the result, or the name of what made it so."""
    function: str = ""
    """For `SEQUENTIAL_LOOP` and `SELECT_ALL_BRANCHES` the function that the user called:
    `pure_callback`, `cond`."""


@dataclass(frozen=True, slots=True)
class Batching:
    """All equations under a vmap, in the order of the program."""

    axes: tuple[BatchAxis, ...]
    equations: tuple[BatchedEquation, ...]

    @property
    def flops(self) -> float:
        """FLOPs of the batched program: unbatched work is done once."""
        return sum(each.flops for each in self.equations)

    @property
    def loop_flops(self) -> float:
        """FLOPs of the same work in Python loops over the examples, which repeat unbatched work.

        At most that where an example decides which branch is executed, or how long a loop runs."""
        return sum(each.flops * self.repeats(each) for each in self.equations)

    def repeats(self, each: BatchedEquation) -> int:
        """Executions in loops over the examples of an equation that the batch executes once."""
        return math.prod([self.axes[axis].size for axis in each.under if axis not in each.over])

    def unbatched(self) -> Iterator[BatchedEquation]:
        """The equations that depend on no axis."""
        return (each for each in self.equations if not each.over)
