"""The compile log that a user holds: what compiled, where, why, and what to change."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import json
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxscope.analysis.compiles import groups
from jaxscope.analysis.compiles.groups import CompileGroup
from jaxscope.analysis.compiles.storms import storms
from jaxscope.model import Compile, SchemaError, SlowCall, from_json, to_json
from jaxscope.model.compile_log import LOG_SCHEMA, Log, Storm

if TYPE_CHECKING:
    import pandas as pd

    from jaxscope.capture.compile_log.watch import Watch
    from jaxscope.results.report import Report


class CompileLog:
    """What JAX compiled while somebody listened, in the order it began.

    While the listening goes on, every question is answered as of now. Compiles are those of all
    threads of the process; jaxscope's own programs are not among them.
    """

    def __init__(
        self, read: Callable[[], Log], opened: Callable[[Compile], Report] | None = None
    ) -> None:
        self._read = read
        self._opened = opened
        self._kept: Log | None = None
        self._over = False

    # What is known.

    @property
    def log(self) -> Log:
        """The frozen data."""
        if self._kept is not None:
            return self._kept
        found = self._read()
        if self._over:
            self._kept = found
        return found

    @property
    def compiles(self) -> tuple[Compile, ...]:
        """The compiles that went through, in the order they began."""
        return self.log.compiles

    @property
    def recompiles(self) -> tuple[Compile, ...]:
        """The compiles of what had been compiled before, differently; their causes say how."""
        return self.log.recompiles

    @property
    def failed(self) -> tuple[Compile, ...]:
        """Attempts that an exception ended; `error` is its type."""
        return self.log.failed

    @property
    def storms(self) -> tuple[Storm, ...]:
        """Many compiles from one line, with the pattern and what to change."""
        return self.log.storms

    @property
    def slow_calls(self) -> tuple[SlowCall, ...]:
        """Calls that went through Python though nothing compiled; only with `slow_path=True`."""
        return self.log.slow_calls

    @property
    def notes(self) -> tuple[str, ...]:
        """What may be missing, as sentences."""
        return self.log.notes

    @property
    def total_s(self) -> float:
        """Seconds of tracing, lowering and XLA, nothing counted twice."""
        return self.log.total_s

    def by_line(self) -> tuple[CompileGroup, ...]:
        """The compiles of each line of the user's code, the slowest line first."""
        return groups.by_line(self.log)

    def by_function(self) -> tuple[CompileGroup, ...]:
        """The compiles of each function, the slowest first."""
        return groups.by_function(self.log)

    def by_cell(self) -> tuple[CompileGroup, ...]:
        """The compiles of each cell that ran (outside a notebook: of each file)."""
        return groups.by_cell(self.log)

    def summary(self) -> str:
        """The first line: how many compiles, how long, how many of them again, the slowest."""
        from jaxscope.view.compiles.rows import first_line

        return first_line(self.log)

    # Parts.

    def since(self, cell: int) -> CompileLog:
        """The compiles since cell number `cell` ran, that one included."""
        log = self.log
        later = [c.serial for c in _all(log) if c.cell is not None and c.cell >= cell]
        first = min(later, default=None)
        return self._part(lambda c: first is not None and c.serial >= first)

    def only(self, compiles: Iterable[Compile]) -> CompileLog:
        """The log of these of its compiles alone."""
        wanted = {compile.serial for compile in compiles}
        return self._part(lambda compile: compile.serial in wanted)

    def slowest(self, number: int) -> CompileLog:
        """The slowest `number` compiles, the slowest first."""
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

        Also for code that the user did not write. Raises IndexError for a compile that is not in
        the log, and LookupError when the program is not at hand any more.
        """
        compiles = self.compiles
        try:
            compile = compiles[index]
        except IndexError:
            raise IndexError(_no_such(index, len(compiles))) from None
        if self._opened is None:
            raise LookupError(
                "This log was loaded from a file, which holds no programs; run the code again."
            )
        return self._opened(compile)

    # Exports.

    def to_json(self) -> dict[str, Any]:
        """The whole log as JSON data; `docs/compile_log.schema.json` is its schema."""
        return to_json(self.log)

    def save(self, path: str | Path) -> Path:
        """Write the log to `path`, gzipped if it ends in `.gz`; `CompileLog.load` reads it."""
        target = Path(path)
        data = json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":")).encode()
        target.write_bytes(gzip.compress(data, mtime=0) if target.suffix == ".gz" else data)
        return target

    @classmethod
    def load(cls, path: str | Path) -> CompileLog:
        """The log that `save` wrote.

        Raises FileNotFoundError, and jaxscope.model.SchemaError when the file is no such log.
        """
        log = read(path)
        return cls(lambda: log)

    def to_markdown(self) -> str:
        """The first line, the table and what to change, ready for an issue or a pull request."""
        from jaxscope.view.compiles.text import markdown

        return markdown(self.log)

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The log as a terminal shows it."""
        from jaxscope.view.compiles.text import text

        return text(self.log, width, color)

    def to_dataframe(self) -> pd.DataFrame:
        """One row a compile. Needs pandas."""
        import pandas as pd

        from jaxscope.analysis.compiles.table import table

        columns, rows = table(self.log)
        return pd.DataFrame.from_records(rows, columns=list(columns))

    def figure(self) -> Any:
        """A plotly figure: where the time went, by function, and when. Needs plotly."""
        try:
            from jaxscope.view.charts.compiles import figure
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] != "plotly":
                raise
            raise ModuleNotFoundError(
                "The figure needs plotly, which is not installed: `pip install plotly`, or "
                "`pip install jaxscope[plots]`. `log.by_function()` has the same figures."
            ) from None
        return figure(self.log)

    # Displays.

    def __repr__(self) -> str:
        return f"<jaxscope.CompileLog: {self.summary()}>"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.to_text().rstrip("\n"))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from jaxscope.view.bundle.mime_bundle import bundle

        return bundle("log", self._plain, self.static_html)

    def _plain(self) -> str:
        return self.to_text(width=100)

    def static_html(self) -> str:
        """The log as HTML without script, as a saved notebook shows it."""
        from jaxscope.view.compiles.html import static_html

        return static_html(self.log)

    def freeze(self) -> None:
        """Keep what is known now."""
        self._kept = self._read()

    def settle(self) -> None:
        """Nothing will be added; what is first read from now on is kept."""
        self._over = True


