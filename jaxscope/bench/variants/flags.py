"""A sweep of XLA's options on one call: each against the default, then the best two together."""

from __future__ import annotations

import time
from collections.abc import Callable

from jaxscope.analysis.variants.flags import Flag, flags_for
from jaxscope.bench.rounds.watchdog import Alarm, TimedOut
from jaxscope.bench.variants.built_program import BuiltProgram
from jaxscope.bench.variants.isolation import TrialRefused
from jaxscope.bench.variants.programs import Builder
from jaxscope.bench.variants.trial import TrialError, built, explained, judged, runnable
from jaxscope.capture.run.context import RunOrigin
from jaxscope.model import Form, Record
from jaxscope.model.variants import Change, TrialVerdict, VariantTrial
from jaxscope.results.trials import Trials

NO_PROGRAM = "There is no one compiled program to try options on: %jaxjit a call first."
NO_FLAGS = "There is no table of options for the backend `{}` of this jaxlib."


def sweep(
    record: Record,
    origin: RunOrigin | None,
    time_limit: float = 120.0,
    say: Callable[[str], None] = lambda text: None,
) -> Trials:
    """The options of this backend and jaxlib on the program of a call or a cell.

    Raises TrialError where there is nothing to sweep, or the original cannot be built.
    """
    origin = runnable(record, origin)
    if not record.programs or origin.form is Form.PROFILED:
        raise TrialError(NO_PROGRAM)
    program = record.programs[0]
    backend = program.devices[0].partition(":")[0] if program.devices else "cpu"
    table = flags_for(backend, record.environment.jaxlib)
    if not table:
        raise TrialError(NO_FLAGS.format(backend))
    deadline = time.perf_counter() + time_limit
    builder = Builder(origin, record.sources, program.name, time_limit)
    with Alarm() as alarm:
        try:
            original = built(builder, Change(""), alarm)
        except (TrialRefused, TimedOut) as refused:
            raise TrialError(str(refused)) from None
        found: list[VariantTrial] = []
        for flag in table:
            say(f"trying {flag.shown}")
            change = Change(flag.shown, options=((flag.name, flag.value),))
            found.append(_tried(builder, original, change, alarm, deadline))
        best = sorted(
            (one for one in found if one.verdict is TrialVerdict.BETTER),
            key=lambda one: one.ratio.estimate if one.ratio else 1.0,
        )[:2]
        if len(best) == 2 and best[0].options[0][0] != best[1].options[0][0]:
            say("trying the best two together")
            both = (*best[0].options, *best[1].options)
            change = Change(" and ".join(one.title for one in best), options=both)
            found.append(_tried(builder, original, change, alarm, deadline))
    found.sort(key=lambda one: (one.verdict is not TrialVerdict.BETTER, _time(one)))
    return Trials(found, record.title, "option")


def _time(trial: VariantTrial) -> float:
    return trial.ratio.estimate if trial.ratio is not None else float("inf")


def _tried(
    builder: Builder, original: BuiltProgram, change: Change, alarm: Alarm, deadline: float
) -> VariantTrial:
    if time.perf_counter() > deadline:
        why = "The time limit was reached before this option."
        return VariantTrial(change.title, TrialVerdict.NOT_TRIED, why, options=change.options)
    with explained(change) as outcome:
        after = built(builder, change, alarm)
        outcome.append(judged(change, original, after, alarm, deadline))
    return outcome[0]


__all__ = ["Flag", "sweep"]
