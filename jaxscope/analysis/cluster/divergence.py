"""Compare what two processes compile, and word the difference."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from jaxscope import words
from jaxscope.model.cluster import (
    CodePlace,
    CompiledPrint,
    DivergenceKind,
    ProcessState,
    ProgramDifference,
    ProgramPrint,
)

_NAME = re.compile(r"module @(\S+)")
_MAIN = re.compile(r"func\.func public @main\((.*?)\) -> (.*)")
_SHARDING = re.compile(r'(?:sdy|mhlo)\.sharding = (?:#sdy\.sharding<[^>]*>|"[^"]*")')
_DONATED = re.compile(r"tf\.aliasing_output = \d+|jax\.buffer_donor = true")
_TENSOR = re.compile(r"tensor<((?:\d+x)*)([^<>]+(?:<[^<>]*>)?)>")
_UNSIGNED = {f"ui{n}": f"u{n}" for n in (4, 8, 16, 32, 64)}
_TYPES = {"i1": "bool", "complex<f32>": "c64", "complex<f64>": "c128", **_UNSIGNED}
_OPERATION = re.compile(r"\b(?:stablehlo|sdy|mhlo|chlo)\.\w+")
_CONSTANT = re.compile(r"dense(?:_resource)?<[^>]*>")
_RESOURCES = re.compile(r"\{-#.*", re.S)
_MOST = 300
"""Characters of a signature that a message shows."""


def print_of(text: str, process: int, place: CodePlace, flags: str) -> ProgramPrint:
    """The print of a StableHLO module, from its text without locations."""
    named = _NAME.search(text)
    name = named[1] if named else ""
    body = text.replace(f"@{name}", "@", 1)
    outline = _CONSTANT.sub("dense<>", _RESOURCES.sub("", body))
    main = _MAIN.search(body)
    return ProgramPrint(
        process,
        name.removeprefix("jit_"),
        place,
        program=_hash(body),
        outline=_hash(outline),
        inside=_hash(_MAIN.sub("", outline)),
        arguments=main[1] if main else "",
        results=main[2] if main else "",
        operations=tuple(sorted(Counter(_OPERATION.findall(body)).items())),
        flags=flags,
    )


def program_hash(text: str) -> str:
    """`ProgramPrint.program` alone, which is cheaper."""
    named = _NAME.search(text)
    return _hash(text.replace(f"@{named[1]}", "@", 1) if named else text)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def difference(first: ProgramPrint, other: ProgramPrint) -> ProgramDifference | None:
    """The difference between two programs that should be the same; None for equal ones.

    The lower process is named first, whichever came first.
    """
    if first.key == other.key:
        return None
    first, other = sorted((first, other), key=lambda one: one.process)
    kind, what = _differs(first, other)
    if kind is not DivergenceKind.ORDER:
        what = f"Processes {first.process} and {other.process} compile `{other.name}` {what}"
    return ProgramDifference(kind, f"{what}{both_places(first, other)}")


def _differs(first: ProgramPrint, other: ProgramPrint) -> tuple[DivergenceKind, str]:
    one, two = first.process, other.process
    if first.program == other.program:
        return DivergenceKind.FLAGS, (
            f"with different flags: `{_cut(first.flags)}` on {one}, `{_cut(other.flags)}` on {two}."
        )
    if first.name != other.name:
        return DivergenceKind.ORDER, (
            f"Process {one} compiles `{first.name}` where process {two} compiles `{other.name}`: "
            "the order of calls differs."
        )
    if first.arguments != other.arguments:
        return _arguments_differ(first, other)
    if first.inside == other.inside and _found(_SHARDING, first.results, other.results):
        return DivergenceKind.SHAPES, "for different shardings of the results."
    if first.outline == other.outline:
        return DivergenceKind.CONSTANTS, (
            "with different constants: a captured value is not the same on every process."
        )
    return DivergenceKind.BRANCH, (
        f"with different operations: {_operations(first, other)}a Python branch differs."
    )


def _arguments_differ(first: ProgramPrint, other: ProgramPrint) -> tuple[DivergenceKind, str]:
    shapes, others = _shapes(first.arguments), _shapes(other.arguments)
    if shapes != others:
        return DivergenceKind.SHAPES, (
            f"for different shapes: {_cut(shapes)} on {first.process}, {_cut(others)} on "
            f"{other.process}."
        )
    if _found(_SHARDING, first.arguments, other.arguments):
        return DivergenceKind.SHAPES, f"for different shardings of {_cut(shapes)}."
    what = "donations" if _found(_DONATED, first.arguments, other.arguments) else "attributes"
    return (
        DivergenceKind.BRANCH,
        f"with different {what} of its arguments: a Python branch differs.",
    )


def _found(pattern: re.Pattern[str], one: str, two: str) -> bool:
    """Whether it matches different texts in the two."""
    return pattern.findall(one) != pattern.findall(two)


def _operations(first: ProgramPrint, other: ProgramPrint) -> str:
    """The counts that differ; empty where only the operands do."""
    counts, others = dict(first.operations), dict(other.operations)
    names = [name for name in sorted({*counts, *others}) if counts.get(name) != others.get(name)]
    shown = [
        f"{counts.get(n, 0)} `{n}` on {first.process}, {others.get(n, 0)} on {other.process}"
        for n in names[:3]
    ]
    return f"{'; '.join(shown)}: " if shown else ""


def _shapes(arguments: str) -> str:
    """`f32[8,4], i32[]` of the arguments of a StableHLO function."""
    found = [
        f"{_TYPES.get(dtype, dtype)}[{dims.replace('x', ',').rstrip(',')}]"
        for dims, dtype in _TENSOR.findall(arguments)
    ]
    return f"({', '.join(found)})"


def _cut(text: str) -> str:
    return words.cut(text, _MOST)


def both_places(first: ProgramPrint | CompiledPrint, other: ProgramPrint | CompiledPrint) -> str:
    """The line of each process, on lines of their own."""
    return "".join(f"\n  process {one.process} at {one.place}" for one in (first, other))


def missing(
    name: str, arrived: int, processes: int, mine: CodePlace, others: Sequence[ProcessState]
) -> ProgramDifference:
    """Not all processes reached a compilation; `others` are their last known activities."""
    seen = "".join(f"\n  {where_is(state)}" for state in others)
    text = (
        f"{arrived} of {words.count(processes, 'process', 'processes')} reached the compilation of "
        f"`{name}`.\n  called at {mine}{seen}"
    )
    return ProgramDifference(DivergenceKind.MISSING, text)


def not_compiled(name: str, process: int, place: CodePlace, error: str) -> ProgramDifference:
    """A process could not compile what the others did."""
    text = (
        f"Process {process} could not compile `{name}` ({error}).\n  process {process} at {place}"
    )
    return ProgramDifference(DivergenceKind.MISSING, text)


def where_is(state: ProcessState) -> str:
    """`process 1 is waiting in JAX at In [3]:4`."""
    place = "" if state.doing == "idle" else f" at {state.place}"
    return f"process {state.process} is {state.doing}{place}"


_NAMED = 8
"""Processes that a banner names before it groups the others."""


def stalled(states: Sequence[ProcessState], seconds: float) -> str:
    """The banner of a stall: processes at the same line are grouped, the rarest group first."""
    groups: dict[tuple[str, str], list[ProcessState]] = {}
    for state in states:
        groups.setdefault((state.doing, state.place.where), []).append(state)
    rows = [
        f"  {_who([state.process for state in group])}: {where_is(group[0]).split(' is ', 1)[1]}"
        for group in sorted(groups.values(), key=len)[:_NAMED]
    ]
    head = f"At the same line for {words.seconds(round(seconds))}, maybe a hang:"
    return "\n".join([head, *rows])


def _who(processes: Sequence[int]) -> str:
    if len(processes) == 1:
        return f"process {processes[0]}"
    return f"processes {words.listed([str(number) for number in sorted(processes)], _NAMED)}"
