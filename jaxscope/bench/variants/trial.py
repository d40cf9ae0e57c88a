"""Try the fixes of a report: each change is built, compared, timed and judged."""

from __future__ import annotations

import dataclasses
import math
import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from jaxscope.analysis.variants import verdicts
from jaxscope.analysis.variants.edits import unified
from jaxscope.analysis.variants.fixes import Fix, advised
from jaxscope.analysis.variants.reached import reached_programs
from jaxscope.analysis.variants.recompilations import Recompilation
from jaxscope.bench.cell.timed_code import describe_error
from jaxscope.bench.rounds.watchdog import Alarm, TimedOut
from jaxscope.bench.variants import changed_state, rounds
from jaxscope.bench.variants.built_program import BuiltProgram
from jaxscope.bench.variants.isolation import (
    TrialFailed,
    TrialRefused,
    isolated,
    missing,
    reached,
    refuse_effects,
)
from jaxscope.bench.variants.programs import Builder
from jaxscope.bench.variants.recompiled import tried_cell, tried_traced
from jaxscope.capture.jaxpr.callbacks import unlogged_callbacks
from jaxscope.capture.run.context import RunOrigin
from jaxscope.capture.source.frames import CALL_FILE
from jaxscope.model import FindingKind, Form, Record, SourceKind
from jaxscope.model.variants import Aim, Change, TrialVerdict, VariantTrial
from jaxscope.results.trials import Trials

NO_ORIGIN = (
    "This report does not hold its code and inputs: run the cell or the call again with %jaxjit."
)
_ENDED = "The cell ended with {}, so it cannot be tried: run it again without the error."
NOT_RUN = (
    "This report is of a program for {}, which was compiled and not run: run it with %jaxjit "
    "without --target."
)
FORMS = (Form.BLOCK, Form.FUNCTION, Form.DECORATOR, Form.LINE, Form.CALL, Form.PROFILED)
_NO_FINDING = "The report has no findings, so there is no fix to try."
_NOTHING_AGAIN = "{} recompiled nothing with a fix, so there is no fix to try."
_UNREACHED = "The program does not use the function that was changed."
_SAME_PROGRAM = "Both compile to the same program."


_CAVEATS = (FindingKind.UNCERTAIN_FIGURE, FindingKind.APPROXIMATE_SOURCE_MAPPING)


class TrialError(ValueError):
    """There is nothing to try; the text is a sentence."""


def try_fixes(
    record: Record,
    origin: RunOrigin | None,
    findings: Sequence[int] = (),
    time_limit: float = 30.0,
    say: Callable[[str], None] = lambda text: None,
) -> Trials:
    """The fixes of these findings, from 1, or of all; `time_limit` is of each.

    Raises TrialError where there is nothing to try.
    """
    origin = runnable(record, origin)
    advice = advised(record)
    if not advice:
        only_log = record.compiles and not record.programs
        raise TrialError(_NOTHING_AGAIN.format(record.title) if only_log else _NO_FINDING)
    for one in findings:
        if not 1 <= one <= len(advice):
            raise TrialError(f"There is no finding {one}: the report has {len(advice)}.")
    chosen = [one for one in advice if one.number in findings or not findings]
    if not findings:
        chosen = [one for one in chosen if one.kind not in _CAVEATS]
    if not chosen:
        raise TrialError("The findings are about figures of the report: there is no fix to try.")
    timed = all(one.recompilation is None for one in chosen)
    if timed and (why := rounds.too_long(record, time_limit)):
        raise TrialError(why)
    found = _Trials(record, origin, time_limit, say)
    return Trials(tuple([found.of(one) for one in chosen]), record.title)


def runnable(record: Record, origin: RunOrigin | None) -> RunOrigin:
    """The code and the inputs of the report. Raises TrialError where it does not hold them."""
    for program in record.programs:
        if program.target is not None:
            raise TrialError(NOT_RUN.format(program.target.target))
    if record.profile is not None and record.profile.ended_by:
        raise TrialError(_ENDED.format(record.profile.ended_by))
    if origin is None or origin.form not in FORMS:
        raise TrialError(NO_ORIGIN)
    return origin


