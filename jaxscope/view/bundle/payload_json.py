"""The shapes of the JSON that the viewer reads, beside those of the model.

The model's dataclasses define the record; these define what Python adds for a front end: figures by
line, tables and pictures as markup, answers to requests. `labextension/src/schema/` is generated
from both (`make golden`), with the checks that the viewer makes at run time.

An optional key is left out where it does not apply; the viewer distinguishes that from empty.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, NotRequired, TypedDict

from jaxscope.analysis.compiles.storms import StormUpdate
from jaxscope.model import Equation, Record, Stage, StageKind
from jaxscope.model.compile_log import CellRun, CompileEvent


class PayloadJson(TypedDict):
    """A report, or a comparison of two, as a notebook's output, a page or a widget carries it."""

    schema: int
    version: str
    """The version of the Python package that wrote it."""
    id: str
    """A uuid4 that identifies the report in requests to its kernel; empty in a page."""
    summary: str
    """The first line, shown before anything is unpacked."""
    data: str
    """JSON of `ReportDataJson`, or of the data of another kind: gzip, base64."""
    kind: NotRequired[Literal["diff", "comparison"]]
    """Absent for a report."""
    apart: NotRequired[dict[str, str]]
    """Of a page: long texts that no pane shows at first, by `0/hlo`, program and stage. JSON of
    `StageAnswerJson`: gzip, base64."""


class ReportDataJson(TypedDict):
    """The packed part of a report."""

    record: Record
    programs: list[ProgramFiguresJson]
    """One for each program of the record, in the same order."""
    tabs: list[TabJson]
    """Everything that Python renders: sentences, tables and static pictures."""
    findings: str
    """Markup of the list of findings, with `data-source` and `data-line` on its links."""
    first: list[str]
    """The facts of the first line: title first."""
    nothing: NotRequired[str]
    """The reason why there is no program, in whole sentences."""
    lines: NotRequired[dict[str, LineTimeJson]]
    """Without a program: the times of the lines of the first source, by line."""
    opens: NotRequired[int]
    """The source that is shown first, where it is not the first one."""


class TabJson(TypedDict):
    """A part of the report in sentences, tables and pictures."""

    key: str
    title: str
    sections: list[SectionJson]
    figures: NotRequired[list[str]]
    """Kinds of plotly figures that the host can request."""


class SectionJson(TypedDict):
    """The section of one program in a tab."""

    program: int | None
    """Null for the whole run."""
    heading: str
    markup: str
    """Static HTML and SVG without script. `markup.ts` copies an allow-list of it."""


class ProgramFiguresJson(TypedDict):
    """Figures beside the lines of one program."""

    lines: list[dict[str, LineFiguresJson]]
    """By source, then by line."""
    unattributed: NotRequired[UnattributedJson]
    """Left out without a compiled text."""
    instructions: NotRequired[dict[str, InstructionFiguresJson]]
    """By line of the optimized HLO. Left out with its text."""
    eliminated: NotRequired[list[EliminatedJson]]
    """Equations that left no instruction, as the texts prove: dimmed."""
    merged: NotRequired[list[EliminatedJson]]
    """Equations without an instruction of their own whose work may be part of another's."""
    omitted: dict[StageKind, OmittedJson]
    """Stages whose text is not in the saved output, without those that no program of this device
    has."""
    title: NotRequired[str]
    """Of several programs: its own title, no two the same."""
    first: NotRequired[list[str]]
    """Of several programs: the facts of its own first line."""
    compile_s: NotRequired[float]
    """Seconds of XLA, which one more compilation takes again. Left out where unknown."""


class OmittedJson(TypedDict):
    """The size of a text that is not in the saved output; null where it was never fetched."""

    lines: int | None
    bytes: int | None
    free: NotRequired[bool]
    """Whether it needs no compilation, though others of its kind do."""


class EliminatedJson(TypedDict):
    """An equation without an instruction."""

    equation: int
    reason: str


class LineTimeJson(TypedDict):
    """The time of a line of a cell that ran as plain Python."""

    time: NotRequired[TimeJson]


class LineFiguresJson(TypedDict):
    """Figures of one line of a source."""

    equations: int
    instructions: int | None
    flops: float | None
    exact: bool
    """Every link behind the FLOPs comes from a tag, or they are the same without the others."""
    at_least: NotRequired[bool]
    """An instruction may be of this line or of another, and counts at neither."""
    flops_bracket: NotRequired[BracketJson]
    bytes: NotRequired[float | None]
    """Read and written per call by its own instructions."""
    bytes_bracket: NotRequired[BracketJson]
    backward: NotRequired[BackwardJson]
    residuals: NotRequired[int]
    """Bytes that it saves for the backward pass."""
    time: NotRequired[TimeJson]
    """Of a profiled program."""
    limit: NotRequired[str]
    """The limit of the instructions that take most of its time: `memory-bound`."""


