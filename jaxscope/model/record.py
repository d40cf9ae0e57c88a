"""One report: everything known of one run."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from enum import StrEnum

from jaxscope.model.compiler.compile_time import CompileTime
from jaxscope.model.compiles import Compile
from jaxscope.model.finding import Finding
from jaxscope.model.profile import CellProfile
from jaxscope.model.program import Program
from jaxscope.model.source import Source
from jaxscope.model.stage import Unavailable

SCHEMA = 1
"""The version of the JSON form. What each version changed:

1: the first.
"""


class Form(StrEnum):
    """The way in which the code was run."""

    BLOCK = "block"
    FUNCTION = "function"
    """The cell ran as plain Python, and the calls of its own functions were compiled."""
    DECORATOR = "decorator"
    LINE = "line"
    CALL = "call"
    """`jaxscope.inspect`."""
    LOG = "log"
    """A compilation that was opened from the compile log; it ran elsewhere."""
    PLAIN = "plain"
    """jaxscope could not analyze the cell, so it ran as plain Python."""
    PROFILED = "profiled"
    """The cell ran as plain Python with the profiler on."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Versions and settings that a figure depends on."""

    jaxscope: str
    jax: str
    jaxlib: str
    python: str
    platform: str
    """Operating system and machine, such as `Linux-6.1 x86_64`."""
    _: KW_ONLY
    devices: tuple[str, ...]
    x64: bool
    flags: tuple[tuple[str, str], ...] = ()
    """`XLA_FLAGS`, `OMP_*`, `JAX_*` variables that were set."""


@dataclass(frozen=True, slots=True)
class Record:
    """One report as data: frozen, JSON by construction, no live objects."""

    title: str
    """`cell`, `In [3]`, or the call expression."""
    form: Form
    created: str
    """ISO 8601, UTC."""
    environment: Environment
    sources: tuple[Source, ...]
    """The cell first, then other cells and user files that its code calls."""
    _: KW_ONLY
    programs: tuple[Program, ...]
    """The costliest first; empty when nothing was compiled."""
    compiles: tuple[Compile, ...]
    """Compilations of this run, in order."""
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    """Lines under the first one: the chosen form, and every degradation."""
    wall_s: float | None = None
    """Seconds from start to end of the user's run, jaxscope's own work included."""
    profile: CellProfile | None = None
    """Time by line of a cell that ran as plain Python with the profiler on."""
    compile_time: CompileTime | Unavailable | None = None
    """Compile time by line; None when not requested."""
    schema: int = SCHEMA
