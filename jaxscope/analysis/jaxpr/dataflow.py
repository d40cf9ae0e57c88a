"""The dataflow of a program's equations, as plain data.

One `Region` is one jaxpr. It is read once and shared by every use of that jaxpr, so its steps are
numbered from 0: the equation of a step is `first + step.offset`, where `first` is the id of the
first equation of that use.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any

from jaxscope.analysis.jaxpr.autodiff_phase import Passes
from jaxscope.model import Frame

MOST_EQUATIONS = 200_000
"""Functions that use each other twice at each of many levels would double at each level. Beyond
this number the jaxprs inside further equations are left out."""


@dataclass(frozen=True, slots=True)
class RegionValue:
    """One value of a region."""

    aval: str
    """`f32[4,8]`."""
    bytes: int
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class InnerRegion:
    """A region that a step executes: the body of a loop, a branch, a function."""

    region: Region
    offset: int
    """Of its first equation, from the first equation of the region around it."""
    inputs: Sequence[int] | None
    """By argument of the region: the input of the step. None when they do not match one to one."""
    yields: bool
    """Its results are the outputs of the step, in the same order."""
    times: float = 1.0
    """Executions in one execution of the step; 1 when unknown."""
    _: KW_ONLY
    invariant: int | None = None
    """Of a loop: leading arguments that are the same in every iteration. None for no loop."""
    carried: int = 0
    """Of a loop: arguments after those that are results of the iteration before."""


@dataclass(frozen=True, slots=True)
class RegionStep:
    """One equation of a region."""

    offset: int
    primitive: str
    passes: Passes
    """Its own; those of the equations around it come before."""
    inputs: tuple[int, ...]
    """Values by number; -1 for a literal."""
    outputs: tuple[int, ...]
    """Values by number; -1 for one that is dropped."""
    _: KW_ONLY
    literals: Mapping[int, float] = field(default_factory=dict[int, float])
    """By position among the inputs: the literals that are numbers."""
    inner: tuple[InnerRegion, ...] = ()
    flops: float = 0.0
    """Of one execution, without the inner regions."""
    label: str = ""
    """The name that `checkpoint_name` gave, or that of the function under an inner `jit`."""
    scopes: tuple[tuple[str, str], ...] = ()
    """Name stack relative to the region: `(kind, name)`, outermost first."""
    frames: tuple[Frame, ...] = ()
    """The user's frames inside the function of this region, innermost first."""
    params: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """JAX's own parameters of the equation."""
    traceback: Hashable = field(default=None, repr=False)
    """Equal for copies of an equation."""


@dataclass(frozen=True)
class Region:
    """One jaxpr. Its values are its arguments, then its constants, then the outputs of steps."""

    values: tuple[RegionValue, ...]
    arguments: int
    constants: int
    steps: tuple[RegionStep, ...]
    results: tuple[int, ...]
    """Values by number; -1 for a literal."""
    _: KW_ONLY
    variables: tuple[int, ...]
    """By value: the identity of JAX's variable, which other jaxprs may share."""

    @cached_property
    def size(self) -> int:
        """Equations at all depths."""
        return sum(1 + sum(inner.region.size for inner in step.inner) for step in self.steps)

    @cached_property
    def makers(self) -> Mapping[int, tuple[RegionStep, int]]:
        """Value → the step that makes it, and its position among the outputs."""
        return {
            value: (step, index)
            for step in self.steps
            for index, value in enumerate(step.outputs)
            if value >= 0
        }


@dataclass(frozen=True, slots=True)
class RegionUse:
    """A region where it is used in a program."""

    region: Region
    first: int = 0
    """The id of its first equation."""
    passes: Passes = ()
    """Of the equations around it."""
    times: float = 1.0
    """Executions in one run of the program."""
    parent: int | None = None
    """The id of the equation around it."""
    _: KW_ONLY
    outer: RegionUse | None = None
    step: RegionStep | None = None
    """The step of `outer` that executes it."""
    inner: InnerRegion | None = None
    """The region as that step has it."""

    def use(self, step: RegionStep, inner: InnerRegion) -> RegionUse:
        """The use of an inner region of one of its steps."""
        return RegionUse(
            inner.region,
            self.first + inner.offset,
            self.passes + step.passes,
            self.times * inner.times,
            self.first + step.offset,
            outer=self,
            step=step,
            inner=inner,
        )


def uses(region: Region, limit: int = 5_000) -> Iterator[RegionUse]:
    """The region itself and every inner region, once per use, outermost first."""
    waiting = [RegionUse(region)]
    for _ in range(limit):
        if not waiting:
            return
        use = waiting.pop()
        yield use
        for step in reversed(use.region.steps):
            waiting += [use.use(step, inner) for inner in reversed(step.inner)]


def distinct_regions(region: Region) -> list[Region]:
    """The region itself and every inner region, each once."""
    found, seen = [region], {id(region)}
    for current in found:
        for step in current.steps:
            for inner in step.inner:
                if id(inner.region) not in seen:
                    seen.add(id(inner.region))
                    found.append(inner.region)
    return found
