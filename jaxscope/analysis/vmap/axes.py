"""The vmaps of a program: the axes, the values that enter them, and the equations under them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from jaxscope.analysis.jaxpr.dataflow import Region, RegionStep, distinct_regions

VMAP = ("Transform", "vmap")
TRANSPOSE = ("Transform", "transpose")

AxisKey = tuple[Hashable, str, int | None]
"""Call site, name, size."""


class TracebackReader(Protocol):
    """Reads the tracebacks of equations."""

    def vmap_sites(self, traceback: Hashable, /) -> Sequence[Hashable]:
        """The call sites of vmapped functions around an equation, outermost first."""
        ...

    def jax_calls(self, traceback: Hashable, /) -> Sequence[tuple[str, str]]:
        """JAX's own calls that made an equation, innermost first: file and function."""
        ...


@dataclass(frozen=True, slots=True)
class VmapCall:
    """One call of a vmapped function, as observed while JAX traced it."""

    site: Hashable
    name: str
    """`axis_name`; empty when it has none."""
    size: int
    arguments: tuple[tuple[int | None, int], ...]
    """Flat: the mapped axis as in `in_axes`, the variable (see `Region.variables`)."""


@dataclass(slots=True)
class VmapAxis:
    """One vmap by its call site. In a mask of axes it is the bit `1 << index`."""

    index: int
    key: AxisKey
    name: str
    size: int | None
    observed: bool = False
    """Its calls were observed, and their batched arguments are in the program."""
    partial: bool = False
    """Of a call only some are: the others entered a trace that the program was made from."""
    told: bool = False
    """Its equations are known from the untransformed program."""
    tracebacks: set[Hashable] = field(default_factory=set[Hashable])
    """Of the equations under it."""

    @property
    def bit(self) -> int:
        return 1 << self.index

    @property
    def known(self) -> bool:
        """Its batched values are known."""
        return (self.observed and not self.partial) or self.told


class VmapAxes:
    """The axes of one program, in the order in which they were entered."""

    def __init__(
        self,
        region: Region,
        calls: Sequence[VmapCall],
        tracebacks: TracebackReader,
        told: set[AxisKey],
    ) -> None:
        """`told` are the axes whose equations are known from the untransformed program."""
        self.all: list[VmapAxis] = []
        self.entering: dict[int, int] = {}
        """Variables → the axes that they enter batched, as a mask."""
        self._tracebacks = tracebacks
        self._whole: dict[int, int] = {}
        """Variables → the axes that they enter unbatched."""
        self._by_site: dict[Hashable, list[VmapAxis]] = {}
        self._bits: dict[tuple[int, ...], int] = {}
        self._known_entries: set[int] = set()
        """Variables that enter an axis by facts of the untransformed program."""
        regions = distinct_regions(region)
        present = {variable for one in regions for variable in one.variables}
        for call in calls:
            self._enter(call, present)
        for axis in self.all:
            axis.told = not axis.known and axis.key in told

    def mask(self, under: tuple[int, ...]) -> int:
        """The bits of some axes."""
        bits = self._bits.get(under)
        if bits is None:
            bits = self._bits[under] = sum(1 << index for index in under)
        return bits

    def under(
        self, step: RegionStep, outer: tuple[int, ...], depends: int, before: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The axes around an equation, outermost first.

        `before` are those of the equation before it: an equation that a batching rule evaluates
        again has the traceback of its first trace, which leads to no vmap.
        """
        depth = step.scopes.count(VMAP)
        if not depth:
            return outer
        own: list[int] = []
        for site in self._tracebacks.vmap_sites(step.traceback)[-depth:]:
            known = self._by_site.get(site) or [self._axis(site, "", None)]
            fitting = [axis for axis in known if depends & axis.bit] if len(known) > 1 else known
            own.append((fitting or known)[0].index)
        missing = depth - len(own)
        if missing:
            first = len(outer) + missing
            if len(before) == len(outer) + depth and list(before[first:]) == own:
                return before
            free = [a for a in self.all if a.known and a.index not in (*outer, *own)]
            likely = sorted(free, key=lambda axis: (not depends & axis.bit, axis.index))
            own = [*sorted(axis.index for axis in likely[:missing]), *own]
        return (*outer, *(axis for axis in own if axis not in outer))

    def operand(self, region: Region, value: int, mask: int) -> int:
        """The axes that an operand is batched over, given those of its value.

        Of these, an equation is batched over the ones around it: what is inside a call, or follows
        it, may be under the others again.
        """
        if value < 0:
            return 0
        variable = region.variables[value]
        return mask & ~self._whole.get(variable, 0) | self.entering.get(variable, 0)

    def enter_with(self, region: Region, step: RegionStep, mask: int) -> None:
        """Of an equation that is known to be batched: its one operand enters these axes.

        What a rule of a derivative adds beside it reads the same value.
        """
        values = {value for value in step.inputs if value >= 0}
        if mask and len(values) == 1:
            variable = region.variables[values.pop()]
            self.entering[variable] = self.entering.get(variable, 0) | mask
            self._known_entries.add(variable)

    def enter_from(self, region: Region, step: RegionStep, under: tuple[int, ...]) -> None:
        """The operands of a call enter the axes that its arguments are known to enter inside."""
        for inner in step.inner:
            taken = inner.inputs or range(len(step.inputs))
            if len(taken) != inner.region.arguments:
                continue
            for variable, position in zip(inner.region.variables, taken, strict=False):
                value = step.inputs[position]
                if value >= 0 and variable in self._known_entries:
                    outer = region.variables[value]
                    mask = self.entering[variable] & self.mask(under)
                    self.entering[outer] = self.entering.get(outer, 0) | mask
                    self._known_entries.add(outer)

    def named(self, among: Sequence[int], sizes: Sequence[int]) -> int:
        """The axes that have a name and one of these sizes, as a mask."""
        fitting = (self.all[index] for index in among)
        return sum(axis.bit for axis in fitting if axis.name and axis.size in sizes)

    def _enter(self, call: VmapCall, present: set[int]) -> None:
        axis = self._axis(call.site, call.name, call.size)
        for position, variable in call.arguments:
            if variable in present:
                side = self._whole if position is None else self.entering
                side[variable] = side.get(variable, 0) | axis.bit
        found = {
            variable in present for position, variable in call.arguments if position is not None
        }
        axis.observed |= True in found
        axis.partial |= len(found) == 2

    def _axis(self, site: Hashable, name: str, size: int | None) -> VmapAxis:
        known = self._by_site.setdefault(site, [])
        for axis in known:
            if (axis.name, axis.size) == (name, size):
                return axis
        axis = VmapAxis(len(self.all), (site, name, size), name, size)
        self.all.append(axis)
        known.append(axis)
        return axis


def is_transposed(step: RegionStep) -> bool:
    """Whether an equation is transposed outside of all vmaps: of a batched one it is the transpose
    of it, and not a batched transpose."""
    scopes = step.scopes
    first = scopes.index(VMAP) if VMAP in scopes else len(scopes)
    return TRANSPOSE in scopes[:first]
