"""The vmaps of a program: where each is called, which values enter it, and what lies under it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.bodies import Body, Entry
from jaxscope.capture.jaxpr.equations import entries_of
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import BatchAxis, Frame

VMAP = ("Transform", "vmap")
TRANSPOSE = ("Transform", "transpose")

SiteKey = tuple[tuple[int, int], ...]
AxisKey = tuple[SiteKey, str, int | None]


@dataclass(frozen=True, slots=True)
class Program:
    """A jaxpr, as JAX has it and as it was read."""

    body: Body
    jaxpr: Any

    def constants(self) -> dict[int, int]:
        """The variables of captured arrays by those arrays, both by identity."""
        inner = getattr(self.jaxpr, "jaxpr", self.jaxpr)
        variables = getattr(inner, "constvars", ())
        arrays = getattr(self.jaxpr, "consts", ())
        return {id(a): id(v) for v, a in zip(variables, arrays, strict=False)}


@dataclass(slots=True)
class Axis:
    """One vmap by its call site. In a mask of axes it is the bit `1 << index`."""

    index: int
    key: AxisKey
    site: _jax.Site
    """Kept alive, because the key goes by identity."""
    name: str
    size: int | None
    seen: bool = False
    """What entered it was noted, and those values are in the program."""
    told: bool = False
    """Which equations depend on it is known from the program that was traced first."""
    batches: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])
    """Shapes that entered it as batches, and others as they are, in the program of its trace."""
    wholes: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])

    @property
    def bit(self) -> int:
        return 1 << self.index

    @property
    def guessed(self) -> bool:
        return not (self.seen or self.told)

    def described(self, sources: SourceFiles) -> BatchAxis:
        frame = _user_frame(self.site, sources)
        line, source = (None, 0) if frame is None else (frame.span.line, frame.source or 0)
        return BatchAxis(self.name, self.size, line, source, not self.guessed)


class Axes:
    """The axes of one program, in the order in which they were entered."""

    def __init__(
        self, program: Program, entries: Sequence[_jax.VmapEntry], told: set[AxisKey]
    ) -> None:
        """`told` are the axes of which another source knows the equations that depend on them."""
        self.all: list[Axis] = []
        self.entering: dict[int, int] = {}
        """Variables by identity → the axes that they enter as batches, as a mask."""
        self._whole: dict[int, int] = {}
        """Variables by identity → the axes that they enter as they are."""
        self._by_site: dict[SiteKey, list[Axis]] = {}
        self._sites: dict[Any, tuple[tuple[SiteKey, _jax.Site], ...]] = {}
        self._bits: dict[tuple[int, ...], int] = {}
        variables, present = program.constants(), variables_of(program.body)
        for entry in entries:
            self._enter(entry, variables, present)
        for axis in self.all:
            axis.told = not axis.seen and axis.key in told
        if not self._knows_all(program.body):
            self._guess_sizes(program.body)
        self._guessed = sum(axis.bit for axis in self.all if axis.guessed)

    def mask(self, under: tuple[int, ...]) -> int:
        """The bits of some axes."""
        bits = self._bits.get(under)
        if bits is None:
            bits = self._bits[under] = sum(1 << index for index in under)
        return bits

    def under(
        self, entry: Entry, outer: tuple[int, ...], depends: int, before: tuple[int, ...]
    ) -> tuple[int, ...]:
        """The axes around an equation, outermost first.

        `before` are those of the equation before it: what a batching rule evaluates again has the
        traceback of where it was traced first, which leads to no vmap.
        """
        depth = entry.scopes.count(VMAP)
        if not depth:
            return outer
        own: list[int] = []
        for key, site in self._sites_of(entry)[-depth:]:
            known = self._by_site.get(key) or [self._axis(site, "", None)]
            fitting = [axis for axis in known if depends & axis.bit] if len(known) > 1 else known
            own.append((fitting or known)[0].index)
        missing = depth - len(own)
        if missing:
            first = len(outer) + missing
            if len(before) == len(outer) + depth and list(before[first:]) == own:
                return before
            free = [a for a in self.all if not a.guessed and a.index not in (*outer, *own)]
            likely = sorted(free, key=lambda axis: (not depends & axis.bit, axis.index))
            own = [*sorted(axis.index for axis in likely[:missing]), *own]
        return (*outer, *(axis for axis in own if axis not in outer))

    def operand(self, atom: Any, mask: int, under: tuple[int, ...], entered: int | None) -> int:
        """The axes that an operand depends on, given those of its value.

        `entered` is the number of axes around the whole jaxpr: the value may enter the others
        here. None for a value that an equation of the jaxpr made.
        """
        number = id(atom)
        mask = mask & ~self._whole.get(number, 0) | self.entering.get(number, 0)
        if self._guessed and entered is not None:
            for depth, index in enumerate(under[entered:], entered):
                axis = self.all[index]
                if axis.guessed and _looks_like_batch(shape_of(atom), axis, depth):
                    mask |= axis.bit
        return mask & self.mask(under)

    def named(self, among: Sequence[int], sizes: Sequence[int]) -> int:
        """The axes that have a name and one of these sizes, as a mask."""
        fitting = (self.all[index] for index in among)
        return sum(axis.bit for axis in fitting if axis.name and axis.size in sizes)

    def _enter(self, entry: _jax.VmapEntry, variables: dict[int, int], present: set[int]) -> None:
        axis = self._axis(entry.site, entry.name, entry.size)
        for position, value in zip(entry.axes, entry.values, strict=True):
            variable = variables.get(id(value), id(value))
            (axis.wholes if position is None else axis.batches).add(shape_of(value))
            if variable in present:
                side = self._whole if position is None else self.entering
                side[variable] = side.get(variable, 0) | axis.bit
                axis.seen = axis.seen or position is not None

    def _axis(self, site: _jax.Site, name: str, size: int | None) -> Axis:
        key = _key(site)
        known = self._by_site.setdefault(key, [])
        for axis in known:
            if (axis.name, axis.size) == (name, size):
                return axis
        axis = Axis(len(self.all), (key, name, size), site, name, size)
        self.all.append(axis)
        known.append(axis)
        return axis

    def _sites_of(self, entry: Entry) -> tuple[tuple[SiteKey, _jax.Site], ...]:
        traceback = _jax.traceback_of(entry.equation)
        sites = self._sites.get(traceback)
        if sites is None:
            found = _jax.vmap_sites(traceback)
            sites = self._sites[traceback] = tuple([(_key(site), site) for site in found])
        return sites

    def _knows_all(self, body: Body) -> bool:
        """Whether every call site in the program was noted."""
        return all(
            key in self._by_site
            for _, _, entry in entries_of(body)
            if VMAP in entry.scopes
            for key, _ in self._sites_of(entry)[-entry.scopes.count(VMAP) :]
        )

    def _guess_sizes(self, body: Body) -> None:
        """Sizes of the axes that JAX traced before: the first dimension of the last result."""
        last: dict[int, int] = {}
        waiting: list[tuple[Body, tuple[int, ...]]] = [(body, ())]
        done: set[int] = set()
        for current, outer in waiting:
            under = outer
            for entry in current.entries:
                under = self.under(entry, outer, 0, under)
                for depth, index in enumerate(under):
                    if self.all[index].size is None and TRANSPOSE not in entry.scopes:
                        for variable in entry.equation.outvars:
                            shape = shape_of(variable)
                            if len(shape) > depth and shape[depth] > 1:
                                last[index] = shape[depth]
                for inner in entry.bodies:
                    if id(inner) not in done:
                        done.add(id(inner))
                        waiting.append((inner, under))
        for index, size in last.items():
            self.all[index].size = size


@contextmanager
def watching(seen: list[_jax.VmapEntry]) -> Generator[None]:
    """Notes what enters every vmap that is traced inside the block, where this JAX lets it."""
    with ExitStack() as stack:
        with suppress(Exception):
            stack.enter_context(_jax.watching_vmaps(seen))
        yield


def without_arrays(entries: Sequence[_jax.VmapEntry]) -> list[_jax.VmapEntry]:
    """The entries as they may be kept: captured arrays would be kept in memory with them."""
    return [
        replace(entry, values=tuple([None if hasattr(v, "nbytes") else v for v in entry.values]))
        for entry in entries
    ]


def has_vmap(body: Body) -> bool:
    """Whether any equation of a program lies under a vmap; asked of every program."""
    waiting, seen = [body], {id(body)}
    for current in waiting:
        for entry in current.entries:
            if VMAP in entry.scopes:
                return True
            for inner in entry.bodies:
                if id(inner) not in seen:
                    seen.add(id(inner))
                    waiting.append(inner)
    return False


def shape_of(atom: Any) -> tuple[int, ...]:
    """Of a variable or a literal; empty for what has none."""
    return getattr(getattr(atom, "aval", None), "shape", ())


def _key(site: _jax.Site) -> SiteKey:
    # By identity, since hashing a code object compares its constants.
    return tuple([(id(code), offset) for code, offset in site])


def _user_frame(site: _jax.Site, sources: SourceFiles) -> Frame | None:
    for code, offset in site:
        if sources.index(code.co_filename) is not None:
            positions = list(code.co_positions())
            if offset // 2 < len(positions):
                return sources.frame(code.co_filename, code.co_qualname, positions[offset // 2])
    return None


def variables_of(body: Body) -> set[int]:
    """The identities of all variables of a program, those of the jaxprs inside too."""
    found: set[int] = set()
    waiting, seen = [body], {id(body.jaxpr)}
    for current in waiting:
        jaxpr = current.jaxpr
        found.update(map(id, (*jaxpr.invars, *jaxpr.constvars)))
        for entry in current.entries:
            found.update(map(id, entry.equation.outvars))
            for inner in entry.bodies:
                if id(inner.jaxpr) not in seen:
                    seen.add(id(inner.jaxpr))
                    waiting.append(inner)
    return found


def _looks_like_batch(shape: tuple[int, ...], axis: Axis, depth: int) -> bool:
    """A guess. The shapes that entered the axis tell, behind the batches of the vmaps around it;
    else a batch has the size of the axis, and the outermost batch comes first."""
    for behind in range(min(depth, len(shape)) + 1):
        inner = shape[behind:]
        if (inner in axis.batches) != (inner in axis.wholes):
            return inner in axis.batches
    return axis.size is not None and axis.size in shape[: depth + 1]
