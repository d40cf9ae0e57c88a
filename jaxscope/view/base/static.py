"""A document as HTML without a script, for a saved notebook.

It is readable where style sheets are stripped too (GitHub): order and words come first, tables,
`details`, numbers with their shares. Pictures are images, as a notebook needs them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from jaxscope import words
from jaxscope.view.base.document import (
    ROOMS,
    SEPARATOR,
    Advice,
    Chapter,
    Document,
    Link,
    Part,
    Room,
    View,
    first_fitting,
    unlinked,
)
from jaxscope.view.base.html import NOTHING, Html, escape, join, prose, style, tag, verbatim
from jaxscope.view.base.svg import images
from jaxscope.view.base.table import Below, Cell, Table

CAP = 200_000
"""Most bytes of one display: a notebook with fifty cells stays under 10 MB."""


def static_html(
    build: Callable[[Room], Document], *, inline: bool = False, styled: bool = True
) -> Html:
    """The document as one `<div>` with its style, built with less content where it exceeds the cap.

    Pictures are images; `inline` leaves them SVG, which has tooltips. Without `styled` the style
    sheets are left out.
    """

    def drawn(room: Room) -> Html:
        document = build(room)
        short = f"Shortened to keep the notebook small; {document.whole}."
        notes = (*document.notes[: room.rows], *([] if room is ROOMS[0] else [short]))
        document = replace(document, notes=notes)
        content = HtmlWriter(room, document.link).document(document, View.HTML)
        return boxed(document, content if inline else images(content), styled)

    return first_fitting(map(drawn, ROOMS), byte_size, CAP)


def byte_size(text: str) -> int:
    """Bytes in a file."""
    return len(text.encode("utf-8", "replace"))


def boxed(document: Document, content: Html, styled: bool = True) -> Html:
    """The content in the `<div>` to which its style sheets apply."""
    css = f"jxs report {document.noun}"
    sheet = join(style("report", "static", *document.styles), document.css)
    sheets = (tag("style", sheet),) if styled else ()
    return tag("div", *sheets, content, class_=css, id=document.uid)


def details(title: str, content: Html, opened: bool = False, css: str = "") -> Html:
    """A collapsible part."""
    return tag("details", tag("summary", prose(title)), content, class_=css, open=opened)


@dataclass(frozen=True, slots=True)
class HtmlWriter:
    """Writer of documents and their parts."""

    room: Room
    link: Link = unlinked
    page: bool = False
    """Whether it writes a page, whose tables can be sorted and whose chapters are open."""
    viewer: bool = False
    """Whether it writes for the viewer, which sorts tables and shows one of several choices."""

    def document(self, document: Document, view: View) -> Html:
        """Write the first line, notes and chapters; no chapters if the room has no rows."""
        title, *others = document.first
        shown = [c for c in document.chapters if view in c.views and self.room.rows]
        return join(
            tag(
                "p",
                tag("b", title),
                *(prose(f"{SEPARATOR}{part}") for part in others),
                class_="first",
            ),
            *(tag("p", prose(note), class_="muted") for note in document.notes),
            *(self.chapter(chapter) for chapter in shown),
        )

    def chapter(self, chapter: Chapter) -> Html:
        """Write the chapter under its title; nothing if it is empty in this view."""
        content = self.body(chapter)
        if not (content or chapter.is_bare) or not chapter.title:
            return content
        if chapter.folded:
            return details(chapter.title, content)
        return join(tag("h4", prose(chapter.title)), content)

    def body(self, chapter: Chapter) -> Html:
        """Write the chapter without its title."""
        lead = [tag("p", prose(sentence)) for sentence in chapter.lead]
        parts = list(self._parts(chapter))
        if chapter.grid and parts:
            parts = [tag("div", *(tag("div", part) for part in parts), class_="figures")]
        return join(*lead, *parts)

    def _parts(self, chapter: Chapter) -> Iterator[Html]:
        shown = [part for part in chapter.parts if not (self.viewer and part.of_source)]
        for is_choice, group in itertools.groupby(shown, lambda part: part.choice != ""):
            made = [(part.choice, html) for part in group if (html := self.part(part))]
            if self.viewer and is_choice and len(made) > 1:
                yield tag(
                    "div",
                    *(tag("section", html, aria_label=name) for name, html in made),
                    class_="choices",
                )
            else:
                yield from (html for _, html in made)

    def part(self, part: Part) -> Html:
        """Write a block under its caption; nothing if there is no room for it."""
        made = join(
            Html(part.picture) if self.room.pictures else "",
            self.table(part.table) if part.table is not None else "",
            self._advice(part.advice),
            part.code.html if part.code is not None else "",
            tag("pre", verbatim("\n".join(part.drawing)), class_="copied") if part.copied else "",
        )
        if not made or not part.caption:
            return made
        if part.folded and not self.page:
            return details(part.caption, made)
        return join(tag("h4", part.caption), made)

    def _advice(self, advice: Iterable[Advice]) -> Html:
        items = [tag("li", self._finding(one)) for one in advice]
        if (rest := len(items) - self.room.rows) > 0:
            more = f"{words.count(rest, 'more finding')} left out here."
            items[self.room.rows :] = [tag("li", more)]
        return tag("ol", *items, class_="findings") if items else NOTHING

    def _finding(self, one: Advice) -> Html:
        to = self.link(*one.place) if one.place else {}
        where = tag("a" if to else "b", one.where, class_="place", **to)
        return join(
            join(where, " ") if one.where else NOTHING,
            tag("strong", prose(one.message)),
            *_below((Below(one.fix, "fix"), Below(one.evidence))),
        )

    def table(self, table: Table) -> Html:
        """Write as many rows as there is room for; empty columns are left out."""
        kept = [i for i in range(len(table.heads)) if any(_filled(row[i]) for row in table.rows)]
        if not kept:
            return NOTHING
        head, css = NOTHING, table.css
        if any(table.heads):
            cells = (tag("th", table.heads[i], scope="col", align=_side(i, table)) for i in kept)
            head = tag("thead", tag("tr", *cells))
        else:  # a name, a figure, and what it means
            css = css or "facts"
        spread = any(isinstance(cell, Cell) and cell.below for row in table.rows for cell in row)
        most = self.room.rows
        rows = [self._row(n, kept, table, spread) for n in range(min(most, len(table.rows)))]
        for number, fold in enumerate(table.folds[:most]):
            made = details("Details", self.table(fold))
            folded = tag("tr", tag("td", made, colspan=len(kept)), class_="fold")
            rows[number] = join(rows[number], folded)
        if (rest := len(table.rows) - most) > 0:
            more = f"{words.count(rest, 'more row')} left out here"
            rows.append(tag("tr", tag("td", more, colspan=len(kept))))
        sorted_by = any(isinstance(cell, Cell) and cell.value is not None for cell in table.rows[0])
        css += " sortable" * ((self.page or self.viewer) and sorted_by)
        return tag("table", head, tag("tbody", *rows), class_=css.strip())

    def _row(self, number: int, kept: list[int], table: Table, spread: bool) -> Html:
        row = table.rows[number]
        cells: list[Html] = []
        for i in kept:
            said = row[i]
            cell = said if isinstance(said, Cell) else Cell(said)
            attributes = self.link(*cell.place) if cell.place else {}
            made = prose(cell)
            made = tag("a", made, **attributes) if attributes else made
            made = join(made, cell.picture, *_below(cell.below))
            if spread and i not in table.right and made:
                # JupyterLab right-aligns every cell, and strips all other ways to undo that.
                made = tag("div", made, align="left")
            name, scope = ("td", "") if cells else ("th", "row")
            valued = (self.page or self.viewer) and cell.value is not None
            value = f"{cell.value:.9g}" if valued else ""
            look = {"scope": scope, "class_": cell.tone, "align": _side(i, table)}
            hover = cell.hover.replace("\n", "; ")
            cells.append(tag(name, made, **look, title=hover, data_value=value))
        return tag("tr", *cells, class_="off" if number in table.muted else "")


def _filled(cell: str) -> bool:
    return bool(cell or (isinstance(cell, Cell) and cell.picture))


def _below(lines: tuple[Below, ...]) -> Iterable[Html]:
    for below in lines:
        if below.kind == "line":
            yield tag("div", tag("code", escape(below.text, 120)), class_="line")
        elif below.text:
            mark = "→ " if below.kind == "fix" else ""
            yield tag("div", mark, prose(below.text), class_=below.kind)


def _side(column: int, table: Table) -> str:
    # The old attribute survives where style sheets are stripped (GitHub).
    return "right" if column in table.right else ""
