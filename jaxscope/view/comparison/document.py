"""A comparison as a document: the answer, tables, figures and warnings."""

from __future__ import annotations

import csv as standard
import dataclasses
import io
from collections.abc import Iterator

from jaxscope.analysis.comparison import names, sweep
from jaxscope.analysis.comparison import table as flat
from jaxscope.analysis.comparison.regression import Regression
from jaxscope.model.comparison import ComparisonRecord, TimingMode
from jaxscope.view.base import svg
from jaxscope.view.base.document import Advice, Chapter, Document, Part, View
from jaxscope.view.base.figure import Figure
from jaxscope.view.base.markdown import markdown
from jaxscope.view.comparison import baseline, figures, tables
from jaxscope.view.comparison.answer import answer
from jaxscope.view.comparison.notes import conditions, sentences

_NARROW = 4
"""Most implementations whose times by size fit the width of a picture."""
_PAGE = (
    "`comparison.to_html(path)` writes a page whose columns sort by a click, hide and can be "
    "copied; `%%jaxbench -o comparison` gives the name."
)


def summary(record: ComparisonRecord, changes: tuple[Regression, ...] = ()) -> str:
    """The answer, and the change since the baseline."""
    return ". ".join([answer(record), *([baseline.headline(changes)] if changes else [])])


def document(
    record: ComparisonRecord, changes: tuple[Regression, ...] = (), *, copies: bool = False
) -> Document:
    """The comparison; with `copies` also as Markdown and CSV, for a display without files."""
    throughput = "Throughput: a round issues its calls one after the other, then waits for them."
    notes = [names.sentence(record.stopped), *record.notes]
    notes += [throughput] if record.mode is TimingMode.THROUGHPUT else []
    chapters = (*_answers(record), *_since_baseline(changes), *_to_know(record), *_rows(record))
    conditioned = Chapter("conditions", "Conditions", (conditions(record),), folded=True)
    made = Document(
        noun="comparison",
        first=(summary(record, changes),),
        notes=tuple(note for note in notes if note),
        chapters=(*chapters, conditioned),
        whole="`comparison.to_html(path)` writes every row",
        styles=("figures", "comparison"),
    )
    if not copies:
        return made
    copied = [
        Chapter("copy", title, parts=(part,), views=View.WEB, folded=True)
        for title, text in (("As Markdown", markdown(made)), ("As CSV", csv(record)))
        for part in (Part("", drawing=tuple(text.splitlines()), copied=True),)
    ]
    return dataclasses.replace(made, chapters=(*chapters, *copied, conditioned))


def _answers(record: ComparisonRecord) -> Iterator[Chapter]:
    """Figures and tables: figures first for many sizes, the table first for one."""
    rows = record.at(sweep.largest(record))
    several = len(record.sizes) > 1
    at = f" at {names.size(rows[0].size)}" if several and rows else ""
    measured = (Part("", tables.times(record, rows), brief=True),)
    times = Chapter("times", f"Time per call{at}", parts=measured, views=View.TEXT | View.HTML)
    sizes = Part("", tables.by_size(record), brief=True)
    by_size = Chapter("sizes", "Time per call, by size", parts=(sizes,))
    drawn, inside = tuple(_pictures(record)), ()
    if several and drawn and len(sweep.contenders(record)) <= _NARROW:
        # The table is as wide as a picture, and fills the place beside the third.
        inside = (dataclasses.replace(sizes, caption=by_size.title),)
        by_size = dataclasses.replace(by_size, views=View.TEXT | View.MARKDOWN)
    pictures = Chapter("figures", "", parts=(*drawn, *inside), views=View.WEB, grid=True)
    yield from (pictures, by_size, times) if several else (times, pictures)
    if any(row.measured for row in rows):
        beside = Part("", tables.costs(record, rows), brief=True)
        before = Part("", tables.preparation(record, rows), brief=True)
        yield Chapter("costs", f"Costs per call{at}", parts=(beside,), views=View.TEXT)
        title = f"Compilation, and when it pays off{at}"
        yield Chapter("preparation", title, parts=(before,), views=View.TEXT)


def _pictures(record: ComparisonRecord) -> Iterator[Part]:
    """Pictures for a notebook: three of a sweep, two of one size."""
    base = names.baseline(record)
    drawn: list[tuple[str, Figure]] = [("Rounds, and their median", figures.rounds(record))]
    if sweep.swept(record):
        drawn = [
            ("Time per call, with its 10th to 90th percentile", figures.time(record)),
            (f"Time over that of {base}: below the line is faster", figures.ratio(record)),
        ]
    at = f" at {names.size(sweep.largest(record))}" if len(record.sizes) > 1 else ""
    drawn.append((f"All calls together{at}, including compilation", figures.break_even(record)))
    for caption, figure in drawn:
        yield Part("", picture=svg.figure(figure, caption))


def _since_baseline(changes: tuple[Regression, ...]) -> Iterator[Chapter]:
    """Changes since the stored baseline."""
    if not changes:
        return
    telling, rest = baseline.telling(changes), baseline.others(changes)
    shown = (Part("", baseline.table(telling), brief=True),) if telling else ()
    lead = (rest,) if rest else ()
    yield Chapter("baseline", "Since the baseline", lead, shown)
    if rest:
        every = (Part("", baseline.table(changes)),)
        title = "Every row since the baseline"
        yield Chapter("changes", title, parts=every, views=View.WEB, folded=True)


def _rows(record: ComparisonRecord) -> Iterator[Chapter]:
    if not record.rows:
        return
    whole = Chapter("rows", "Every row", parts=(Part("", tables.whole(record, record.rows)),))
    yield dataclasses.replace(whole, views=View.MARKDOWN | View.PAGE)
    yield dataclasses.replace(whole, views=View.HTML, folded=True)
    ordered = tuple(Part(title, table) for title, table in tables.orders(record))
    yield Chapter("sorted", "Sorted", parts=ordered, views=View.HTML, folded=True)
    yield Chapter("page", "", (_PAGE,), views=View.HTML)


def _to_know(record: ComparisonRecord) -> Iterator[Chapter]:
    advice = tuple(
        Advice(one.code or "note", f"{one.about}{names.after(one.text)}" if one.about else one.text)
        for one in sentences(record)
    )
    if advice:
        yield Chapter("know", "Warnings", parts=(Part("", advice=advice, brief=True),))


_FORMULA = ("=", "+", "-", "@")
"""Prefixes that a spreadsheet interprets as a formula."""


def csv(record: ComparisonRecord) -> str:
    """One line per row, times in seconds, unknown values empty."""
    heads, rows = flat.table(record)
    out = io.StringIO()
    writer = standard.writer(out, lineterminator="\n")
    writer.writerow(heads)
    for row in rows:
        writer.writerow([_field(value) for value in row])
    return out.getvalue()


def _field(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
