"""What `jax.vmap` made of a program: which equations work on the whole batch, and how."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Turn(StrEnum):
    """What an operation on one example became on the batch."""

    LARGER = "larger"
    """The same operation on arrays with one dimension more."""
    ONE_PRODUCT = "one_product"
    """A matrix product with one side that is shared: the batch makes one larger product."""
    MANY_PRODUCTS = "many_products"
    """A matrix product for each example: the batch is a batch dimension."""
    GATHER = "gather"
    """A slice or an index that differs from example to example: a gather."""
    SCATTER = "scatter"
    """An update whose place differs from example to example: a scatter."""
    GROUPED = "grouped"
    """A convolution with a kernel for each example: one with feature groups."""
    BOTH_BRANCHES = "both_branches"
    """A `cond` or `switch` that chooses by example: all branches, and a select."""
    SLOWEST = "slowest"
    """A `while_loop` that ends by example: it runs until the last one is done."""
    LOOP = "loop"
    """A loop over the batch, one example after the other."""
    LIBRARY = "library"
    """A library call that goes through the batch by itself."""


@dataclass(frozen=True, slots=True)
class BatchAxis:
    """One `vmap`, as often as it is called from one place."""

    name: str
    """`axis_name`; empty when it has none."""
    size: int | None
    """Examples; None when it is not known."""
    line: int | None
    """Where the batched function is called; None for the whole program."""
    source: int = 0
    """Index in `Record.sources`."""
    exact: bool = True
    """Which values are batches was seen while JAX traced; else it is guessed from their shapes."""


@dataclass(frozen=True, slots=True)
class BatchedEquation:
    """One equation under a vmap."""

    equation: int
    """Its id."""
    under: tuple[int, ...]
    """The axes around it, outermost first: indices in `Batching.axes`."""
    over: tuple[int, ...]
    """Those that it depends on; along the others it is work shared by the whole batch."""
    operations: float = 0.0
    """Arithmetic operations in one run of the program, on the jaxpr as it is; a loop of unknown
    length counts once."""
    turn: Turn | None = None
    """What it became; None where it depends on no axis."""
    detail: str = ""
    """The shapes of what it became, or the name of what made it so."""
    cause: str = ""
    """For `LOOP` and `BOTH_BRANCHES` the function that the user called: `pure_callback`, `cond`."""


@dataclass(frozen=True, slots=True)
class Batching:
    """All equations under a vmap, in the order of the program."""

    axes: tuple[BatchAxis, ...]
    equations: tuple[BatchedEquation, ...]

    @property
    def exact(self) -> bool:
        """Nothing of it is guessed."""
        return all(axis.exact for axis in self.axes)

    @property
    def operations(self) -> float:
        """Of the batched program: what is shared is done once."""
        return sum(each.operations for each in self.equations)

    @property
    def loop_operations(self) -> float | None:
        """Of the same work in Python loops over the examples: what is shared is done every time.
        None when the size of a batch is not known."""
        total = 0.0
        for each in self.equations:
            times = self.repeats(each)
            if times is None:
                return None
            total += each.operations * times
        return total

    def repeats(self, each: BatchedEquation) -> int | None:
        """How often loops over the examples would do what the batched program does once."""
        sizes = [self.axes[axis].size for axis in each.under if axis not in each.over]
        known = [size for size in sizes if size is not None]
        return math.prod(known) if len(known) == len(sizes) else None

    def shared(self) -> Iterator[BatchedEquation]:
        """The equations that depend on no axis."""
        return (each for each in self.equations if not each.over)
