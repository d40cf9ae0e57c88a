"""A comparison as static HTML without script, as a saved notebook shows it."""

from __future__ import annotations

import functools
from importlib import resources

from jaxscope.model.report_diff import DiffRecord
from jaxscope.view.base.chapter import Chapter
from jaxscope.view.base.html import escape, prose
from jaxscope.view.diff.chapters import chapters
from jaxscope.view.diff.summary import first_parts
from jaxscope.view.report.chapters import as_html
from jaxscope.view.report.summary import SEPARATOR

_CAP = 200_000
"""Bytes of one display at most."""
_SHORTENED = (
    '<p class="muted">Shortened to keep the notebook small; '
    "<code>diff.to_text(full=True)</code> has every changed line.</p>"
)


def static_html(record: DiffRecord) -> str:
    """The comparison as one `<div>` with its style; long stages give way beyond 200 kB."""
    text = ""
    for most, rows in ((400, 200), (60, 60), (15, 15), (0, 5)):
        text = _whole(record, most, rows)
        if len(text.encode()) <= _CAP:
            break
    return text


@functools.cache
def _style() -> str:
    files = resources.files("jaxscope.view").joinpath("web")
    sheets = ("report.css", "static.css", "diff.css")
    return "".join(files.joinpath(name).read_text("utf-8") for name in sheets).replace("\n", "")


def _whole(record: DiffRecord, most: int, rows: int) -> str:
    title, *parts = first_parts(record)
    first = SEPARATOR.join((f"<b>{escape(title)}</b>", *map(escape, parts)))
    notes = "".join(f'<p class="muted">{prose(note)}</p>' for note in record.notes[:rows])
    body = "".join(_chapter(chapter, rows) for chapter in chapters(record, most))
    return (
        f'<div class="jxs report"><style>{_style()}</style><p class="first">{first}</p>{notes}'
        f"{'' if most == 400 else _SHORTENED}{body}</div>"
    )


def _chapter(chapter: Chapter, rows: int) -> str:
    """Stages open at a click, the rest stands there."""
    content = as_html(chapter, rows)
    if chapter.key == "stage":
        return f"<details><summary>{escape(chapter.title)}</summary>{content}</details>"
    return f"<h4>{escape(chapter.title)}</h4>{content}"
