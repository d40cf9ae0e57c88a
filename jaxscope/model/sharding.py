"""The shardings of a program's values over several devices, and its collectives.

Devices are numbers: positions in `Program.devices`. Every device runs the same program on its own
shard of each value, so bytes and FLOPs are per device unless a name says otherwise.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope.model.stage import Unavailable


@dataclass(frozen=True, slots=True)
class Mesh:
    """Devices in a grid with named axes."""

    axes: tuple[str, ...]
    sizes: tuple[int, ...]
    devices: tuple[int, ...]
    """Row by row, the last axis fastest."""
    axis_types: tuple[str, ...] = ()
    """By axis: `auto`, `explicit` or `manual`; empty where JAX does not say."""

    def coordinates(self, position: int) -> tuple[int, ...]:
        """Coordinates along each axis of the device at a position of `devices`."""
        found: list[int] = []
        for size in reversed(self.sizes):
            position, rest = divmod(position, size)
            found.append(rest)
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True)
class Sharding:
    """The shards of a value and the devices that hold each; many values share one."""

    spec: str
    """`P('data', None)`; for a sharding without a mesh, its shards: `4 × 1 shards`."""
    mesh: int | None
    """Index in `ProgramSharding.meshes`; None for a sharding without a mesh."""
    shard_counts: tuple[int, ...]
    """Shards along each dimension of the value."""
    devices: tuple[tuple[int, ...], ...]
    """By shard, row by row: the devices that hold it."""

    @property
    def shards(self) -> int:
        """Different shards of the value."""
        return math.prod(self.shard_counts)

    @property
    def replicas(self) -> int:
        """Devices that hold the same shard."""
        return max((len(devices) for devices in self.devices), default=0)

    @property
    def replicated(self) -> bool:
        """Each device holds the whole value."""
        return self.shards == 1 and self.replicas > 1


@dataclass(frozen=True, slots=True)
class ShardedValue:
    """One input, output or constrained intermediate value, and its sharding."""

    name: str
    direction: str
    """`input`, `output`, or `inner` for an intermediate value that the code constrains."""
    aval: str
    """`float32[64,32]`: the whole value."""
    shape: tuple[int, ...]
    shard_shape: tuple[int, ...]
    _: KW_ONLY
    bytes: int
    """The whole value, once."""
    shard_bytes: int
    sharding: int
    """Index in `ProgramSharding.shardings`."""
    line: int | None = None
    """Line of the cell with the constraint, for an intermediate value."""

    @property
    def padding(self) -> tuple[int, ...]:
        """Rows added along each dimension so that all shards have the same size."""
        whole, part = self.shape, self.shard_shape
        return tuple([-(-w // p) * p - w if p else 0 for w, p in zip(whole, part, strict=True)])


class CollectiveKind(StrEnum):
    """The collective operations, as XLA names them."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    RAGGED_ALL_TO_ALL = "ragged-all-to-all"
    COLLECTIVE_PERMUTE = "collective-permute"
    COLLECTIVE_BROADCAST = "collective-broadcast"


class CollectiveOrigin(StrEnum):
    """The reason that a collective is in the program."""

    EXPLICIT = "explicit"
    """The code calls it (`psum`, `all_gather`, …), or differentiates code that does."""
    SHARDING_CONSTRAINT = "sharding_constraint"
    """The code requests a different sharding (`reshard`, `with_sharding_constraint`,
    `out_shardings`)."""
    PARTIAL_SUM = "partial_sum"
    """Inserted by the partitioner: the dimension that is summed over is sharded."""
    RESHARDING = "resharding"
    """Inserted by the partitioner: an operation needs a different sharding of a value."""


