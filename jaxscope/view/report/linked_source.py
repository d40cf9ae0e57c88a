"""Source and stages as HTML whose matching lines are linked by ids."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from jaxscope import words
from jaxscope.analysis.links.line_figures import (
    LineFigures,
    all_figures,
    differentiates,
    phase_of,
    stage_of,
    total_flops,
)
from jaxscope.analysis.links.line_links import line_equations
from jaxscope.model import Phase, Program, Record, Stage, StageKind
from jaxscope.view.base.document import Room, with_gaps
from jaxscope.view.base.html import NOTHING, Html, escape, join, prose, python, tag
from jaxscope.view.base.static import details
from jaxscope.view.base.visible import split_lines
from jaxscope.view.profile.lines import flops_words
from jaxscope.view.report.fitting_lines import costliest_lines, first_lines
from jaxscope.view.report.matches import Matches, matches, owners


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


_OPEN_LINES = 40
"""Lines from which a stage is folded where no style sheet bounds its height."""
_END = Html("\n")
_LETTER = {StageKind.OPTIMIZED_HLO: "o", StageKind.JAXPR: "j"}
"""The executed program and the traced one, by their letter in ids. The others are in the page."""
_TURNS = {str(Phase.BACKWARD): "←", str(Phase.REMATERIALIZED): "↻"}
"""Marks of stage lines; forward lines have none."""
_FLOP = ("FLOPs", "FLOPs per call, and their share")
_HEADS = (_FLOP,)
_PHASE_HEADS = (_FLOP, ("bwd", "the share of the line's FLOPs that the backward pass does"))


@dataclass(frozen=True, slots=True)
class _DrawnStage:
    """A stage with its links to each source."""

    stage: Stage
    lines: list[str]
    shown: list[int]
    """The numbers of the lines that are drawn, in that order."""
    links: list[Matches]
    firsts: dict[int, list[str]]
    """By stage line: keys of the source lines whose first drawn match it is."""
    reached: set[str]
    """The same keys."""


class Linked:
    """The drawn lines of one program, and the ids that link them.

    A source line `n` of source 0 has the id `<uid>-s<n>`, its first match in the optimized HLO
    `<uid>-o<n>` and in the jaxpr `<uid>-j<n>`; every line that belongs to it has the class `l<n>`.
    When any of the ids is the document's target, all lines of the class are highlighted. The class
    `h<n>` gives a line its hue.
    """

    def __init__(self, record: Record, program: Program | None, uid: str, room: Room) -> None:
        sources = range(len(record.sources))
        self._record, self._program, self._uid, self._width = record, program, uid, room.width
        self._source_lines = [split_lines(source.text) for source in record.sources]
        self._figures: list[dict[int, LineFigures]] = (
            [{}] * len(sources) if program is None else all_figures(program, len(sources))
        )
        self._total = 0.0 if program is None else total_flops(program)
        self._phases = program is not None and differentiates(program)
        self._owners = [{} if program is None else owners(program, i) for i in sources]
        found = record.findings
        self._marked = [{f.line for f in found if f.source == i and f.line} for i in sources]
        self._shown = [
            shown_lines(len(self._source_lines[i]), self._figures[i], self._marked[i], room.lines)
            for i in sources
        ]
        self._stages: dict[StageKind, _DrawnStage] = {}
        left = room.text
        for kind in _LETTER:
            stage = None if program is None else stage_of(program, kind)
            if program is not None and stage is not None:
                lines = split_lines(stage.text)
                if kind is StageKind.OPTIMIZED_HLO:
                    shown = costliest_lines(stage.text, lines, room.width, left)
                else:
                    shown = first_lines(lines, room.width, left)
                self._stages[kind] = self._drawn(program, stage, lines, shown)
                left -= sum(min(len(line), room.width) + 1 for line in lines)

    def _drawn(
        self, program: Program, stage: Stage, lines: list[str], drawn: list[int]
    ) -> _DrawnStage:
        position = {number: place for place, number in enumerate(drawn)}
        links = [matches(program, stage, i, frozenset(drawn)) for i in range(len(self._shown))]
        firsts: dict[int, list[str]] = {}
        for source, link in enumerate(links):
            shown = set(self._shown[source])
            for line, hits in link.stage_lines.items():
                reachable = [hit for hit in hits if hit in position]
                if line in shown and reachable:
                    first = min(reachable, key=position.__getitem__)
                    firsts.setdefault(first, []).append(_key(source, line))
        reached = {key for keys in firsts.values() for key in keys}
        return _DrawnStage(stage, lines, drawn, links, firsts, reached)

    def _targets(self, source: int, line: int) -> list[str]:
        """Ids of the first match in each stage."""
        key = _key(source, line)
        found = [kind for kind, drawn in self._stages.items() if key in drawn.reached]
        return [f"{self._uid}-{_LETTER[kind]}{key}" for kind in found]

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
            line in drawn.links[source].stage_lines for drawn in self._stages.values()
        )

    def link(self, source: int, line: int) -> dict[str, str]:
        """Attributes of the link to a source line; none where it is not shown."""
        shown = source < len(self._shown) and line in self._shown[source]
        if not shown or (self._record.profile is not None and source == 0):
            return {}
        return {"href": f"#{self._uid}-s{_key(source, line)}"}

    def pair(self) -> Html:
        """The source and its stage, side by side where there is room."""
        sides = (tag("div", self._source(0)), tag("div", self.stage(StageKind.OPTIMIZED_HLO)))
        return tag("div", *sides, class_="pair")

    def other_sources(self) -> Iterator[tuple[str, Html]]:
        """Helpers in other cells and files: their titles and lines."""
        for index in range(1, len(self._record.sources)):
            if self._figures[index]:
                yield f"Source: {self._record.sources[index].name}", self._source(index)

    def _source(self, index: int) -> Html:
        """A table: line, code, FLOPs with their share."""
        if index >= len(self._record.sources):
            return NOTHING
        lines = self._source_lines[index]
        if not lines:
            return tag("p", "The source is empty.")
        found = self._figures[index]
        columns = column_heads(self._phases) if found else ()
        heads = [
            tag("th", "line", scope="col", align="right"),
            tag("th", self._record.sources[index].name, scope="col", align="left"),
            *(tag("th", n, scope="col", align="right", title=title) for n, title in columns),
        ]
        body = [
            tag("tr", tag("td"), tag("td", number, class_="muted", colspan=1 + len(columns)))
            if isinstance(number, str)
            else self._row(index, number, lines[number - 1], found)
            for number in with_gaps(self._shown[index], len(lines))
        ]
        table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *body), class_="source")
        return tag("div", table, class_="scroll")

    def _row(self, index: int, number: int, line: str, found: dict[int, LineFigures]) -> Html:
        row = found.get(number)
        targets = self._targets(index, number)
        label = tag("a", str(number), href=f"#{targets[0]}") if targets else str(number)
        flag: Html | str = ""
        if number in self._marked[index]:
            flag = join(tag("b", "!", class_="flag", title="see the findings"), " ")
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
            *(_cells(row, self._total, self._phases) if found else ()),
            id=f"{self._uid}-s{key}",
            class_=f"{hue}l{key}{caveat}" if self._is_linked(index, number) else "",
        )

    def stage(self, kind: StageKind) -> Html:
        """The optimized HLO, the jaxpr if there is room for it, or the reason why it is missing."""
        if self._program is None:
            return NOTHING
        opened, more = kind is StageKind.OPTIMIZED_HLO, f'`report.stage("{kind}").text`'
        drawn = self._stages.get(kind)
        if drawn is None:
            text = prose(f"This text was not fetched; {more} gives it.")
            return details(kind.label, tag("p", text))
        unavailable, lines = drawn.stage.unavailable, drawn.lines
        if unavailable is not None:
            return details(kind.label, tag("p", f"There is no text: {unavailable.reason}."), opened)
        shown = [self._line(drawn, number, lines[number - 1]) for number in drawn.shown]
        body = tag("div", tag("pre", *shown), class_="scroll") if shown else NOTHING
        if len(drawn.shown) < len(lines):
            rest = words.count(len(lines) - len(drawn.shown), "more line")
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

    def _line(self, drawn: _DrawnStage, number: int, line: str) -> Html:
        origins = [
            (source, origin)
            for source, link in enumerate(drawn.links)
            for origin in link.source_lines.get(number, ())
        ]
        keys = [_key(source, line) for source, line in origins if line in self._shown[source]]
        label = f"{number:>{len(str(len(drawn.lines)))}}"
        code = escape(line, self._width)
        if not keys:
            return join(f"{label}   ", code, _END)
        kind = drawn.stage.kind
        marks = (
            tag("i", id=f"{self._uid}-{_LETTER[kind]}{key}") for key in drawn.firsts.get(number, ())
        )
        # The hue is that of the line's own equation; a fusion is highlighted with all of its.
        owned = ((source, self._owners[source].get(line)) for source, line in origins)
        hue = next((f"h{_key(source, line)}" for source, line in owned if line is not None), "")
        css = " ".join(filter(None, ("row", hue, *(f"l{key}" for key in keys))))
        label = tag("a", label, href=f"#{self._uid}-s{keys[0]}")
        turn = " "
        if any(number in link.inexact for link in drawn.links):
            turn, css = "≈", f"{css} x"
        elif self._program is not None and self._phases:
            phase = phase_of(self._program, line_equations(drawn.stage, number))
            turn = _TURNS.get(phase, " ")
        return tag("span", *marks, label, f" {turn} ", code, _END, class_=css)


def _key(source: int, line: int) -> str:
    return str(line) if source == 0 else f"{source}x{line}"


def column_heads(phases: bool) -> tuple[tuple[str, str], ...]:
    """The heads of `line_words`, each with its meaning."""
    return _PHASE_HEADS if phases else _HEADS


def line_words(row: LineFigures, phases: bool) -> tuple[str, ...]:
    """FLOPs of a line, and the backward pass's share of them if the program has `phases`."""
    flops = flops_words(row)
    return (flops, words.percent(row.backward_share)) if phases else (flops,)


def _cells(row: LineFigures | None, total: float, phases: bool) -> Iterator[Html]:
    if row is None:
        yield from [tag("td")] * len(column_heads(phases))
        return
    share = row.flops / total if total and row.flops else 0.0
    for head, word in zip(column_heads(phases), line_words(row, phases), strict=True):
        if head != _FLOP:
            yield tag("td", word, align="right")
        elif share:
            heat = {"class_": "heat", "style": f"--p:{share * 100:.3g}%"}
            share_word = "" if " … " in word else f" · {words.percent(share)}"
            yield tag("td", f"{word}{share_word}", align="right", **heat)
        else:
            yield tag("td", words.UNKNOWN if row.flops is None else word, align="right")
