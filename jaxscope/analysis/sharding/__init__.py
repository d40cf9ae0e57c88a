"""A program on several devices, as its texts tell it: who talks to whom, about what, and why."""

from jaxscope.analysis.sharding.balance import balance
from jaxscope.analysis.sharding.collectives import Found, find, wire_bytes
from jaxscope.analysis.sharding.mesh_axes import holders, in_words_of, named
from jaxscope.analysis.sharding.reasons import Context, Reasons, Why
from jaxscope.analysis.sharding.replica_groups import GroupTextError, read_groups, read_pairs
from jaxscope.analysis.sharding.table import collective_rows

__all__ = [
    "Context",
    "Found",
    "GroupTextError",
    "Reasons",
    "Why",
    "balance",
    "collective_rows",
    "find",
    "holders",
    "in_words_of",
    "named",
    "read_groups",
    "read_pairs",
    "wire_bytes",
]
