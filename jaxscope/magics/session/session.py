"""State that jaxscope keeps between the cells of one shell."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import datetime
import functools
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxscope import background
from jaxscope.jax_import import on_arrival
from jaxscope.magics.session.cell_history import CellHistory
from jaxscope.magics.session.preload import WITH_JAX, preload

if TYPE_CHECKING:
    from jaxscope.capture.compiles.listener import Listener
    from jaxscope.capture.compiles.raw_compile import RawCompile
    from jaxscope.capture.program.request import Programs
    from jaxscope.capture.run.context import RunContext, RunOrigin
    from jaxscope.capture.timing.peaks import PeakCache
    from jaxscope.model import Compile, Record
    from jaxscope.model.compile_log import CellRun, CompileEvent, Log
    from jaxscope.model.compiler.compile_time import CompileTime
    from jaxscope.model.variants import VariantTrial
    from jaxscope.results.compile_log import CompileLog
    from jaxscope.results.report import Report

REPORTS_KEPT = 16
"""So that after all cells of a usual notebook ran again, each can be compared with its last run."""
RUNS_KEPT = 1000
"""Runs of cells whose times are kept, for the side panel."""
CELLS_KEPT = 64
"""Cells whose compiled programs are kept: each holds about 1.5 MB, most of it XLA's."""


class ShownBy(NamedTuple):
    """The run of a cell that made a report."""

    key: str
    """The same for all runs of the cell."""
    number: int
    """As in `In [3]`."""
    text: str
    """Of the cell, as the front end sent it."""


