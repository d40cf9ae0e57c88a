"""Prepare one implementation for the rounds: place inputs, compile, call once, check, warm up."""

from __future__ import annotations

import contextlib
import io
import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from jaxscope.bench.cell.timed_code import describe_error
from jaxscope.bench.frameworks.implementation import Implementation, Prepared, Refusal, arrays_of
from jaxscope.bench.placement import aligned_copy, mover, place, task_for
from jaxscope.bench.plan import Entry, Plan
from jaxscope.bench.reference import task_of
from jaxscope.bench.rounds.machine import Signals
from jaxscope.bench.rounds.timed_call import CallCounter, TimedImplementation
from jaxscope.bench.rounds.watchdog import Alarm, TimedOut, run_on_thread
from jaxscope.bench.warnings import programs, results, rounds
from jaxscope.model.comparison import BenchWarning, ComparisonRow, TimingMode

_GRACE_S = 1.5


@dataclass(slots=True, eq=False)
class Ready:
    """A row that can be measured, with its live objects."""

    row: ComparisonRow
    implementation: Implementation
    subject: TimedImplementation
    prepared: Prepared
    waiting: Callable[[Any], Any] | None
    """Waits for the outputs of one call, whatever the mode."""
    _: KW_ONLY
    outputs: Any
    """Of the first call."""
    warnings: list[BenchWarning] = field(default_factory=list[BenchWarning])
    is_view: bool = False
    """Its results share the memory of its inputs."""

    def call(self, *, wait: bool = True) -> Any:
        """One call, outside the rounds, and waited for unless `wait` is false."""
        (args,) = self.subject.batch(1)
        return self.call_with(args, wait=wait)

    def call_with(self, args: tuple[Any, ...], *, wait: bool = True) -> Any:
        """One call of these arguments, waited for and counted."""
        try:
            outputs = self.prepared.call(*args)
            if wait and self.waiting is not None:
                self.waiting(outputs)
        except BaseException:
            self.subject.counter.raised()
            raise
        self.subject.counter.returned()
        return outputs


class Failed(Exception):
    """The implementation could not be prepared; `row` has the reason, a whole sentence."""

    def __init__(self, row: ComparisonRow) -> None:
        super().__init__(row.failure)
        self.row = row


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Shared by the rows of one size."""

    plan: Plan
    inputs: Mapping[str, Any]
    host: Mapping[str, Any]
    """The inputs that are placed, as NumPy arrays that must not be changed."""
    alarm: Alarm
    signals: Signals
    notify: Callable[[str], None]
    compile_count: Callable[[], int]
    counter: Callable[[Entry, bool], CallCounter]
    """The counter of an entry's calls: of its Python function, or of what was compiled of it."""
    stack: contextlib.ExitStack
    """Holds the implementations' contexts until the size is done."""
    deadline: float = math.inf
    """Of the preparation at this size, on the performance counter."""

    def counted_plan(self) -> Plan:
        """The plan, with functions that count their calls: for calls that no row makes."""
        entries = [replace(one, function=self._counted(one)) for one in self.plan.entries]
        return replace(self.plan, entries=tuple(entries))

    def _counted(self, entry: Entry) -> Callable[..., Any] | str:
        function, counter = entry.function, self.counter(entry, False)
        if isinstance(function, str):
            return function

        def counted(*args: Any) -> Any:
            try:
                outputs = function(*args)
            except BaseException:
                counter.raised()
                raise
            counter.returned()
            return outputs

        return counted

    def at_most(self, seconds: float) -> float:
        """The limit, or the rest of the time of this size."""
        return max(min(seconds, self.deadline - time.perf_counter()), 0.01)


class OutputSink(io.TextIOBase):
    """Discards printed text, and counts the writes."""

    def __init__(self) -> None:
        self.writes = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        self.writes += 1
        return len(text)


def _norms(arrays: Sequence[Any]) -> tuple[float, ...]:
    """The Euclidean norm of each array; none where they are not arrays of numbers."""
    with contextlib.suppress(TypeError, ValueError), np.errstate(all="ignore"):
        doubled = [np.abs(array).astype(np.float64).ravel() for array in arrays]
        return tuple([float(np.linalg.norm(array)) for array in doubled])
    return ()


@contextlib.contextmanager
def silenced() -> Generator[OutputSink]:
    """Hide text that Python code prints; output that bypasses `sys.stdout` is shown."""
    sink = OutputSink()
    with contextlib.redirect_stdout(sink):
        yield sink


def get_ready(
    entry: Entry, implementation: Implementation, row: ComparisonRow, setting: Setting
) -> Ready:
    """Everything before the rounds. Raises Failed with the reason; an interrupt passes through."""
    try:
        return _Preparation(entry, implementation, row, setting).ready()
    except (TimedOut, Refusal) as error:
        raise Failed(replace(row, failure=str(error))) from None
    except Failed:
        raise
    except MemoryError as error:
        text = f"There was not enough memory: {describe_error(error)}."
        raise Failed(replace(row, failure=text)) from error
    except Exception as error:
        raise Failed(replace(row, failure=f"It raised {describe_error(error)}.")) from error


