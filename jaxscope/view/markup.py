"""HTML from words: everything that comes from a record passes through `escape`."""

from __future__ import annotations

import html
import re

from jaxscope.view.rows import Table
from jaxscope.view.visible import visible

_BACKTICKS = re.compile(r"`([^`]+)`")


def escape(text: str) -> str:
    """One line of foreign text as HTML, hidden characters spelled out."""
    return html.escape(visible(text))


def prose(sentence: str) -> str:
    """A sentence as HTML, with what stands in backticks as code."""
    return _BACKTICKS.sub(r"<code>\1</code>", escape(sentence))


def table(content: Table, css: str = "") -> str:
    """A table; columns that are empty throughout are left out."""
    kept = [i for i in range(len(content.heads)) if any(row[i] for row in content.rows)]
    if not kept:
        return ""
    heads = "".join(
        f"<th scope=col{_right(i, content)}>{escape(content.heads[i])}</th>" for i in kept
    )
    head = f"<thead><tr>{heads}</tr></thead>" if any(content.heads) else ""
    body = "".join(_row(row, kept, content) for row in content.rows)
    classes = f' class="{css}"' if css else ""
    return f"<table{classes}>{head}<tbody>{body}</tbody></table>"


def _row(row: tuple[str, ...], kept: list[int], content: Table) -> str:
    first, *others = kept
    cells = "".join(f"<td{_right(i, content)}>{prose(row[i])}</td>" for i in others)
    return f"<tr><th scope=row{_right(first, content)}>{prose(row[first])}</th>{cells}</tr>"


def _right(column: int, content: Table) -> str:
    # The old attribute survives where style sheets are stripped (GitHub).
    return " align=right" if column in content.right else ""
