"""What the line of a benchmark asks for, before anything was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxscope.bench.cell.inputs import Spec
from jaxscope.model.comparison import Mode


@dataclass(frozen=True, slots=True)
class Request:
    """The options of `%%jaxbench`, read and checked as far as that goes without running code."""

    vs: tuple[str, ...] = ()
    """Contestants by name, the first one the baseline; empty: as the cell has sections."""
    inputs: tuple[Spec, ...] = ()
    sizes: tuple[Mapping[str, int], ...] = field(default=({},))
    devices: tuple[str, ...] = ()
    grad: tuple[str, ...] | None = None
    """Names to differentiate for; empty: the first input; None: no gradient."""
    vmap: tuple[tuple[str, int | None], ...] | None = None
    """Batch axes by name; empty: axis 0 of every input; None: no vmap."""
    dtype: str | None = None
    """None: as they are, but 32 bits wide while JAX has 64-bit types disabled."""
    x64: bool = False
    """With JAX's 64-bit types enabled."""
    mode: Mode = Mode.LATENCY
    sessions: int = 1
    time_limit: float | None = None
    """Seconds of the whole comparison."""
    tolerance: float | None = None
    check: bool = True
    """Whether results are compared; random numbers, for one, need not be the same."""
    seed: int = 0
