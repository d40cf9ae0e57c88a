"""A button that inserts code as a cell, where the front end listens: JupyterLab and Notebook 7."""

from __future__ import annotations

from jaxscope.view.base.html import Html, tag

STYLE = (
    ".jxs-insert.jxs-insert{display:none;min-height:24px;padding:1px 9px;border:1px solid;"
    "border-radius:6px;background:none;color:inherit;font-size:12px;cursor:pointer}"
    ".jp-Notebook .jxs-insert{display:inline-block}"
)


def button(text: str, label: str) -> Html:
    """The button of an element whose `pre` is the code; `label` is its name."""
    return tag("button", text, type="button", class_="jxs-insert", aria_label=label)


def code(text: str) -> tuple[str, ...]:
    """Lines for a `pre`, with newlines as markup: in text they would be shown as characters."""
    lines = [part for line in text.split("\n") for part in (line, Html("\n"))]
    return tuple(lines[:-1])
