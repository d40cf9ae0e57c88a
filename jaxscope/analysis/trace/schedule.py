"""The instructions of kernels that CUDA graphs ran, from the schedule of their program.

XLA launches most instructions of a GPU's program as CUDA graphs, and the profiler then names the
graph in place of the instruction. The kernels still run in the order of the optimized HLO, which is
scheduled, and the kernel of a fusion has its name. Seen on an H100 with jaxlib 0.11.2: eleven
programs without graphs, of up to 2 800 kernels, ran in exactly this order.
"""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.hlo.module import Computation, Instruction
from jaxscope.analysis.trace.activity import in_graph
from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.analysis.trace.operations import kernels_by_run

_NO_KERNEL = frozenset(
    {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "opt-barrier"}
)
_ONE_KERNEL = frozenset({"copy", "copy-start", "fusion-start"})
_LOOPS = frozenset({"while", "conditional"})
_CALLS = frozenset({"call", "async-start"})
_NUMBER = re.compile(r"(?:[._]+\d+)+$")
_MEMSET, _MEMCPY, _LIBRARY = "memset", "memcpy", "library"
"""Kinds of kernels without the name of an instruction."""


def with_instructions(
    events: Sequence[TraceEvent], modules: Mapping[int, HloModule | None]
) -> list[TraceEvent]:
    """The events, those of kernels in CUDA graphs with their instruction where one alone fits.

    `modules` are the programs by XLA's number. A run whose kernels do not follow its program's
    schedule keeps them unnamed.
    """
    schedules: dict[int, KernelSchedule] = {}
    named: dict[int, TraceEvent] = {}
    for (number, *_), kernels in kernels_by_run(events).items():
        if (module := modules.get(number)) is None:
            continue
        schedule = schedules.get(number) or schedules.setdefault(number, KernelSchedule(module))
        for event, name in schedule.found(kernels):
            named[id(event)] = event._replace(stats={**event.stats, "hlo_op": name})
    return [named.get(id(event), event) for event in events]


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the schedule: the instructions that may come first and last in it."""

    first: frozenset[str] = frozenset()
    last: frozenset[str] = frozenset()
    optional: bool = True
    """Whether it may run no kernel."""


@dataclass(slots=True)
class KernelSchedule:
    """The orders in which the instructions of a module may run."""

    module: HloModule
    _after: dict[str, set[str]] = field(
        init=False, default_factory=lambda: collections.defaultdict(set)
    )
    """Instruction → those whose kernels may come next."""
    _whole: _Part = field(init=False)
    _of_kind: dict[str, set[str]] = field(
        init=False, default_factory=lambda: collections.defaultdict(set)
    )
    """Kind of kernel → the instructions that run such ones."""

    def __post_init__(self) -> None:
        self._whole = self._computation(self.module.entry_computation)

    def found(self, kernels: Sequence[TraceEvent]) -> list[tuple[TraceEvent, str]]:
        """The kernels of one run, in order, that name no instruction of the module, each with the
        only one that fits."""
        told = [self._told(event) for event in kernels]
        if all(told):
            return []
        rows = [i for i, name in enumerate(told) if not (i and name and told[i - 1] == name)]
        kinds = {i: self._kind(kernels[i]) for i in rows}
        fits = [_states(told[i]) if told[i] else self._of_kind[kinds[i]] for i in rows]
        before = self._reached(fits, self._whole.first, self._after)
        backwards: dict[str, set[str]] = collections.defaultdict(set)
        for name, following in self._after.items():
            for other in following:
                backwards[other].add(name)
        behind = self._reached(fits[::-1], self._whole.last, backwards)[::-1]
        names: dict[int, str] = {}
        for i, one, other in zip(rows, before, behind, strict=True):
            alone = {state.partition(" ")[0] for state in one & other}
            if len(alone) == 1:
                names[i] = alone.pop()
        # Two alike at once may have started in either order.
        uncertain = {
            row
            for i, j in itertools.pairwise(rows)
            if kinds[i] == kinds[j] and names.get(i) != names.get(j)
            if _at_once(kernels[i], kernels[j])
            for row in (i, j)
        }
        return [
            (kernels[i], name) for i, name in names.items() if not told[i] and i not in uncertain
        ]

    def explained(self, kernels: Sequence[TraceEvent]) -> int:
        """The number of kernels of a run that have their instruction in the module."""
        return len(self.found(kernels)) + sum(bool(self._told(event)) for event in kernels)

    def _told(self, event: TraceEvent) -> str:
        """The instruction that a kernel names; empty where the module has no such one."""
        name = str(event.stats.get("hlo_op", ""))
        return "" if in_graph(event) or self.module.instruction(name) is None else name

    def _kind(self, event: TraceEvent) -> str:
        name = event.name.lower()
        if name.startswith((_MEMSET, _MEMCPY)):
            return name[: len(_MEMSET)]
        stem = _stem(event.name)
        return stem if stem in self._of_kind else _LIBRARY

    @staticmethod
    def _reached(
        fits: Sequence[Iterable[str]], first: Iterable[str], after: Mapping[str, set[str]]
    ) -> list[set[str]]:
        """For each kernel, the instructions that it may be of, by those before it."""
        found: list[set[str]] = []
        reachable = set(first)
        for fitting in fits:
            found.append(reachable.intersection(fitting))
            reachable = set().union(*(after.get(name, ()) for name in found[-1]))
        return found

    def _computation(self, computation: Computation) -> _Part:
        return self._sequence(map(self._part, computation.instructions))

    def _sequence(self, parts: Iterable[_Part]) -> _Part:
        first: frozenset[str] = frozenset()
        last: frozenset[str] = frozenset()
        optional = True
        for part in parts:
            self._follow(last, part.first)
            first |= part.first if optional else frozenset()
            last = part.last | (last if part.optional else frozenset())
            optional &= part.optional
        return _Part(first, last, optional)

    def _follow(self, names: Iterable[str], following: Iterable[str]) -> None:
        for name in names:
            self._after[name].update(following)

    def _part(self, instruction: Instruction) -> _Part:
        name, opcode = instruction.name, instruction.opcode
        if opcode in _NO_KERNEL or opcode.endswith("-done"):
            return _Part()
        called = map(self._computation, self.module.called(instruction))
        if opcode in _CALLS:
            return self._sequence(called)
        makes = instruction.shape.bytes > 0
        if not makes and opcode not in _LOOPS | {"custom-call"}:
            return _Part()
        if instruction.custom_call_target == "AllocateBuffer":
            return _Part()
        own = _Part(frozenset([name]), frozenset([name]), optional=not makes)
        if opcode in _LOOPS:
            # The copy of the condition to the host has the name of the loop.
            parts = [own, *called]
            first = frozenset[str]().union(*(part.first for part in parts))
            last = frozenset[str]().union(*(part.last for part in parts))
            self._follow(last, first)
            return _Part(first, last)
        _, zeros, library = _states(name)
        if opcode == "sort":  # its operand is copied first
            for kind in (_LIBRARY, _stem(name)):
                self._of_kind[kind].add(name)
            self._of_kind[_MEMCPY].add(zeros)
            self._follow([zeros], [zeros])
            self._follow([zeros, name], [name])
            return _Part(own.first | {zeros}, own.last, own.optional)
        if opcode != "fusion":
            if opcode not in _ONE_KERNEL:
                self._follow([name], [name])  # a library runs several
            for kind in (_MEMSET, _MEMCPY, _LIBRARY, _stem(name)):
                self._of_kind[kind].add(name)
            return own
        # One kernel or copy, with zeros written first where it adds up; or those of a library.
        self._of_kind[_MEMSET].add(zeros)
        self._of_kind[_MEMCPY].add(name)
        self._of_kind[_stem(name)].add(name)
        self._follow([zeros], [zeros, name])
        if "kind=kCustom" not in instruction.attributes_text:
            return _Part(own.first | {zeros}, own.last, own.optional)
        for kind in (_MEMSET, _MEMCPY, _LIBRARY):
            self._of_kind[kind].add(library)
        self._follow([library], [library])
        return _Part(own.first | {zeros, library}, own.last | {library}, own.optional)


def _states(name: str) -> tuple[str, str, str]:
    """The states of an instruction: its own kernel, what is written before, a library's kernels."""
    return name, f"{name} {_MEMSET}", f"{name} {_LIBRARY}"


def _stem(name: str) -> str:
    """The name without its number: equal fusions share the kernel of one of them."""
    return _NUMBER.sub("", name)


def _at_once(first: TraceEvent, second: TraceEvent) -> bool:
    """Whether two kernels ran beside each other; on an H100 the next one of a stream starts up to
    0.3 µs before the end."""
    shorter = min(first.end - first.start, second.end - second.start)
    return first.end - second.start > shorter / 2