@dataclasses.dataclass(slots=True)
class _Trials:
    """Trials of one report, which share the original program."""

    record: Record
    origin: RunOrigin
    time_limit: float
    say: Callable[[str], None]
    _known: dict[Change, VariantTrial] = dataclasses.field(default_factory=dict)
    """Trials by change: two findings may advise the same one."""

    def of(self, advice: Fix) -> VariantTrial:
        """One trial; it never raises but for an interrupt."""
        number, kind = advice.number, str(advice.kind) + self._where(advice.source)
        if isinstance(advice.change, str):
            return VariantTrial(
                kind, TrialVerdict.NOT_TRIED, advice.change, number=number, line=advice.line
            )
        change, found = self._best(advice.change, advice.recompilation)
        source = self.record.sources[change.source] if self.record.sources else None
        text = "" if source is None else source.text
        cell = change.text if source is not None and source.kind is not SourceKind.MODULE else ""
        if source is not None and source.file == CALL_FILE:
            cell = "\n".join([*_imports(change, self.origin), f"%jaxjit {cell}"])
        shown = unified(text, change.text) if change.text else ""
        if change.lines:
            shown, cell = "\n".join([f"+{one}" for one in change.lines.split("\n")]), change.lines
        option = ("-d", change.donate) if change.donate else ("-t", change.traced)
        if option[1]:
            cell = _with_option(text, f"{option[0]} {','.join(option[1])}")
            shown = unified(text, cell)
        if found.verdict is TrialVerdict.NOT_TRIED:
            return dataclasses.replace(found, title=kind, number=number, line=advice.line)
        return dataclasses.replace(
            found,
            title=found.title + self._where(change.source),
            number=number,
            line=change.line,
            diff=shown,
            cell=cell.rstrip(),
        )

    def _where(self, source: int) -> str:
        """The place of a line that is not in the cell of the report."""
        known = len(self.record.sources)
        return f" in {self.record.sources[source].name}" if 0 < source < known else ""

    def _best(
        self, change: Change, recompilation: Recompilation | None
    ) -> tuple[Change, VariantTrial]:
        """The change, or another form of it that is better or costs less time.

        A further form is tried while the first one leaves time for it.
        """
        began = time.perf_counter()
        forms = [self._tried(change, recompilation)]
        if _costs(forms[0][1], change.aim) and time.perf_counter() - began < self.time_limit:
            forms += [self._tried(one, recompilation) for one in change.others]
        return min(forms, key=lambda one: _rank(one[1]))

    def _tried(
        self, change: Change, recompilation: Recompilation | None
    ) -> tuple[Change, VariantTrial]:
        source = self.record.sources[change.source] if self.record.sources else None
        change = with_jax(change, self.origin, "" if source is None else source.file)
        self.say(f"trying: {change.title}")
        key = dataclasses.replace(change, line=None)
        found = self._known.get(key) or tried(
            self.record, self.origin, change, self.time_limit, recompilation
        )
        self._known[key] = found
        return change, found


_RANKS = (TrialVerdict.BETTER, TrialVerdict.SAME, TrialVerdict.UNCLEAR, TrialVerdict.WORSE)


def _rank(trial: VariantTrial) -> tuple[int, float]:
    """The place of a form among the others: a gain first, the larger one before."""
    if trial.verdict is TrialVerdict.BETTER:
        return 0, trial.ratio.estimate if trial.ratio else 1.0
    return 1 + int(trial.verdict not in _RANKS), 0.0


def _costs(trial: VariantTrial, aim: Aim) -> bool:
    """Whether a change that was tried brings nothing, or makes calls slower; or whether its other
    form may be a fix where it is none."""
    if trial.verdict is TrialVerdict.BETTER:
        return trial.ratio is not None and trial.ratio.low > 1
    if trial.verdict in (TrialVerdict.FAILED, TrialVerdict.RESULTS_DIFFER):
        return aim is Aim.COMPILATIONS
    return trial.verdict is not TrialVerdict.NOT_TRIED


def with_jax(change: Change, origin: RunOrigin, file: str = "") -> Change:
    """The change with `import jax` where its code needs that and the namespace lacks it."""
    if file == CALL_FILE or not _imports(change, origin):
        return change
    lines = change.text.split("\n")
    lines.insert(int(lines[0].startswith("%%")), "import jax")
    return dataclasses.replace(change, text="\n".join(lines))


def _imports(change: Change, origin: RunOrigin) -> list[str]:
    known = origin.held is not None or "jax" in origin.namespace or "import jax\n" in change.text
    return ["import jax"] if re.search(r"\bjax\.", change.text) and not known else []


def _with_option(text: str, option: str) -> str:
    first, _, rest = text.partition("\n")
    if not first.startswith("%%"):
        return text
    magic, _, line = first.partition(" ")
    return "\n".join([f"{magic} {option} {line}".rstrip(), rest])


def tried(
    record: Record,
    origin: RunOrigin,
    change: Change,
    time_limit: float,
    recompilation: Recompilation | None = None,
) -> VariantTrial:
    """One change, tried within so many seconds beyond its compilation."""
    with Alarm() as alarm, explained(change) as outcome:
        builder = Builder(origin, record.sources, _wanted(record, change), time_limit)
        if recompilation is not None:
            way = tried_traced if change.traced else tried_cell
            outcome.append(way(builder, recompilation, change, built_or_explained, alarm))
        else:
            before = built_or_explained(builder, Change(""), alarm)
            after = built_or_explained(builder, change, alarm, before)
            deadline = time.perf_counter() + time_limit
            outcome.append(judged(change, before, after, alarm, deadline))
    found = outcome[0]
    outside = (origin.text is None or change.source != 0) and not change.products
    if found.why == _SAME_PROGRAM and outside:
        return dataclasses.replace(found, verdict=TrialVerdict.NOT_TRIED, why=_UNREACHED)
    return found


