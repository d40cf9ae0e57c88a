"""The calls of the user's functions, distinguished by the frames of their equations.

A call begins where the frames around it change, where the next gradient begins, and where the
function's first equation repeats, unless that is the next iteration of a Python loop inside it.
"""

import ast
import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxscope.analysis.jaxpr.dataflow import RegionStep, RegionUse
from jaxscope.analysis.python.parse import parsed
from jaxscope.analysis.python.scopes import Comprehension
from jaxscope.model import Equation, Frame, Phase, Source, Span

_NO_FUNCTIONS = ("<module>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
"""Last words of names that cannot have a decorator."""
_Loop = ast.For | ast.AsyncFor | ast.While | Comprehension

Function = tuple[int, str]
"""Source and qualified name."""
GradientKey = tuple[int, int]
"""One of several gradients in a row: the first equation of its region, and its number there."""


@dataclass(slots=True)
class CalledEquations:
    """The equations of one call of a function."""

    gradient: GradientKey
    around: tuple[Frame, ...]
    first: tuple[str, tuple[Frame, ...]]
    steps: list[RegionStep] = field(default_factory=list[RegionStep])
    places: set[tuple[Span, ...]] = field(default_factory=set[tuple[Span, ...]])
    """Spans of its equations in the function and in what that calls."""


def calls_in(
    use: RegionUse,
    phases: Sequence[Phase],
    gradients: Sequence[GradientKey],
    equations: Sequence[Equation],
    looped: Sequence[frozenset[int]],
) -> dict[Function, list[CalledEquations]]:
    """The calls of each function with forward equations in this region, in order.

    `phases` and `gradients` go by step; `looped` holds the lines inside loops, by source.
    """
    found: dict[Function, list[CalledEquations]] = {}
    for step, its_phase, gradient in zip(use.region.steps, phases, gradients, strict=True):
        if its_phase is not Phase.FORWARD:
            continue
        equation = equations[use.first + step.offset]
        frames = equation.frames
        # Functions around the whole region are counted where the region is one step.
        own = len(frames) - len(() if use.parent is None else equations[use.parent].frames)
        for depth, frame in enumerate(frames[:own]):
            last = frame.function.rpartition(".")[2]
            if frame.source is None or last in _NO_FUNCTIONS:
                continue
            if any(f.function == frame.function for f in frames[:depth]):
                continue  # recursion: only the innermost call counts
            around, sign = frames[depth + 1 :], (equation.primitive, frames[: depth + 1])
            calls = found.setdefault((frame.source, frame.function), [])
            again = bool(calls) and calls[-1].first == sign and not _loops(sign[1], looped)
            if not calls or calls[-1].around != around or calls[-1].gradient != gradient or again:
                calls.append(CalledEquations(gradient, around, sign))
            calls[-1].steps.append(step)
            calls[-1].places.add(tuple(f.span for f in frames[: depth + 1]))
    return {function: _merged(calls) for function, calls in found.items()}


def _loops(frames: tuple[Frame, ...], looped: Sequence[frozenset[int]]) -> bool:
    """Whether a repeated equation may be that of the next iteration of a loop."""
    return any(
        frame.source is not None
        and frame.source < len(looped)
        and frame.span.line in looped[frame.source]
        for frame in frames
    )


@functools.lru_cache(maxsize=32)
def lines_in_loops(source: Source) -> frozenset[int]:
    """The lines of a source inside a loop of their own function, or of the module."""
    tree = parsed(source)
    if tree is None:
        return frozenset()
    found: dict[int, bool] = {}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function or isinstance(node, _Loop):
            # Inner nodes come later and overwrite.
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            found.update(dict.fromkeys(lines, not is_function))
        waiting += ast.iter_child_nodes(node)
    return frozenset(line for line, inside in found.items() if inside)


def _merged(calls: list[CalledEquations]) -> list[CalledEquations]:
    """The calls, with iterations of a loop inside a single call merged.

    Iterations begin with the same equation, as calls do. But then the code before or after the loop
    belongs to one of them alone.
    """
    result: list[CalledEquations] = []
    groups: dict[tuple[GradientKey, tuple[Frame, ...]], list[CalledEquations]] = {}
    for call in calls:
        groups.setdefault((call.gradient, call.around), []).append(call)
    for group in map(_whole, groups.values()):
        places = Counter(place for call in group for place in call.places)
        if len(group) > 1 and 1 in places.values():
            group = [_joined(group)]
        result += group
    return result


def _whole(parts: list[CalledEquations]) -> list[CalledEquations]:
    """The calls, where a library's function repeats the first equation before its line is left:
    the normalization of a layer has two means."""
    if all(len(part.places) == 1 for part in parts):
        return parts
    found: list[CalledEquations] = []
    begun: list[CalledEquations] = []
    for part in parts:
        begun.append(part)
        if len(part.places) > 1:
            found.append(_joined(begun))
            begun = []
    return [*found, *begun]


def _joined(parts: list[CalledEquations]) -> CalledEquations:
    if len(parts) == 1:
        return parts[0]
    steps = [step for part in parts for step in part.steps]
    places = set[tuple[Span, ...]]().union(*(part.places for part in parts))
    return CalledEquations(parts[0].gradient, parts[0].around, parts[0].first, steps, places)
