"""A compile log as static HTML: no script, so that it lives in a saved notebook.

Readable where style sheets are stripped too: a table whose cells are words and figures.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from jaxscope import words
from jaxscope.analysis.compiles.groups import CompileGroup, by_cell, by_function
from jaxscope.model.compile_log import Log
from jaxscope.view.base.html import escape, prose, table
from jaxscope.view.compiles.rows import OPERATIONS, Row, first_line, group_table, rows
from jaxscope.view.report.html import details, style
from jaxscope.view.report.summary import SEPARATOR

_CAP = 200_000
"""Bytes of one log at most, as for a report."""
_BAR_WIDTH = 90


def static_html(log: Log, uid: str = "") -> str:
    """The log as one `<div>` with its style, at most 200 kB; `uid` makes its ids unique."""
    uid = uid or _uid(log)
    for most in (30, 10, 3):
        found = rows(log, most)
        left_out = f'<p class="muted">{prose(found.left_out)}</p>' if found.left_out else ""
        body = f"{_table(found.rows, uid)}{left_out}{_callers(found.rows, uid)}"
        functions, cells = by_function(log), by_cell(log)
        if len(functions) > 1:
            body += details("By function", groups_html(functions, "function", most))
        if len(cells) > 1:
            body += details("By cell", groups_html(cells, "cell", most))
        text = _around(_head(log) + body, uid)
        if len(text.encode()) <= _CAP:
            return text
    return _around(_head(log), uid)


def groups_page(log: Log, groups: Sequence[CompileGroup], head: str, uid: str = "") -> str:
    """A table of groups under the first line."""
    return _around(_head(log) + groups_html(groups, head), uid or _uid(log))


def groups_html(groups: Sequence[CompileGroup], head: str, most: int = 30) -> str:
    """The table of `by_line`, `by_function` or `by_cell`."""
    rest = len(groups) - most
    more = f'<p class="muted">{words.count(rest, "quicker row")} left out.</p>' if rest > 0 else ""
    return table(group_table(groups, head, most)) + more


def _around(content: str, uid: str) -> str:
    return f'<div class="jxs report compiles" id="{uid}"><style>{style()}</style>{content}</div>'


def _head(log: Log) -> str:
    first, *others = first_line(log).split(SEPARATOR)
    line = SEPARATOR.join((f"<b>{escape(first)}</b>", *map(escape, others)))
    notes = "".join(f'<p class="muted">{prose(note)}</p>' for note in log.notes)
    return f'<p class="first">{line}</p>{notes}'


def _table(found: Sequence[Row], uid: str) -> str:
    if not found:
        return ""
    heads = ("where", "what", "time", "trace · lower · XLA", "why, and what to change")
    right = ("", "", " align=right", "", "")
    head = "".join(f"<th scope=col{r}>{escape(h)}</th>" for h, r in zip(heads, right, strict=True))
    slowest = max(row.seconds for row in found)
    body = "".join(_row(row, number, slowest, uid) for number, row in enumerate(found))
    return f'<table class="compiles"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _row(row: Row, number: int, slowest: float, uid: str) -> str:
    place = escape(row.place)
    if row.callers:
        place = f'<a class="place" href="#{uid}-{number}">{place}</a>'
    elif place:
        place = f'<b class="place">{place}</b>'
    times = f' <b class="times">{escape(row.times)}</b>' if row.times else ""
    what = escape(row.what) if row.what == OPERATIONS else f"<code>{escape(row.what)}</code>"
    mark = ' <span class="flag">again</span>' if row.again else ""
    mark = ' <span class="flag">failed</span>' if row.failed else mark
    code = f'<div class="line"><code>{escape(row.text, 120)}</code></div>' if row.text else ""
    fix = f'<div class="fix">→ {prose(row.fix)}</div>' if row.fix else ""
    cache = f'<div class="evidence">{prose(row.disk_cache)}</div>' if row.disk_cache else ""
    return (
        f"<tr><th scope=row>{place}</th><td>{_left(what + times + mark)}</td>"
        f"<td align=right>{words.seconds(row.seconds)}</td><td>{_bar(row, slowest)}</td>"
        f"<td>{_left(code + prose(row.why) + fix + cache)}</td></tr>"
    )


def _left(content: str) -> str:
    """JupyterLab sets every cell to the right, and strips what would undo it but this."""
    return f"<div align=left>{content}</div>"


def _bar(row: Row, slowest: float) -> str:
    """Trace, lower and XLA side by side, as long as the row took against the slowest."""
    names = ("trace", "lower", "XLA")
    label = ", ".join(
        f"{name} {words.seconds(value)}" for name, value in zip(names, row.stages, strict=True)
    )
    x, shapes = 0.0, ""
    for number, value in enumerate(row.stages, 1):
        width = value / slowest * _BAR_WIDTH if slowest else 0.0
        shapes += f'<rect class="p{number}" x="{x:.4g}" y="0" width="{width:.4g}" height="9"/>'
        x += width
    return (
        f'<svg class="split" width="{_BAR_WIDTH}" height="9" viewBox="0 0 {_BAR_WIDTH} 9" '
        f'role="img" aria-label="{escape(label)}"><title>{escape(label)}</title>{shapes}</svg>'
    )


def _callers(found: Sequence[Row], uid: str) -> str:
    """For rows whose line was called from elsewhere: from where."""
    items = "".join(
        f'<li id="{uid}-{number}"><b class="place">{escape(row.place)}</b> '
        f"called from {escape(' ← '.join(row.callers))}</li>"
        for number, row in enumerate(found)
        if row.callers
    )
    return details("Called from", f'<ul class="callers">{items}</ul>') if items else ""


def _uid(log: Log) -> str:
    text = "\0".join((log.created, str(len(log.compiles)), f"{log.total_s:.9f}"))
    return "jxl" + hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()
