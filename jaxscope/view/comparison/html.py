"""A comparison as static HTML without script, as a saved notebook shows it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from importlib import resources

from jaxscope.analysis.comparison import names, sweep
from jaxscope.analysis.comparison.regression import Regression
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow
from jaxscope.view.base.html import escape, prose
from jaxscope.view.base.svg import image
from jaxscope.view.base.table import Table
from jaxscope.view.comparison import baseline, pictures, tables
from jaxscope.view.comparison.answer import answer
from jaxscope.view.comparison.notes import Sentence, conditions, sentences
from jaxscope.view.comparison.tables import orders
from jaxscope.view.comparison.text import markdown

_CAP = 200_000
"""Bytes of one display at most."""

_NARROW = 4
"""Implementations whose times by size are no wider than a picture."""

_DIFFERS = "but the results differ"


def static_html(
    record: ComparisonRecord, csv: str = "", changes: tuple[Regression, ...] = ()
) -> str:
    """The comparison as one `<div>` with its style; what is large gives way beyond 200 kB."""
    text = ""
    for content in (Content(csv), Content(), Content(tables=False), Content("", False, False)):
        text = _whole(record, content, changes)
        if len(text.encode()) <= _CAP:
            return text
    return text


@dataclass(frozen=True, slots=True)
class Content:
    """What of a comparison is drawn; the answer, the times and the doubts are always there."""

    csv: str = ""
    """To be copied; empty leaves it out."""
    tables: bool = True
    """Every row with every column, sorted, and as Markdown."""
    pictures: bool = True


def _whole(record: ComparisonRecord, content: Content, changes: tuple[Regression, ...]) -> str:
    large = f"{_everything(record)}{_sorted(record)}{_copies(record, content.csv, changes)}"
    return (
        f'<div class="jxs report"><style>{style()}</style>{head(record, changes)}'
        f"{_answers(record, content.pictures)}"
        f"{since_baseline(changes)}{warnings(record)}"
        f"{large + _PAGE if content.tables else _SHORTENED}"
        f"{_details('Conditions', f'<p>{escape(conditions(record))}</p>')}</div>"
    )


_PAGE = (
    '<p class="muted"><code>comparison.to_html(path)</code> writes a page whose columns sort by a '
    "click, hide and can be copied; <code>%%jaxbench -o comparison</code> gives the name.</p>"
)
_SHORTENED = (
    '<p class="muted">Shortened to keep the notebook small; '
    "<code>comparison.to_html(path)</code> writes every row.</p>"
)


def _answers(record: ComparisonRecord, drawn: bool) -> str:
    """Pictures and tables: over many sizes the pictures tell more, at one size the table does."""
    pictured = figures(record) if drawn else ""
    if len(record.sizes) < 2:
        return f"{_times(record)}{pictured}"
    return f"{pictured or _by_size(record)}{_times(record)}"


@functools.cache
def style() -> str:
    """The style sheets of reports, and what a comparison adds."""
    files = resources.files("jaxscope.view").joinpath("web")
    sheets = ("report.css", "static.css", "comparison.css")
    return "".join(files.joinpath(name).read_text("utf-8") for name in sheets).replace("\n", "")


def head(record: ComparisonRecord, changes: tuple[Regression, ...] = ()) -> str:
    """The answer, what became of it since the baseline, and what must be known at once."""
    later = f'<p class="answer">{escape(baseline.headline(changes))}</p>' if changes else ""
    lines = (names.sentence(record.stopped), *record.notes)
    notes = "".join(f'<p class="muted">{prose(line)}</p>' for line in lines if line)
    return f'<p class="answer">{escape(answer(record))}</p>{later}{notes}'


def figures(record: ComparisonRecord, inline: bool = False) -> str:
    """The pictures side by side where there is room; over sizes with the table of their times.

    `inline` ones take the page's colors, and need its style sheet.
    """
    if sweep.swept(record):
        drawn = [
            ("Time of a call, with its 10th to 90th percentile", pictures.time_by_size(record)),
            (
                f"Time over that of {names.baseline(record)}: below the line is faster",
                pictures.ratio_by_size(record),
            ),
        ]
    else:
        drawn = [("Rounds, and their median", pictures.rounds(record, record.rows))]
    at = f" at {names.size(sweep.largest(record))}" if len(record.sizes) > 1 else ""
    drawn.append((f"All calls together{at}, compiling included", pictures.break_even(record)))
    made = "".join(
        f"<figure><figcaption>{escape(caption)}</figcaption>"
        f"{svg if inline else image(svg)}</figure>"
        for caption, svg in drawn
        if svg
    )
    table = _by_size(record)
    if not made:
        return table
    # Of few implementations it is as wide as a picture, and fills the place beside the third.
    inside = len(sweep.contenders(record)) <= _NARROW
    return f'<div class="figures">{made}{table if inside else ""}</div>{"" if inside else table}'


def since_baseline(changes: tuple[Regression, ...]) -> str:
    """What became of each row since the stored baseline."""
    if not changes:
        return ""
    telling, rest = baseline.telling(changes), baseline.others(changes)
    shown = f'<div class="wide">{marked(baseline.table(telling))}</div>' if telling else ""
    every = f'<div class="wide">{marked(baseline.table(changes))}</div>' if rest else ""
    more = f"<p>{prose(rest)}</p>{_details('Every row since the baseline', every)}" if rest else ""
    return f"<h4>Since the baseline</h4>{shown}{more}"


def _by_size(record: ComparisonRecord) -> str:
    if len(record.sizes) < 2:
        return ""
    table = marked(tables.by_size(record))
    return (
        f'<div class="sizes"><h4>Time of a call, by size</h4><div class="wide">{table}</div></div>'
    )


def _times(record: ComparisonRecord) -> str:
    """The times of the only size, or of the largest."""
    rows = record.at(sweep.largest(record))
    if not rows:
        return ""
    at = f"<h4>A call at {escape(names.size(rows[0].size))}</h4>" if len(record.sizes) > 1 else ""
    # On a narrow page the verdict is worth more than a device that is everybody's.
    same = any(row.device for row in rows) and not sweep.several_devices(record)
    css = "wide one-device" if same else "wide"
    return f'{at}<div class="{css}">{marked(tables.times(record, rows), rows)}</div>'


def warnings(record: ComparisonRecord) -> str:
    """Sentences with their codes."""
    said = sentences(record)
    if not said:
        return ""
    return f'<ul class="doubts">{"".join(_item(one) for one in said)}</ul>'


def _item(one: Sentence) -> str:
    about = f"<b>{escape(one.about)}</b>" if one.about else ""
    told = names.after(one.text) if one.about else one.text
    code = f'<span class="code">{escape(one.code)}</span> ' if one.code else ""
    return f"<li>{code}{about}{prose(told)}</li>"


def _everything(record: ComparisonRecord) -> str:
    if not record.rows:
        return ""
    table = marked(tables.whole(record, record.rows), record.rows)
    return _details("Every column", f'<div class="wide all">{table}</div>')


def _sorted(record: ComparisonRecord) -> str:
    """The rows in other orders: without a script, each order is a table of its own."""
    made = "".join(
        _details(title, f'<div class="wide">{marked(table)}</div>')
        for title, table in orders(record)
    )
    return _details("Sorted", made) if made else ""


def _copies(record: ComparisonRecord, csv: str, changes: tuple[Regression, ...]) -> str:
    """What to copy: the comparison as Markdown and CSV."""
    text = _details("As Markdown", f"<pre>{verbatim(markdown(record, changes))}</pre>")
    if csv:
        text += _details("As CSV", f"<pre>{verbatim(csv)}</pre>")
    return _details("Copy", text)


def verbatim(text: str) -> str:
    """Text of several lines for a `pre`."""
    return "\n".join(escape(line, 100_000) for line in text.splitlines())


def marked(table: Table, rows: tuple[ComparisonRow, ...] = ()) -> str:
    """A table whose verdicts are colored; rows without a measurement are set back."""
    kept = [i for i in range(len(table.heads)) if any(row[i] for row in table.rows)]
    if not kept:
        return ""
    heads = "".join(f"<th scope=col{_right(i, table)}>{escape(table.heads[i])}</th>" for i in kept)
    body = "".join(
        _row(cells, kept, table, rows[index] if rows else None)
        for index, cells in enumerate(table.rows)
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _row(cells: tuple[str, ...], kept: list[int], table: Table, row: ComparisonRow | None) -> str:
    off = ' class="off"' if row is not None and not row.measured else ""
    first, *others = kept
    made = "".join(
        f"<td{verdict_class(cells[i])}{_right(i, table)}>{prose(cells[i])}</td>" for i in others
    )
    return f"<tr{off}><th scope=row{_right(first, table)}>{prose(cells[first])}</th>{made}</tr>"


def verdict_class(cell: str) -> str:
    """Colors what is faster and what is slower."""
    if cell.endswith("faster"):
        return ' class="faster"'
    return ' class="slower"' if cell.endswith(("slower", _DIFFERS)) else ""


def _right(column: int, table: Table) -> str:
    return " align=right" if column in table.right else ""


def _details(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>{content}</details>"