class Session:
    """One per shell. Owns the listener, the compiled programs of the cells and the last reports."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._stack = contextlib.ExitStack()
        self._listener: Listener | None = None
        self.listening_since: datetime.datetime | None = None
        self._began = time.time()
        self.cells = CellHistory(shell)
        self._hooks: tuple[Callable[[RawCompile], None], ...] = ()
        self._running: list[float] = []
        """The start of each cell that runs, outermost first; a cell may run a cell."""
        self.runs: collections.deque[CellRun] = collections.deque(maxlen=RUNS_KEPT)
        """The latest runs of cells."""
        self.on_run: Callable[[CellRun], None] = lambda run: None
        """Called after each cell, by the feed of the front ends."""
        # A cell that imports jax and compiles at once is observed from its first compilation on.
        self._stack.enter_context(on_arrival(self.listen_if_jax_is_there))
        if background.listening():  # what it observed is the session's from now on
            self.listen_if_jax_is_there()
        self._programs: collections.OrderedDict[str, Programs] = collections.OrderedDict()
        self.reports: collections.deque[Report] = collections.deque(maxlen=REPORTS_KEPT)
        self._shown_by: collections.deque[ShownBy] = collections.deque(maxlen=REPORTS_KEPT)
        """The cell of each report."""
        self.watched: tuple[int, CompileLog] | None = None
        """The number and the log of a cell that was shown after the last report."""
        self.interrupted: CompileTime | None = None
        """The compile time of the last run, where that was requested and interrupted."""
        self.trials: dict[int, dict[int, VariantTrial]] = {}
        """The last trial of each fix, by the number of the cell and of the fix; of as many cells
        as reports are kept."""

    def close(self) -> None:
        """Uninstall everything that was installed."""
        self._stack.close()
        self._listener = None
        self.listening_since = None
        self._programs.clear()
        self.reports.clear()
        self.watched = None
        self.trials.clear()
        self._shown_by.clear()

    def listen_if_jax_is_there(self, *_: object) -> None:
        """Start listening once the user has imported jax, which this never does; and again where
        other code removed our listeners."""
        # Should it fail, the next magic that needs the listener says why.
        with contextlib.suppress(Exception):
            if self._listener is not None:
                self._listener.listen_again()
            elif sys.modules.get("jax") is not None:
                self._listen()
                preload(WITH_JAX)

    @property
    def listener(self) -> Listener:
        return self._listener or self._listen()

    def _listen(self) -> Listener:
        from jaxscope.capture.compiles.listener import Listener

        listener = self._stack.enter_context(Listener.shared())
        self._stack.callback(setattr, listener, "places", listener.places)
        listener.places = self.cells
        self._listener = listener
        self._stack.enter_context(listener.notifying(self._notify))
        self.listening_since = datetime.datetime.fromtimestamp(listener.history.listening_since)
        return listener

    def _installed(self) -> Listener:
        """The listener, which this never installs again: LookupError after `close`."""
        if self._listener is None:
            raise LookupError("jaxscope was unloaded, and its compile log with it.")
        return self._listener

    def note_trials(self, cell: int, found: Iterable[VariantTrial]) -> None:
        """Keep what the fixes of `In [cell]` brought."""
        known = self.trials.pop(cell, {})
        self.trials[cell] = known | {one.number: one for one in found}
        while len(self.trials) > REPORTS_KEPT:
            del self.trials[next(iter(self.trials))]

    # The compile log.

    @property
    def compiled(self) -> int:
        """The serial of the latest compile; 0 before the first."""
        return self._listener.count if self._listener is not None else 0

    def cell_begins(self, cell_id: str = "") -> None:
        """A cell is about to run."""
        self.cells.begin(self.compiled, cell_id)
        self._running.append(time.perf_counter())

    def cell_ends(self, number: int | None) -> None:
        """A cell has run, under this number; the names of its code are noted."""
        if self._listener is not None:
            # A failure here would be shown under the cell as if it were the cell's own.
            with contextlib.suppress(Exception):
                self.cells.note(self._listener.since(self.cells.noted))
        self.cells.end(self.compiled, number)
        began = self._running.pop() if self._running else None
        if began is not None and number is not None and not self._running:
            from jaxscope.model.compile_log import CellRun

            self.runs.append(run := CellRun(number, time.perf_counter() - began))
            with contextlib.suppress(Exception):
                self.on_run(run)

    def log(self, since: int = 0) -> CompileLog:
        """The compilations after that serial; the log stays up to date."""
        from jaxscope.results.compile_log import CompileLog

        losses = self._listener.losses if since and self._listener is not None else 0
        return CompileLog(lambda: self._read_log(since, losses), self._open)

    def log_of(self, number: int, log: CompileLog | None = None) -> CompileLog:
        """The compilations of the cell `In [number]`, whose fixes can be tried."""
        if log is None:
            whole = self.log()
            log = whole.only([one for one in whole.compiles if one.cell == number])
        found = log
        log.of_cell(lambda: self._run_of(number, found.compiles))
        return log

    def _run_of(self, number: int, compiles: Sequence[Compile]) -> tuple[Record, RunOrigin]:
        from jaxscope.capture.run.logged_cell import NoCellError, logged_cell
        from jaxscope.capture.source.cell_names import filename_map

        files = filename_map(self._shell)
        own = [file for file, one in files.items() if one == number]
        if not own:
            raise NoCellError(f"The text of In [{number}] is gone: run the cell again.")
        # The latest first, so that of two definitions the newer is found.
        others = sorted(files, key=lambda file: -files[file])
        return logged_cell(compiles, own[-1], self._shell.user_ns, self.cell_name, others)

    def on_compile(self, hook: Callable[[CompileEvent], None]) -> Callable[[], None]:
        """Call `hook` with a CompileEvent after every compilation; returns a function that
        unsubscribes it.

        It is called on the thread that compiled, while the user waits, so it should only pass the
        event on. What it raises does not reach the user.
        """
        return self.on_finish(lambda raw: hook(self.event_of(raw)))

    def on_finish(self, hook: Callable[[RawCompile], None]) -> Callable[[], None]:
        """The same for a hook that calls `event_of` later, on its own thread."""
        self._hooks = (*self._hooks, hook)

        def unsubscribe() -> None:
            self._hooks = tuple([one for one in self._hooks if one is not hook])

        return unsubscribe

    def finished(self) -> tuple[RawCompile, ...]:
        """The compilations that ended and are still kept, in the order they began."""
        found = self._listener.since(0) if self._listener is not None else ()
        return tuple([raw for raw in found if raw.compiled])

    def compile_of(self, raw: RawCompile) -> Compile:
        """A compilation as data, with its causes and its cell."""
        compile = self._installed().history.compile_of(raw)
        return dataclasses.replace(compile, cell=self.cells.cell(raw.number))

    def event_of(self, raw: RawCompile) -> CompileEvent:
        """The event that front ends receive for a compilation."""
        from jaxscope.capture.compile_log.log import build_event

        return build_event(self._installed(), raw)

    def _read_log(self, since: int, losses: int) -> Log:
        from jaxscope.model.compile_log import Log

        listener = self._listener
        if listener is None:
            return Log("", ())
        from jaxscope.capture.compile_log.log import build_log, caveats

        listener.listen_again()
        self.cells.note(listener.since(self.cells.noted))
        notes = caveats(listener, since, losses)
        return build_log(listener, listener.since(since), self._began, notes)

    def _open(self, compile: Compile) -> Report:
        from jaxscope.capture.compile_log.open_program import program_of
        from jaxscope.results.report import Report

        return Report(*program_of(self._installed(), compile.serial, self.cell_name))

    def _notify(self, raw: RawCompile) -> None:
        for hook in self._hooks:
            # One front end that fails must not silence the others.
            with contextlib.suppress(Exception):
                hook(raw)

    @functools.cached_property
    def peaks(self) -> PeakCache:
        """Measured peaks of the devices, this session's and those on disk."""
        from jaxscope.capture.timing.peaks import PeakCache

        return PeakCache()

    def add(self, report: Report, shown_by: ShownBy) -> None:
        """Keep a report of a cell: with it live the texts of its programs."""
        from jaxscope.results.report import keep_latest

        self.reports.append(report)
        self.watched = None
        self._shown_by.append(shown_by)
        keep_latest(report)

    def last_runs(self) -> tuple[Report, ...]:
        """The last two reports of the cell that ran last, the earlier first; one if it ran once."""
        last = self.reports[-1]
        before = self.earlier(last)
        return (last,) if before is None else (before, last)

    def earlier(self, report: Report) -> Report | None:
        """The report of the run before, of the same cell."""
        found: dict[str, Report] = {}
        for cell, one in zip(self._shown_by, self.reports, strict=True):
            if one is report:
                return found.get(cell.key)
            found[cell.key] = one
        return None

    def shown_by(self, report: Report) -> ShownBy | None:
        """The run of a cell that made the report, if this was its only one."""
        pairs = zip(self._shown_by, self.reports, strict=True)
        cell = next((cell for cell, one in pairs if one is report), None)
        return None if cell is None or self.numbered(cell.number) is None else cell

    def numbered(self, number: int) -> Report | None:
        """The report of `In [number]`, if there is exactly one."""
        pairs = zip(self._shown_by, self.reports, strict=True)
        found = [one for cell, one in pairs if cell.number == number]
        return found[0] if len(found) == 1 else None

    def made_reports(self, number: int) -> bool:
        """Whether `In [number]` made a report."""
        return any(cell.number == number for cell in self._shown_by)

    def programs(self, key: str) -> Programs:
        """The compiled programs of a cell."""
        from jaxscope.capture.program.request import Programs

        found = self._programs.setdefault(key, Programs())
        self._programs.move_to_end(key)
        while len(self._programs) > CELLS_KEPT:
            self._programs.popitem(last=False)
        return found

    def context(self, key: str, say: Callable[[str], None]) -> RunContext:
        """The context of a run under this key: names, caches, and `say` for its progress."""
        self.interrupted = None
        from jaxscope.capture.run.context import RunContext

        programs = self.programs(key)
        space = self._shell.user_ns

        def interrupted(found: CompileTime) -> None:
            self.interrupted = found

        return RunContext(
            space,
            self.listener,
            self.peaks,
            self.cell_name,
            programs,
            say=say,
            interrupted=interrupted,
        )

    def cell_key(self, body: str) -> str:
        """The front end's id of the running cell; without one, the first line of its text."""
        kernel = getattr(self._shell, "kernel", None)
        if kernel is not None:
            with contextlib.suppress(AttributeError, KeyError, TypeError):
                cell_id = kernel.get_parent()["metadata"].get("cellId")
                if cell_id:
                    return str(cell_id)
        lines = (line for line in body.splitlines() if line.strip())
        return f"text:{next(lines, '')}"

    def cell_name(self, file: str) -> str | None:
        """`In [3]` for the file name of a notebook cell, else None."""
        known = getattr(self._shell.compile, "_filename_map", {})
        if file in known:
            return f"In [{known[file]}]"
        return "cell" if file.startswith("<ipython-input-") else None
