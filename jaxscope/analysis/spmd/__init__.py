"""A program on several devices, as its texts tell it: who talks to whom, about what, and why."""

from jaxscope.analysis.spmd.axes import named
from jaxscope.analysis.spmd.balance import balance
from jaxscope.analysis.spmd.collectives import Found, find, wire_bytes
from jaxscope.analysis.spmd.groups import GroupTextError, read_groups, read_pairs
from jaxscope.analysis.spmd.layouts import holders, in_words_of
from jaxscope.analysis.spmd.rows import collective_rows
from jaxscope.analysis.spmd.why import Context, Reasons, Why

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
