"""The compile log that a user holds: compilations with their place, reason and fix."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Self

from jaxscope.analysis.compiles import groups
from jaxscope.analysis.compiles.groups import CompileGroup
from jaxscope.analysis.compiles.storms import storms
from jaxscope.model import Compile, SlowCall, Unavailable
from jaxscope.model.compile_log import Log, Storm
from jaxscope.results.base import Saved, data_frame, needed
from jaxscope.words import count

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from jaxscope.capture.run.context import RunOrigin
    from jaxscope.model import Record
    from jaxscope.model.compiler.compile_time import CompileTime
    from jaxscope.results.compile_time import CompileTimes
    from jaxscope.results.report import Report
    from jaxscope.results.trials import Trials
    from jaxscope.view.base.document import Document
    from jaxscope.view.base.html import Html


class CompileLog(Saved):
    """Compilations while the log was open, in start order.

    While it is open, every property is up to date. It contains the compilations of all threads of
    the process, except jaxscope's own.
    """

    noun, mark, record_type = "compile log", "compiles", Log

    def __init__(
        self, read: Callable[[], Log], opened: Callable[[Compile], Report] | None = None
    ) -> None:
        self._read = read
        self._opened = opened
        self._cell: Callable[[], tuple[Record, RunOrigin]] | None = None
        self._kept: Log | None = None
        self._clocked: Callable[[], CompileTime | Unavailable] | None = None
        self._over = False

    # Data.

    @property
    def log(self) -> Log:
        """The frozen data."""
        return self.record

    @property
    def record(self) -> Log:
        """The same, under the name used by all results."""
        if self._kept is not None:
            return self._kept
        found = self._read()
        if self._over:
            self._kept = found
        return found

    @property
    def compiles(self) -> tuple[Compile, ...]:
        """The compilations that succeeded, in start order."""
        return self.log.compiles

    @property
    def recompiles(self) -> tuple[Compile, ...]:
        """Recompilations; their causes have the differences."""
        return self.log.recompiles

    @property
    def failed(self) -> tuple[Compile, ...]:
        """Compilations that failed; `error` is the type of the exception."""
        return self.log.failed

    @property
    def storms(self) -> tuple[Storm, ...]:
        """Repeated recompilations of one line, with the pattern and the fix."""
        return self.log.storms

    @property
    def slow_calls(self) -> tuple[SlowCall, ...]:
        """Calls that went through Python though nothing compiled; only with `slow_path=True`."""
        return self.log.slow_calls

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what the log misses."""
        return self.log.notes

    @property
    def total_s(self) -> float:
        """Seconds of tracing, lowering and XLA, without double counting."""
        return self.log.total_s

    def by_line(self) -> tuple[CompileGroup, ...]:
        """Compilations by line of the user's code, the slowest line first."""
        return groups.by_line(self.log)

    def by_function(self) -> tuple[CompileGroup, ...]:
        """Compilations by function, the slowest first."""
        return groups.by_function(self.log)

    def by_cell(self) -> tuple[CompileGroup, ...]:
        """Compilations by cell (outside a notebook: by file)."""
        return groups.by_cell(self.log)

    def compile_time(self) -> CompileTimes | Unavailable:
        """Seconds of this thread's compilations by line and phase, once the block has ended.

        Measured where it was requested: `jaxscope.watch(compile_time=True)`,
        `%%jaxwatch --compile-time`.
        """
        from jaxscope.results.compile_time import CompileTimes

        if self._clocked is None:
            return Unavailable("it was not requested; `compile_time=True` measures it")
        found = self._clocked()
        return found if isinstance(found, Unavailable) else CompileTimes(found)

    def summary(self) -> str:
        """The first line: number and time of compilations, recompilations, and the slowest."""
        from jaxscope.view.compiles.rows import first_line

        return first_line(self.log)

    # Parts.

    def since(self, cell: int) -> CompileLog:
        """Compilations since cell number `cell`, inclusive."""
        log = self.log
        every = (*log.compiles, *log.failed, *log.passes)
        later = [c.serial for c in every if c.cell is not None and c.cell >= cell]
        first = min(later, default=None)
        return self._part(lambda c: first is not None and c.serial >= first)

    def only(self, compiles: Iterable[Compile]) -> CompileLog:
        """A log of these compilations alone."""
        wanted = {compile.serial for compile in compiles}
        return self._part(lambda compile: compile.serial in wanted)

    def slowest(self, number: int) -> CompileLog:
        """The slowest `number` compilations, the slowest first."""
        log = self.log
        ranked = sorted(log.compiles, key=lambda compile: -compile.total_s)[:number]
        which = "This is the" if len(ranked) == 1 else f"These are the {len(ranked)}"
        note = f"{which} slowest of {len(log.compiles)} compiles."
        notes = (*log.notes, note) if len(ranked) < len(log.compiles) else log.notes
        part = dataclasses.replace(
            log, compiles=tuple(ranked), storms=(), failed=(), passes=(), notes=notes
        )
        return CompileLog(lambda: part, self._opened)

    def _part(self, wanted: Callable[[Compile], bool]) -> CompileLog:
        log = self.log
        compiles, failed, passes = (
            tuple(filter(wanted, some)) for some in (log.compiles, log.failed, log.passes)
        )
        part = dataclasses.replace(
            log, compiles=compiles, failed=failed, passes=passes, storms=storms(compiles)
        )
        return CompileLog(lambda: part, self._opened)

    def __len__(self) -> int:
        return len(self.compiles)

    def __iter__(self) -> Iterator[Compile]:
        return iter(self.compiles)

    def report(self, index: int) -> Report:
        """The program of `log.compiles[index]` as a report: texts, costs, memory.

        This includes library code. Raises IndexError for a compilation that is not in the log, and
        LookupError when the program was released.
        """
        compiles = self.compiles
        if not compiles:
            raise IndexError("Nothing was compiled, so there is no program to open.")
        try:
            compile = compiles[index]
        except IndexError:
            last = f"0 to {len(compiles) - 1}" if len(compiles) > 1 else "0 alone"
            has = count(len(compiles), "compile")
            raise IndexError(f"The log has {has}, and none at {index}: give {last}.") from None
        if self._opened is None:
            raise LookupError(
                "This log was loaded from a file, which contains no programs; run the code again."
            )
        return self._opened(compile)

    def try_fixes(
        self,
        *fixes: int,
        time_limit: float = 30.0,
        say: Callable[[str], None] = lambda text: None,
    ) -> Trials:
        """Apply the fix of each recompilation, or of these (from 1), check and count.

        The cell runs as if nothing of it had been compiled, and no variable changes. Raises
        ValueError for a log of several cells, or of none.
        """
        from jaxscope.bench.variants.trial import TrialError, try_fixes

        if self._opened is None:
            raise TrialError("This log was loaded from a file; run the cell again with %%jaxwatch.")
        if self._cell is None:
            raise TrialError(
                "The log is not of one cell, which could run again: use %%jaxwatch, or "
                "%jaxtry --of N."
            )
        return try_fixes(*self._cell(), fixes, time_limit, say)

    # Exports.

    @classmethod
    def of_record(cls, record: Log) -> Self:
        return cls(lambda: record)

    def _document(self) -> Document:
        from jaxscope.view.compiles.document import document

        return document(self.log)

    def _page(self) -> str:
        from jaxscope.view.bundle.page import document_page

        return document_page(self._document(), "compile log")

    def to_dataframe(self) -> pd.DataFrame:
        """One row per compilation. Needs pandas."""
        from jaxscope.analysis.report_tables import compile_log

        return data_frame(*compile_log(self.log))

    def plot(self) -> go.Figure:
        """A plotly figure: time by function and stage, and over time. Needs plotly."""
        from jaxscope.view.base.interactive import draw
        from jaxscope.view.compiles.figures import figures
        from jaxscope.view.compiles.rows import first_line

        # The whole first line would be cut off in a narrow notebook.
        title = first_line(self.log).partition(" · ")[0]
        with needed("plots", "A plot"):
            return draw(*figures(self.log), title=title)

    # Displays.

    def static_html(self) -> Html:
        """The log as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.base.static import static_html
        from jaxscope.view.compiles.document import document
        from jaxscope.view.compiles.rows import MOST_ROWS

        return static_html(lambda room: document(self.log, min(MOST_ROWS, room.rows)))

    def freeze(self) -> None:
        """Store the current state."""
        self._kept = self._read()

    def clocked_by(self, clock: Callable[[], CompileTime | Unavailable] | None) -> None:
        """Take the compile time from this clock."""
        self._clocked = clock

    def of_cell(self, cell: Callable[[], tuple[Record, RunOrigin]]) -> None:
        """Try fixes on the run that this gives: that of the log's one cell."""
        self._cell = cell

    def cell_record(self) -> Record | None:
        """The record of its one cell; None for a log of several."""
        return None if self._cell is None else self._cell()[0]

    def finalize(self) -> None:
        """Close the log: properties are cached from now on."""
        self._over = True


@contextlib.contextmanager
def watching(
    *, slow_path: bool = False, guard: bool = False, compile_time: bool = False
) -> Generator[CompileLog]:
    """The log of `jaxscope.watch`, open for the length of the block.

    With `guard`, without the compilations of other tasks and threads that have their own guard.
    """
    from jaxscope.capture.compile_log.watch import Watch

    clock = None
    if compile_time:
        from jaxscope.capture.profile.compile_clock import CompileClock as clock

    watch = Watch(slow_path=slow_path, guard=guard, clock=clock)

    def opened(compile: Compile) -> Report:
        from jaxscope.results.report import Report

        return Report(*watch.program(compile.serial))

    log = CompileLog(watch.log, opened)
    log.clocked_by(watch.compile_time if compile_time else None)
    watch.begin()
    try:
        yield log
    finally:
        watch.end()
        log.finalize()
