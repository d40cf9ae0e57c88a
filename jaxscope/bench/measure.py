"""The whole of a comparison: sizes in random order, at each the rows made ready and measured."""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TextIO

from jaxscope.bench import columns
from jaxscope.bench.frameworks import registry
from jaxscope.bench.frameworks.implementation import Contestant
from jaxscope.bench.placement import host_arrays
from jaxscope.bench.plan import Plan, Progress, Size, validate
from jaxscope.bench.prepare import Failed, Ready, Setting, checked, get_ready, said, unchecked
from jaxscope.bench.reference import Reference, reference
from jaxscope.bench.rounds import memory_check
from jaxscope.bench.rounds.captured_output import silenced
from jaxscope.bench.rounds.machine import Signals
from jaxscope.bench.rounds.rounds import dropped, finished, run_rounds
from jaxscope.bench.rounds.watchdog import Alarm, TimedOut
from jaxscope.bench.rows import Slot, slots, unseen
from jaxscope.bench.warnings import results
from jaxscope.bench.warnings import rounds as round_doubts
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.program import describe
from jaxscope.model.comparison import ComparisonRecord, Row
from jaxscope.view.comparison import names

_SAY_EVERY_S = 0.5
_COLUMNS_S = 1.0  # for the columns of a row, even when the time of the whole is over


def compare(plan: Plan, signals: Signals | None = None) -> ComparisonRecord:
    """Measure the plan in this process. Raises PlanError when nothing can be measured by it."""
    validate(plan)
    return _Run(plan, signals or Signals()).record()


@dataclass(slots=True)
class _Tally:
    """Rounds of the whole run, for the doubts about the machine."""

    rounds: int = 0
    preempted: int = 0
    dropped: int = 0


