"""HTML elements; every text of a record passes through `escape`."""

from __future__ import annotations

import functools
import html
import keyword
import re
from collections.abc import Mapping
from importlib import resources

from jaxscope import words
from jaxscope.view.base.visible import visible

_BACKTICKS = re.compile(r"`([^`]+)`")
_LONGEST = 2000
"""Most characters shown of one text; a repr or a name may be a megabyte."""
_SHAPES = frozenset("circle line path polygon polyline rect".split())  # noqa: SIM905
_EMPTY = frozenset("br img input meta".split())  # noqa: SIM905
_DRAWN = frozenset(("d", "points"))
_BARE = frozenset(("align", "colspan", "scope"))
"""HTML attributes written without quotes, because every cell of a table has one."""


class Html(str):
    """Markup. Only the functions of this module make it, so that a type checker finds unescaped
    text."""

    __slots__ = ()


NOTHING = Html()


def escape(text: str, longest: int = _LONGEST) -> Html:
    """One line of untrusted text as HTML: hidden characters spelled out, cut after `longest`
    characters."""
    return Html(html.escape(visible(_cut(text, longest))))


def _cut(text: str, longest: int) -> str:
    rest = len(text) - longest
    return text if rest <= 0 else f"{text[:longest]} … {words.count(rest, 'more character')}"


def verbatim(text: str) -> Html:
    """Text of several lines for a `pre`."""
    return Html("\n".join([escape(line, 100_000) for line in text.splitlines()]))


def prose(sentence: str) -> Html:
    """A sentence as HTML, with what is between backticks as code."""
    parts = _BACKTICKS.split(_cut(sentence, _LONGEST))
    return join(*(tag("code", part) if i % 2 else part for i, part in enumerate(parts)))


def join(*children: str) -> Html:
    """The children one after the other, each escaped unless it is markup."""
    return Html("".join([c if isinstance(c, Html) else escape(c) for c in children]))


def tag(name: str, *children: str, **attributes: str | float | None) -> Html:
    """An element. Children are escaped unless they are markup; so is the value of an attribute.

    `class_` and `stroke_width` are the attributes `class` and `stroke-width`. True is an attribute
    without a value; None, False and the empty text leave it out.
    """
    head, content = f"<{name}{_attributes(attributes)}", join(*children)
    if name in _EMPTY:
        return Html(f"{head}>")
    if name in _SHAPES and not content:
        return Html(f"{head}/>")
    return Html(f"{head}>{content}</{name}>")


def _attributes(attributes: Mapping[str, str | float | None]) -> str:
    found = ""
    for key, value in attributes.items():
        if value is None or value is False or value == "":
            continue
        name = key.rstrip("_").replace("_", "-")
        text = f"{value:.5g}" if isinstance(value, float) else str(value)
        if value is True:
            found += f" {name}"
        else:
            # Half of a drawing is an error in the browser's console.
            longest = len(text) if name in _DRAWN else _LONGEST
            found += f" {name}={text}" if name in _BARE else f' {name}="{escape(text, longest)}"'
    return found


@functools.cache
def style(*names: str) -> Html:
    """Style sheets of `view/web`, one after the other."""
    folder = resources.files("jaxscope.view").joinpath("web")
    sheets = "".join(folder.joinpath(f"{name}.css").read_text("utf-8") for name in names)
    return Html(sheets.replace("\n", ""))


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
