"""A whole comparison: the ends of the sizes first, at each the rows prepared and measured."""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TextIO

from jaxscope import words
from jaxscope.analysis.comparison import names
from jaxscope.bench import checks, columns
from jaxscope.bench.cell.timed_code import describe_error
from jaxscope.bench.frameworks import registry
from jaxscope.bench.frameworks.implementation import Implementation
from jaxscope.bench.placement import host_arrays, mover, place
from jaxscope.bench.plan import Entry, Plan, Progress, Size, validate
from jaxscope.bench.prepare import Failed, Ready, Setting, get_ready, silenced
from jaxscope.bench.rounds import memory_check
from jaxscope.bench.rounds.machine import MachineCounters, Signals
from jaxscope.bench.rounds.rounds import dropped, finished, run_rounds
from jaxscope.bench.rounds.timed_call import CallCounter, TimedImplementation
from jaxscope.bench.rounds.watchdog import Alarm, TimedOut
from jaxscope.bench.rows import PlannedRow, planned_rows, unavailable_devices
from jaxscope.bench.warnings import rounds as round_warnings
from jaxscope.capture.compiles.listener import Listener, own_work
from jaxscope.capture.program import describe
from jaxscope.capture.timing.earlier_work import wait_for_earlier_work
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow

_NOTIFY_EVERY_S = 0.5
_COLUMNS_S = 1.0  # for the columns of a row, even when the time of the whole is over


def compare(plan: Plan, signals: Signals | None = None) -> ComparisonRecord:
    """Measure the plan in this process. Raises PlanError when it cannot be measured."""
    validate(plan)
    return _Measurement(plan, signals or Signals()).record()


def order_of(sizes: Sequence[Size], seed: int) -> list[int]:
    """Indices of the sizes in the order of measuring: both ends, then the middle of each gap.

    Wherever the time limit ends it, the whole range is covered. Neighbors are not measured one
    after the other, so that a drift of the machine is not taken for an effect of the size.
    """
    rising = sorted(range(len(sizes)), key=lambda index: tuple(sizes[index].values()))
    ends = list(dict.fromkeys([0, len(rising) - 1])) if rising else []
    random.Random(seed).shuffle(ends)
    found, gaps = ends, [(0, len(rising) - 1)]
    while gaps:
        low, high = gaps.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            found.append(middle)
            gaps += [(low, middle), (middle, high)]
    return [rising[index] for index in found]


