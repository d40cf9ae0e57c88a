"""The page of a source checkout without the built viewer: source beside the stages.

The only place that knows the page. Python writes the words and tables; the script in `web/` draws
the text panes from the record's own JSON, which is the whole contract between the two.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from importlib import resources
from typing import Any

from jaxscope.analysis.by_line import LineFigures, all_figures, differentiates
from jaxscope.model import Finding, Program, Record, to_json
from jaxscope.view import rows, sections
from jaxscope.view.chapter import Chapter
from jaxscope.view.chapters import as_html, chapters, of_record
from jaxscope.view.markup import escape, prose
from jaxscope.view.summary import first_line, first_parts

_SCRIPTS = ("links.js", "tokens.js", "controls.js", "pane.js", "code.js", "shell.js")

_LOGO = (
    '<svg viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke="currentColor" '
    'stroke-width="1.6" stroke-linecap="round"><path d="M1.5 4h5M1.5 8h3M1.5 12h5"/>'
    '<circle cx="11" cy="8" r="3.4"/><path d="m13.5 10.5 2 2"/></svg>'
)


def page(record: Record) -> str:
    """The whole report as one HTML file without any outside reference."""
    style = f"{_text('report.css')}{_PLAIN}{_text('page.css')}"
    script = _script()
    title = escape(f"{first_parts(record)[0]} · jaxscope")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<title>{title}</title><style>{style}</style></head><body class="jxs">'
        f"{_head(record)}{_tabs(record)}<main>{_panels(record)}</main>{_HINT}"
        f"{_data('jaxscope-record', to_json(record))}"
        f"{_data('jaxscope-figures', _figures(record))}"
        f"<script>{script}</script></body></html>\n"
    )


# The ruler is drawn on a canvas, which knows no light-dark().
_PLAIN = (
    ".jxs{--accent-plain:#6d66f0;--heat-plain:#e0a030;--h:250}"
    "noscript{display:block;padding:8px 16px}"
)

_HINT = (
    '<div class="hint">Point at a line to see what it became · click pins it and scrolls every '
    "pane to its match · <kbd>↑</kbd> <kbd>↓</kbd> lines · <kbd>←</kbd> <kbd>→</kbd> panes · "
    "<kbd>Enter</kbd> pin · <kbd>Esc</kbd> let go · <kbd>/</kbd> search · dashed and ≈: matched "
    "by likeness, not by a tag</div>"
    "<noscript>The text panes need JavaScript; the record is in this file as JSON.</noscript>"
)


@functools.cache
def _text(name: str) -> str:
    return resources.files("jaxscope.view").joinpath("web", name).read_text("utf-8")


@functools.cache
def _script() -> str:
    parts = "\n".join(_text(name) for name in _SCRIPTS)
    return f'"use strict";(()=>{{\n{parts}\n}})();'


def _policy(style: str, script: str) -> str:
    """Nothing is fetched, and only our own style and script run, known by their hash."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(name: str, value: Any) -> str:
    """JSON that no parser of HTML can take for markup."""
    text = json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _figures(record: Record) -> list[list[dict[int, list[Any]]]]:
    """By program and source: line → equations, instructions, FLOPs, exact; where the program has a
    backward pass, its equations and FLOPs too."""
    return [
        [
            {line: _row(row, differentiates(program)) for line, row in found.items()}
            for found in all_figures(program, len(record.sources))
        ]
        for program in record.programs
    ]


def _row(row: LineFigures, phases: bool) -> list[Any]:
    figures: list[Any] = [row.equations, row.instructions, row.flops, row.exact]
    if phases:
        figures += [row.backward.equations, row.backward.flops]
    return figures


def _head(record: Record) -> str:
    title, *parts = first_parts(record)
    lead = 1 if record.programs else -1
    facts = "".join(
        f"<li{' class=lead' if i == lead else ''}>{escape(part)}</li>"
        for i, part in enumerate(parts)
    )
    programs = ""
    if len(record.programs) > 1:
        options = "".join(
            f"<option value={i}>{escape(program.title)}</option>"
            for i, program in enumerate(record.programs)
        )
        programs = f'<select id="program" class="plain" aria-label="Program">{options}</select>'
    return (
        f'<header class="top" title="{escape(first_line(record))}"><span class="brand">{_LOGO}'
        f'jaxscope</span><h1>{escape(title)}</h1><ul class="facts-line">{facts}</ul>{programs}'
        '<button type="button" class="plain" id="theme" aria-label="Change between light and dark">'
        "Dark</button></header>"
    )


