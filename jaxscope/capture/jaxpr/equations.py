"""The equations of a program, at every depth and for every use."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from jaxscope.analysis.jaxpr.autodiff_phase import Passes, passes, phase
from jaxscope.analysis.jaxpr.dataflow import MOST_EQUATIONS
from jaxscope.analysis.links.tags import TagPath
from jaxscope.capture.jaxpr.reader import JaxprBody, JaxprEntry
from jaxscope.model import Equation, Frame


@dataclass(frozen=True, slots=True)
class Expansion:
    """The equations of a program, with the keys that link them to its texts."""

    equations: tuple[Equation, ...]
    tag_paths: tuple[TagPath, ...]
    """By equation id: the tags on the way from the outermost jaxpr to it, its own last."""
    places: dict[tuple[int, int], tuple[int, ...]]
    """Equation ids by (id of the jaxpr object, index in it); several where a jaxpr is shared."""


def expand(
    body: JaxprBody, whole: tuple[Frame, ...] = (), around: tuple[Frame, ...] = ()
) -> Expansion:
    """Number the equations of every use of every jaxpr: each before those inside it.

    One that no frame of the user's leads to has the frames `whole`. All are within `around`.
    """
    equations: list[Equation] = []
    paths: list[TagPath] = []
    places: dict[tuple[int, int], list[int]] = {}

    def enter(
        body: JaxprBody, parent: Equation | None, outer_passes: Passes, outer_path: TagPath
    ) -> None:
        outer, prefix = (parent.frames, parent.scope) if parent is not None else (around, "")
        for index, entry in enumerate(body.entries):
            number = len(equations)
            frames = _join(entry.frames, outer) or whole
            scope = _spell(entry.scopes)
            its_passes = outer_passes + passes(entry.scopes)
            its_path = outer_path + entry.tags
            equation = Equation(
                number,
                entry.primitive,
                next((f.span for f in frames if f.source == 0), frames[0].span if frames else None),
                frames,
                phase(its_passes),
                parent=None if parent is None else parent.id,
                scope=f"{prefix}/{scope}" if prefix and scope else prefix or scope,
                inputs=entry.inputs,
                outputs=entry.outputs,
            )
            equations.append(equation)
            paths.append(its_path)
            places.setdefault((id(body.jaxpr), index), []).append(number)
            for inner in entry.bodies if number < MOST_EQUATIONS else ():
                enter(inner, equation, its_passes, its_path)

    enter(body, None, (), ())
    found = {key: tuple(ids) for key, ids in places.items()}
    return Expansion(tuple(equations), tuple(paths), found)


@functools.lru_cache(maxsize=4096)  # most equations share a few name stacks
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


def entries_of(body: JaxprBody) -> list[tuple[JaxprBody, int, JaxprEntry]]:
    """Each equation of each jaxpr object once, with its jaxpr and its index there."""
    found: list[tuple[JaxprBody, int, JaxprEntry]] = []
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
