"""A profiler's trace as data: which operations ran, when, and whose the time was."""

from jaxscope.analysis.trace.event import Op, TraceEvent
from jaxscope.analysis.trace.operations import hidden_in_graphs, operations
from jaxscope.analysis.trace.sweep import Shares, shares

__all__ = ["Op", "Shares", "TraceEvent", "hidden_in_graphs", "operations", "shares"]
