"""The listener's compiles as a log: frozen data, with the names and lines of their places."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import linecache
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from jaxscope.analysis.compiles.storms import storms
from jaxscope.capture.compiles.listener import Listener
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.source.cell_names import Places
from jaxscope.model.compile_log import CompileEvent, Log, Origin
from jaxscope.model.compiles import Compile
from jaxscope.model.source import Frame
from jaxscope.version import __version__

_LONGEST = 200
"""Characters of a line that are kept."""


class _Origins:
    """The cells and files that frames point at, each once."""

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
            self._lines.append({})
            self._cells.append(self._places.number(frame.file, serial))
        number = frame.span.line
        if number not in self._lines[index]:
            text = linecache.getline(frame.file, number).rstrip()
            self._lines[index][number] = text[:_LONGEST]
        return dataclasses.replace(frame, source=index)

    def all(self) -> tuple[Origin, ...]:
        return tuple(
            Origin(file, name, tuple((n, text) for n, text in sorted(lines.items()) if text), cell)
            for (file, name), lines, cell in zip(self._index, self._lines, self._cells, strict=True)
        )


def gather(
    raws: Sequence[RawCompile], created: float, places: Places, notes: tuple[str, ...] = ()
) -> Log:
    """The log of these compiles, in the order they began; `created` in seconds since the epoch."""
    origins = _Origins(places)
    compiles: list[Compile] = []
    failed: list[Compile] = []
    passes: list[Compile] = []
    for raw in raws:
        if not raw.happened:
            continue
        into = failed if raw.error else compiles if raw.compiled else passes
        into.append(_placed(raw.to_compile(), raw.number, origins, places))
    return Log(
        created=datetime.fromtimestamp(created, UTC).isoformat(timespec="seconds"),
        compiles=tuple(compiles),
        failed=tuple(failed),
        passes=tuple(passes),
        origins=origins.all(),
        storms=storms(compiles),
        notes=notes,
        versions=_versions(),
    )


def _placed(compile: Compile, serial: int, origins: _Origins, places: Places) -> Compile:
    """The compile with its serial and cell, its frames pointing at the origins."""
    stack = tuple([frame for one in compile.stack if (frame := origins.frame(one, serial))])
    cell = places.cell(serial) if compile.cell is None else compile.cell
    if cell is None and stack:  # the outermost frame is in the cell that ran
        cell = places.number(stack[-1].file, serial)
    return dataclasses.replace(
        compile,
        serial=serial,
        site=origins.frame(compile.site, serial),
        stack=stack,
        defined=origins.frame(compile.defined, serial),
        cell=cell,
    )


def event(raw: RawCompile, places: Places) -> CompileEvent:
    """What a front end is told of one compile."""
    origins = _Origins(places)
    compile = _placed(raw.to_compile(), raw.number, origins, places)
    cause = compile.causes[0] if compile.causes else None
    site = compile.site
    origin = origins.all()[site.source] if site is not None and site.source is not None else None
    return CompileEvent(
        serial=raw.number,
        fun_name=compile.fun_name,
        kind=compile.kind,
        cell=compile.cell,
        cell_id=places.cell_id(raw.number),
        place=f"{origin.name}:{site.span.line}" if origin is not None and site is not None else "",
        line=site.span.line if site is not None else None,
        text=origin.line(site.span.line).strip() if origin is not None and site is not None else "",
        trace_s=compile.trace_s,
        lower_s=compile.lower_s,
        compile_s=compile.compile_s,
        recompile=compile.is_recompile,
        cause=cause.text if cause is not None else "",
        fix=cause.fix if cause is not None else "",
        persistent=compile.persistent,
        error=compile.error or raw.error,
    )


def lost(listener: Listener, since: int, losses: int) -> tuple[str, ...]:
    """What may be missing from a log that began after that serial, as sentences."""
    found: list[str] = []
    kept = listener.since(since)
    missing = (kept[0].number if kept else listener.count + 1) - since - 1
    if missing > 0:
        found.append(
            f"The first {missing} of {listener.count - since} compiles are no longer kept: a "
            f"session remembers the latest {len(listener.records)}."
        )
    if listener.losses > losses:
        found.append(
            "Somebody called `jax.monitoring.clear_event_listeners()`, which takes every library's "
            "listeners away, jaxscope's too; it listens again, and compiles in between are missing."
        )
    return (*found, *listener.notes)


def _versions() -> tuple[tuple[str, str], ...]:
    try:
        jax = importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        jax = "unknown"
    return (("jaxscope", __version__), ("jax", jax), ("python", platform.python_version()))
