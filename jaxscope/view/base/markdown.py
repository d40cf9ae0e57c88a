"""Words and tables in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jaxscope.view.base.table import Table
from jaxscope.view.base.visible import visible

_SPECIAL = re.compile(r"([\\*_\[\]<>|~#])")
_CODE = re.compile(r"(`[^`]+`)")


def escaped(text: str) -> str:
    """Prose with Markdown's own characters escaped, except in what stands between backticks."""
    pieces = _CODE.split(visible(text))
    return "".join(
        piece.replace("|", "\\|") if index % 2 else _SPECIAL.sub(r"\\\1", piece)
        for index, piece in enumerate(pieces)
    )


def pipes(table: Table) -> Iterator[str]:
    """The lines of a table, without the columns that are empty throughout."""
    kept = [i for i in range(len(table.heads)) if any(row[i] for row in table.rows)]
    if not kept:
        return
    yield "| " + " | ".join(escaped(table.heads[i]) for i in kept) + " |"
    yield "|" + "|".join(" ---: " if i in table.right else " --- " for i in kept) + "|"
    for row in table.rows:
        yield "| " + " | ".join(escaped(row[i]) for i in kept) + " |"
