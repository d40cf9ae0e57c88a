"""A profiler's trace as data: operations, their times, and shares of overlapping time."""

from jaxscope.analysis.trace.activity import device_activity, hidden_in_graphs
from jaxscope.analysis.trace.event import Op, Shares, TraceEvent, shares
from jaxscope.analysis.trace.operations import operations

__all__ = [
    "Op",
    "Shares",
    "TraceEvent",
    "device_activity",
    "hidden_in_graphs",
    "operations",
    "shares",
]