@dataclass(slots=True)
class _Measurement:
    plan: Plan
    signals: Signals
    implementations: dict[str, Implementation] = field(default_factory=dict[str, Implementation])
    registered: Mapping[str, Any] = field(default_factory=registry.points)
    rounds: int = 0
    preempted: int = 0
    dropped: int = 0
    """Rounds of all sizes, for the warnings about the machine."""
    began: MachineCounters = field(default_factory=lambda: MachineCounters(0.0))
    began_s: float = 0.0
    notified_s: float = 0.0
    sizes_done: int = 0
    stopped: str = ""
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    """The stream for progress, also while the code is silenced."""
    notes: list[str] = field(default_factory=list[str])
    counters: dict[tuple[int, str], CallCounter] = field(
        default_factory=dict[tuple[int, str], CallCounter]
    )
    """Calls of each function, over all sizes."""

    def record(self) -> ComparisonRecord:
        plan = self.plan
        self._import_frameworks()
        wait_for_earlier_work()
        self.began_s = time.perf_counter()
        self.notes += filter(None, [unavailable_devices(plan, self._implementation)])
        self.began = self.signals.read()
        sizes = list(plan.sizes or ({},))
        rows: dict[int, list[ComparisonRow]] = {}
        order = order_of(sizes, plan.seed)
        # The programs of a benchmark are its own: the log of the session does not have them.
        listener = Listener(keeps_programs=False)
        with listener, own_work(seen_by=listener), Alarm() as alarm:
            for done, index in enumerate(order):
                if not self.stopped and time.perf_counter() > self._deadline():
                    self.stopped = (
                        f"the time limit of {plan.limits.total_s:.3g} s was reached after {done} "
                        f"of {words.count(len(sizes), 'size')}"
                    )
                if self.stopped:
                    left = planned_rows(plan, sizes[index], self._implementation)
                    rows[index] = [one.finished(self.stopped) for one in left]
                    continue
                self.sizes_done = done
                try:
                    rows[index] = self._size(sizes[index], done / len(order), listener, alarm)
                finally:
                    plan.restore()
        uses_gpu = any(row.device.startswith("gpu") for found in rows.values() for row in found)
        machine = self.signals.machine(self.began, self.signals.read(), uses_gpu)
        return ComparisonRecord(
            plan.title or "comparison",
            describe.now(),
            describe.environment(),
            tuple([row for index in range(len(sizes)) for row in rows[index]]),
            self._baseline,
            mode=plan.mode,
            machine=machine,
            versions=self._versions(),
            warnings=tuple(
                round_warnings.machine_warnings(machine, self.rounds, self.preempted, self.dropped)
            ),
            stopped=self.stopped,
            notes=tuple(dict.fromkeys([*plan.notes(), *self.notes])),
            wall_s=time.perf_counter() - self.began_s,
        )

    def _size_deadline(self) -> float:
        """The end of one size's preparation: half of the rest, for later sizes to have the other.

        One slow compilation would otherwise take the time of all sizes.
        """
        now, last = time.perf_counter(), self.sizes_done + 1 >= len(self.plan.sizes)
        return now + (self._deadline() - now) / (1 if last else 2)

    def _import_frameworks(self) -> None:
        """Before the clock starts: the time limit is for measuring, and PyTorch takes seconds."""
        for name in dict.fromkeys([entry.implementation for entry in self.plan.entries]):
            implementation = self._implementation(name)
            # An exception here is raised again, and reported, where the rows are planned.
            with contextlib.suppress(Exception):
                if not implementation.missing():
                    implementation.devices()

    def _size(
        self, size: Size, done: float, listener: Listener, alarm: Alarm
    ) -> list[ComparisonRow]:
        """The rows of one size. An interrupt keeps the rounds so far."""
        share = 1 / len(self.plan.sizes or ({},))
        label = names.size(tuple(size.items()))

        def notify(text: str, part: float = 0.0) -> None:
            self._notify(f"{label}: {text}" if label else text, done + share * part)

        planned = planned_rows(self.plan, size, self._implementation)
        try:
            found = self._inputs(size)
            if isinstance(found, str):
                return [replace(one.row, failure=one.row.failure or found) for one in planned]
            inputs, host = found
            with contextlib.ExitStack() as stack:
                setting = Setting(
                    plan=self.plan,
                    inputs=inputs,
                    host=host,
                    alarm=alarm,
                    signals=self.signals,
                    notify=notify,
                    compile_count=lambda: listener.compile_count,
                    counter=self._counter,
                    stack=stack,
                    deadline=self._size_deadline(),
                )
                self._prepare(planned, setting)
                readies = [one.ready for one in planned if one.ready is not None]
                if readies:
                    with silenced():  # the first calls have shown their output
                        self._measure(readies, setting, notify)
        except KeyboardInterrupt:
            self.stopped = self.stopped or (f"interrupted at {label}" if label else "interrupted")
        return [one.finished(self.stopped) for one in planned]

    def _prepare(self, planned: list[PlannedRow], setting: Setting) -> None:
        """Make ready the rows that can be measured; the others get the reason."""
        # Where the look itself takes too long, the rows show whether they do.
        too_much, limit_s = "", setting.at_most(self.plan.limits.call_s)
        with contextlib.suppress(TimedOut), setting.alarm.within(limit_s, "the tracing"):
            too_much = memory_check.intermediates(
                setting.counted_plan(), setting.inputs, setting.host, self._implementation
            )
        for one in planned:
            self.plan.restore()
            if one.row.failure:
                continue
            if too_much:
                one.row = replace(one.row, failure=too_much)
                continue
            try:
                one.ready = get_ready(one.entry, one.implementation, one.row, setting)
            except Failed as failed:
                one.row = failed.row
        self.plan.restore()

    def _measure(
        self, readies: Sequence[Ready], setting: Setting, notify: Callable[..., None]
    ) -> None:
        """The checks, rounds, columns and warnings of the prepared rows."""
        limits = self.plan.limits
        checks.check_all(readies, setting, self._implementation)
        subjects = [ready.subject for ready in readies]
        baseline = next((r.subject for r in readies if r.row.label == self._baseline), subjects[0])

        def on_round(count: int) -> None:
            if time.perf_counter() - self.notified_s > _NOTIFY_EVERY_S:
                notify(f"round {count}", min(count / limits.min_rounds, 0.95))

        # Of the rest of the time, the share of this size.
        rest = self._deadline() - time.perf_counter()
        share = max(rest / max(len(self.plan.sizes) - self.sizes_done, 1), 0.0)
        twin = self._twin(next(one for one in readies if one.subject is baseline), setting)
        ended = run_rounds(
            subjects,
            baseline,
            replace(limits, seconds=min(limits.seconds, share)),
            alarm=setting.alarm,
            twin=twin,
            deadline=self._deadline(),
            seed=self.plan.seed,
            on_round=on_round,
        )
        self._collect(readies, baseline, twin)
        size = names.size(readies[0].row.size)
        reason = f"{ended} of {size}" if size else ended
        if ended.startswith("interrupted"):
            self.stopped = reason
        elif ended:
            self.notes.append(names.sentence(reason))
        if self.plan.columns and not self.stopped:
            try:
                self._columns(readies, setting, notify)
            except KeyboardInterrupt:
                self.stopped = "interrupted before dispatch, device time and memory were measured"
        environment = round_warnings.settings()
        for ready in readies:
            failed = ready.subject.failure or self.stopped
            overhead_s = 0.0 if failed else columns.overhead_s(ready)
            ready.warnings += round_warnings.row_warnings(ready.row, overhead_s, environment)

    def _columns(
        self, readies: Sequence[Ready], setting: Setting, notify: Callable[..., None]
    ) -> None:
        """The passes apart from the rounds."""
        for ready in readies:
            if ready.subject.failure:
                continue
            what = f"{ready.row.label}: dispatch, device time and memory"
            notify(what, 0.97)
            try:
                limit_s = setting.at_most(10 * self.plan.limits.call_s)
                with setting.alarm.within(max(limit_s, _COLUMNS_S), what):
                    columns.measure_columns(ready)
            except TimedOut as stopped:
                self.notes.append(str(stopped))

    def _twin(self, ready: Ready, setting: Setting) -> TimedImplementation | None:
        """The baseline once more, where other processes keep the machine busy."""
        machine = self.signals.machine(self.began, self.signals.read())
        if not round_warnings.busy(machine) or len(self.plan.entries) < 2:
            return None
        subject, device = ready.subject, ready.row.device
        if subject.fresh is not None or not subject.args:
            return subject.twin(subject.args, None)
        args, _ = place(ready.implementation, setting.host, device)
        moved = mover(ready.implementation, setting.host, device, self.plan.seed + 1)
        return subject.twin(args, moved)

    def _collect(
        self,
        readies: Sequence[Ready],
        baseline: TimedImplementation,
        twin: TimedImplementation | None,
    ) -> None:
        """The samples into the rows."""
        subjects = [ready.subject for ready in readies]
        twins = [] if twin is None or twin.failure or baseline.failure else [twin]
        count = finished([*subjects, *twins])
        left_out, preempted = dropped([*subjects, *twins])
        self.rounds += count
        self.preempted += preempted
        self.dropped += len(left_out)
        for ready in readies:
            subject = ready.subject
            rounds = subject.rounds(left_out, len(subject.seconds) if subject.failure else count)
            ready.row = replace(
                ready.row,
                processes=(rounds,) if rounds.seconds else (),
                twin=tuple([one.rounds(left_out, count) for one in twins if subject is baseline]),
                failure=subject.failure,
            )

    def _inputs(self, size: Size) -> tuple[Mapping[str, Any], Mapping[str, Any]] | str:
        """The inputs of a size, or why there are none."""
        too_much = memory_check.inputs(self.plan, size)
        if too_much:
            return too_much
        try:
            inputs = self.plan.inputs(size)
            return inputs, host_arrays(inputs)
        except MemoryError as error:
            return f"There was not enough memory for the inputs: {describe_error(error)}."
        except Exception as error:
            return f"Creating the inputs raised {describe_error(error)}."

    def _implementation(self, name: str) -> Implementation:
        if name not in self.implementations:
            try:
                self.implementations[name] = registry.find(name, self.registered)
            except Exception as error:
                why = f"It raised {describe_error(error)}."
                self.implementations[name] = registry.Absent(name, why)
        return self.implementations[name]

    def _counter(self, entry: Entry, compiled: bool) -> CallCounter:
        key = (id(entry.function), entry.label if compiled else "")
        return self.counters.setdefault(key, CallCounter())

    @property
    def _baseline(self) -> str:
        return self.plan.baseline or self.plan.entries[0].label

    def _versions(self) -> tuple[tuple[str, str], ...]:
        found: dict[str, str] = {}
        for implementation in self.implementations.values():
            with contextlib.suppress(Exception):
                if not implementation.missing():
                    found |= dict(implementation.versions())
        return tuple(sorted(found.items()))

    def _deadline(self) -> float:
        total = self.plan.limits.total_s
        return float("inf") if total is None else self.began_s + total

    def _notify(self, text: str, done: float) -> None:
        self.notified_s = time.perf_counter()
        if self.plan.progress is not None:
            # A progress bar that fails must not lose the measurement.
            with contextlib.suppress(Exception), contextlib.redirect_stdout(self.stdout):
                self.plan.progress(Progress(text, min(done, 1.0)))
