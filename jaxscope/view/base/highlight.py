"""Lexical coloring of one line of Python: keywords, strings, comments, magics."""

from __future__ import annotations

import keyword
import re

from jaxscope.view.base.html import Html, escape, join, tag

_TOKEN = re.compile(
    r"(?P<c>#.*$)"
    r"|(?P<s>[rbfuRBFU]{0,2}(?:\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?))"
    r"|(?P<m>^\s*%%?\w+|^\s*@[\w.]+)"
    rf"|(?P<k>\b(?:{'|'.join(keyword.kwlist)})\b)"
)


def python(line: str, longest: int) -> Html:
    """The line as HTML, its tokens in `<span class=k>` and the like."""
    if len(line) > longest:
        return escape(line, longest)
    out: list[str] = []
    end = 0
    for match in _TOKEN.finditer(line):
        out += (line[end : match.start()], tag("span", match.group(), class_=match.lastgroup))
        end = match.end()
    return join(*out, line[end:])
