"""Programs under vmap, traced and read without compiling them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.bodies import Reader
from jaxscope.capture.jaxpr.equations import expand
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.vmap.axes import Program
from jaxscope.capture.vmap.read import read_batching
from jaxscope.model import BatchedEquation, Batching, Equation, Turn


@dataclass(frozen=True)
class Read:
    """A batched program with its equations."""

    batching: Batching
    equations: tuple[Equation, ...]

    def rows(self) -> list[tuple[str, str]]:
        """Each equation under vmap: its primitive, and the axes that it depends on as digits."""
        return [
            (self.equations[e.equation].primitive, "".join(map(str, e.over)))
            for e in self.batching.equations
        ]

    def over(self, primitive: str) -> list[tuple[int, ...]]:
        """The axes of every equation of this primitive."""
        return [e.over for e in self.each(primitive)]

    def each(self, primitive: str) -> list[BatchedEquation]:
        return [
            e for e in self.batching.equations if self.equations[e.equation].primitive == primitive
        ]

    def turns(self) -> list[tuple[str, Turn, str, str]]:
        """What did not merely become larger: primitive, turn, detail, cause."""
        return [
            (self.equations[e.equation].primitive, e.turn, e.detail, e.cause)
            for e in self.batching.equations
            if e.turn not in (None, Turn.LARGER) and (e.turn is not Turn.LOOP or e.detail)
        ]

    @property
    def sizes(self) -> list[int | None]:
        return [axis.size for axis in self.batching.axes]


def read(function: Callable[..., Any], *args: Any, watch: bool = True) -> Read:
    """The program of `jax.jit(function)`; without `watch` as if JAX had traced it before."""
    seen: list[_jax.VmapEntry] = []
    jitted = jax.jit(function)
    if watch:
        with _jax.watching_vmaps(seen):
            traced = jitted.trace(*args)
    else:
        traced = jitted.trace(*args)
    sources = SourceFiles()
    body = Reader(sources).body(traced.jaxpr)
    batching = read_batching(Program(body, traced.jaxpr), seen, sources)
    return Read(batching, expand(body).equations)
