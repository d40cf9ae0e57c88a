"""How a program lies on several devices, and what they say to each other while it runs.

Devices are numbers: positions in `Program.devices`. Every device runs the same program on a part of
each value of its own, so bytes and FLOPs are those of one device unless a name says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from jaxscope.model.stage import Unavailable


@dataclass(frozen=True, slots=True)
class Mesh:
    """Devices in a grid whose directions have names."""

    axes: tuple[str, ...]
    sizes: tuple[int, ...]
    devices: tuple[int, ...]
    """Row by row, the last axis fastest."""
    kinds: tuple[str, ...] = ()
    """By axis: `auto`, `explicit` or `manual`; empty where JAX does not say."""

    def place(self, position: int) -> tuple[int, ...]:
        """Where along each axis the device at a position of `devices` is."""
        place: list[int] = []
        for size in reversed(self.sizes):
            position, rest = divmod(position, size)
            place.append(rest)
        return tuple(reversed(place))


@dataclass(frozen=True, slots=True)
class Layout:
    """How a value is cut, and who holds which piece; many values share one."""

    spec: str
    """`P('data', None)`; for a sharding without names what JAX calls it."""
    mesh: int | None
    """Index in `Partition.meshes`; None for a sharding without a mesh."""
    tiles: tuple[int, ...]
    """Pieces along each dimension of the value."""
    holders: tuple[tuple[int, ...], ...]
    """By piece, row by row: the devices that hold it."""

    @property
    def pieces(self) -> int:
        return math.prod(self.tiles)

    @property
    def copies(self) -> int:
        """How many devices hold the same piece."""
        return max((len(devices) for devices in self.holders), default=0)

    @property
    def replicated(self) -> bool:
        """Each device holds the whole value."""
        return self.pieces == 1 and self.copies > 1


@dataclass(frozen=True, slots=True)
class Placement:
    """One input or output on the devices."""

    name: str
    direction: str
    """`input`, `output`, or `inner` for a value that the code constrains on its way."""
    aval: str
    """`float32[64,32]`: the whole value."""
    shape: tuple[int, ...]
    shard_shape: tuple[int, ...]
    """What one device holds."""
    bytes: int
    """The whole value, once."""
    shard_bytes: int
    """What one device holds of it."""
    layout: int
    """Index in `Partition.layouts`."""
    line: int | None = None
    """Of the cell, where the code constrains an inner value."""

    @property
    def padding(self) -> tuple[int, ...]:
        """Rows along each dimension that exist only because the pieces must be equally long."""
        whole, part = self.shape, self.shard_shape
        return tuple([-(-w // p) * p - w if p else 0 for w, p in zip(whole, part, strict=True)])


class CollectiveKind(StrEnum):
    """What devices do together, as XLA calls it."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    RAGGED_ALL_TO_ALL = "ragged-all-to-all"
    COLLECTIVE_PERMUTE = "collective-permute"
    COLLECTIVE_BROADCAST = "collective-broadcast"


class Origin(StrEnum):
    """Why a collective is in the program."""

    WRITTEN = "written"
    """The code calls it (`psum`, `all_gather`, …), or differentiates code that does."""
    ASKED = "asked"
    """The code asks for another layout (`reshard`, `with_sharding_constraint`, `out_shardings`)."""
    SUMMED = "summed"
    """Inserted by XLA: the dimension that is summed over is spread over the devices."""
    MOVED = "moved"
    """Inserted by XLA: a value does not lie as an operation needs it."""


class Need(StrEnum):
    """What an inserted collective that moves data is for."""

    OPERANDS = "operands"
    """Operands of one elementwise operation lie differently."""
    DIMENSION = "dimension"
    """The operation works along a dimension that is cut into pieces."""
    PRODUCT = "product"
    """A matrix product or convolution needs more of the operand than the device holds."""
    MANUAL = "manual"
    """`shard_map` or `pmap` asks for another layout than the value has."""
    RESULT = "result"
    """A result is to lie in another way than it was computed."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Group:
    """Who talks to whom in a collective; many collectives share one."""

    members: tuple[tuple[int, ...], ...]
    """Sets of devices; those of one set talk to each other. For a permutation (from, to)."""
    axes: tuple[str, ...] = ()
    """The mesh axes that the sets run along; empty when they are no whole axes of a known mesh."""
    partial: bool = False
    """They run along a part of `axes` only."""

    @property
    def size(self) -> int:
        """Devices in a set."""
        return max((len(devices) for devices in self.members), default=0)


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective of the optimized HLO. An asynchronous pair is one."""

    kind: CollectiveKind
    name: str
    """Of the instruction."""
    line: int
    """Of the optimized HLO's text."""
    origin: Origin
    primitive: str
    """JAX's operation behind it: `psum`, `dot_general` …; empty when it is not known."""
    group: int
    """Index in `Partition.groups`."""
    operand_bytes: int
    """What one device puts in, each time."""
    result_bytes: int
    """What one device gets out, each time."""
    wire_bytes: float
    """What one device sends, each time, by the usual ring algorithm; see
    `analysis.spmd.collectives`. NaN where the sets of devices are not known."""
    times: float
    """How often it runs in one run of the program."""
    times_known: bool = True
    equation: int | None = None
    """The equation that it comes from."""
    exact: bool = True
    """The equation is known by its tag."""
    combines: str = ""
    """How values are combined: `add`, `maximum` …; empty for what only moves."""
    shapes: tuple[str, ...] = ()
    """Types of the operands on one device: `f32[16,16]`."""
    value: str = ""
    """The input or output that is moved, when it is known."""
    need: Need | None = None
    """For `Origin.MOVED`."""
    wanted_by: str = ""
    """The operation that needs it, for `Origin.MOVED`: `add`, `sort` …"""
    wanted_equation: int | None = None
    beside: tuple[str, ...] = ()
    """For `Need.OPERANDS`: the inputs on the other side of the operation."""
    asynchronous: bool = False
    computed: bool = False
    """What is moved was computed by the program just before, and is no input."""

    @property
    def sent(self) -> float:
        """Bytes that one device sends in a run of the program."""
        return self.wire_bytes * self.times


@dataclass(frozen=True, slots=True)
class Balance:
    """How the matrix products of a program are shared out."""

    whole: float
    """FLOPs of the matrix products as the code asks for them, over all devices."""
    each: float
    """FLOPs of the matrix products that every device does."""

    def repeated(self, devices: int) -> float:
        """How many times the work is done: 1 when no device does what another does too."""
        return self.each * devices / self.whole if self.whole else 1.0


_NO_BALANCE = Unavailable("the matrix products were not compared")


@dataclass(frozen=True, slots=True)
class Partition:
    """A program on several devices."""

    devices: int
    """Devices that the program runs on."""
    present: int
    """Devices of that platform that JAX has, over all processes."""
    meshes: tuple[Mesh, ...]
    layouts: tuple[Layout, ...]
    placements: tuple[Placement, ...]
    groups: tuple[Group, ...] = ()
    collectives: tuple[Collective, ...] = ()
    processes: int = 1
    """Processes that the devices belong to."""
    balance: Balance | Unavailable = _NO_BALANCE
    unread: str = ""
    """Why there are no collectives to show; empty when they were read."""

    @property
    def sent(self) -> float:
        """Bytes that one device sends in a run of the program."""
        return sum(collective.sent for collective in self.collectives)
