"""A profiler's trace as data: which operations ran, when, and whose the time was."""

from jaxscope.analysis.trace.activity import device_activity
from jaxscope.analysis.trace.event import Op, TraceEvent
from jaxscope.analysis.trace.operations import hidden_in_graphs, operations
from jaxscope.analysis.trace.overlap import Shares, shares

__all__ = [
    "Op",
    "Shares",
    "TraceEvent",
    "device_activity",
    "hidden_in_graphs",
    "operations",
    "shares",
]
