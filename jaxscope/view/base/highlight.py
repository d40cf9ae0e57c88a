"""Lexical coloring of one line of Python: keywords, strings, comments, magics."""

from __future__ import annotations

import keyword
import re

from jaxscope.view.base.html import escape

_TOKEN = re.compile(
    r"(?P<c>#.*$)"
    r"|(?P<s>[rbfuRBFU]{0,2}(?:\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?))"
    r"|(?P<m>^\s*%%?\w+|^\s*@[\w.]+)"
    rf"|(?P<k>\b(?:{'|'.join(keyword.kwlist)})\b)"
)


def python(line: str, longest: int) -> str:
    """The line as HTML, its tokens in `<span class=k>` and the like."""
    if len(line) > longest:
        return escape(line, longest)
    out: list[str] = []
    end = 0
    for match in _TOKEN.finditer(line):
        out.append(escape(line[end : match.start()]))
        out.append(f'<span class="{match.lastgroup}">{escape(match.group())}</span>')
        end = match.end()
    out.append(escape(line[end:]))
    return "".join(out)
