"""Source and stages as HTML whose matching lines are linked by ids."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from jaxscope import words
from jaxscope.analysis.links.line_figures import (
    LineFigures,
    all_figures,
    defining_lines,
    differentiates,
    phase_of,
    stage_of,
)
from jaxscope.analysis.links.line_links import line_equations, stage_lines
from jaxscope.model import Phase, Program, Record, Stage, StageKind
from jaxscope.view.base.html import NOTHING, Html, escape, join, prose, python, tag
from jaxscope.view.base.static import details
from jaxscope.view.base.visible import split_lines


@dataclass(frozen=True, slots=True)
class Matches:
    """Matching lines of one source and one stage."""

    stage_lines: dict[int, tuple[int, ...]]
    """By source line, ascending."""
    source_lines: dict[int, tuple[int, ...]]
    """By stage line; the line of its own equation first, then those of the equations in a fusion,
    then the other lines of their frames."""
    inexact: frozenset[int]
    """Stage lines whose origin is a set of candidates."""


def owners(program: Program, source: int = 0) -> dict[int, int]:
    """Line → the line that owns its work: itself, or the first line of its expression.

    A line that only calls code elsewhere in the source has no owner.
    """
    found = {line: line for line in defining_lines(program, source).values()}
    for equation in program.equations:
        frame = next((f for f in equation.frames if f.source == source), None)
        if frame is not None:
            for line in range(frame.span.line, frame.span.end_line + 1):
                found.setdefault(line, frame.span.line)
    return found


def matches(program: Program, stage: Stage, source: int = 0) -> Matches:
    """Every link between a source and a stage, by the rule of `analysis.links`."""
    lines = {
        line
        for equation in program.equations
        for frame in equation.frames
        if frame.source == source
        for line in range(frame.span.line, frame.span.end_line + 1)
    }
    forward = {
        line: link.lines
        for line in sorted(lines)
        if (link := stage_lines(program, stage, line, source)).lines
    }
    backward: dict[int, dict[int, None]] = {}
    home = defining_lines(program, source)
    for anchor in stage.anchors:
        own = (home[e] for e in anchor.equations if e in home)
        backward[anchor.line] = dict.fromkeys(own)
    for line, hits in forward.items():
        for hit in hits:
            backward[hit][line] = None
    return Matches(
        forward,
        {line: tuple(found) for line, found in backward.items() if found},
        frozenset(anchor.line for anchor in stage.anchors if not anchor.exact),
    )


def shown_lines(
    number: int, found: Mapping[int, LineFigures], marked: Collection[int], most: int
) -> list[int]:
    """All line numbers; of a long source the costliest lines of the program."""
    if number <= most:
        return list(range(1, number + 1))

    def rank(line: int) -> tuple[bool, float, int]:
        work = found[line].flops or 0.0 if line in found else 0.0
        return line != 1 and line not in marked, -work, line

    wanted = sorted({1, *found, *marked}, key=rank)
    return sorted(line for line in wanted[:most] if line <= number)


_SHOWN = (StageKind.OPTIMIZED_HLO, StageKind.JAXPR)
"""The executed program and the traced one. The other stages are in the page."""

_OPEN_LINES = 40
"""Lines from which a stage is folded where no style sheet bounds its height."""

_END = Html("\n")
_LETTER = {StageKind.OPTIMIZED_HLO: "o", StageKind.JAXPR: "j"}


_TURNS = {str(Phase.BACKWARD): "←", str(Phase.REMATERIALIZED): "↻"}
"""Marks of stage lines; forward lines have none."""
_HEADS = (
    ("eqns", "equations of the jaxpr"),
    ("instr", "instructions of the optimized HLO"),
    ("FLOP", "FLOPs per call, and their share"),
)
_PHASE_HEADS = (
    _HEADS[0],
    ("bwd", "equations of the backward pass among them"),
    *_HEADS[1:],
    ("bwd", "the share of the line's FLOPs that the backward pass does"),
)


class Linked:
    """The drawn lines of one program, and the ids that link them.

    A source line `n` of source 0 has the id `<uid>-s<n>`, its first match in the optimized HLO
    `<uid>-o<n>` and in the jaxpr `<uid>-j<n>`; every line that belongs to it has the class `l<n>`.
    When any of the ids is the document's target, all lines of the class are highlighted. The class
    `h<n>` gives a line its hue.
    """

    def __init__(
        self, record: Record, program: Program | None, uid: str, text: int, lines: int, width: int
    ) -> None:
        self._record = record
        self._program = program
        self._uid = uid
        self._width = width
        self._source_lines = [split_lines(source.text) for source in record.sources]
        number = len(record.sources)
        self._figures: list[dict[int, LineFigures]] = (
            all_figures(program, number) if program is not None else [{}] * number
        )
        self._phases = program is not None and differentiates(program)
        self._owners: list[dict[int, int]] = [
            owners(program, i) if program is not None else {} for i in range(number)
        ]
        self._shown = [self._numbers(i, lines) for i in range(len(record.sources))]
        self._stages = [
            (stage, split_lines(stage.text))
            for kind in _SHOWN
            if program is not None and (stage := stage_of(program, kind)) is not None
        ]
        self._room = self._shares(text)
        self._links = [
            [matches(program, stage, i) for i in range(len(record.sources))]
            for stage, _ in self._stages
            if program is not None
        ]
        self._firsts = [self._first_matches(i) for i in range(len(self._stages))]
        self._reached = [{key for keys in f.values() for key in keys} for f in self._firsts]

    def _numbers(self, index: int, most: int) -> list[int]:
        marked = {f.line for f in self._record.findings if f.source == index and f.line}
        return shown_lines(len(self._source_lines[index]), self._figures[index], marked, most)

    def _shares(self, text: int) -> list[int]:
        """Lines of each stage that fit into so many characters."""
        fitting: list[int] = []
        for _, lines in self._stages:
            number = 0
            for line in lines:
                text -= min(len(line), self._width) + 1
                if text < 0:
                    break
                number += 1
            fitting.append(number)
        return fitting

    def _first_matches(self, stage: int) -> dict[int, list[str]]:
        """Keys of the source lines whose first drawn match is this stage line."""
        found: dict[int, list[str]] = {}
        for source, link in enumerate(self._links[stage]):
            drawn = set(self._shown[source])
            for line, hits in link.stage_lines.items():
                if line in drawn and hits[0] <= self._room[stage]:
                    found.setdefault(hits[0], []).append(_key(source, line))
        return found

    def _targets(self, source: int, line: int) -> list[str]:
        """Ids of the first match in each stage."""
        key = _key(source, line)
        return [
            f"{self._uid}-{_LETTER[stage.kind]}{key}"
            for (stage, _), reached in zip(self._stages, self._reached, strict=True)
            if key in reached
        ]

    def style(self) -> Html:
        """CSS rules: a hue for each line with instructions, and the lines highlighted with each
        line."""
        rules: list[str] = []
        uid = self._uid
        for source, owned in enumerate(self._owners):
            for rank, line in enumerate(sorted(set(owned.values()))):
                # The golden angle keeps the hues of neighbors far apart.
                hue = round(250 + (rank + source * 7) * 137.508) % 360
                rules.append(f"#{uid} .h{_key(source, line)}{{--h:{hue}}}")
        for source, numbers in enumerate(self._shown):
            for line in numbers:
                if not self._is_linked(source, line):
                    continue
                key = _key(source, line)
                ids = [f"{uid}-s{key}", *self._targets(source, line)]
                targets = ",".join(f"#{id}:target" for id in ids)
                rules.append(
                    f"#{uid}:has({targets}) .l{key}{{background:var(--hit,var(--edge))!important}}"
                )
        return Html("".join(rules))

    def _is_linked(self, source: int, line: int) -> bool:
        """Whether the line has matches, or calls or continues code that has."""
        return line in self._owners[source] or any(
            line in links[source].stage_lines for links in self._links
        )

    def link(self, source: int, line: int) -> dict[str, str]:
        """Attributes of the link to a source line; none where it is not shown."""
        shown = source < len(self._shown) and line in self._shown[source]
        if not shown or (self._record.profile is not None and source == 0):
            return {}
        return {"href": f"#{self._uid}-s{_key(source, line)}"}

    def pair(self) -> Html:
        """The source and its stage, side by side where there is room."""
        sides = (tag("div", self._source(0)), tag("div", self.stage_first()))
        return tag("div", *sides, class_="pair")

    def other_sources(self) -> Iterator[tuple[str, Html]]:
        """Helpers in other cells and files: their titles and lines."""
        for index in range(1, len(self._record.sources)):
            if self._figures[index]:
                yield f"Source: {self._record.sources[index].name}", self._source(index)

    def _source(self, index: int) -> Html:
        """A table: line, code, equations, instructions, FLOPs with their share."""
        if index >= len(self._record.sources):
            return NOTHING
        lines = self._source_lines[index]
        if not lines:
            return tag("p", "The source is empty.")
        found = self._figures[index]
        total = sum(row.flops or 0 for row in found.values())
        columns = (_PHASE_HEADS if self._phases else _HEADS) if found else ()
        name = self._record.sources[index].name
        heads = [
            tag("th", "line", scope="col", align="right"),
            tag("th", name, scope="col", align="left"),
            *(tag("th", n, scope="col", align="right", title=title) for n, title in columns),
        ]
        body: list[Html] = []
        previous = 0
        for number in [*self._shown[index], len(lines) + 1]:
            if (skipped := number - previous - 1) > 0:
                text = f"⋮ {words.count(skipped, 'line')} not shown"
                gap = tag("td", text, class_="muted", colspan=1 + len(columns))
                body.append(tag("tr", tag("td"), gap))
            if number <= len(lines):
                body.append(self._row(index, number, lines[number - 1], found, total))
            previous = number
        table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *body), class_="source")
        return tag("div", table, class_="scroll")

    def _row(
        self, index: int, number: int, line: str, found: dict[int, LineFigures], total: float
    ) -> Html:
        row = found.get(number)
        targets = self._targets(index, number)
        label = tag("a", str(number), href=f"#{targets[0]}") if targets else str(number)
        marked = any(f.line == number and f.source == index for f in self._record.findings)
        flag = join(tag("b", "!", class_="flag", title="see the findings"), " ") if marked else ""
        indent = len(line) - len(line.lstrip(" "))
        # No-break spaces, for where the style sheet that would keep the indentation is stripped.
        spaces = "\xa0" * min(indent, self._width)
        code = tag("code", spaces, python(line[indent:], self._width))
        key = _key(index, number)
        owner = self._owners[index].get(number)
        hue = f"row h{_key(index, owner)} " if owner is not None else ""
        caveat = " x" if row is not None and not row.exact else ""
        return tag(
            "tr",
            tag("th", flag, label, scope="row", align="right"),
            tag("td", code, align="left"),
            *(_cells(row, total, self._phases) if found else ()),
            id=f"{self._uid}-s{key}",
            class_=f"{hue}l{key}{caveat}" if self._is_linked(index, number) else "",
        )

    def stage_first(self) -> Html:
        """The optimized HLO, or the reason why it is missing."""
        return self._stage(StageKind.OPTIMIZED_HLO, opened=True)

    def stage_second(self) -> Html:
        """The jaxpr if there is room for it, and how to see the other stages."""
        return self._stage(StageKind.JAXPR, opened=False)

    def _stage(self, kind: StageKind, opened: bool) -> Html:
        if self._program is None:
            return NOTHING
        index = next((i for i, (s, _) in enumerate(self._stages) if s.kind is kind), None)
        more = f'`report.stage("{kind}").text`'
        if index is None:
            text = prose(f"This text was not fetched; {more} gives it.")
            return details(kind.label, tag("p", text))
        stage, lines = self._stages[index]
        if stage.unavailable is not None:
            text = tag("p", f"There is no text: {stage.unavailable.reason}.")
            return details(kind.label, text, opened)
        room = self._room[index]
        shown = [self._line(stage, index, n, line) for n, line in enumerate(lines[:room], 1)]
        body = tag("div", tag("pre", *shown), class_="scroll") if shown else NOTHING
        if room < len(lines):
            rest = words.count(len(lines) - room, "more line")
            text = (
                f"{rest} left out to keep the notebook small: {more} gives the whole text, "
                "`report.to_html(path)` all stages beside the source."
            )
            body = join(body, tag("p", prose(text)))
        title = f"{kind.label}, {words.count(len(lines), 'line')}"
        title += ", ← backward pass" if self._phases else ""
        # Without its style sheet (GitHub, an untrusted notebook) a long text would bury the rest of
        # the report, so it is folded there; `shown` unfolds it where styles work.
        return details(title, body, opened and len(lines) <= _OPEN_LINES, "shown" * opened)

    def _line(self, stage: Stage, index: int, number: int, line: str) -> Html:
        digits = len(str(self._room[index]))
        keys = [
            _key(source, origin)
            for source, link in enumerate(self._links[index])
            for origin in link.source_lines.get(number, ())
            if origin in self._shown[source]
        ]
        label = f"{number:>{digits}}"
        code = escape(line, self._width)
        if not keys:
            return join(f"{label}   ", code, _END)
        inexact = any(number in link.inexact for link in self._links[index])
        marks = (
            tag("i", id=f"{self._uid}-{_LETTER[stage.kind]}{key}")
            for key in self._firsts[index].get(number, ())
        )
        # The hue is that of the line's own equation; a fusion is highlighted with all of its.
        css = " ".join(("row", *self._hue(index, number), *(f"l{key}" for key in keys)))
        label = tag("a", label, href=f"#{self._uid}-s{keys[0]}")
        turn = "≈" if inexact else self._turn(index, number)
        css += " x" if inexact else ""
        return tag("span", *marks, label, f" {turn} ", code, _END, class_=css)

    def _turn(self, index: int, number: int) -> str:
        """A mark for a line of the backward pass, else a blank."""
        if self._program is None or not self._phases:
            return " "
        anchor = line_equations(self._stages[index][0], number)
        return _TURNS.get(phase_of(self._program, anchor), " ")

    def _hue(self, index: int, number: int) -> list[str]:
        """The class for the hue of a stage line: that of the first of its lines with an owner."""
        for source, link in enumerate(self._links[index]):
            for line in link.source_lines.get(number, ()):
                if line in self._owners[source]:
                    return [f"h{_key(source, self._owners[source][line])}"]
        return []


def _key(source: int, line: int) -> str:
    return str(line) if source == 0 else f"{source}x{line}"


def _cells(row: LineFigures | None, total: float, phases: bool) -> Iterator[Html]:
    if row is None:
        yield from [tag("td", words.UNKNOWN, align="right")] * (5 if phases else 3)
        return
    mark = "" if row.exact else "≈"
    instructions = words.UNKNOWN if row.instructions is None else f"{mark}{row.instructions}"
    work = f"{mark}{words.short(row.flops)}" if row.flops is not None else words.UNKNOWN
    share = row.flops / total if total and row.flops else 0.0
    work += f" · {words.percent(share)}" if share else ""
    heat = {"class_": "heat", "style": f"--p:{share * 100:.3g}%"} if share else {}
    yield tag("td", str(row.equations), align="right")
    if phases:
        yield tag("td", str(row.backward.equations), align="right")
    yield tag("td", instructions, align="right")
    yield tag("td", work, align="right", **heat)
    if phases:
        yield tag("td", words.percent(row.backward_share), align="right")
