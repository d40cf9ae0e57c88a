"""The equations of a program, at every depth and for every use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxscope.analysis.jaxpr.autodiff_phase import Passes, passes, phase
from jaxscope.analysis.links.tags import TagPath
from jaxscope.capture.jaxpr.bodies import Body, Entry, Reader
from jaxscope.capture.source.sources import Sources
from jaxscope.model import Equation, Frame, Span

# Functions that use each other twice at each of many levels would double at each level. Beyond
# this number the insides of further equations are left out, and the equation stands for them.
_MOST = 200_000


@dataclass(frozen=True, slots=True)
class Expansion:
    """The equations with what joins them to texts."""

    equations: tuple[Equation, ...]
    chains: tuple[TagPath, ...]
    """By equation id: the tags on the way from the outermost jaxpr to it, its own last."""
    places: dict[tuple[int, int], tuple[int, ...]]
    """Equation ids by (id of the jaxpr object, index in it); several where a jaxpr is shared."""


def read_equations(closed_jaxpr: Any, sources: Sources) -> tuple[Equation, ...]:
    """All equations of a jaxpr: each before those inside it, else in the order of the jaxpr."""
    return expand(Reader(sources).body(closed_jaxpr)).equations


def expand(body: Body) -> Expansion:
    """Number the equations of every use of every jaxpr, and give each what it inherits."""
    walk = _Walk()
    walk.enter(body, None, (), (), "", ())
    places = {key: tuple(ids) for key, ids in walk.places.items()}
    return Expansion(tuple(walk.equations), tuple(walk.chains), places)


class _Walk:
    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.chains: list[TagPath] = []
        self.places: dict[tuple[int, int], list[int]] = {}
        self._scopes: dict[tuple[tuple[str, str], ...], tuple[str, Passes]] = {}

    def enter(
        self,
        body: Body,
        parent: int | None,
        outer: tuple[Frame, ...],
        outer_passes: Passes,
        scope: str,
        chain: TagPath,
    ) -> None:
        jaxpr = id(body.jaxpr)
        for index, entry in enumerate(body.entries):
            number = len(self.equations)
            frames = _join(entry.frames, outer)
            own_scope, own_passes = self._read_scopes(entry.scopes)
            its_scope = f"{scope}/{own_scope}" if scope and own_scope else scope or own_scope
            its_passes = outer_passes + own_passes
            its_chain = chain + entry.tags
            self.equations.append(
                Equation(
                    number,
                    entry.primitive,
                    _span(frames),
                    frames,
                    phase(its_passes),
                    parent=parent,
                    scope=its_scope,
                    inputs=entry.inputs,
                    outputs=entry.outputs,
                )
            )
            self.chains.append(its_chain)
            self.places.setdefault((jaxpr, index), []).append(number)
            if entry.bodies and number < _MOST:
                for inner in entry.bodies:
                    self.enter(inner, number, frames, its_passes, its_scope, its_chain)

    def _read_scopes(self, scopes: tuple[tuple[str, str], ...]) -> tuple[str, Passes]:
        read = self._scopes.get(scopes)
        if read is None:
            read = self._scopes[scopes] = (_spell(scopes), passes(scopes))
        return read


def _spell(scopes: tuple[tuple[str, str], ...]) -> str:
    """The name stack as JAX spells it: `jvp(layer)/tanh`."""
    words: list[str] = []
    for kind, name in reversed(scopes):
        if kind == "Transform":
            if words:
                words[-1] = f"{name}({words[-1]})"
            else:
                words.append(f"{name}()")
        else:
            words.append(name)
    return "/".join(reversed(words))


def _join(own: tuple[Frame, ...], outer: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """An equation's own frames, then those of the equation around it.

    Differentiation copies equations together with their tracebacks, so the end of the one may
    repeat the beginning of the other.
    """
    if not own:
        return outer
    for length in range(min(len(own), len(outer)), 0, -1):
        if own[-length:] == outer[:length]:
            return own + outer[length:]
    return own + outer


def _span(frames: tuple[Frame, ...]) -> Span | None:
    for frame in frames:
        if frame.source == 0:
            return frame.span
    return frames[0].span if frames else None


def entries_of(body: Body) -> list[tuple[Body, int, Entry]]:
    """Each equation of each jaxpr object once, with its jaxpr and its index there."""
    found: list[tuple[Body, int, Entry]] = []
    seen: set[int] = set()
    waiting = [body]
    while waiting:
        current = waiting.pop()
        if id(current.jaxpr) in seen:
            continue
        seen.add(id(current.jaxpr))
        for index, entry in enumerate(current.entries):
            found.append((current, index, entry))
            waiting += entry.bodies
    return found
