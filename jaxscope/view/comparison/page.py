"""A comparison as one offline page, whose table sorts, hides its columns and can be copied."""

from __future__ import annotations

import base64
import hashlib
import math
from importlib import resources

from jaxscope.analysis.comparison import names
from jaxscope.analysis.comparison import table as comparison_table
from jaxscope.analysis.comparison.regression import Regression
from jaxscope.model.comparison import ComparisonRecord
from jaxscope.view.base.html import escape, prose
from jaxscope.view.base.table import Table
from jaxscope.view.comparison import html, tables
from jaxscope.view.comparison.notes import conditions
from jaxscope.view.comparison.text import markdown

_FIGURES = {
    "median": "median_s",
    "p10–p90": "p10_s",
    "ratio (95 %)": "ratio",
    "dispatch": "dispatch_s",
    "device time": "device_s",
    "first call": "first_call_s",
    tables.COMPILE: "compile_total_s",
    "transfer": "transfer_s",
    "peak memory": "peak_bytes",
    "error": "error",
    "rounds": "rounds",
}
"""What a column of words is sorted by."""


def page(record: ComparisonRecord, csv: str, changes: tuple[Regression, ...] = ()) -> str:
    """The whole comparison as one HTML file without any outside reference."""
    style = html.style() + _text("comparison_page.css")
    script = f'"use strict";(()=>{{\n{_text("comparison.js")}\n}})();'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(names.title(record))} · jaxscope</title><style>{style}</style></head>"
        f'<body class="jxs"><main><p class="brand">jaxscope · {escape(record.title)}</p>'
        f"{html.head(record, changes)}{html.figures(record, inline=True)}"
        f"{html.since_baseline(changes)}{_table(record)}"
        f"<h2>To know</h2>{html.warnings(record) or '<p>Nothing stood out.</p>'}"
        f"<h2>Conditions</h2><p>{escape(conditions(record))}</p>{_copies(record, csv, changes)}"
        f"</main><script>{script}</script></body></html>\n"
    )


def _text(name: str) -> str:
    return resources.files("jaxscope.view").joinpath("web", name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Nothing is fetched, and only our own style and script run, known by their hash."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _table(record: ComparisonRecord) -> str:
    """Every row with every column; cells of figures carry the figure to sort by."""
    table = tables.whole(record, record.rows)
    kept = [i for i in range(len(table.heads)) if any(row[i] for row in table.rows)]
    if not kept:
        return ""
    heads = "".join(
        f"<th scope=col aria-sort=none{' align=right' if i in table.right else ''}>"
        f'<button type="button">{escape(table.heads[i])}</button></th>'
        for i in kept
    )
    boxes = "".join(
        f'<label><input type="checkbox" value="{place}" checked> {escape(table.heads[i])}</label>'
        for place, i in enumerate(kept)
    )
    figures = _figures(record)
    body = "".join(
        f"<tr{'' if record.rows[at].measured else ' class=off'}>"
        + "".join(_cell(table, at, i, figures) for i in kept)
        + "</tr>"
        for at in range(len(table.rows))
    )
    return (
        '<h2>Every row</h2><p class="muted">Click a head to sort by it.</p>'
        f'<fieldset id="columns" aria-label="Columns">{boxes}</fieldset>'
        f'<div class="wide all"><table id="all"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _cell(table: Table, at: int, column: int, figures: list[dict[str, float | None]]) -> str:
    text = table.rows[at][column]
    head = table.heads[column]
    known = _FIGURES.get(head, head)
    value = ""
    if known in figures[at]:
        figure = figures[at][known]
        shown = "" if figure is None or not math.isfinite(figure) else f"{figure:.9g}"
        value = f' data-value="{shown}"'
    css = html.verdict_class(text)
    align = " align=right" if column in table.right else ""
    return f"<td{css}{align}{value}>{prose(text)}</td>"


def _figures(record: ComparisonRecord) -> list[dict[str, float | None]]:
    """The numbers of each row by the name of its column in the flat table."""
    heads, rows = comparison_table.table(record)
    made: list[dict[str, float | None]] = []
    for row in rows:
        found = dict(zip(heads, row, strict=True))
        phases = [found.get(name) for name in ("trace_s", "lower_s", "compile_s")]
        total = None if None in phases else sum(one for one in phases if one is not None)
        numbers = {
            name: value
            for name, value in found.items()
            if value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        }
        made.append({**numbers, "compile_total_s": total})
    return made


def _copies(record: ComparisonRecord, csv: str, changes: tuple[Regression, ...]) -> str:
    texts = (("markdown", "Markdown", markdown(record, changes)), ("csv", "CSV", csv))
    buttons = "".join(
        f'<button type="button" data-copy="{name}">Copy as {title}</button>'
        for name, title, _ in texts
    )
    parts = "".join(
        f'<details><summary>{title}</summary><pre id="{name}">{html.verbatim(text)}</pre></details>'
        for name, title, text in texts
    )
    return f'<h2>Take it along</h2><div class="copy">{buttons}</div>{parts}'