class BracketJson(TypedDict):
    """A figure of which more than a quarter is not exact: `low` is."""

    low: float | None
    high: float | None


class UnattributedJson(TypedDict):
    """The part of a program that is of no line of the first source."""

    flops: float | None
    total: float | None
    """FLOPs of the program."""
    bytes: float | None
    """With those of fusions that several lines share."""
    lines: list[int]
    """The lines that all of the FLOPs may be of; empty where other code may be, too."""
    share: NotRequired[float]
    """Of the time of a call, where it was profiled."""


class BackwardJson(TypedDict):
    """The part of a line's figures that belongs to the backward pass."""

    equations: int
    flops: float | None


class TimeJson(TypedDict):
    """Seconds per call, and their share of a call."""

    seconds: float | None
    share: float
    low: float | None
    high: float | None
    estimate: bool
    backward: NotRequired[float | None]
    """Seconds of its backward pass, where it has one."""


class InstructionFiguresJson(TypedDict):
    """Figures of one instruction of the optimized HLO."""

    shape: str
    """Without layouts."""
    flops: float | None
    """Of one execution."""
    bytes: float | None
    """Read and written by one execution."""
    times: float
    """Executions per call."""
    seconds: NotRequired[float | None]
    """Per call, of a profiled program."""
    share: NotRequired[float]
    """Of the call, of a profiled program."""


class ComparisonDataJson(TypedDict):
    """The packed part of a comparison of implementations."""

    markup: str
    """All of it, as the classes of the documents' style sheets expect it."""


class DiffDataJson(TypedDict):
    """The packed part of a comparison of two reports."""

    first: list[str]
    """The facts of the first line: title first."""
    notes: list[str]
    tabs: list[TabJson]
    """Everything but the stages; the program of each section is null."""
    stages: list[StageDiffJson]
    """Those of the costliest pair of programs first."""


class StageDiffJson(TypedDict):
    """The difference of one stage."""

    kind: StageKind
    title: str
    """`optimized HLO: 3 changed, 1 added`."""
    lead: list[str]
    """Sentences on moved lines, uncertainty, and why the two could not be compared."""
    before: str | None
    """Null where the text is unavailable, or left out to keep the notebook small."""
    after: str | None
    groups: list[DiffGroupJson]


class DiffGroupJson(TypedDict):
    """Changes that belong to one line of the code. Structural: a renumbered name is not one."""

    caption: str
    changes: list[ChangedLine]


class ChangedLine(NamedTuple):
    """A line of the earlier and of the later text; None on the side that does not have it."""

    before: int | None
    after: int | None


class StageAnswerJson(TypedDict):
    """The kernel's answer to a request for the text of a stage."""

    stage: Stage
    instructions: NotRequired[dict[str, InstructionFiguresJson]]
    """With the optimized HLO."""
    eliminated: NotRequired[list[EliminatedJson]]
    """With the StableHLO and the optimized HLO: deriving it needs both."""
    merged: NotRequired[list[EliminatedJson]]
    equations: NotRequired[list[Equation]]
    """Of a large program, whose equations may be missing from the saved output."""


class NextStepJson(TypedDict):
    """The next question about a report, and the code that answers it."""

    label: str
    title: str
    """The effect of a click."""
    code: str
    """The text of a cell."""
    replaces: NotRequired[str]
    """The text of the report's cell that `code` takes the place of; else it is a cell below."""
    finding: NotRequired[int]
    """The finding, from 1, beside which the button is; else it is in the header."""
    serials: NotRequired[list[int]]
    """The compilations beside which the button is, in the side panel."""
    outcome: NotRequired[str]
    """The result of the last trial of the fix, where it was tried."""
    gain: NotRequired[bool]
    """Whether that was a gain."""


class NextStepsJson(TypedDict):
    """The kernel's answer to a request for the next steps."""

    steps: list[NextStepJson]


class ReplyJson(TypedDict):
    """The message that answers a request; the requested data is a gzip buffer beside it."""

    ok: bool
    request: NotRequired[str]
    """The number of the request, of a widget."""
    why: NotRequired[Literal["gone", "forgotten", "error"]]
    """Of a refusal: replaced by newer reports, unknown to this kernel, or failed."""
    message: NotRequired[str]
    """Of a refusal, a sentence for the reader of the report."""


class CompileNewsJson(TypedDict):
    """A message of the live feed of compilations."""

    events: list[CompileEvent]
    storms: NotRequired[list[StormUpdate]]
    runs: NotRequired[list[CellRun]]
