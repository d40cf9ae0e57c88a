"""The flow of values through the equations of a program, as plain data.

One `Region` is one jaxpr. It is made once and stands for every use of that jaxpr, so its steps are
numbered from 0: the equation of a step is `first + step.offset`, where `first` is the id of the
first equation of that use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxscope.analysis.jaxpr.autodiff_phase import Passes


@dataclass(frozen=True, slots=True)
class Flowing:
    """One value of a region."""

    aval: str
    """`f32[4,8]`."""
    bytes: int
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Inside:
    """A region that a step runs: the body of a loop, a branch, a function."""

    region: Region
    offset: int
    """Of its first equation, from the first equation of the region around it."""
    first_input: int | None
    """The input of the step that is the region's first argument; the others follow. None when
    arguments and inputs do not match one to one."""
    gives: bool
    """Its results are the outputs of the step, in the same order."""
    times: float = 1.0
    """Runs in one run of the step; 1 where nobody knows."""
    invariant: int | None = None
    """How many of the arguments, the first ones, are the same in every run; None for all."""


@dataclass(frozen=True, slots=True)
class Step:
    """One equation."""

    offset: int
    primitive: str
    passes: Passes
    """Its own; those of the equations around it come before."""
    inputs: tuple[int, ...]
    """Values by number; -1 for a literal."""
    outputs: tuple[int, ...]
    """Values by number; -1 for one that is dropped."""
    inside: tuple[Inside, ...] = ()
    operations: float = 0.0
    """Of one run, without what is inside."""
    label: str = ""
    """The name that `checkpoint_name` gave, or that of the function under an inner `jit`."""


@dataclass(frozen=True, slots=True)
class Region:
    """One jaxpr. Its values are its arguments, then its constants, then what its steps make."""

    values: tuple[Flowing, ...]
    arguments: int
    constants: int
    steps: tuple[Step, ...]
    results: tuple[int, ...]
    """Values by number; -1 for a literal."""
    size: int
    """Equations at all depths."""
    makers: Mapping[int, tuple[Step, int]]
    """Value → the step that makes it, and which of its outputs it is."""


def region_of(
    values: Sequence[Flowing],
    arguments: int,
    constants: int,
    steps: Sequence[Step],
    results: Sequence[int],
) -> Region:
    """A region from its parts."""
    makers = {
        value: (step, index)
        for step in steps
        for index, value in enumerate(step.outputs)
        if value >= 0
    }
    size = sum(1 + sum(inside.region.size for inside in step.inside) for step in steps)
    return Region(tuple(values), arguments, constants, tuple(steps), tuple(results), size, makers)


def operations(step: Step) -> float:
    """Arithmetic operations of one run of a step, with all that is inside; a branch of a `cond` is
    the costliest one."""
    if step.primitive == "cond":
        return max((region_operations(i.region) for i in step.inside), default=0.0)
    inner = sum(region_operations(i.region) * i.times for i in step.inside)
    return step.operations + inner


def region_operations(region: Region) -> float:
    """Arithmetic operations of one run of a region."""
    return sum(operations(step) for step in region.steps)


@dataclass(frozen=True, slots=True)
class Use:
    """A region where it is used in a program."""

    region: Region
    first: int
    """The id of its first equation."""
    passes: Passes
    """Of the equations around it."""
    times: float
    """Runs in one run of the program."""
    parent: int | None
    """The id of the equation around it."""
    outer: Use | None = None
    step: Step | None = None
    """The step of `outer` that runs it."""
    inside: Inside | None = None
    """How it hangs on that step."""

    def inner(self, step: Step, inside: Inside) -> Use:
        """The region of a step of this one."""
        return Use(
            inside.region,
            self.first + inside.offset,
            self.passes + step.passes,
            self.times * inside.times,
            self.first + step.offset,
            self,
            step,
            inside,
        )


def uses(region: Region, limit: int = 5_000) -> Iterator[Use]:
    """The region itself and every region inside, each as often as it is used, outermost first."""
    waiting = [Use(region, 0, (), 1.0, None)]
    for _ in range(limit):
        if not waiting:
            return
        use = waiting.pop()
        yield use
        for step in reversed(use.region.steps):
            waiting += [use.inner(step, inside) for inside in reversed(step.inside)]
