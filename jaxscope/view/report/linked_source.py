"""Source and stages as HTML whose matching lines point at each other by ids."""

from __future__ import annotations

from jaxscope import words
from jaxscope.analysis.links.line_figures import (
    LineFigures,
    all_figures,
    differentiates,
    phase_of,
    stage_of,
)
from jaxscope.analysis.links.line_links import line_equations
from jaxscope.model import Phase, Program, Record, Stage, StageKind
from jaxscope.view.base.highlight import python
from jaxscope.view.base.html import escape
from jaxscope.view.base.visible import split_lines
from jaxscope.view.report.line_matches import matches, owners, shown_lines

_SHOWN = (StageKind.OPTIMIZED_HLO, StageKind.JAXPR)
"""The two ends: what the machine runs, and what JAX traced. The others are in the page."""

_OPEN_LINES = 40
"""A stage of more lines is folded where there is no style sheet to bound its height."""

_LETTER = {StageKind.OPTIMIZED_HLO: "o", StageKind.JAXPR: "j"}


_TURNS = {str(Phase.BACKWARD): "←", str(Phase.REMATERIALIZED): "↻"}
"""Marks of stage lines; forward ones have none."""
_HEADS = (
    ("eqns", "equations of the jaxpr"),
    ("instr", "instructions of the optimized HLO"),
    ("FLOP", "floating-point operations of one run, and their share"),
)
_PHASE_HEADS = (
    _HEADS[0],
    ("bwd", "equations of the backward pass among them"),
    *_HEADS[1:],
    ("bwd", "the share of the line's FLOPs that the backward pass does"),
)