def _wanted(record: Record, change: Change) -> str:
    """The name of the program to compare. Raises TrialRefused where the change reaches none."""
    known = tuple(dict.fromkeys(one.name for one in record.programs))
    if len(known) < 2 or not change.text or record.form not in (Form.FUNCTION, Form.DECORATOR):
        return known[0] if known else ""
    names = reached_programs(record, change)
    if not names:
        raise TrialRefused("No program of the report uses the lines that the fix changes.")
    return names[0]


@contextmanager
def explained(change: Change) -> Generator[list[VariantTrial]]:
    """The outcome of a trial; where it raises, a failed one with the reason."""
    outcome: list[VariantTrial] = []
    try:
        yield outcome
    except (TrialFailed, TimedOut) as failed:
        outcome.append(_without_figures(change, TrialVerdict.FAILED, str(failed)))
    except TrialRefused as refused:
        outcome.append(_without_figures(change, TrialVerdict.NOT_TRIED, str(refused)))
    except NameError as error:
        why = f"`{error.name}` was deleted since the run: create it again, and run the cell again."
        outcome.append(_without_figures(change, TrialVerdict.NOT_TRIED, why))
    except Exception as error:
        why = f"It raised {describe_error(error)}."
        outcome.append(_without_figures(change, TrialVerdict.FAILED, why))


def _without_figures(change: Change, verdict: TrialVerdict, why: str) -> VariantTrial:
    return VariantTrial(change.title, verdict, why, options=change.options)


def built_or_explained(
    builder: Builder, change: Change, alarm: Alarm, original: BuiltProgram | None = None
) -> BuiltProgram:
    """The original or a changed program; the namespace is the same afterwards.

    Raises TrialRefused where the code itself raises, and TrialFailed where the changed code does.
    """
    try:
        with unlogged_callbacks():
            return built(builder, change, alarm, original)
    except (TrialRefused, TimedOut):
        raise
    except NameError as error:
        if change == Change(""):
            raise
        what = describe_error(error)
        raise TrialFailed(f"The changed code raised {what}, so it is no fix here.") from error
    except Exception as error:
        what = describe_error(error)
        if change == Change(""):
            raise TrialRefused(f"The code itself now raises {what}: run the cell again.") from error
        raise TrialFailed(f"The changed code raised {what}, so it is no fix here.") from error


def built(
    builder: Builder, change: Change, alarm: Alarm, original: BuiltProgram | None = None
) -> BuiltProgram:
    """One program, built in an isolated namespace."""
    space, names, call = builder.space, builder.names(), builder.call
    function = None if call is None else call.function
    plain = builder.origin.form is Form.PROFILED
    refuse_effects(builder.syntax, space, names, function, silenced=plain)
    missing(space, names)
    if call is not None:
        missing({call.name: (call.args, call.kwargs)}, (call.name,))
    wanted = reached(space, names)
    with isolated(space, wanted) as copies, alarm.within(builder.limit_s, "The trial"):
        objects = {} if plain else changed_state.changeable(copies, wanted)
        earlier = changed_state.snapshot(objects)
        found = builder.build(copies, change, original)
        state = {**found.state, **changed_state.after(earlier, objects)}
    loops = builder.loop_names()
    results = {name: value for name, value in found.results.items() if name not in loops}
    return dataclasses.replace(found, results=results, state=state)


def judged(
    change: Change, before: BuiltProgram, after: BuiltProgram, alarm: Alarm, deadline: float
) -> VariantTrial:
    """Compare the results of two programs, and time one against the other."""
    check = rounds.compared(before, after)
    old, new = before.plan, after.plan
    if not (check.agrees or (change.rounds_more and math.isfinite(check.error))):
        differ = TrialVerdict.RESULTS_DIFFER
        return VariantTrial(
            change.title,
            differ,
            check.text,
            error=check.error,
            options=change.options,
            before=old,
            after=new,
        )
    edits = change.text or change.products
    if edits and before.same_program(after) and not after.donates:
        return VariantTrial(
            change.title, TrialVerdict.SAME, _SAME_PROGRAM, before=old, after=new, error=check.error
        )
    ratio = rounds.ratio(before, after, deadline, alarm)
    verdict, why = verdicts.judge(ratio, change.aim, before.plan, after.plan)
    known = rounds.compares(before, after)
    if verdict is TrialVerdict.BETTER and not known:
        verdict, why = TrialVerdict.UNCLEAR, rounds.UNCHECKED
    return VariantTrial(
        change.title,
        verdict,
        why,
        ratio=ratio,
        error=check.error if known else None,
        options=change.options,
        before=old,
        after=new,
    )
