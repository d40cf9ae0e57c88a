"""Source code with figures and a bar beside each line, as HTML and for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxscope import words
from jaxscope.view.base.document import Beside
from jaxscope.view.base.html import NOTHING, Html, python, tag
from jaxscope.view.base.terminal import bar
from jaxscope.view.base.visible import columns, fitted, split_lines, visible

_BAR = 10
_MOST_LINES = 30
"""A longer source is shown in part."""
_NEAR = 2
"""Lines shown on either side of one with figures, in a longer source."""
_WIDTH = 72
_LONGEST = 400
_Rows = Sequence[tuple[int, Beside]]


def heat(
    text: str, rows: Mapping[int, Beside], heads: tuple[str, ...]
) -> tuple[Html, tuple[str, ...]]:
    """The source as an HTML table, and as lines of text."""
    lines = split_lines(text)
    shown = list(range(1, len(lines) + 1))
    if len(lines) > _MOST_LINES:
        near = {line + step for line in rows for step in range(-_NEAR, _NEAR + 1)}
        shown = [line for line in shown if line in near]
    empty = Beside(("",) * len(heads))
    known = [(number, rows.get(number, empty)) for number in shown]
    return _html(lines, known, heads), _text(lines, known, heads)


def _html(lines: Sequence[str], known: _Rows, heads: Sequence[str]) -> Html:
    body: list[Html] = []
    previous = 0
    for number, row in known:
        body += _gap_row(previous, number, len(heads))
        previous = number
        share = min(row.share, 1.0)
        # The width is an attribute: the page allows only its own styles.
        drawn = tag("rect", width=share * 100, height=9, rx=1) if share > 0 else NOTHING
        box = {"viewBox": "0 0 100 9", "preserveAspectRatio": "none", "aria_hidden": "true"}
        body.append(
            tag(
                "tr",
                *(tag("td", word, align="right") for word in row.words),
                tag("td", tag("svg", drawn, **box), class_="heat"),
                tag("td", str(number), align="right"),
                tag("td", tag("pre", python(lines[number - 1], _LONGEST))),
            )
        )
    body += _gap_row(previous, len(lines) + 1, len(heads))
    titles = [tag("th", head, scope="col", align="right") for head in heads]
    head = tag("thead", tag("tr", *titles, *[tag("th")] * 3)) if any(heads) else NOTHING
    return tag("table", head, tag("tbody", *body), class_="lines")


def _gap_row(previous: int, number: int, figures: int) -> list[Html]:
    blank = tag("td", colspan=figures + 2)
    return [tag("tr", blank, tag("td", gap, class_="muted")) for gap in _gap(previous, number)]


def _text(lines: Sequence[str], known: _Rows, heads: Sequence[str]) -> tuple[str, ...]:
    gutter = len(str(len(lines)))
    widths = [
        max([columns(head), *(columns(row.words[i]) for _, row in known)])
        for i, head in enumerate(heads)
    ]
    out: list[str] = []
    if any(heads):
        out.append("  ".join(f"{h:>{w}}" for h, w in zip(heads, widths, strict=True)))
    beside = sum(widths) + 2 * len(widths) + _BAR + 1 + gutter
    previous = 0
    for number, row in known:
        out += [f"{' ' * beside} {gap}" for gap in _gap(previous, number)]
        previous = number
        text = "  ".join(
            " " * (w - columns(word)) + word for word, w in zip(row.words, widths, strict=True)
        )
        code = fitted(visible(lines[number - 1]), _WIDTH)
        out.append(f"{text}  {bar(row.share, _BAR):<{_BAR}} {number:>{gutter}} │ {code}".rstrip())
    out += [f"{' ' * beside} {gap}" for gap in _gap(previous, len(lines) + 1)]
    return tuple(out)


def _gap(previous: int, number: int) -> tuple[str, ...]:
    """A placeholder for lines between two shown ones."""
    left_out = number - previous - 1
    return (f"⋮ {words.count(left_out, 'line')} not shown",) if left_out else ()
