"""The golden compile log, log.json, and the schemas of a log and of an event in docs/.

`make golden` writes them. Figures are invented; the shape is that of a notebook's log.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jaxscope.analysis.compiles.storms import storms
from jaxscope.model import (
    Cause,
    CauseKind,
    Compile,
    CompileKind,
    Frame,
    Persistent,
    Span,
    to_json,
)
from jaxscope.model.compile_log import Log, LogSource
from jaxscope.model.schema import event_schema, log_schema

HERE = Path(__file__).parent
DOCS = HERE.parents[2] / "docs"
BEGAN = 1_800_000_000.0
LOOP, CELL, FILE = 0, 1, 2
SOURCES = (
    LogSource("/tmp/cell_3.py", "In [3]", ((4, "    state = step(state, batch)"),), 3),
    LogSource(
        "/tmp/cell_5.py",
        "In [5]",
        ((2, "train(batches)"), (7, "losses = [jax.jit(lambda x: x * k)(x) for k in range(20)]")),
        5,
    ),
    LogSource("/home/me/data.py", "data.py", ((12, "    x = (x - x.mean()) / x.std()"),)),
)


def frame(source: int, line: int, function: str = "<module>") -> Frame:
    text = SOURCES[source].line(line)
    start = len(text) - len(text.lstrip())
    return Frame(source, SOURCES[source].file, function, Span(line, start, line, len(text)))


def compile(serial: int, name: str, site: Frame, seconds: tuple[float, float, float], **more: Any):
    given = {"kind": CompileKind.JIT, "stack": (site,), "cell": 5, "thread": "MainThread"} | more
    return Compile(
        name,
        given.pop("kind"),
        site,
        **dict(zip(("trace_s", "lower_s", "compile_s"), seconds, strict=True)),
        serial=serial,
        started=BEGAN + serial,
        **given,
    )


def log() -> Log:
    inner, outer = frame(LOOP, 4, "train"), frame(CELL, 2)
    first = Cause(CauseKind.FIRST_CALL, "", "", "", "`step` was compiled for the first time.", fix="")
    shape = Cause(
        CauseKind.SHAPE,
        "batch",
        "f32[128,784]",
        "f32[104,784]",
        "The shape of `batch` changed: f32[128,784] → f32[104,784] (axis 0).",
        fix="Pad `batch` to a few fixed sizes and mask the padding, or drop the last batch.",
    )
    new = Cause(
        CauseKind.NEW_FUNCTION, "", "", "", "`<lambda>` is a new function.", fix="Create it once."
    )
    operation = Cause(CauseKind.EAGER_OP, "", "", "", "A first use.", fix="")
    signature = ("state: 8 leaves, 1.2 MB", "batch: f32[128,784]")
    made = [
        compile(
            1,
            "step",
            inner,
            (0.2, 0.1, 1.5),
            signature=signature,
            causes=(first,),
            stack=(inner, outer),
            persistent=Persistent.WRITTEN,
        ),
        compile(
            2,
            "step",
            inner,
            (0.19, 0.11, 1.4),
            signature=signature,
            causes=(shape,),
            stack=(inner, outer),
            nearest=1,
        ),
    ]
    for number, name in enumerate(("_mean", "subtract", "_std", "true_divide"), 3):
        made.append(
            compile(
                number,
                name,
                frame(FILE, 12, "load"),
                (0.002, 0.004, 0.03),
                kind=CompileKind.EAGER,
                causes=(operation,),
                stack=(frame(FILE, 12, "load"),),
            )
        )
    for number in range(7, 27):
        causes = (first,) if number == 7 else (new,)
        made.append(
            compile(number, "<lambda>", frame(CELL, 7), (0.003, 0.005, 0.02), causes=causes)
        )
    failed = compile(
        27, "loss", frame(CELL, 2), (0.01, 0.0, 0.0), error="TracerBoolConversionError"
    )
    return Log(
        "2027-01-15T08:00:00+00:00",
        tuple(made),
        failed=(failed,),
        sources=SOURCES,
        storms=storms(made),
        versions=(("jaxscope", "0.1.0"), ("jax", "0.10.2"), ("python", "3.11.7")),
    )


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def files() -> dict[Path, str]:
    """The texts by path."""
    return {
        HERE / "log.json": text(to_json(log())),
        DOCS / "compile_log.schema.json": text(log_schema()),
        DOCS / "compile_event.schema.json": text(event_schema()),
    }
