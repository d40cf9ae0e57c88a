"""Source code with figures and a bar beside each line, as HTML and for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxscope.view.base.document import Beside, with_gaps
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


def heat(
    text: str, rows: Mapping[int, Beside], heads: tuple[str, ...]
) -> tuple[Html, tuple[str, ...]]:
    """The source as an HTML table, and as lines of text."""
    lines = split_lines(text)
    shown = list(range(1, len(lines) + 1))
    if len(lines) > _MOST_LINES:
        near = {line + step for line in rows for step in range(-_NEAR, _NEAR + 1)}
        shown = [line for line in shown if line in near]
    known = {number: rows.get(number, Beside(("",) * len(heads))) for number in shown}
    # Without a bar, their column would take the room of the code.
    has_bars = any(row.share > 0 for row in known.values())
    return _html(lines, known, heads, has_bars), _text(lines, known, heads, has_bars)


def _html(
    lines: Sequence[str], known: Mapping[int, Beside], heads: Sequence[str], has_bars: bool
) -> Html:
    body: list[Html] = []
    for number in with_gaps(known, len(lines)):
        if isinstance(number, str):
            blank = tag("td", colspan=len(heads) + 1 + has_bars)
            body.append(tag("tr", blank, tag("td", number, class_="muted")))
            continue
        row = known[number]
        share = min(row.share, 1.0)
        # The width is an attribute: the page allows only its own styles.
        drawn = tag("rect", width=share * 100, height=9, rx=1) if share > 0 else NOTHING
        box = {"viewBox": "0 0 100 9", "preserveAspectRatio": "none", "aria_hidden": "true"}
        body.append(
            tag(
                "tr",
                *(tag("td", word, align="right") for word in row.words),
                tag("td", tag("svg", drawn, **box), class_="heat") if has_bars else NOTHING,
                tag("td", str(number), align="right"),
                tag("td", tag("pre", python(lines[number - 1], _LONGEST))),
            )
        )
    titles = [tag("th", head, scope="col", align="right") for head in heads]
    titles += [tag("th")] * (2 + has_bars)
    head = tag("thead", tag("tr", *titles)) if any(heads) else NOTHING
    return tag("table", head, tag("tbody", *body), class_="lines")


def _text(
    lines: Sequence[str], known: Mapping[int, Beside], heads: Sequence[str], has_bars: bool
) -> tuple[str, ...]:
    gutter = len(str(len(lines)))
    widths = [
        max([columns(head), *(columns(row.words[i]) for row in known.values())])
        for i, head in enumerate(heads)
    ]
    out: list[str] = []
    if any(heads):
        out.append("  ".join(f"{h:>{w}}" for h, w in zip(heads, widths, strict=True)))
    width = _BAR if has_bars else 0
    beside = sum(widths) + 2 * len(widths) + width + 1 + gutter
    for number in with_gaps(known, len(lines)):
        if isinstance(number, str):
            out.append(f"{' ' * beside} {number}")
            continue
        row = known[number]
        text = "  ".join(
            " " * (w - columns(word)) + word for word, w in zip(row.words, widths, strict=True)
        )
        code = fitted(visible(lines[number - 1]), _WIDTH)
        out.append(f"{text}  {bar(row.share, _BAR):<{width}} {number:>{gutter}} │ {code}".rstrip())
    return tuple(out)