@dataclass(frozen=True, slots=True)
class _Preparation:
    entry: Entry
    implementation: Implementation
    row: ComparisonRow
    setting: Setting

    def ready(self) -> Ready:
        """Place, compile, call once, check the call for warnings, and warm up."""
        setting, implementation, device = self.setting, self.implementation, self.row.device
        plan, limits, label = setting.plan, setting.plan.limits, self.entry.label
        if time.perf_counter() > setting.deadline:
            raise Failed(replace(self.row, failure="The time limit was reached before its turn."))
        compile_s, call_s = setting.at_most(limits.compile_s), setting.at_most(limits.call_s)
        namespace = implementation.namespace() if self.entry.namespaced else None
        task = replace(task_of(plan, self.entry), compile_s=compile_s, notify=setting.notify)
        task = task_for(task, setting.inputs, namespace)
        setting.stack.enter_context(implementation.context(task, device))
        # Trigger the one-time set-up of transfers.
        implementation.put(aligned_copy(np.zeros(1, np.float32)), device)
        args, transfer_s = place(implementation, setting.host, device)
        setting.notify(f"{label}: preparing")
        # A compilation on a thread of its own has its own limit and its own message.
        grace_s = _GRACE_S if implementation.releases_gil else 0.0
        with setting.alarm.within(compile_s + grace_s, f"{label}: the preparation"):
            prepared = implementation.prepare(task, args, device)
        counter = setting.counter(self.entry, implementation.compiles)
        if implementation.compiles:  # it was traced once
            setting.counter(self.entry, False).returned()
        setting.notify(f"{label}: first call")
        first_args = () if prepared.bound else args
        if prepared.refresh:  # the preparation may have consumed them
            first_args, _ = place(implementation, setting.host, device)
        try:
            outputs, waiting, first_s = self._first_call(prepared, first_args, call_s)
        except BaseException:
            counter.raised()
            raise
        counter.returned()
        leaves = implementation.leaves(outputs)
        arrays = arrays_of(implementation, outputs)
        row = replace(
            self.row,
            compile=prepared.phases,
            first_call_s=first_s,
            transfer_s=transfer_s,
            cost=prepared.cost,
            threads=implementation.threads(),
            program=prepared.program,
            norms=_norms(arrays),
            dtype="/".join(dict.fromkeys(str(array.dtype) for array in arrays)),
        )
        found = list[BenchWarning | None](prepared.warnings)
        if prepared.probe is not None:
            work = implementation.bind_context(prepared.probe)
            what = f"{label}: the second call"
            found.append(run_on_thread(work, call_s, what, setting.notify))
            counter.returned()
        not_computed = results.not_computed(leaves)
        if implementation.framework == "jax" and not_computed is None:
            found.append(programs.not_an_array(leaves))
        found.append(not_computed)
        if plan.check:
            found.append(results.nothing_finite(arrays))
        changed = self._changed(prepared, args)
        refresh = tuple(sorted({*prepared.refresh, *(() if prepared.bound else changed)}))
        if changed:
            names = [task.names[i] for i in changed]
            found.append(rounds.changed_inputs(names, prepared.bound))
        moves = not refresh and not prepared.bound
        several = [outputs] if plan.mode is TimingMode.THROUGHPUT else outputs
        subject = TimedImplementation(
            label,
            prepared.call,
            waiting if waiting is None else implementation.waiting(several, device),
            () if prepared.bound else args,
            # Fresh positions are created on demand; the others are shared by all calls.
            self._fresh(args, refresh) if refresh else None,
            fresh_bytes=sum(list(setting.host.values())[i].nbytes for i in refresh),
            moved=mover(implementation, setting.host, device, plan.seed) if moves else None,
            mode=plan.mode,
            compile_count=prepared.compile_count or setting.compile_count,
            signals=setting.signals,
            counter=counter,
        )
        setting.notify(f"{label}: warming up")
        with setting.alarm.within(call_s, f"{label}: the warm-up"), silenced() as sink:
            try:
                subject.warm_up(first_s)
            except (TimedOut, MemoryError):
                raise
            except Exception as error:
                text = f"It raised {describe_error(error)} in call {subject.failed_call}."
                raise Failed(replace(row, failure=text)) from error
        if sink.writes:
            found.append(rounds.printing())
        return Ready(
            row,
            implementation,
            subject,
            prepared,
            waiting,
            outputs=outputs,
            warnings=[warning for warning in found if warning is not None],
            is_view=not refresh
            and any(
                np.may_share_memory(array, implementation.to_numpy(arg))
                for array in arrays
                if array.size
                for arg in args
            ),
        )

    def _first_call(
        self, prepared: Prepared, args: tuple[Any, ...], limit_s: float
    ) -> tuple[Any, Callable[[Any], Any] | None, float]:
        """Outputs of the first call, the function that waits for them, and its seconds."""
        what = f"{self.entry.label}: the first call"

        def first() -> tuple[Any, Callable[[Any], Any] | None, float]:
            start = time.perf_counter()
            outputs = prepared.call(*args)
            waiting = self.implementation.waiting(outputs, self.row.device)
            if waiting is not None:
                waiting(outputs)
            return outputs, waiting, time.perf_counter() - start

        if self.implementation.releases_gil:
            work = self.implementation.bind_context(first)
            return run_on_thread(work, limit_s, what, self.setting.notify)
        with self.setting.alarm.within(limit_s, what):
            return first()

    def _changed(self, prepared: Prepared, args: tuple[Any, ...]) -> tuple[int, ...]:
        """Positions of the inputs that the first call changed, consumed ones not included."""
        found: list[int] = []
        for position, (arg, original) in enumerate(
            zip(args, self.setting.host.values(), strict=True)
        ):
            if position in prepared.refresh:
                continue
            now = np.asarray(self.implementation.to_numpy(arg))
            before = original.astype(now.dtype, copy=False)
            if not np.array_equal(now, before, equal_nan=now.dtype.kind in "fc"):
                found.append(position)
        return tuple(found)

    def _fresh(
        self, args: tuple[Any, ...], refresh: tuple[int, ...]
    ) -> Callable[[], tuple[Any, ...]]:
        originals = list(self.setting.host.values())

        def fresh() -> tuple[Any, ...]:
            made = list(args)
            for position in refresh:
                copy = aligned_copy(originals[position])
                made[position] = self.implementation.put(copy, self.row.device)
            return tuple(made)

        return fresh
