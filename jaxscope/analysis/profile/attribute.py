"""From traced calls to seconds by instruction and by line, with how sure each is."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

from jaxscope.analysis.hlo import HloModule
from jaxscope.analysis.profile.doubts import command_buffers, distrust, doubts, in_graphs
from jaxscope.analysis.profile.folded import with_folded
from jaxscope.analysis.profile.fusion_split import Weigher, Work
from jaxscope.analysis.profile.origins import Origins
from jaxscope.analysis.profile.traced_calls import Divided, TracedSession, divided, middle
from jaxscope.model.profile import (
    Folded,
    JointTime,
    LineTime,
    OpTime,
    Place,
    Profile,
    ProfileSession,
)

_MOST_OPS = 8
MODEL = "relative costs of operations on a CPU: a model, not a measurement"
MEASURED = "seconds of each line in a build that keeps lines apart"


def profile(
    module: HloModule,
    origins: Sequence[Origins],
    sessions: Sequence[TracedSession],
    device: str,
    folded: Sequence[Folded] = (),
    measured: Sequence[Mapping[Place, float]] = (),
) -> Profile:
    """The profile of a program, from at least one traced call.

    `origins` and `measured` are by source. The lines of one source, what belongs to none of them
    and the overhead of loops add up to the covered time; another source divides the same time
    anew, since a line stands for what it calls.
    """
    seen = {op.name for session in sessions for call in session.calls for op in call.ops}
    opener: Weigher[Place] = Weigher(module, {}, seen)
    containers = {
        name
        for name in seen
        if (instruction := module.instruction(name)) is not None and opener.runs_others(instruction)
    }
    parts = [divided(session.kept, containers) for session in sessions]
    whole = middle(parts)
    lines: list[LineTime] = []
    joint: list[JointTime] = []
    unattributed = 0.0
    crossing = False
    # A function of a library alone has no source: then all time belongs to no known line.
    for index, origin in enumerate(origins or ({},)):
        apart = with_folded(measured[index], folded) if index < len(measured) else None
        weigher = Weigher(module, origin, seen, apart)
        work = functools.cache(weigher.work)
        found, lost = _lines(whole, work, parts)
        lines += found
        # The cell as a rule; a program from elsewhere has its lines in another source.
        if index == 0 or lost < unattributed:
            unattributed = lost
            joint = _joint(whole, work)
            crossing = bool(joint)
    ops = _ops(whole, module)
    covered = sum(op.seconds for op in ops)
    result = Profile(
        device,
        tuple(_session(session) for session in sessions),
        round(sum(whole.times.values())),
        ops,
        tuple(sorted(lines, key=lambda line: line.place)),
        tuple(joint),
        tuple(folded),
        covered,
        # A median of its own, which may come out above that of the whole.
        min(whole.concurrent, covered),
        whole.dispatch,
        whole.gaps,
        whole.returned,
        sum(whole.overhead.values()),
        unattributed,
        (MEASURED if measured else MODEL) if crossing else "",
    )
    hidden = sum(session.hidden for session in sessions)
    return dataclasses.replace(
        result,
        distrust=distrust(result),
        doubts=(*in_graphs(hidden, command_buffers(module)), *doubts(result)),
        activity=next((s.activity for s in reversed(sessions) if s.activity is not None), None),
    )


def _session(session: TracedSession) -> ProfileSession:
    return ProfileSession(tuple(call.seconds for call in session.kept), session.untraced)


def _ops(whole: Divided, module: HloModule) -> tuple[OpTime, ...]:
    rows: list[OpTime] = []
    for overhead, seconds in ((False, whole.by_op), (True, whole.overhead)):
        for name, value in seconds.items():
            instruction = module.instruction(name)
            rows.append(
                OpTime(
                    name,
                    instruction.opcode if instruction is not None else "",
                    value,
                    whole.cpu.get(name, 0.0),
                    whole.times.get(name, 0.0),
                    overhead,
                )
            )
    return tuple(sorted(rows, key=lambda row: -row.seconds))


def _lines(
    whole: Divided, work: Callable[[str], Work[Place]], sessions: Sequence[Divided]
) -> tuple[list[LineTime], float]:
    """The lines of one source, and the seconds that belong to none of them."""
    estimate, low, high, inferred, lost = _split(_times(whole), work)
    each = [_split(_times(session), work)[0] for session in sessions]
    parts = _parts(whole, work)
    rows: list[LineTime] = []
    for place in estimate:
        seen = [session.get(place, 0.0) for session in each]
        rows.append(
            LineTime(
                place,
                estimate[place],
                low.get(place, 0.0),
                high[place],
                inferred.get(place, 0.0),
                (min(seen), max(seen)),
                tuple(sorted(parts[place], key=lambda op: -parts[place][op])[:_MOST_OPS]),
            )
        )
    return rows, lost


def _parts(whole: Divided, work: Callable[[str], Work[Place]]) -> dict[Place, dict[str, float]]:
    """Line → its seconds in each instruction."""
    found: dict[Place, dict[str, float]] = collections.defaultdict(dict)
    for name, seconds in whole.by_op.items():
        weights = work(name).parts
        total = sum(weights.values()) or 1.0
        for place, weight in weights.items():
            found[place][name] = seconds * weight / total
    # A loop's own overhead has a line and no instruction inside it.
    return collections.defaultdict(dict, found)


def _times(found: Divided) -> Iterable[tuple[str, float]]:
    yield from found.by_op.items()
    yield from found.overhead.items()


def _split(
    times: Iterable[tuple[str, float]], work: Callable[[str], Work[Place]]
) -> tuple[dict[Place, float], dict[Place, float], dict[Place, float], dict[Place, float], float]:
    """Estimate, lower and upper bound, inferred part by line; and what belongs to none."""
    estimate: dict[Place, float] = collections.defaultdict(float)
    low: dict[Place, float] = collections.defaultdict(float)
    high: dict[Place, float] = collections.defaultdict(float)
    inferred: dict[Place, float] = collections.defaultdict(float)
    lost = 0.0
    for name, seconds in times:
        whose = work(name)
        total = sum(whose.parts.values())
        if total <= 0:
            lost += seconds
            continue
        for place, weight in whose.parts.items():
            part = seconds * weight / total
            estimate[place] += part
            high[place] += seconds
            if len(whose.parts) == 1:
                low[place] += seconds
            if not whose.sure:
                inferred[place] += part
    return dict(estimate), dict(low), dict(high), dict(inferred), lost


def _joint(whole: Divided, work: Callable[[str], Work[Place]]) -> list[JointTime]:
    """The instructions that do several lines' work, gathered by these lines; longest first."""
    groups: dict[frozenset[Place], tuple[float, list[str]]] = {}
    for name, seconds in whole.by_op.items():
        places = frozenset(work(name).parts)
        if len(places) > 1:
            before, names = groups.get(places, (0.0, []))
            groups[places] = (before + seconds, [*names, name])
    rows = [JointTime(tuple(sorted(p)), s, tuple(names)) for p, (s, names) in groups.items()]
    return sorted(rows, key=lambda row: -row.seconds)
