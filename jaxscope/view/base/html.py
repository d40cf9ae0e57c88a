"""HTML from words: everything that comes from a record passes through `escape`."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping

from jaxscope import words
from jaxscope.view.base.table import Place, Table
from jaxscope.view.base.visible import visible

_BACKTICKS = re.compile(r"`([^`]+)`")


_LONGEST = 2000
"""Characters of one text that are shown; a repr or a name may be a megabyte."""


def escape(text: str, longest: int = _LONGEST) -> str:
    """One line of foreign text as HTML, hidden characters spelled out, cut where it is endless."""
    if (rest := len(text) - longest) > 0:
        text = f"{text[:longest]} … {words.count(rest, 'more character')}"
    return html.escape(visible(text))


def prose(sentence: str) -> str:
    """A sentence as HTML, with what stands in backticks as code."""
    return _BACKTICKS.sub(r"<code>\1</code>", escape(sentence))


Link = Callable[[int, int], str]
"""The attributes of the link to a source's line; empty where it cannot be reached."""


def unlinked(source: int, line: int) -> str:
    """A view without links."""
    return ""


def table(content: Table, css: str = "", limit: int = 10_000, link: Link = unlinked) -> str:
    """A table of at most `limit` rows; columns that are empty throughout are left out."""
    kept = [i for i in range(len(content.heads)) if any(row[i] for row in content.rows)]
    if not kept:
        return ""
    heads = "".join(
        f"<th scope=col{_right(i, content)}>{escape(content.heads[i])}</th>" for i in kept
    )
    head = f"<thead><tr>{heads}</tr></thead>" if any(content.heads) else ""
    body = "".join(
        _row(row, kept, content, content.leads(i), link)
        for i, row in enumerate(content.rows[:limit])
    )
    if (rest := len(content.rows) - limit) > 0:
        more = f"{words.count(rest, 'more row')} left out here"
        body += f"<tr><td colspan={len(kept)}>{more}</td></tr>"
    classes = f' class="{css}"' if css else ""
    return f"<table{classes}>{head}<tbody>{body}</tbody></table>"


def _row(
    row: tuple[str, ...],
    kept: list[int],
    content: Table,
    leads: Mapping[int, Place],
    link: Link,
) -> str:
    def cell(i: int) -> str:
        number = row[i].removeprefix("≈") if i in content.lines and not content.places else ""
        to = (0, int(number)) if number.isdigit() else leads.get(i)
        attributes = link(*to) if to else ""
        return f"<a {attributes}>{prose(row[i])}</a>" if attributes else prose(row[i])

    first, *others = kept
    cells = "".join(f"<td{_right(i, content)}>{cell(i)}</td>" for i in others)
    return f"<tr><th scope=row{_right(first, content)}>{cell(first)}</th>{cells}</tr>"


def _right(column: int, content: Table) -> str:
    # The old attribute survives where style sheets are stripped (GitHub).
    return " align=right" if column in content.right else ""
