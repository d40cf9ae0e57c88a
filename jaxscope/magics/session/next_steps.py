"""The next question about a report, as code that answers it.

Buttons in the header of a report insert and run the code, and a terminal's report ends with it. A
step is offered only where it gives an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jaxscope.analysis.profile.warnings import SHORTEST_S
from jaxscope.analysis.python.plain_call import plain_call
from jaxscope.magics.session.session import Session
from jaxscope.model import Form, Record, ValueKind
from jaxscope.model.variants import TrialVerdict
from jaxscope.results.report import Report
from jaxscope.view.bundle.payload_json import NextStepJson

_PLAIN_JIT = re.compile(r"%%?jaxjit((\s+(-o|-n|--report|--runs|--view)\s+\S+|\s+(-q|--quiet))*)\s*")
"""A first line whose options do not change the program."""
_NO_RUNS = re.compile(r"\s+(-n|--runs)[\s=]*0(?=\s|$)")
_MAGIC = re.compile(r"%%?jax(jit|grad|vmap|pmap|compose)\b")
_WHOLE = re.compile(r"(plain Python|compiled nothing)[;.] `--block` compiles the whole cell")
_FORMS = (Form.BLOCK, Form.FUNCTION, Form.DECORATOR, Form.LINE)


def next_steps(report: Report, session: Session) -> list[NextStepJson]:
    """The steps that apply to a report of this session, the likeliest first."""
    found = [step(report, session) for step in _STEPS]
    return [one for one in found if one is not None]


def command(step: NextStepJson) -> str:
    """The step as one line to type; of a cell that runs again, its new first line."""
    return step["code"].partition("\n")[0]


def _profile(report: Report, session: Session) -> NextStepJson | None:
    """Time by line, where it was not measured and a call is long enough for it."""
    record = report.record
    program = record.programs[0] if record.programs else None
    if program is None or program.target is not None or program.profile is not None:
        return None
    if record.form not in _FORMS:
        return None
    short = any(one.label == "call" and one.median_s < SHORTEST_S for one in program.timings)
    if short and not any(device.startswith("gpu") for device in program.devices):
        return None
    shown_by = session.shown_by(report)
    cell = "" if shown_by is None else shown_by.text
    not_run = not program.timings and record.form in (Form.BLOCK, Form.LINE)
    if not_run and not _NO_RUNS.search(cell.partition("\n")[0]):
        return None  # its inputs are shapes, or no program runs by default
    call = _call(record, cell)
    if call:
        code = f"%jaxprof {call}"
        return {"label": "Profile", "title": f"Which line is slow? Runs {code}", "code": code}
    magic = _MAGIC.match(cell)
    if magic is None or "--profile" in cell.partition("\n")[0]:
        return None
    if record.form is Form.LINE and "\n" in cell.strip():
        return None
    head, newline, body = cell[magic.end() :].partition("\n")
    code = f"{magic[0]} --profile{_NO_RUNS.sub('', head)}{newline}{body}"
    title = "Which line is slow? Runs this cell again with --profile"
    return {"label": "Profile", "title": title, "code": code, "replaces": cell}


def _block(report: Report, session: Session) -> NextStepJson | None:
    """The whole cell as one program, where it only hands its functions to others."""
    record, shown_by = report.record, session.shown_by(report)
    if record.programs or record.form is not Form.FUNCTION or shown_by is None:
        return None
    magic = _MAGIC.match(shown_by.text)
    if magic is None or not any(_WHOLE.search(note) for note in record.notes):
        return None
    code = f"{magic[0]} --block{shown_by.text[magic.end() :]}"
    title = "What does the whole cell compile to? Runs this cell again with --block"
    label = "Compile the cell"
    return {"label": label, "title": title, "code": code, "replaces": shown_by.text}


def _call(record: Record, cell: str) -> str:
    """The one call behind the report, if `%jaxprof` compiles the same program for it."""
    program = record.programs[0]
    donated = any(value.kind is ValueKind.DONATED for value in program.inputs)
    head = cell.partition("\n")[0]
    if program.transforms != ("jit",) or donated or record.form is Form.BLOCK:
        return ""
    if record.form is Form.LINE:
        options = head.strip().removesuffix(record.title)
        return record.title if _PLAIN_JIT.fullmatch(options) else ""
    if not _PLAIN_JIT.fullmatch(head):
        return ""
    return plain_call(cell, program.name)


def _diff(report: Report, session: Session) -> NextStepJson | None:
    """The changes since the last run of the same cell, where its code or its inputs changed."""
    before = session.earlier(report)
    if before is None or _shape(before.record) == _shape(report.record):
        return None
    first, second = session.shown_by(before), session.shown_by(report)
    if first is None or second is None:
        return None
    code = f"%jaxdiff {first.number} {second.number}"
    title = f"What did my change do? Runs {code}"
    return {"label": "Diff with last run", "title": title, "code": code}


def _shape(record: Record) -> Any:
    """The code without the line of the magic, and the inputs of the programs.

    Not the cells that made the arrays alive after a profiled cell: these differ in every run.
    """
    live = {one.source for one in record.profile.live} if record.profile else set()
    texts = [
        re.sub(r"\A%%.*", "", source.text)
        for number, source in enumerate(record.sources)
        if number == 0 or number not in live
    ]
    return texts, [(p.title, [v.aval for v in p.inputs], len(p.equations)) for p in record.programs]


def _try(report: Report, session: Session) -> NextStepJson | None:
    """The fixes of the findings, where one of them can be applied to the code."""
    shown_by, numbers = session.shown_by(report), _fixes(report)
    if shown_by is None or not numbers:
        return None
    return _all_fixes(shown_by.number)


def _all_fixes(cell: int) -> NextStepJson:
    code = f"%jaxtry --of {cell}"
    title = f"Does the advice help here? Runs {code}"
    return {"label": "Try the fixes", "title": title, "code": code}


def finding_steps(report: Report, session: Session) -> list[NextStepJson]:
    """The trial of each finding whose fix can be applied, as a button beside it."""
    shown_by = session.shown_by(report)
    if shown_by is None:
        return []
    cell = shown_by.number
    return [{**_trial(cell, one, session), "finding": one} for one in _fixes(report)]


def recompilation_steps(cell: int, session: Session) -> list[NextStepJson]:
    """The trial of each recompilation of `In [cell]` whose fix can be applied, as a button beside
    its compilations; before them, that of all, as a button below the cell."""
    from jaxscope.analysis.variants.fixes import advised
    from jaxscope.capture.run.logged_cell import NoCellError

    report = session.numbered(cell)
    try:
        record = session.log_of(cell).cell_record() if report is None else report.record
    except NoCellError:
        return []
    found: list[NextStepJson] = []
    for one in advised(record) if record is not None else ():
        if one.recompilation is not None and not isinstance(one.change, str):
            serials = [compile.serial for compile in one.recompilation.compiles]
            found.append({**_trial(cell, one.number, session), "serials": serials})
    return [_all_fixes(cell), *found] if found else []


def _trial(cell: int, number: int, session: Session) -> NextStepJson:
    """The trial of one fix, with what it brought the last time."""
    code = f"%jaxtry --of {cell} {number}"
    title = f"Does this fix help here? Runs {code}"
    step: NextStepJson = {"label": "Try it", "title": title, "code": code}
    known = session.trials.get(cell, {}).get(number)
    if known is not None:
        from jaxscope.view.report.trials import gain

        step["outcome"] = f"{str(known.verdict).capitalize()}: {gain(known)}"
        if known.verdict is not TrialVerdict.UNCLEAR:
            step["gain"] = known.verdict is TrialVerdict.BETTER
    return step


def _fixes(report: Report) -> list[int]:
    """The numbers of the findings, from 1, whose fix can be applied to the code."""
    if report.origin is None:
        return []
    if not report.findings:
        return []
    from jaxscope.analysis.variants import change_of

    changes = [change_of(finding, report.record) for finding in report.findings]
    return [i for i, change in enumerate(changes, 1) if not isinstance(change, str)]


_STEPS: tuple[Callable[[Report, Session], NextStepJson | None], ...] = (
    _try,
    _block,
    _profile,
    _diff,
)