@dataclass(slots=True)
class _Run:
    plan: Plan
    signals: Signals
    contestants: dict[str, Contestant] = field(default_factory=dict[str, Contestant])
    tally: _Tally = field(default_factory=_Tally)
    began_s: float = 0.0
    said_s: float = 0.0
    sizes_done: int = 0
    stopped: str = ""
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    """Where progress is told, whatever is silenced meanwhile."""
    notes: list[str] = field(default_factory=list[str])

    def record(self) -> ComparisonRecord:
        plan = self.plan
        self._import_frameworks()
        self.began_s = time.perf_counter()
        self.notes += filter(None, [unseen(plan, self._contestant)])
        began = self.signals.read()
        sizes = list(plan.sizes or ({},))
        rows: dict[int, list[Row]] = {}
        order = list(range(len(sizes)))
        random.Random(plan.seed).shuffle(order)
        with Listener() as listener, Alarm() as alarm:
            for done, index in enumerate(order):
                if not self.stopped and self._past_deadline():
                    self.stopped = (
                        f"the time limit of {plan.limits.total_s:.3g} s came after {done} of "
                        f"{_sizes(len(sizes))}"
                    )
                if self.stopped:
                    rows[index] = self._all(sizes[index], f"Not measured: {self.stopped}.")
                    continue
                self.sizes_done = done
                rows[index] = self._size(sizes[index], done / len(order), listener, alarm)
        machine = self.signals.machine(began, self.signals.read(), self._uses_gpu(rows))
        tally = self.tally
        return ComparisonRecord(
            plan.title or "comparison",
            describe.now(),
            describe.environment(),
            tuple([row for index in range(len(sizes)) for row in rows[index]]),
            plan.baseline or plan.entries[0].label,
            plan.mode,
            machine,
            self._versions(),
            round_doubts.machine_doubts(machine, tally.rounds, tally.preempted, tally.dropped),
            self.stopped,
            tuple(dict.fromkeys(self.notes)),
            time.perf_counter() - self.began_s,
        )

    def _import_frameworks(self) -> None:
        """Before the clock starts: the time limit is for measuring, and PyTorch takes seconds."""
        for name in dict.fromkeys([entry.contestant for entry in self.plan.entries]):
            contestant = self._contestant(name)
            # What fails here fails again, and is said, where the rows are made.
            with contextlib.suppress(Exception):
                if not contestant.missing():
                    contestant.devices()

    def _size(self, size: Size, done: float, listener: Listener, alarm: Alarm) -> list[Row]:
        """The rows of one size. An interrupt keeps what there is."""
        share = 1 / len(self.plan.sizes or ({},))
        label = names.size(tuple(size.items()))

        def say(text: str, part: float = 0.0) -> None:
            self._say(f"{label}: {text}" if label else text, done + share * part)

        places = slots(self.plan, size, self._contestant)
        try:
            found = self._inputs(size)
            if isinstance(found, str):
                return [replace(slot.row, failure=slot.row.failure or found) for slot in places]
            inputs, host = found
            with contextlib.ExitStack() as stack:
                setting = Setting(
                    self.plan,
                    inputs,
                    host,
                    alarm,
                    self.signals,
                    say,
                    lambda: listener.compile_count,
                    stack,
                    self._deadline(),
                )
                self._fill(places, setting, say)
        except KeyboardInterrupt:
            self.stopped = self.stopped or (f"interrupted at {label}" if label else "interrupted")
        return [slot.finished(self.stopped) for slot in places]

    def _fill(self, places: list[Slot], setting: Setting, say: Callable[..., None]) -> None:
        plan = self.plan
        with setting.alarm.within(setting.at_most(plan.limits.call_s), "tracing the code"):
            too_much = memory_check.intermediates(plan, setting.inputs, setting.host)
        for slot in places:
            if slot.row.failure:
                continue
            if too_much:
                slot.row = replace(slot.row, failure=too_much)
                continue
            try:
                slot.ready = get_ready(
                    slot.entry, slot.contestant, slot.row.device, slot.row, setting
                )
            except Failed as failed:
                slot.row = failed.row
        live = [slot for slot in places if slot.ready is not None]
        if not live:
            return
        with silenced():  # the first calls have shown what there is
            self._measure(live, setting, say)

    def _measure(self, live: list[Slot], setting: Setting, say: Callable[..., None]) -> None:
        """Checks, rounds, columns and doubts of those that are ready."""
        plan, limits = self.plan, self.plan.limits
        self._check(live, setting)
        readies = [slot.ready for slot in live if slot.ready is not None]
        subjects = [ready.subject for ready in readies]
        baseline = next((r.subject for r in readies if r.row.label == self._baseline), subjects[0])

        def on_round(count: int) -> None:
            if time.perf_counter() - self.said_s > _SAY_EVERY_S:
                say(f"round {count}", min(count / limits.min_rounds, 0.95))

        ended = run_rounds(
            subjects,
            baseline,
            replace(limits, seconds=min(limits.seconds, self._share())),
            alarm=setting.alarm,
            deadline=self._deadline(),
            seed=plan.seed,
            on_round=on_round,
        )
        self._collect(readies)
        where = names.size(live[0].row.size)
        told = f"{ended} of {where}" if where else ended
        if ended.startswith("interrupted"):
            self.stopped = told
        elif ended:
            self.notes.append(names.sentence(told))
        if plan.columns and not self.stopped:
            try:
                self._columns(readies, setting, say)
            except KeyboardInterrupt:
                self.stopped = "interrupted before dispatch, kernel and memory were measured"
        self._judge(readies)

    def _columns(
        self, readies: Sequence[Ready], setting: Setting, say: Callable[..., None]
    ) -> None:
        """The passes apart from the rounds."""
        for ready in readies:
            if ready.subject.failure:
                continue
            say(f"{ready.row.label}: dispatch, kernel and memory", 0.97)
            what = f"{ready.row.label}: measuring dispatch, kernel and memory"
            try:
                limit_s = setting.at_most(10 * self.plan.limits.call_s)
                with setting.alarm.within(max(limit_s, _COLUMNS_S), what):
                    columns.measure_columns(ready)
            except TimedOut as cut:
                self.notes.append(str(cut))

    def _judge(self, readies: Sequence[Ready]) -> None:
        """What the rounds give reason to doubt."""
        environment = round_doubts.settings()
        for ready in readies:
            floor = 0.0 if ready.subject.failure or self.stopped else columns.floor_s(ready)
            ready.doubts += round_doubts.row_doubts(ready.row, floor, environment)

    def _check(self, live: list[Slot], setting: Setting) -> None:
        """Results against the reference, views against copies, one dtype against another."""
        plan = self.plan
        readies = [slot.ready for slot in live if slot.ready is not None]
        if plan.check:
            found, why = self._reference(setting, readies)
            for ready in readies:
                if why:
                    unchecked(ready, why)
                else:
                    checked(ready, found, plan, list(setting.host.values()))
        x64 = describe.environment().x64
        doubt = results.dtypes_differ({r.row.label: r.row.dtype for r in readies}, x64)
        if doubt is not None:
            for ready in readies:
                ready.doubts.append(doubt)
        copying = any(r.contestant.name.startswith("jax") for r in readies)
        viewing = [r for r in readies if r.is_view and not r.contestant.name.startswith("jax")]
        if copying and viewing:
            for ready in viewing:
                ready.doubts.append(round_doubts.view())

    def _reference(
        self, setting: Setting, readies: Sequence[Ready]
    ) -> tuple[Reference | None, str]:
        """What the results should be, or why nobody knows."""
        labels = {ready.row.label for ready in readies}
        try:
            limit_s = setting.at_most(self.plan.limits.call_s)
            with setting.alarm.within(limit_s, "the float64 reference"):
                # Code that raised or hung already would do so again.
                well = tuple([e for e in self.plan.entries if e.label in labels])
                plan = replace(self.plan, entries=well)
                found = reference(plan, setting.inputs, setting.host, self._contestant)
        except TimedOut as cut:
            return None, str(cut).rstrip(".")
        except Exception as error:
            return None, f"the float64 reference failed: {said(error)}"
        if found is not None:
            return found, ""
        if len(readies) < 2:
            return None, "there is no other contestant to compare with"
        first = readies[0]
        import numpy as np

        leaves = [
            np.array(first.contestant.to_numpy(leaf))
            for leaf in first.contestant.leaves(first.outputs)
        ]
        return Reference(tuple(leaves), names.label(first.row.label)), ""

    def _collect(self, readies: Sequence[Ready]) -> None:
        """The samples into the rows."""
        subjects = [ready.subject for ready in readies]
        count = finished(subjects)
        left_out, preempted = dropped(subjects)
        self.tally.rounds += count
        self.tally.preempted += preempted
        self.tally.dropped += len(left_out)
        for ready in readies:
            subject = ready.subject
            own = len(subject.seconds) if subject.failure else count
            rounds = subject.rounds(left_out, own)
            ready.row = replace(
                ready.row,
                sessions=(rounds,) if rounds.seconds else (),
                failure=subject.failure,
            )

    def _all(self, size: Size, reason: str) -> list[Row]:
        return [
            replace(slot.row, failure=slot.row.failure or reason)
            for slot in slots(self.plan, size, self._contestant)
        ]

    def _inputs(self, size: Size) -> tuple[Mapping[str, Any], Mapping[str, Any]] | str:
        """The inputs of a size, or why there are none."""
        too_much = memory_check.inputs(self.plan, size)
        if too_much:
            return too_much
        try:
            inputs = self.plan.inputs(size)
            return inputs, host_arrays(inputs)
        except MemoryError as error:
            return f"There was not enough memory for the inputs: {said(error)}."
        except Exception as error:
            return f"The inputs could not be made: {said(error)}."

    def _contestant(self, name: str) -> Contestant:
        if name not in self.contestants:
            try:
                self.contestants[name] = registry.find(name)
            except Exception as error:
                self.contestants[name] = registry.Absent(name, f"It raised {said(error)}.")
        return self.contestants[name]

    @property
    def _baseline(self) -> str:
        return self.plan.baseline or self.plan.entries[0].label

    def _versions(self) -> tuple[tuple[str, str], ...]:
        found: dict[str, str] = {}
        for contestant in self.contestants.values():
            with contextlib.suppress(Exception):
                if not contestant.missing():
                    found |= dict(contestant.versions())
        return tuple(sorted(found.items()))

    def _uses_gpu(self, rows: Mapping[int, Sequence[Row]]) -> bool:
        return any(row.device.startswith("gpu") for found in rows.values() for row in found)

    def _deadline(self) -> float:
        total = self.plan.limits.total_s
        return float("inf") if total is None else self.began_s + total

    def _share(self) -> float:
        """Seconds for the rounds of this size, so that later sizes get theirs."""
        left = self._deadline() - time.perf_counter()
        return max(left / max(len(self.plan.sizes) - self.sizes_done, 1), 0.0)

    def _past_deadline(self) -> bool:
        return time.perf_counter() > self._deadline()

    def _say(self, text: str, done: float) -> None:
        self.said_s = time.perf_counter()
        if self.plan.progress is not None:
            # A progress bar that fails is no reason to lose the measurement.
            with contextlib.suppress(Exception), contextlib.redirect_stdout(self.stdout):
                self.plan.progress(Progress(text, min(done, 1.0)))


def _sizes(count: int) -> str:
    return "1 size" if count == 1 else f"{count} sizes"
