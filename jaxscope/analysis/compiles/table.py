"""A compile log as rows and columns, for data frames."""

from __future__ import annotations

from typing import Any

from jaxscope.analysis.compiles.groups import line_text, place, storm_of
from jaxscope.model.compile_log import Log

Columns = tuple[str, ...]
Rows = tuple[tuple[Any, ...], ...]


def table(log: Log) -> tuple[Columns, Rows]:
    """One row per compilation, including failed ones, in the order they began."""
    columns = (
        "number",
        "function",
        "kind",
        "cell",
        "place",
        "line",
        "trace_s",
        "lower_s",
        "compile_s",
        "total_s",
        "recompile",
        "cause",
        "why",
        "fix",
        "pattern",
        "signature",
        "persistent",
        "persistent_why",
        "thread",
        "error",
    )
    storms = storm_of(log)
    made = sorted((*log.compiles, *log.failed), key=lambda compile: compile.serial)
    return columns, tuple(
        [
            (
                one.serial,
                one.fun_name,
                str(one.kind),
                one.cell,
                place(one, log),
                line_text(one, log),
                one.trace_s,
                one.lower_s,
                one.compile_s,
                one.total_s,
                one.is_recompile,
                str(one.causes[0].kind) if one.causes else "",
                " ".join(cause.text for cause in one.causes),
                " ".join(dict.fromkeys(cause.fix for cause in one.causes if cause.fix)),
                storms[one.serial].pattern if one.serial in storms else "",
                ", ".join(one.signature),
                str(one.persistent),
                one.persistent_why,
                one.thread,
                one.error,
            )
            for one in made
        ]
    )
