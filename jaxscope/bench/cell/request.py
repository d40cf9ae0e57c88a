"""The options of a benchmark, read and checked as far as that needs no user code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxscope.bench.cell.inputs import InputSpec
from jaxscope.model.comparison import TimingMode


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """The options of `%%jaxbench` and of `jaxscope.compare`."""

    vs: tuple[str, ...] = ()
    """Implementations by name, the first one the baseline; empty: those of the cell's sections."""
    inputs: tuple[InputSpec, ...] = ()
    sizes: tuple[Mapping[str, int], ...] = field(default=({},))
    devices: tuple[str, ...] = ()
    grad: tuple[str, ...] | None = None
    """Names to differentiate for; empty: the first input; None: no gradient."""
    vmap: tuple[tuple[str, int | None], ...] | None = None
    """Batch axes by name; empty: axis 0 of every input; None: no vmap."""
    dtype: str | None = None
    """None: unchanged, but 32 bits wide while JAX has 64-bit types disabled."""
    x64: bool = False
    """With JAX's 64-bit types enabled."""
    mode: TimingMode = TimingMode.LATENCY
    processes: int = 1
    time_limit: float | None = None
    """Seconds of the whole comparison."""
    tolerance: float | None = None
    check: bool = True
    """Whether results are compared; random numbers, for one, need not be equal."""
    seed: int = 0
