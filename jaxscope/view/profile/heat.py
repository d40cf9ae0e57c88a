"""Source code with figures and a bar beside each line, as HTML and for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jaxscope import words
from jaxscope.view.base.highlight import python
from jaxscope.view.base.html import escape
from jaxscope.view.base.visible import columns, fitted, split_lines, visible

BAR = 10
_MOST_LINES = 30
"""A longer source is not shown whole."""
_NEAR = 2
"""Lines shown on either side of one with figures, in a longer source."""
_WIDTH = 72
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Heat:
    """The figures and the bar beside a line."""

    words: tuple[str, ...]
    share: float
    """Length of the bar: 1 is the full length."""


def heat(
    text: str, rows: Mapping[int, Heat], heads: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """The source as an HTML table, and as lines of text."""
    lines = split_lines(text)
    shown = list(range(1, len(lines) + 1))
    if len(lines) > _MOST_LINES:
        near = {line + step for line in rows for step in range(-_NEAR, _NEAR + 1)}
        shown = [line for line in shown if line in near]
    empty = Heat(("",) * len(heads), 0.0)
    known = [(number, rows.get(number, empty)) for number in shown]
    return _html(lines, known, heads), _text(lines, known, heads)


def bar(share: float) -> str:
    """A bar in eighths of a block; any share above 0 is visible."""
    eighths = max(round(min(share, 1) * BAR * 8), 1 if share > 0 else 0)
    whole, part = divmod(eighths, 8)
    return "█" * whole + (" ▏▎▍▌▋▊▉"[part] if part else "")


def _html(lines: list[str], known: list[tuple[int, Heat]], heads: tuple[str, ...]) -> str:
    body: list[str] = []
    blank = f"<td colspan={len(heads) + 2}></td>"
    previous = 0
    for number, row in known:
        body += [f"<tr>{blank}<td class=muted>{gap}</td></tr>" for gap in _gap(previous, number)]
        previous = number
        text = "".join(f"<td align=right>{escape(word)}</td>" for word in row.words)
        body.append(
            f'<tr>{text}<td class="heat">{_svg(row.share)}</td><td align=right>{number}</td>'
            f"<td><pre>{python(lines[number - 1], _LONGEST)}</pre></td></tr>"
        )
    end = _gap(previous, len(lines) + 1)
    body += [f"<tr>{blank}<td class=muted>{gap}</td></tr>" for gap in end]
    titles = "".join(f"<th scope=col align=right>{escape(head)}</th>" for head in heads)
    head = f"<thead><tr>{titles}<th></th><th></th><th></th></tr></thead>" if any(heads) else ""
    return f'<table class="lines">{head}<tbody>{"".join(body)}</tbody></table>'


def _svg(share: float) -> str:
    # The width is an attribute: the page allows only its own styles.
    mark = f'<rect width="{min(share, 1) * 100:.1f}" height="9" rx="1"/>' if share > 0 else ""
    return f'<svg viewBox="0 0 100 9" preserveAspectRatio="none" aria-hidden="true">{mark}</svg>'


def _text(
    lines: list[str], known: list[tuple[int, Heat]], heads: tuple[str, ...]
) -> tuple[str, ...]:
    gutter = len(str(len(lines)))
    widths = [
        max([columns(head), *(columns(row.words[i]) for _, row in known)])
        for i, head in enumerate(heads)
    ]
    out: list[str] = []
    if any(heads):
        out.append("  ".join(f"{h:>{w}}" for h, w in zip(heads, widths, strict=True)))
    beside = sum(widths) + 2 * len(widths) + BAR + 1 + gutter
    previous = 0
    for number, row in known:
        out += [f"{' ' * beside} {gap}" for gap in _gap(previous, number)]
        previous = number
        text = "  ".join(
            " " * (w - columns(word)) + word for word, w in zip(row.words, widths, strict=True)
        )
        code = fitted(visible(lines[number - 1]), _WIDTH)
        out.append(f"{text}  {bar(row.share):<{BAR}} {number:>{gutter}} │ {code}".rstrip())
    out += [f"{' ' * beside} {gap}" for gap in _gap(previous, len(lines) + 1)]
    return tuple(out)


def _gap(previous: int, number: int) -> tuple[str, ...]:
    """A placeholder for lines between two shown ones."""
    left_out = number - previous - 1
    return (f"⋮ {words.count(left_out, 'line')} not shown",) if left_out else ()