_TABS = (
    ("time", "Time"),
    ("work", "Work and memory"),
    ("compiles", "Compiles"),
    ("values", "Inputs and outputs"),
    ("environment", "Environment"),
)


def _chapters(record: Record) -> dict[str, list[tuple[int, Chapter]]]:
    """By key: the programs that have the chapter, and what it says of each."""
    found: dict[str, list[tuple[int, Chapter]]] = {}
    for index, program in enumerate(record.programs):
        for chapter in chapters(record, program):
            found.setdefault(chapter.key, []).append((index, chapter))
    return found


def _tabs(record: Record) -> str:
    titles = [(chapter.key, escape(chapter.title)) for chapter in of_record(record)]
    titles += [(key, escape(found[0][1].title)) for key, found in _chapters(record).items()]
    tabs = "".join(
        f'<button type="button" role="tab" id="tab-{name}" aria-controls="{name}" '
        f'aria-selected="{str(name == "code").lower()}" tabindex="{0 if name == "code" else -1}">'
        f"{label}</button>"
        for name, label in (("code", "Source and stages"), *titles, *_TABS)
    )
    notes = " · ".join(note for note in (*record.notes, rows.no_program(record)) if note)
    shown = f'<span class="note" title="{escape(notes)}">{prose(notes)}</span>' if notes else ""
    return f'<nav class="bar" role="tablist" aria-label="Parts of the report">{tabs}{shown}</nav>'


def _panels(record: Record) -> str:
    contents = {
        **{
            chapter.key: f"<section><h3>{escape(chapter.title)}</h3>{as_html(chapter)}</section>"
            for chapter in of_record(record)
        },
        **{key: _chapter(found, record) for key, found in _chapters(record).items()},
        "time": _each(record, "Time", sections.time),
        "work": _each(record, "Work", sections.work) + _each(record, "Memory", sections.memory),
        "compiles": f"<section><h3>Compiles of this run</h3>{sections.compiles(record)}</section>",
        "values": _each(record, "Inputs and outputs", sections.values),
        "environment": f"<section><h3>Environment</h3>{sections.environment(record)}</section>",
    }
    panels = "".join(
        f'<div role="tabpanel" id="{name}" aria-labelledby="tab-{name}" hidden>{content}</div>'
        for name, content in contents.items()
    )
    return _code(record) + panels


def _code(record: Record) -> str:
    found = sections.findings(record, functools.partial(_href, record))
    number = len(record.findings)
    advice = f'<div class="advice"><h2>Findings ({number})</h2>{found}</div>' if found else ""
    nothing = rows.no_program(record)
    stages = f'<p class="empty">{escape(nothing)}</p>' if nothing else ""
    return (
        '<div role="tabpanel" id="code" aria-labelledby="tab-code"><div class="left">'
        f'{advice}</div><div class="grip" role="separator" aria-orientation="vertical" '
        'aria-label="Width of the source" aria-valuenow="38" tabindex="0"></div>'
        f'<div class="stages">{stages}</div></div>'
    )


def _href(record: Record, finding: Finding) -> str:
    if finding.line is None or finding.source >= len(record.sources):
        return ""
    return f'href="#code" data-source="{finding.source}" data-line="{finding.line}"'


def _line(line: int) -> str:
    return f'href="#code" data-source="0" data-line="{line}"'


def _chapter(found: list[tuple[int, Chapter]], record: Record) -> str:
    """One section a program that has it; for the others the words that there is none."""
    written = dict(found)
    title = found[0][1].title
    sections = ""
    for index, program in enumerate(record.programs):
        chapter = written.get(index)
        nothing = "<p>This program has none of this.</p>"
        text = as_html(chapter, link=_line) if chapter else nothing
        heading = _heading(escape(title), program, record)
        hidden = " hidden" if index else ""
        sections += f"<section data-program={index}{hidden}><h3>{heading}</h3>{text}</section>"
    return sections


def _each(record: Record, title: str, draw: Any) -> str:
    """One section a program; the script shows the chosen one."""
    if not record.programs:
        return f"<section><h3>{title}</h3><p>{escape(rows.no_program(record))}</p></section>"
    return "".join(
        f"<section data-program={i}{' hidden' if i else ''}><h3>{_heading(title, program, record)}"
        f"</h3>{draw(program)}</section>"
        for i, program in enumerate(record.programs)
    )


def _heading(title: str, program: Program, record: Record) -> str:
    return f"{title} of {escape(program.title)}" if len(record.programs) > 1 else title
