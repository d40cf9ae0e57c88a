"""A tree of times: as an icicle of boxes, and as indented lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope import words
from jaxscope.analysis.profile.stacks import Node
from jaxscope.view.base.html import NOTHING, Html, tag
from jaxscope.view.base.visible import visible

_WIDTH, _ROW = 1000, 20
_DEEPEST = 14
_NARROW = 3.0
"""Narrower boxes, in units of 1000, are left out with everything below them."""
_LETTER = 6.6
_LEAST = 0.01
"""Share below which a line of the text tree is left out."""
_MOST_LINES = 40


def svg(root: Node) -> Html:
    """Nested boxes, as wide as their time, each with its label and seconds as a tooltip."""
    boxes: list[Html] = []
    depth = _boxes(root, 0.0, float(_WIDTH), 0, max(root.seconds, 1e-12), boxes)
    label = f"call stacks of {root.label}, {words.seconds(root.seconds)}"
    box = f"0 0 {_WIDTH} {(depth + 1) * _ROW}"
    drawn = tag("svg", *boxes, class_="icicle", viewBox=box, role="img", aria_label=label)
    return tag("figure", drawn, class_="wide")


def _boxes(node: Node, x: float, width: float, level: int, whole: float, out: list[Html]) -> int:
    """Draw a node and its children; returns the deepest level that was drawn."""
    share, y = words.percent(node.seconds / whole), level * _ROW
    letters = int((width - 8) / _LETTER)
    shown = node.label if len(node.label) <= letters else node.label[: max(letters - 1, 0)] + "…"
    out.append(
        tag(
            "g",
            tag("title", f"{node.label} · {words.seconds(node.seconds)} ({share})"),
            tag(
                "rect",
                class_=f"p{level % 3 + 1}",
                x=x,
                y=y,
                width=max(width - 1, 0.5),
                height=_ROW - 1,
            ),
            tag("text", shown, x=x + 4, y=y + 14) if letters >= 3 else NOTHING,
        )
    )
    deepest = level
    if level >= _DEEPEST:
        return deepest
    for child in node.ordered():
        wide = width * child.seconds / node.seconds if node.seconds else 0.0
        if wide >= _NARROW:
            deepest = max(deepest, _boxes(child, x, wide, level + 1, whole, out))
        x += wide
    return deepest


def tree(root: Node) -> tuple[str, ...]:
    """Indented lines, the longest first; a path of single children is one line."""
    lines = list(_lines(root, 0, max(root.seconds, 1e-12)))
    if len(lines) > _MOST_LINES:
        left = words.count(len(lines) - _MOST_LINES, "more line")
        lines = [*lines[:_MOST_LINES], f"{'':>17}  … {left}"]
    return tuple(lines)


def _lines(node: Node, level: int, whole: float) -> Iterator[str]:
    labels = [node.label]
    while len(node.children) == 1:
        (node,) = node.children.values()
        labels.append(node.label)
    time, share = words.seconds(node.seconds), words.percent(node.seconds / whole)
    path = visible(" › ".join(labels))
    yield f"{time:>9} {share:>7}  {'  ' * level}{path}"
    for child in node.ordered():
        if child.seconds >= _LEAST * whole:
            yield from _lines(child, level + 1, whole)
