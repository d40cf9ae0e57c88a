"""The calls of the user's functions, told apart in the equations that they left behind.

Equations carry the frames of where they come from. A call begins where the frames around it change,
where another gradient begins, and where the function's first equation comes again, unless that is
the next round of a Python loop inside it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxscope.analysis.jaxpr.dataflow import Step, Use
from jaxscope.analysis.python.parse import parsed
from jaxscope.model import Equation, Frame, Phase, Source, Span

_NO_FUNCTIONS = ("<module>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")
"""Last words of names that no decorator can stand above."""
_LOOPS = (
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)

Function = tuple[int, str]
"""Source and qualified name."""
Place = tuple[Span, ...]
Run = tuple[int, int]
"""One of several gradients in a row: the first equation of its region, and its number there."""


@dataclass(slots=True)
class Call:
    """The equations of one call of a function."""

    run: Run
    around: tuple[Frame, ...]
    first: tuple[str, tuple[Frame, ...]]
    steps: list[Step] = field(default_factory=list[Step])
    places: set[Place] = field(default_factory=set[Place])
    """Where in the function, and in what it calls, its equations stand."""


def calls_in(
    use: Use,
    phases: Sequence[Phase],
    runs: Sequence[Run],
    equations: Sequence[Equation],
    looped: Sequence[frozenset[int]],
) -> dict[Function, list[Call]]:
    """The calls of each function whose forward equations stand in this region, in order.

    `phases` and `runs` go by step; `looped` holds the lines that stand in loops, by source.
    """
    found: dict[Function, list[Call]] = {}
    for step, its_phase, run in zip(use.region.steps, phases, runs, strict=True):
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
                continue  # recursion: the innermost call stands for all
            around, sign = frames[depth + 1 :], (equation.primitive, frames[: depth + 1])
            calls = found.setdefault((frame.source, frame.function), [])
            again = bool(calls) and calls[-1].first == sign and not _loops(sign[1], looped)
            if not calls or calls[-1].around != around or calls[-1].run != run or again:
                calls.append(Call(run, around, sign))
            calls[-1].steps.append(step)
            calls[-1].places.add(tuple(f.span for f in frames[: depth + 1]))
    return {function: _joined(calls) for function, calls in found.items()}


def _loops(frames: tuple[Frame, ...], looped: Sequence[frozenset[int]]) -> bool:
    """Whether an equation that comes again may be that of a loop's next round."""
    return any(
        frame.source is not None
        and frame.source < len(looped)
        and frame.span.line in looped[frame.source]
        for frame in frames
    )


def lines_in_loops(source: Source) -> frozenset[int]:
    """The lines of a source that stand in a loop of their own function, or of the module."""
    tree = parsed(source)
    if tree is None:
        return frozenset()
    found: dict[int, bool] = {}
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function or isinstance(node, _LOOPS):
            # What stands further inside comes later, and has the last word.
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            found.update(dict.fromkeys(lines, not is_function))
        waiting += ast.iter_child_nodes(node)
    return frozenset(line for line, inside in found.items() if inside)


def _joined(calls: list[Call]) -> list[Call]:
    """The calls, those made one that are only rounds of a loop inside a single call.

    Rounds begin with the same equation, as calls do. But then what stands before or after the loop
    belongs to one of them alone.
    """
    result: list[Call] = []
    groups: dict[tuple[Run, tuple[Frame, ...]], list[Call]] = {}
    for call in calls:
        groups.setdefault((call.run, call.around), []).append(call)
    for group in groups.values():
        places = Counter(place for call in group for place in call.places)
        if len(group) > 1 and 1 in places.values():
            steps = [step for call in group for step in call.steps]
            one = group[0]
            group = [Call(one.run, one.around, one.first, steps, set(places))]
        result += group
    return result
