"""A benchmark cell as a plan: its sections, sizes and inputs, and the functions that are timed."""

from __future__ import annotations

from jaxscope.bench.cell.request import BenchRequest
from jaxscope.bench.cell.sections import CellError

__all__ = ["BenchRequest", "CellError"]
