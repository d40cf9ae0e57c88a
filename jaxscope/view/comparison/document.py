"""A comparison as a document: the answer, tables, figures and warnings."""

from __future__ import annotations

import csv as standard
import dataclasses
import io
from collections.abc import Iterable, Iterator

from jaxscope import words
from jaxscope.analysis.comparison import names, sweep
from jaxscope.analysis.comparison import table as flat
from jaxscope.analysis.comparison.regression import Regression
from jaxscope.model.comparison import ComparisonRecord, TimingMode
from jaxscope.view.base import svg
from jaxscope.view.base.document import Advice, Chapter, Document, Part, View
from jaxscope.view.base.html import Html
from jaxscope.view.base.markdown import markdown
from jaxscope.view.comparison import baseline, figures, tables
from jaxscope.view.comparison.answer import answer, beside, headline
from jaxscope.view.comparison.notes import Sentence, conditions, sentences

_NARROW = 5
"""Most implementations whose times by size fit beside the picture."""
_GRAVE = ("not run", "stopped", "unchecked", "J102", "J201", "J203", "J204", "J205", "J206")
"""Warnings without which the first line would mislead."""
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
    said = beside(record)
    notes = [names.sentence(said), names.sentence(record.stopped), *record.notes]
    notes += [throughput] if record.mode is TimingMode.THROUGHPUT else []
    chapters = (*_answers(record, copies), *_since_baseline(changes), *_to_know(record))
    chapters = (*chapters, *_more_pictures(record), *_rows(record))
    last = [Chapter("conditions", "Conditions", (conditions(record),), folded=True)]
    last += [Chapter("page", "", (_PAGE,), views=View.HTML)] if record.rows else []
    changed = [baseline.headline(changes)] if changes else []
    made = Document(
        noun="comparison",
        first=(". ".join([headline(record), *changed]),),
        notes=tuple(note for note in notes if note),
        chapters=(*chapters, *last),
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
    return dataclasses.replace(made, chapters=(*chapters, *copied, *last))


def _answers(record: ComparisonRecord, folds: bool) -> Iterator[Chapter]:
    """One picture and one table; in text also what is beside a call at the largest size."""
    rows = record.at(sweep.largest(record))
    several = len(record.sizes) > 1
    at = f" at {names.size(rows[0].size)}" if several and rows else ""
    table = tables.by_size(record, folds) if several else tables.by_implementation(record, folds)
    picture = Part("", picture=_picture(record))
    grid = len(sweep.contenders(record)) <= _NARROW
    parts = (*([picture] if picture.picture else []), *([Part("", table)] if rows else []))
    yield Chapter("answer", "", parts=parts, views=View.WEB, grid=grid)
    if several:
        sizes = Part("", table, brief=True)
        views = View.TEXT | View.MARKDOWN
        yield Chapter("sizes", "Time per call, by size", parts=(sizes,), views=views)
    measured = (Part("", tables.times(record, rows), brief=True),)
    yield Chapter("times", f"Time per call{at}", parts=measured, views=View.TEXT)
    if any(row.measured for row in rows):
        beside = Part("", tables.costs(record, rows), brief=True)
        before = Part("", tables.preparation(record, rows), brief=True)
        yield Chapter("costs", f"Costs per call{at}", parts=(beside,), views=View.TEXT)
        title = f"Compilation, and when it pays off{at}"
        yield Chapter("preparation", title, parts=(before,), views=View.TEXT)


def _picture(record: ComparisonRecord) -> Html:
    """Times over the sizes; the rounds where only one size was measured."""
    over = figures.time(record)
    if over.series:
        return svg.figure(over, "Time per call, with its 10th to 90th percentile")
    at = f" at {names.size(sweep.largest(record))}" if len(record.sizes) > 1 else ""
    return svg.figure(figures.rounds(record), f"Rounds{at}, and their median")


def _more_pictures(record: ComparisonRecord) -> Iterator[Chapter]:
    """The ratio over the sizes, and the calls after which compiling has paid off."""
    at = f" at {names.size(sweep.largest(record))}" if len(record.sizes) > 1 else ""
    ratio, calls = figures.ratio(record), figures.break_even(record)
    drawn = [(f"All calls together{at}, including compilation", calls)]
    if ratio.series:
        base = names.baseline(record)
        drawn.insert(0, (f"Time over that of {base}: below the line is faster", ratio))
    made = [Part("", picture=svg.figure(one, caption)) for caption, one in drawn]
    shown = tuple(part for part in made if part.picture)
    title = "Ratio and compilation" if len(drawn) > 1 else "Compilation"
    yield Chapter("figures", title, parts=shown, views=View.WEB, folded=True, grid=True)


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
    whole = Part("", tables.whole(record, record.rows))
    views = View.MARKDOWN | View.PAGE
    yield Chapter("rows", "Every row", parts=(whole,), views=views, folded=True)


def _to_know(record: ComparisonRecord) -> Iterator[Chapter]:
    """Failures and results that differ; the other warnings folded."""
    said = sentences(record)
    grave = [one for one in said if one.code in _GRAVE]
    others = [one for one in said if one.code not in _GRAVE]
    yield Chapter("know", "", parts=(_advice(grave),), views=View.WEB)
    count = words.count(len(others), "more warning" if grave else "warning")
    yield Chapter("warnings", count, parts=(_advice(others),), views=View.WEB, folded=True)
    yield Chapter("know", "Warnings", parts=(_advice(said),), views=View.TEXT | View.MARKDOWN)


def _advice(said: Iterable[Sentence]) -> Part:
    made = [(f"{o.about}{names.after(o.text)}" if o.about else o.text, o.code) for o in said]
    advice = tuple(Advice(code or "note", text) for text, code in made)
    return Part("", advice=advice, brief=True)


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
