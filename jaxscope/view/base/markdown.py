"""A document in GitHub's Markdown, for an issue, a pull request or a README."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jaxscope.view.base.document import SEPARATOR, Chapter, CodeBlock, Document, Part, View
from jaxscope.view.base.table import Cell, Table
from jaxscope.view.base.visible import columns, visible

_SPECIAL = re.compile(r"([\\*_\[\]<>|~#])")
_CODE = re.compile(r"(`[^`]+`)")
_LONGEST = 2000
"""Most characters of a line of code."""


def markdown(document: Document) -> str:
    """Write the first line, the notes, and the chapters under headings."""
    title, *others = document.first
    lines = [SEPARATOR.join((f"**{escaped(title)}**", *map(escaped, others)))]
    lines += [f"\n{escaped(note)}" for note in document.notes]
    for chapter in document.chapters:
        if View.MARKDOWN in chapter.views:
            lines += _chapter(chapter)
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    """Prose with Markdown's characters escaped, except between backticks."""
    pieces = _CODE.split(visible(text))
    return "".join(
        piece.replace("|", "\\|") if index % 2 else _SPECIAL.sub(r"\\\1", piece)
        for index, piece in enumerate(pieces)
    )


def _chapter(chapter: Chapter) -> Iterator[str]:
    body = [f"\n{escaped(sentence)}" for sentence in chapter.lead]
    for part in chapter.parts:
        lines = list(_part(part))
        body += [f"\n#### {escaped(part.caption)}"] if part.caption and lines else []
        body += ["", *lines] if lines else []
    if not body and not chapter.is_bare:
        return
    if chapter.folded and any(part.code or part.drawing for part in chapter.parts):
        yield f"\n<details><summary>{escaped(chapter.title)}</summary>"
        yield from body
        yield "\n</details>"
    else:
        yield from [f"\n### {escaped(chapter.title)}"] if chapter.title else ()
        yield from body


def _part(part: Part) -> Iterator[str]:
    if part.drawing:
        yield from _block("text", part.drawing)
    if part.table is not None:
        yield from _table(part.table)
    for advice in part.advice:
        where = f"**{escaped(advice.where)}**: " if advice.where else ""
        yield f"- {where}{escaped(advice.message)}"
        yield from (f"  {escaped(text)}" for text in (advice.fix, advice.evidence) if text)
    if part.code is not None and part.code.lines:
        yield from _block(part.code.language, list(_code(part.code)))


def _code(code: CodeBlock) -> Iterator[str]:
    """Each line after its words; in a table the code would break."""
    if not code.beside and code.language in ("text", "diff"):
        yield from (visible(line[:_LONGEST]) for line in code.lines.values())
        return
    gutter = len(str(code.total))
    rows = [code.heads, *code.words]
    widths = [max(columns(row[i]) for row in rows) for i in range(len(code.heads))]
    if widths:
        yield " ".join(f"{head:>{w}}" for head, w in zip(code.heads, widths, strict=True))
    for number, line in code.lines.items():
        row = code.beside.get(number)
        beside = (row.words if row else ()) or ("",) * len(widths)
        head = "".join(f"{word:>{w}} " for word, w in zip(beside, widths, strict=True))
        yield f"{head} {number:>{gutter}}  {visible(line[:_LONGEST])}".rstrip()


def _table(table: Table) -> Iterator[str]:
    """The lines of a table, without empty columns."""
    kept = table.filled()
    if not kept:
        return
    yield "| " + " | ".join(escaped(table.heads[i]) for i in kept) + " |"
    yield "|" + "|".join(" ---: " if i in table.right else " --- " for i in kept) + "|"
    for row in table.rows:
        yield "| " + " | ".join(_cell(row[i]) for i in kept) + " |"


def _cell(cell: str) -> str:
    below = cell.below if isinstance(cell, Cell) else ()
    lines = [f"{'→ ' * (b.kind == 'fix')}{b.text}" for b in below if b.in_text]
    return "<br>".join(map(escaped, (cell, *lines)))


def _block(language: str, lines: Iterable[str]) -> Iterator[str]:
    """A fenced block whose fence is longer than any sequence of backticks inside."""
    lines = list(lines)
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}{language}"
    yield from lines
    yield fence
