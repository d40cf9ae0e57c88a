"""A compile log as Markdown, for an issue or a pull request."""

from __future__ import annotations

import re

from jaxscope.model.log import Log
from jaxscope.view import units
from jaxscope.view.compile_log import first_line, rows
from jaxscope.view.visible import visible

_SPECIAL = re.compile(r"([\\*_\[\]<>|~#])")
_CODE = re.compile(r"(`[^`]+`)")


def markdown(log: Log) -> str:
    """The first line, the notes, and a table of what compiled, why, and what to change."""
    lines = [f"**{_words(first_line(log))}**", ""]
    lines += [f"{_words(note)}\n" for note in log.notes]
    found = rows(log)
    if found.rows:
        lines.append("| where | what | time | why | what to change |")
        lines.append("|---|---|--:|---|---|")
    for row in found.rows:
        what = " ".join(filter(None, (f"`{visible(row.what)}`", row.times)))
        why = " ".join(filter(None, (row.why, row.disk_cache)))
        cells = (_words(row.place), what, units.seconds(row.seconds), why, row.fix)
        lines.append("| " + " | ".join((*cells[:3], _words(cells[3]), _words(cells[4]))) + " |")
    if found.left_out:
        lines += ["", _words(found.left_out)]
    if log.versions:
        named = ", ".join(f"{name} {version}" for name, version in log.versions)
        lines += ["", _words(named)]
    return "\n".join(lines).rstrip() + "\n"


def _words(text: str) -> str:
    """Foreign text as Markdown prose; what stands in backticks stays code."""
    parts = _CODE.split(visible(text))
    return "".join(
        part.replace("|", "\\|") if number % 2 else _SPECIAL.sub(r"\\\1", part)
        for number, part in enumerate(parts)
    )
