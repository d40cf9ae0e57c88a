"""One offline file: the viewer with the whole report in it, and nothing fetched from anywhere.

The viewer is built from `labextension/` into `jaxscope/static/`. Where there is no script, or where
it was not built, the file shows the static report.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from jaxscope.model import Record
from jaxscope.view.base.html import escape, prose
from jaxscope.view.report.html import static_html
from jaxscope.view.report.summary import first_parts

NOT_BUILT = (
    "This is the static report: the viewer is not built in this checkout of jaxscope. "
    "`make setup` builds it."
)


def page(record: Record, payload: dict[str, Any]) -> str:
    """The payload with the viewer around it, and the static report for where no script runs.

    The payload should be whole: the page has nobody to ask for what is left out.
    """
    return around(first_parts(record)[0], static_html(record, "static", inline=True), payload)


def around(subject: str, static: str, payload: dict[str, Any]) -> str:
    """A page about `subject`: the viewer, or the static HTML where no script runs."""
    title = escape(f"{subject} · jaxscope")
    script, style = built("page.js"), built("page.css")
    if script is None or style is None:
        return _document(title, "", f"<p>{prose(NOT_BUILT)}</p>{static}", "")
    body = (
        f'<div id="jaxscope"></div><noscript>{static}</noscript>'
        f'<script type="application/json" id="jaxscope-payload">{inline_json(payload)}</script>'
    )
    return _document(title, style, body, inline_script(script))


def inline_json(value: Any) -> str:
    """JSON that no parser of HTML can take for markup."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def inline_script(text: str) -> str:
    """A script whose strings cannot end its element, nor open a comment in it."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def built(name: str) -> str | None:
    """A file of the built viewer; None in a checkout where it was not built."""
    file = resources.files("jaxscope").joinpath("static", name)
    return file.read_text("utf-8") if file.is_file() else None


def _document(title: str, style: str, body: str, script: str) -> str:
    nonce = _digest(title + body)[:22]
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; worker-src blob:; "
        # The text panes write a style sheet of their own: known by the nonce. A style attribute
        # may set a width and a color; it can load nothing, since nothing may be loaded.
        f"style-src 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    own = f'<style nonce="{nonce}">'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title>{own}{style}</style></head>"
        # The static report brings its style; whatever is foreign in it is escaped.
        f"<body>{body.replace('<style>', own, 1)}"
        f"{f'<script>{script}</script>' if script else ''}</body></html>\n"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8", "replace")).digest()).decode()
