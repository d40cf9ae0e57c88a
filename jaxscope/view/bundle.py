"""What a notebook is given to show: text, and static HTML beside it."""

from __future__ import annotations

from collections.abc import Callable


def bundle(noun: str, plain: Callable[[], str], html: Callable[[], str]) -> dict[str, str]:
    """The displays by MIME type. What cannot be drawn is left out, or said in one line of text:
    a display that fails must not spoil the user's cell."""
    found: dict[str, str] = {}
    for kind, make in (("text/plain", plain), ("text/html", html)):
        try:
            found[kind] = make()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            found.setdefault("text/plain", f"jaxscope could not draw the {noun} ({reason}).")
    return found
