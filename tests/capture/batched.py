"""Programs under vmap, traced and read without compiling them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.equations import expand
from jaxscope.capture.jaxpr.reader import JaxprReader
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.vmap import read_batching
from jaxscope.model import BatchedEquation, Batching, BatchingResult, Equation


@dataclass(frozen=True)
class Read:
    """A batched program with its equations."""

    vmap: Batching
    equations: tuple[Equation, ...]

    def rows(self) -> list[tuple[str, str]]:
        """Each equation under vmap: its primitive, and its batch axes as digits."""
        return [
            (self.equations[e.equation].primitive, "".join(map(str, e.over)))
            for e in self.vmap.equations
        ]

    def over(self, primitive: str) -> list[tuple[int, ...]]:
        """The axes of every equation of this primitive."""
        return [e.over for e in self.each(primitive)]

    def each(self, primitive: str) -> list[BatchedEquation]:
        return [e for e in self.vmap.equations if self.equations[e.equation].primitive == primitive]

    def results(self) -> list[tuple[str, BatchingResult, str, str]]:
        """Batching results but plain extra dimensions: primitive, result, detail, function."""
        plain = (None, BatchingResult.EXTRA_BATCH_DIMENSION)
        return [
            (self.equations[e.equation].primitive, e.result, e.detail, e.function)
            for e in self.vmap.equations
            if e.result not in plain
            and (e.result is not BatchingResult.SEQUENTIAL_LOOP or e.detail)
        ]

    @property
    def sizes(self) -> list[int]:
        return [axis.size for axis in self.vmap.axes]


def read(function: Callable[..., Any], *args: Any) -> Read:
    """The program of `jax.jit(function)`."""
    seen: list[_jax.VmapEntry] = []
    jitted = jax.jit(function)
    with _jax.watching_vmaps(seen):
        traced = jitted.trace(*args)
    sources = SourceFiles()
    body = JaxprReader(sources).body(traced.jaxpr)
    batching = read_batching((body, traced.jaxpr), seen, sources)
    assert batching is not None
    return Read(batching, expand(body).equations)
