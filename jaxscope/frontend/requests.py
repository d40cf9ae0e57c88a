"""Answers to a viewer that requests a text or a figure of a report.

Nothing here executes programs, and only a stage that `costs_compile` compiles one, after the viewer
has shown its price: texts come from live programs or from the record, in any thread, also while a
cell runs.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from typing import Any

from jaxscope.frontend.shown import ShownReport
from jaxscope.model import StageKind, Unavailable, to_json

Json = dict[str, Any]
MANY = 2000
"""Equations above which a saved output may have none, so that they are sent with a text."""


class Refused(Exception):
    """The request cannot be answered; the message is a sentence for the reader of the report."""

    def __init__(self, message: str, why: str = "error") -> None:
        super().__init__(message)
        self.why = why


def reply(answered: Callable[[], bytes]) -> tuple[Json, list[bytes]]:
    """The message that carries an answer or the reason why there is none, and its buffers."""
    try:
        return {"ok": True}, [answered()]
    except Refused as refused:
        return {"ok": False, "why": refused.why, "message": str(refused)}, []
    except Exception as error:
        reason = f"jaxscope could not answer ({type(error).__name__}: {error})."
        return {"ok": False, "why": "error", "message": reason}, []


def answer(report: ShownReport, request: Mapping[str, Any]) -> bytes:
    """Gzipped JSON: a `StageAnswer` for `{"op": "stage", "program": 0, "kind": "hlo"}`, the
    seconds of its compilation for `{"op": "price", …}`, the program before and after a pass for
    `{"op": "pass", "program": 0, "number": 9}`, a plotly figure for
    `{"op": "figure", "kind": "stack"}`.

    Raises Refused with the reason.
    """
    match request.get("op"):
        case "stage":
            return packed(_stage(report, request))
        case "price":
            number = _program(report, request)
            return packed({"seconds": report.price(_kind(request), number) or 0.0})
        case "pass":
            return packed(_pass(report, request))
        case "figure":
            return _compressed(_figure(report, request))
        case other:
            raise Refused(
                f"The request {other!r} is unknown, because the viewer is newer than the kernel's "
                "jaxscope. Upgrade jaxscope in the kernel's environment, and restart the kernel."
            )


def packed(found: Mapping[str, Any]) -> bytes:
    """An answer as the viewer reads it."""
    return _compressed(json.dumps(found, separators=(",", ":")))


def _compressed(text: str) -> bytes:
    # Level 1: a tenth of the time, and it only travels to the browser.
    return gzip.compress(text.encode(), 1, mtime=0)


def _stage(report: ShownReport, request: Mapping[str, Any]) -> Json:
    from jaxscope.view.bundle.figures import by_instruction, lost

    number = _program(report, request)
    stage = report.stage(_kind(request), number)
    found: Json = {"stage": to_json(stage)}
    program = report.programs[number]
    if stage.kind is StageKind.OPTIMIZED_HLO and stage.text:
        found["instructions"] = by_instruction(program, stage)
    if stage.kind is not StageKind.HLO:
        # The others together tell why an equation was eliminated.
        found |= lost(program)
    if len(program.equations) > MANY:
        found["equations"] = to_json(program.equations)
    return found


def _kind(request: Mapping[str, Any]) -> str:
    kind = request.get("kind")
    if kind not in list(StageKind):
        raise Refused(f"There is no stage {kind!r}; there are {', '.join(StageKind)}.")
    return str(kind)


def _program(report: ShownReport, request: Mapping[str, Any]) -> int:
    from jaxscope.words import count

    number = request.get("program", 0)
    if type(number) is not int or not 0 <= number < len(report.programs):
        has = count(len(report.programs), "program")
        raise Refused(f"This report has {has}; there is no number {number!r}.")
    return number


def _pass(report: ShownReport, request: Mapping[str, Any]) -> Json:
    from jaxscope.view.diff.passes import pass_payload

    passes, number = report.passes(_program(report, request)), request.get("number")
    if isinstance(passes, Unavailable):
        raise Refused(f"There are no passes: {passes.reason}.")
    if type(number) is not int:
        raise Refused(f"A pass has a number, not {number!r}.")
    try:
        return pass_payload(passes.diff(number).data)
    except LookupError as error:
        raise Refused(str(error)) from None


def _figure(report: ShownReport, request: Mapping[str, Any]) -> str:
    try:
        return report.plot(request.get("kind")).to_json()
    except (ValueError, LookupError, ModuleNotFoundError) as error:
        # Raised by `plot` itself, in whole sentences.
        raise Refused(str(error.args[0] if error.args else error)) from None