class Linked:
    """What is drawn of one program, and the ids by which it hangs together.

    A source line `n` of source 0 has the id `<uid>-s<n>`, its first match in the optimized HLO
    `<uid>-o<n>` and in the jaxpr `<uid>-j<n>`; every line that belongs to it has the class `l<n>`.
    Whichever of the ids is the document's target, all lines of the class light up. The class
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
        """How many lines of each stage fit into so many characters, the first stage first."""
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

    def source_id(self, source: int, line: int) -> str:
        """The id of a source line, or empty when it is not drawn."""
        if source >= len(self._shown) or line not in self._shown[source]:
            return ""
        return f"{self._uid}-s{_key(source, line)}"

    def _targets(self, source: int, line: int) -> list[str]:
        """Ids of the first match in each stage."""
        key = _key(source, line)
        return [
            f"{self._uid}-{_LETTER[stage.kind]}{key}"
            for (stage, _), reached in zip(self._stages, self._reached, strict=True)
            if key in reached
        ]

    def style(self) -> str:
        """A hue for each line that became something, and what lights up with each line."""
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
        return "".join(rules)

    def _is_linked(self, source: int, line: int) -> bool:
        """Whether the line became something, or calls or continues what did."""
        return line in self._owners[source] or any(
            line in links[source].stage_lines for links in self._links
        )

    def source(self, index: int) -> str:
        """A table: line, code, equations, instructions, FLOPs with their share."""
        if index >= len(self._record.sources):
            return ""
        lines = self._source_lines[index]
        if not lines:
            return "<p>The source is empty.</p>"
        found = self._figures[index]
        total = sum(row.flops or 0 for row in found.values())
        heads = "<th scope=col align=right>line</th><th scope=col align=left>"
        heads += escape(self._record.sources[index].name) + "</th>"
        if found:
            heads += "".join(
                f'<th scope=col align=right title="{title}">{name}</th>'
                for name, title in (_PHASE_HEADS if self._phases else _HEADS)
            )
        body: list[str] = []
        previous = 0
        for number in [*self._shown[index], len(lines) + 1]:
            if (skipped := number - previous - 1) > 0:
                text = f"⋮ {words.count(skipped, 'line')} not shown"
                wide = 1 + len(_PHASE_HEADS if self._phases else _HEADS)
                body.append(f'<tr><td></td><td class="muted" colspan={wide}>{text}</td></tr>')
            if number <= len(lines):
                body.append(self._row(index, number, lines[number - 1], found, total))
            previous = number
        return (
            f'<div class="scroll"><table class="source"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{''.join(body)}</tbody></table></div>"
        )

    def _row(
        self, index: int, number: int, line: str, found: dict[int, LineFigures], total: float
    ) -> str:
        row = found.get(number)
        targets = self._targets(index, number)
        label = f'<a href="#{targets[0]}">{number}</a>' if targets else str(number)
        marked = any(f.line == number and f.source == index for f in self._record.findings)
        flag = '<b class="flag" title="see the findings">!</b> ' if marked else ""
        indent = len(line) - len(line.lstrip(" "))
        # No-break spaces, for where the style sheet that would keep the indentation is stripped.
        code = "&nbsp;" * min(indent, self._width) + python(line[indent:], self._width)
        key = _key(index, number)
        owner = self._owners[index].get(number)
        hue = f"row h{_key(index, owner)} " if owner is not None else ""
        doubt = " x" if row is not None and not row.exact else ""
        css = f' class="{hue}l{key}{doubt}"' if self._is_linked(index, number) else ""
        cells = _cells(row, total, self._phases) if found else ""
        return (
            f'<tr id="{self._uid}-s{key}"{css}><th scope=row align=right>{flag}'
            f"{label}</th><td align=left><code>{code}</code></td>{cells}</tr>"
        )

    def other_sources(self) -> str:
        """Helpers in other cells and files, folded."""
        return "".join(
            f"<details><summary>Source: {escape(self._record.sources[i].name)}</summary>"
            f"{self.source(i)}</details>"
            for i in range(1, len(self._record.sources))
            if self._figures[i]
        )

    def stage_first(self) -> str:
        """The optimized HLO, or a sentence on why not."""
        return self._stage(StageKind.OPTIMIZED_HLO, opened=True)

    def stage_second(self) -> str:
        """The jaxpr if there is room for it, and how to see the other stages."""
        return self._stage(StageKind.JAXPR, opened=False)

    def _stage(self, kind: StageKind, opened: bool) -> str:
        if self._program is None:
            return ""
        index = next((i for i, (s, _) in enumerate(self._stages) if s.kind is kind), None)
        more = f'<code>report.stage("{kind}").text</code>'
        if index is None:
            return _folded(kind.label, f"<p>This text was not fetched; {more} gives it.</p>", False)
        stage, lines = self._stages[index]
        if stage.unavailable is not None:
            reason = escape(stage.unavailable.reason)
            return _folded(kind.label, f"<p>There is no text: {reason}.</p>", opened)
        room = self._room[index]
        text = "".join(
            self._line(stage, index, number, line) for number, line in enumerate(lines[:room], 1)
        )
        body = f'<div class="scroll"><pre>{text}</pre></div>' if text else ""
        if room < len(lines):
            rest = words.count(len(lines) - room, "more line")
            body += (
                f"<p>{rest} left out to keep the notebook small: {more} gives the whole text, "
                "<code>report.to_html(path)</code> all stages beside the source.</p>"
            )
        title = f"{kind.label}, {words.count(len(lines), 'line')}"
        title += ", ← backward pass" if self._phases else ""
        # Without its style sheet (GitHub, an untrusted notebook) a long text would bury the rest of
        # the report, so it is folded there; `shown` unfolds it where styles work.
        return _folded(title, body, opened and len(lines) <= _OPEN_LINES, "shown" * opened)

    def _line(self, stage: Stage, index: int, number: int, line: str) -> str:
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
            return f"{label}   {code}\n"
        inexact = any(number in link.inexact for link in self._links[index])
        marks = "".join(
            f'<i id="{self._uid}-{_LETTER[stage.kind]}{key}"></i>'
            for key in self._firsts[index].get(number, ())
        )
        # The hue is that of the line's own equation; a fusion lights up with all that it holds.
        css = " ".join(("row", *self._hue(index, number), *(f"l{key}" for key in keys)))
        css += " x" if inexact else ""
        return (
            f'<span class="{css}">{marks}<a href="#{self._uid}-s{keys[0]}">{label}</a> '
            f"{'≈' if inexact else self._turn(index, number)} {code}\n</span>"
        )

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


def _folded(title: str, body: str, opened: bool, css: str = "") -> str:
    attributes = (f' class="{css}"' if css else "") + (" open" if opened else "")
    return f"<details{attributes}><summary>{title}</summary>{body}</details>"


def _cells(row: LineFigures | None, total: float, phases: bool) -> str:
    if row is None:
        return f"<td align=right>{words.UNKNOWN}</td>" * (5 if phases else 3)
    mark = "" if row.exact else "≈"
    instructions = words.UNKNOWN if row.instructions is None else f"{mark}{row.instructions}"
    work = f"{mark}{words.short(row.flops)}" if row.flops is not None else words.UNKNOWN
    heat = ""
    if total and row.flops:
        share = row.flops / total
        work += f" · {words.percent(share)}"
        heat = f' class="heat" style="--p:{share * 100:.3g}%"'
    cells = [f">{row.equations}", f">{instructions}", f"{heat}>{work}"]
    if phases:
        cells.insert(1, f">{row.backward.equations}")
        cells.append(f">{words.percent(row.backward_share)}")
    return "".join(f"<td align=right{cell}</td>" for cell in cells)