@contextlib.contextmanager
def watching(*, slow_path: bool = False) -> Generator[CompileLog]:
    """A log that listens for the length of the block; what `jaxscope.watch` gives."""
    from jaxscope.capture.compile_log.watch import Watch

    watch = Watch(slow_path=slow_path)
    log = CompileLog(watch.log, lambda compile: _opened(watch, compile))
    watch.begin()
    try:
        yield log
    finally:
        watch.end()
        log.settle()


def _opened(watch: Watch, compile: Compile) -> Report:
    from jaxscope.results.report import Report

    return Report(*watch.program(compile.serial))


def _no_such(index: int, count: int) -> str:
    if not count:
        return "Nothing was compiled, so there is no program to open."
    from jaxscope import words

    last = f"0 to {count - 1}" if count > 1 else "0 alone"
    return f"The log has {words.count(count, 'compile')}, and none at {index}: give {last}."


def _all(log: Log) -> tuple[Compile, ...]:
    return (*log.compiles, *log.failed, *log.passes)


def read(path: str | Path) -> Log:
    """The data that `CompileLog.save` wrote. Raises SchemaError when it is no such file."""
    raw = Path(path).read_bytes()
    try:
        data = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (ValueError, OSError, EOFError) as error:
        raise SchemaError(f"{path} is not a compile log: {error}.") from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, int) or "compiles" not in data or "programs" in data:
        raise SchemaError(
            f"{path} is not a compile log; jaxscope.load reads the reports of Report.save."
        )
    if schema > LOG_SCHEMA:
        raise SchemaError(
            f"{path} has schema {schema} and this jaxscope reads up to {LOG_SCHEMA}; "
            "upgrade jaxscope."
        )
    return from_json(Log, data)
