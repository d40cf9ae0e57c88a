"""The listener's compilations as a log: frozen data, with the names and lines of their sources."""

from __future__ import annotations

import importlib.metadata
import linecache
import platform
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from jaxscope.analysis.compiles.avoidable import is_avoidable
from jaxscope.analysis.compiles.storms import storms
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.source.cell_names import Places
from jaxscope.model.compile_log import CompileEvent, Log, LogSource
from jaxscope.model.compiles import UNOBSERVED, Compile
from jaxscope.model.source import Frame
from jaxscope.version import __version__

_LONGEST = 200
"""Characters of a line that are kept."""


class _LogSources:
    """The cells and files of all frames, each once."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._index: dict[tuple[str, str], int] = {}
        self._lines: list[dict[int, str]] = []
        self._cells: list[int | None] = []

    def frame(self, frame: Frame | None, serial: int) -> Frame | None:
        if frame is None:
            return None
        name = self._places.name(frame.file, serial)
        index = self._index.setdefault((frame.file, name), len(self._index))
        if index == len(self._lines):
            linecache.checkcache(frame.file)  # a module that was edited and loaded again
            self._lines.append({})
            self._cells.append(self._places.number(frame.file, serial))
        number = frame.span.line
        if number not in self._lines[index]:
            text = linecache.getline(frame.file, number).rstrip()
            self._lines[index][number] = text[:_LONGEST]
        return replace(frame, source=index)

    def all(self) -> tuple[LogSource, ...]:
        return tuple(
            LogSource(
                file, name, tuple((n, text) for n, text in sorted(lines.items()) if text), cell
            )
            for (file, name), lines, cell in zip(self._index, self._lines, self._cells, strict=True)
        )


def build_log(
    listener: Listener, raws: Sequence[RawCompile], created: float, notes: tuple[str, ...] = ()
) -> Log:
    """The log of these compilations; `created` in seconds since the epoch."""
    sources = _LogSources(listener.places)
    compiles: list[Compile] = []
    failed: list[Compile] = []
    passes: list[Compile] = []
    for raw in raws:
        if not raw.happened:
            continue
        into = failed if raw.error else compiles if raw.compiled else passes
        into.append(_placed(listener, raw, sources))
    return Log(
        datetime.fromtimestamp(created, UTC).isoformat(timespec="seconds"),
        tuple(compiles),
        failed=tuple(failed),
        passes=tuple(passes),
        sources=sources.all(),
        storms=storms(compiles),
        notes=notes,
        versions=_versions(),
    )


def _placed(listener: Listener, raw: RawCompile, sources: _LogSources) -> Compile:
    """The compilation with its cell, its frames pointing at the sources of the log."""
    compile, places = listener.history.compile_of(raw), listener.places
    stack = tuple([frame for one in compile.stack if (frame := sources.frame(one, raw.number))])
    cell = places.cell(raw.number) if compile.cell is None else compile.cell
    if cell is None and stack:  # the outermost frame is in the cell that ran
        cell = places.number(stack[-1].file, raw.number)
    return replace(
        compile,
        site=sources.frame(compile.site, raw.number),
        stack=stack,
        defined=sources.frame(compile.defined, raw.number),
        cell=cell,
    )


def build_event(listener: Listener, raw: RawCompile) -> CompileEvent:
    """The event that front ends receive for one compilation."""
    sources = _LogSources(listener.places)
    compile = _placed(listener, raw, sources)
    cause = compile.causes[0] if compile.causes else None
    place, line, text = "", None, ""
    if (site := compile.site) is not None and site.source is not None:
        source, line = sources.all()[site.source], site.span.line
        place, text = f"{source.name}:{line}", source.line(line).strip()
    return CompileEvent(
        raw.number,
        compile.fun_name,
        compile.kind,
        compile.cell,
        cell_id=listener.places.cell_id(raw.number),
        place=place,
        line=line,
        text=text,
        trace_s=compile.trace_s,
        lower_s=compile.lower_s,
        compile_s=compile.compile_s,
        recompile=compile.is_recompile,
        avoidable=is_avoidable(compile, lambda: _compiled_there(listener, raw)),
        cause=cause.text if cause is not None else "",
        fix=cause.fix if cause is not None else "",
        persistent=compile.persistent,
        error=compile.error,
    )


def _compiled_there(listener: Listener, raw: RawCompile) -> bool:
    """Whether the same call compiled the function before, in the same run of the cell."""
    cell = listener.places.cell
    for one in reversed(listener.since(0)):
        if one.number < raw.number:
            if cell(one.number) != cell(raw.number):
                return False
            if one.compiled and (one.fun_name, one.frames) == (raw.fun_name, raw.frames):
                return True
    return False


def caveats(listener: Listener, since: int, losses: int) -> tuple[str, ...]:
    """Gaps of a log that began after that serial, as sentences."""
    found: list[str] = []
    kept = listener.since(since)
    missing = (kept[0].number if kept else listener.count + 1) - since - 1
    if missing > 0:
        found.append(
            f"The first {missing} of {listener.count - since} compilations were dropped: a session "
            f"keeps the latest {len(listener.records)}."
        )
    if listener.losses > losses:
        found.append(
            f"{UNOBSERVED}`jax.monitoring.clear_event_listeners()` removed jaxscope's listener, "
            "and until it was registered again none were observed."
        )
    return (*found, *listener.notes)


def _versions() -> tuple[tuple[str, str], ...]:
    try:
        jax = importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        jax = "unknown"
    return (("jaxscope", __version__), ("jax", jax), ("python", platform.python_version()))
