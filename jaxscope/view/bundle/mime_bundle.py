"""What a notebook is given to show: text, static HTML beside it, and the viewer's own type."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any


def bundle(
    noun: str,
    plain: Callable[[], str],
    html: Callable[[], str],
    viewer: tuple[str, Callable[[], Any]] | None = None,
) -> dict[str, Any]:
    """The displays by MIME type. What cannot be drawn is left out, or said in one line of text:
    a display that fails must not spoil the user's cell."""
    found: dict[str, Any] = {}
    for kind, make in (("text/plain", plain), ("text/html", html)):
        try:
            found[kind] = make()
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            found.setdefault("text/plain", f"jaxscope could not draw the {noun} ({reason}).")
    if viewer is not None:
        kind, data = viewer
        # Without it the HTML is shown, which says the same.
        with contextlib.suppress(Exception):
            found[kind] = data()
    return found
