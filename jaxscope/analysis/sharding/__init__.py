"""The collectives of a program on several devices: devices, bytes, and the reason for each."""

from jaxscope.analysis.sharding.collectives import HloCollective, find_collectives, wire_bytes
from jaxscope.analysis.sharding.matmul_flops import matmul_flops
from jaxscope.analysis.sharding.mesh_axes import device_groups, shard_devices, with_spec
from jaxscope.analysis.sharding.origins import CollectiveContext, CollectiveReader
from jaxscope.analysis.sharding.replica_groups import GroupTextError, read_groups, read_pairs
from jaxscope.analysis.sharding.table import collective_rows

__all__ = [
    "CollectiveContext",
    "CollectiveReader",
    "GroupTextError",
    "HloCollective",
    "collective_rows",
    "device_groups",
    "find_collectives",
    "matmul_flops",
    "read_groups",
    "read_pairs",
    "shard_devices",
    "wire_bytes",
    "with_spec",
]
