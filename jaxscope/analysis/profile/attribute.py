"""From profiled calls to seconds by instruction and by line, with their uncertainty."""

import collections
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.profile.fusion_split import FusionSplitter, OwnerWeights, containers
from jaxscope.analysis.profile.line_owners import LineOwners
from jaxscope.analysis.profile.merged_lines import with_merged
from jaxscope.analysis.profile.profiled_calls import (
    CallTimes,
    ProfiledSession,
    call_times,
    median_of_sessions,
)
from jaxscope.analysis.profile.settled import line_shares, unsettled
from jaxscope.analysis.profile.warnings import command_buffers, graph_warnings, unreliable, warnings
from jaxscope.model.profile import (
    JointTime,
    LineTime,
    MergedLine,
    OpTime,
    Profile,
    SessionTimes,
    SourceLine,
)

_MOST_OPS = 8
MODEL = "relative CPU costs of operations: a model, not a measurement"
MEASURED = "measured seconds of each isolated line"

_Owners = Callable[[str], OwnerWeights[SourceLine]]


def profile(
    module: HloModule,
    owners: Sequence[LineOwners],
    sessions: Sequence[ProfiledSession],
    device: str,
    merged: Sequence[MergedLine] = (),
    measured: Sequence[Mapping[SourceLine, float]] = (),
    possible: Sequence[Mapping[str, frozenset[SourceLine]]] = (),
) -> Profile:
    """The profile of a program, from at least one profiled call.

    `owners`, `measured` and `possible` are by source; `possible` has the lines of an instruction
    that may be of several. The lines of one source, the unattributed time and the
    control-flow overhead add up to the covered time. Every other source divides the same time
    again, because a line includes what it calls.
    """
    seen = {op.name for session in sessions for call in session.calls for op in call.ops}
    boxes = containers(module, seen)
    parts = [call_times(session.kept, boxes) for session in sessions]
    whole = median_of_sessions(parts)
    lines: list[LineTime] = []
    joint: list[JointTime] = []
    unattributed = 0.0
    # A function of a library has no source: then all time is unattributed.
    for index, of_source in enumerate(owners or ({},)):
        isolated = with_merged(measured[index], merged) if index < len(measured) else None
        maybe = possible[index] if index < len(possible) else None
        splitter = FusionSplitter(module, of_source, seen, isolated, maybe)
        owners_of = functools.cache(splitter.owners_of)
        found, lost = _lines(whole, owners_of, parts)
        lines += found
        # Usually the cell; a program from elsewhere has its lines in another source.
        if index == 0 or lost < unattributed:
            unattributed = lost
            joint = _joint(whole, owners_of)
    ops = _ops(whole, module)
    covered = sum(op.seconds for op in ops)
    times = [SessionTimes(tuple([c.seconds for c in s.kept]), s.unprofiled) for s in sessions]
    result = Profile(
        device,
        tuple(times),
        round(sum(whole.times.values())),
        ops,
        tuple(sorted(lines, key=lambda line: line.place)),
        joint=tuple(joint),
        merged=tuple(merged),
        covered_s=covered,
        # A separate median, which may exceed that of the whole.
        concurrent_s=min(whole.concurrent, covered),
        dispatch_s=whole.dispatch,
        idle_s=whole.idle,
        completion_s=whole.completion,
        overhead_s=sum(whole.overhead.values()),
        unattributed_s=unattributed,
        weights=(MEASURED if measured else MODEL) if joint else "",
        activity=next((s.activity for s in reversed(sessions) if s.activity is not None), None),
    )
    hidden = sum(session.hidden for session in sessions)
    graphs = graph_warnings(hidden, command_buffers(module))
    first = owners[0] if owners else {}
    shares = [
        line_shares(part, lambda name: first[name].place if name in first else name)
        for part in parts
    ]
    calls = sum(len(session.kept) for session in sessions)
    caveats = (*warnings(result), *filter(None, [unsettled(shares, calls)]))
    return replace(result, unreliable=unreliable(result), warnings=(*graphs, *caveats))


def _ops(whole: CallTimes, module: HloModule) -> tuple[OpTime, ...]:
    rows = [
        OpTime(
            name,
            instruction.opcode if (instruction := module.instruction(name)) is not None else "",
            value,
            whole.cpu.get(name, 0.0),
            whole.times.get(name, 0.0),
            overhead=overhead,
        )
        for overhead, seconds in ((False, whole.by_op), (True, whole.overhead))
        for name, value in seconds.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.seconds))


@dataclass(slots=True)
class _Sums:
    estimate: float = 0.0
    low: float = 0.0
    high: float = 0.0
    approximate: float = 0.0
    ops: dict[str, float] = field(default_factory=dict[str, float])


def _lines(
    whole: CallTimes, owners_of: _Owners, sessions: Sequence[CallTimes]
) -> tuple[list[LineTime], float]:
    """The lines of one source, and the unattributed seconds."""
    sums, lost = _split(whole, owners_of)
    each = [_split(session, owners_of)[0] for session in sessions]
    rows: list[LineTime] = []
    for place, row in sums.items():
        seen = [session[place].estimate if place in session else 0.0 for session in each]
        rows.append(
            LineTime(
                place,
                row.estimate,
                row.low,
                row.high,
                row.approximate,
                range_s=(min(seen), max(seen)),
                ops=tuple(sorted(row.ops, key=lambda op: -row.ops[op])[:_MOST_OPS]),
            )
        )
    return rows, lost


def _split(times: CallTimes, owners_of: _Owners) -> tuple[dict[SourceLine, _Sums], float]:
    found: dict[SourceLine, _Sums] = collections.defaultdict(_Sums)
    lost = 0.0
    ops = ((name, seconds, True) for name, seconds in times.by_op.items())
    overhead = ((name, seconds, False) for name, seconds in times.overhead.items())
    for name, seconds, is_op in (*ops, *overhead):
        owners = owners_of(name)
        total = sum(owners.parts.values()) + owners.unknown
        lost += seconds * owners.unknown / total if total > 0 else seconds
        for place in owners.possible - owners.parts.keys():
            found[place].high += seconds
        for place, weight in owners.parts.items():
            row, part = found[place], seconds * weight / total
            inferred = part * owners.inferred.get(place, 0.0)
            row.estimate += part
            row.high += seconds
            row.approximate += inferred
            if len(owners.parts) == 1 and not owners.unknown:
                row.low += max(part - inferred, 0.0) if inferred else seconds
            if is_op:  # overhead has a line, and is not an instruction inside it
                row.ops[name] = part
    return found, lost


def _joint(whole: CallTimes, owners_of: _Owners) -> list[JointTime]:
    """Multi-line fusions, grouped by their lines, the longest first."""
    groups: dict[frozenset[SourceLine], tuple[float, list[str]]] = {}
    for name, seconds in whole.by_op.items():
        places = frozenset(owners_of(name).parts)
        if len(places) > 1:
            before, names = groups.get(places, (0.0, []))
            groups[places] = (before + seconds, [*names, name])
    rows = [JointTime(tuple(sorted(p)), s, tuple(names)) for p, (s, names) in groups.items()]
    return sorted(rows, key=lambda row: -row.seconds)