class ReshardingReason(StrEnum):
    """The reason for a collective that the partitioner inserts to reshard a value."""

    OPERANDS = "operands"
    """Operands of one elementwise operation are sharded differently."""
    DIMENSION = "sharded_dimension"
    """The operation works along a dimension that is sharded."""
    PRODUCT = "matrix_product"
    """A matrix product or convolution needs more of the operand than the device holds."""
    MANUAL = "manual_region"
    """`shard_map` or `pmap` takes a different sharding than the value has."""
    RESULT = "output"
    """A result is needed in a different sharding than it was computed in."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DeviceGroups:
    """The groups of devices that a collective runs in; many collectives share one."""

    groups: tuple[tuple[int, ...], ...]
    """Sets of devices that communicate with each other. For a permutation (from, to)."""
    axes: tuple[str, ...] = ()
    """The mesh axes that the groups run along; empty when they match no axes of a known mesh."""
    partial: bool = False
    """They run along a part of `axes` only."""

    @property
    def size(self) -> int:
        """Devices in a group."""
        return max((len(devices) for devices in self.groups), default=0)


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective of the optimized HLO. An asynchronous pair is one."""

    kind: CollectiveKind
    name: str
    """Of the instruction."""
    line: int
    """Of the optimized HLO's text."""
    origin: CollectiveOrigin
    primitive: str
    """JAX's operation behind it: `psum`, `dot_general` …; empty when it is not known."""
    _: KW_ONLY
    device_groups: int
    """Index in `ProgramSharding.device_groups`."""
    operand_bytes: int
    """Per device, each time."""
    result_bytes: int
    """Per device, each time."""
    wire_bytes: float
    """Bytes that one device sends, each time, by the usual ring algorithm; see
    `analysis.sharding.collectives`. NaN where the groups of devices are not known."""
    times: float
    """Executions in one run of the program."""
    times_known: bool = True
    equation: int | None = None
    """The equation that it comes from."""
    exact: bool = True
    """The equation is known by its tag."""
    reduction: str = ""
    """`add`, `maximum` …; empty for a collective that only moves data."""
    shapes: tuple[str, ...] = ()
    """Types of the operands on one device: `f32[16,16]`."""
    value: str = ""
    """The input or output that is moved, when it is known."""
    reason: ReshardingReason | None = None
    """For `CollectiveOrigin.RESHARDING`."""
    consumer: str = ""
    """The operation that needs the value, for `CollectiveOrigin.RESHARDING`: `add`, `sort` …"""
    consumer_equation: int | None = None
    other_operands: tuple[str, ...] = ()
    """For `ReshardingReason.OPERANDS`: the inputs that the value is combined with."""
    asynchronous: bool = False
    computed: bool = False
    """The moved value is an intermediate result, not an input."""

    @property
    def sent(self) -> float:
        """Bytes that one device sends in a run of the program."""
        return self.wire_bytes * self.times

    @property
    def is_permutation(self) -> bool:
        """Whether each device sends to one other device."""
        return self.kind is CollectiveKind.COLLECTIVE_PERMUTE


@dataclass(frozen=True, slots=True)
class MatmulFlops:
    """FLOPs of the matrix products of a program, in all and per device."""

    total: float
    """As the code asks for them, over all devices."""
    per_device: float

    def replication(self, devices: int) -> float:
        """Times that the same products are computed: 1 without replicated computation."""
        return self.per_device * devices / self.total if self.total else 1.0


_NO_MATMULS = Unavailable("the matrix products were not compared")


@dataclass(frozen=True, slots=True)
class ProgramSharding:
    """A program on several devices."""

    devices: int
    """Devices that the program runs on."""
    available_devices: int
    """Devices of that platform that JAX has, over all processes."""
    meshes: tuple[Mesh, ...]
    shardings: tuple[Sharding, ...]
    values: tuple[ShardedValue, ...]
    _: KW_ONLY
    device_groups: tuple[DeviceGroups, ...] = ()
    collectives: tuple[Collective, ...] = ()
    processes: int = 1
    """Processes that the devices belong to."""
    matmul_flops: MatmulFlops | Unavailable = _NO_MATMULS
    unread: str = ""
    """The reason that the collectives could not be read; empty when they were."""

    @property
    def sent(self) -> float:
        """Bytes that one device sends in a run of the program."""
        return sum(collective.sent for collective in self.collectives)
