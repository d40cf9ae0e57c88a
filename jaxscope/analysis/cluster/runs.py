"""The same cell or script on many processes: equal facts once, the others by process."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jaxscope import words
from jaxscope.analysis.cluster.exchange_order import order_mismatch
from jaxscope.model.cluster import ProcessRun

_RANGES = 6
"""Ranges of processes that a text names."""


@dataclass(frozen=True, slots=True)
class ProcessSpread:
    """A quantity over processes."""

    low: float
    median: float
    high: float
    highest: int
    """The process with the largest value."""
    count: int


@dataclass(frozen=True, slots=True)
class ProgramGroup:
    """Processes that have the same program."""

    name: str
    fingerprint: str
    place: str
    processes: tuple[int, ...]
    compile_s: ProcessSpread | None
    """None where no process compiled it."""
    everywhere: bool
    """Whether every process has it."""


@dataclass(frozen=True, slots=True)
class MergedRuns:
    """A cell or a script on many processes: as much as is shown, whatever their number."""

    processes: tuple[int, ...]
    hosts: int
    programs: tuple[ProgramGroup, ...]
    lines: dict[int, ProcessSpread]
    wall: ProcessSpread | None
    printed: dict[str, tuple[int, ...]]
    """Processes by what they printed."""
    errors: dict[str, tuple[int, ...]]
    """Processes by the exception that ended the cell."""
    leads: tuple[int, ...]
    """The lowest process of each set of programs, of which a report is shown."""
    mismatch: str = ""
    """The first collective at which processes differ, where the cell was profiled."""

    @property
    def failed(self) -> dict[int, str]:
        """The exception of each process that has one."""
        return {process: text for text, found in self.errors.items() for process in found}


def merged(runs: Sequence[ProcessRun]) -> MergedRuns:
    """The runs of all processes as one."""
    runs = sorted(runs, key=lambda run: run.process)
    reported = {run.process for run in runs if run.reported}
    return MergedRuns(
        tuple(run.process for run in runs),
        len({run.host for run in runs}),
        program_groups(runs),
        line_spreads(runs),
        spread({run.process: run.wall_s for run in runs if run.wall_s is not None}),
        said((run.process, run.printed) for run in runs),
        said((run.process, run.error) for run in runs),
        tuple(lead for lead in leads(runs) if lead in reported),
        order_mismatch(runs),
    )


def spread(values: Mapping[int, float]) -> ProcessSpread | None:
    """The spread of values by process; None without values."""
    if not values:
        return None
    highest = max(values, key=lambda process: (values[process], -process))
    found = values.values()
    return ProcessSpread(
        min(found), statistics.median(found), values[highest], highest, len(values)
    )


def program_groups(runs: Sequence[ProcessRun]) -> tuple[ProgramGroup, ...]:
    """One row per function and program; those that not every process has come first."""
    processes: dict[tuple[str, str], dict[int, None]] = defaultdict(dict)
    seconds: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    places: dict[tuple[str, str], str] = {}
    for run in runs:
        for program in run.programs:
            key = (program.name, program.fingerprint)
            processes[key][run.process] = None
            places.setdefault(key, program.place)
            if program.compile_s is not None:
                before = seconds[key].get(run.process, 0.0)
                seconds[key][run.process] = before + program.compile_s
    rows = [
        ProgramGroup(
            name,
            fingerprint,
            places[name, fingerprint],
            tuple(found),
            spread(seconds[name, fingerprint]),
            len(found) == len(runs),
        )
        for (name, fingerprint), found in processes.items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.everywhere, len(row.processes))))


def line_spreads(runs: Sequence[ProcessRun]) -> dict[int, ProcessSpread]:
    """Seconds of each line of the cell over the processes that ran it."""
    lines: dict[int, dict[int, float]] = defaultdict(dict)
    for run in runs:
        for line, seconds in run.lines:
            lines[line][run.process] = seconds
    return {line: found for line in sorted(lines) if (found := spread(lines[line])) is not None}


def leads(runs: Sequence[ProcessRun]) -> dict[int, tuple[int, ...]]:
    """The lowest process of each set of programs, and the processes that have the same."""
    groups: dict[tuple[tuple[str, str], ...], list[int]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.process):
        if not run.error:
            programs = sorted((p.name, p.fingerprint) for p in run.programs)  # else by their cost
            groups[tuple(programs)].append(run.process)
    return {processes[0]: tuple(processes) for processes in groups.values()}


def said(texts: Iterable[tuple[int, str]]) -> dict[str, tuple[int, ...]]:
    """Processes by text, so that an equal text is shown once; empty texts are left out."""
    groups: dict[str, list[int]] = defaultdict(list)
    for process, text in texts:
        if text.strip():
            groups[text].append(process)
    return {text: tuple(processes) for text, processes in groups.items()}


def joined(found: Iterable[Mapping[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
    """Several results of `said` as one."""
    return said((process, text) for one in found for text, who in one.items() for process in who)


def ranges(processes: Iterable[int]) -> str:
    """`process 3`, `processes 0–4 and 7`."""
    found = sorted(processes)
    return f"{'process' if len(found) == 1 else 'processes'} {spans(found)}"


def spans(numbers: Iterable[int]) -> str:
    """`3`, `0 and 1`, `0–4 and 7`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    texts = [
        text
        for run in found
        for text in (map(str, run) if len(run) < 3 else [f"{run[0]}–{run[-1]}"])
    ]
    return words.listed(texts, _RANGES)
