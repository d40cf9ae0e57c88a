"""A record, and the texts of its compiled programs while these are alive."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from jaxscope.model import Link, Program, Record, Stage, StageKind, TextSource, Unavailable
from jaxscope.results.base import Viewed

SMALL_PROGRAM = 300
"""Most equations of a jaxpr that a display includes: about 5 ms and 30 kB."""
_NO_PROGRAM = Unavailable("nothing was compiled, so there is no program to show")
_OTHERS = Unavailable("only other functions compiled in this run, so there is no program to show")


def stage_kind(kind: str) -> StageKind:
    """The stage of that name. Raises ValueError where there is none."""
    try:
        return StageKind(kind)
    except ValueError:
        known = ", ".join(StageKind)
        raise ValueError(f"There is no stage {kind!r}. The stages are: {known}.") from None


class LiveRecord(Viewed):
    """A record whose texts are fetched on request, and kept."""

    def __init__(self, record: Record, texts: Sequence[TextSource | None] = ()) -> None:
        self._record = record
        self._texts = (*texts, *(None for _ in record.programs[len(texts) :]))
        self._lock = threading.RLock()
        self._id = ""

    @property
    def id(self) -> str:
        """The key of this report for requests to the kernel: a uuid4."""
        with self._lock:
            if not self._id:
                import uuid  # loads more than a session needs at its start

                self._id = str(uuid.uuid4())
            return self._id

    @property
    def record(self) -> Record:
        """The frozen data, with the texts fetched so far."""
        return self._record

    @property
    def programs(self) -> tuple[Program, ...]:
        """One program per compiled function and signature, the costliest first."""
        return self._record.programs

    # Texts and links.

    # Texts and links.

    def stage(self, kind: str, program: int = 0) -> Stage:
        """The program's text at one level: jaxpr, stablehlo, hlo, passes, remarks, optimized_hlo,
        thunks, llvm, llvm_optimized or asm.

        `passes`, `remarks`, and the first of `llvm` and `llvm_optimized` compile the program once
        more: `price(kind)` has the seconds. Raises ValueError for a level that does not exist. An
        unavailable text is a Stage whose `unavailable` has the reason.
        """
        wanted = stage_kind(kind)
        if not self.programs:
            return Stage(wanted, unavailable=self._no_program())
        for stage in self.programs[program].stages:
            if stage.kind == wanted:
                return stage
        source = self._texts[program]
        if source is None:
            return Stage(
                wanted,
                unavailable=Unavailable("this text was not saved with the report; run it again"),
            )
        stage = source.text(wanted)
        if stage.unavailable is None:
            self._keep(program, stage)
        return stage

    def stage_lines(self, kind: str, line: int, source: int = 0) -> Link:
        """Line numbers of the stage that match a source line, through any of its frames."""
        from jaxscope.analysis.links.line_links import stage_lines

        return self._link(stage_lines, kind, line, source)

    def source_lines(self, kind: str, line: int, source: int = 0) -> Link:
        """Lines of the cell (or of another source) that match a line of the stage."""
        from jaxscope.analysis.links.line_links import source_lines

        return self._link(source_lines, kind, line, source)

    def _link(
        self, find: Callable[[Program, Stage, int, int], Link], kind: str, line: int, source: int
    ) -> Link:
        stage = self.stage(kind)
        if stage.unavailable is not None:
            return Link((), False, stage.unavailable.reason)
        return find(self.programs[0], stage, line, source)

    def complete(self) -> Self:
        """Fetch every text from the jaxpr to the optimized HLO, or the reason for its absence;
        saving does this first."""
        # A profiled cell that compiled nothing has a trace and no program.
        for program, texts in enumerate(self._texts[: len(self.programs)]):
            for kind in StageKind:
                if not kind.on_request and texts is not None:
                    self._keep(program, self.stage(kind, program))
        return self

    def _keep(self, program: int, stage: Stage) -> None:
        # A viewer may ask from another thread.
        with self._lock:
            programs = list(self._record.programs)
            old = programs[program]
            others = (s for s in old.stages if s.kind != stage.kind)
            order = list(StageKind)
            stages = tuple(sorted((*others, stage), key=lambda s: order.index(s.kind)))
            programs[program] = dataclasses.replace(old, stages=stages)
            self._record = dataclasses.replace(self._record, programs=tuple(programs))

    def _with_texts(self, whole: bool) -> Record:
        """The record with the cheap texts, or all; each with the reason where it is unavailable."""
        programs: list[Program] = []
        for number, program in enumerate(self.programs):
            here = {stage.kind for stage in program.stages}
            gone = self._texts[number] is None
            small = len(program.equations) <= SMALL_PROGRAM
            cheap = [k for k in StageKind if (whole or small or gone) and not k.on_request]
            wanted = [kind for kind in StageKind if kind in here or kind in cheap]
            stages = tuple(self.stage(kind, number) for kind in wanted)
            programs.append(dataclasses.replace(program, stages=stages))
        return dataclasses.replace(self._record, programs=tuple(programs))

    def _fetch_for_display(self) -> None:
        """The text that the source table and the static page need."""
        for program in range(len(self.programs)):
            self.stage(StageKind.OPTIMIZED_HLO, program)

    # Traces of the profiler.

    def _traces(self) -> Iterator[bytes]:
        """The trace of each program; empty where it was not profiled."""
        return (getattr(text, "trace", b"") for text in self._texts)

    def _trace(self) -> bytes:
        found = next(filter(None, self._traces()), b"")
        if not found:
            raise LookupError(
                "This report has no profiler trace: only reports of %jaxprof, %%jaxprof or "
                "--profile have one, until their kernel ends."
            )
        return found

    def _no_program(self) -> Unavailable:
        """The reason; functions other than those of the cell may have compiled."""
        return _OTHERS if self._record.compiles else _NO_PROGRAM
