"""One offline file: a result with the viewer, without network access.

Reports and diffs are read in the viewer, which is built from `labextension/` into
`jaxscope/static/`; without scripts, or where it was not built, the file shows the static report.
Other documents have a small script for their tables.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib import resources
from typing import Any

from jaxscope.view.base.document import Document, Room, View
from jaxscope.view.base.html import Html, join, prose, style, tag
from jaxscope.view.base.static import HtmlWriter, boxed

NOT_BUILT = (
    "This is the static report: the viewer is not built in this checkout of jaxscope. "
    "`make setup` builds it."
)
_WHOLE = Room(rows=1_000_000)


def viewer_page(subject: str, static: Html, payload: dict[str, Any]) -> str:
    """A page about `subject`: the viewer, or the static HTML where no script runs.

    The payload should be complete: the page has no kernel to request more from.
    """
    script, sheet = built("page.js"), built("page.css")
    if script is None or sheet is None:
        return _file(subject, "", join(tag("p", prose(NOT_BUILT)), static), "")
    packed = Html(inline_json(payload))
    body = join(
        tag("div", id="jaxscope"),
        tag("noscript", static),
        tag("script", packed, type="application/json", id="jaxscope-payload"),
    )
    return _file(subject, sheet, body, inline_script(script))


def document_page(document: Document, subject: str) -> str:
    """A page about `subject`, with sortable tables and texts to copy."""
    script = resources.files("jaxscope.view").joinpath("web", "page.js").read_text("utf-8")
    brand = tag("p", f"jaxscope · {subject}", class_="brand")
    content = HtmlWriter(_WHOLE, page=True).document(document, View.PAGE)
    body = join(brand, boxed(document, content))
    return _file(subject, style("page"), body, f'"use strict";(()=>{{\n{script}\n}})();')


def inline_json(value: Any) -> str:
    """JSON without characters that HTML parses as markup."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def inline_script(text: str) -> str:
    """The script, escaped so that its strings cannot end its element or open a comment."""
    return text.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def built(name: str) -> str | None:
    """A file of the built viewer; None in a checkout where it was not built."""
    file = resources.files("jaxscope").joinpath("static", name)
    return file.read_text("utf-8") if file.is_file() else None


def _file(subject: str, sheet: str, body: Html, script: str) -> str:
    """Content security policy: only the script with this hash runs."""
    nonce = _digest(subject + body)[:22]
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; worker-src blob:; "
        # Pictures of a static report are in its text. The text panes write a style sheet of their
        # own: allowed by the nonce. A style attribute may set a width and a color; it can load
        # nothing, since nothing may be loaded.
        f"style-src 'nonce-{nonce}'; style-src-attr 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    own = f'<style nonce="{nonce}">'
    title = tag("title", f"{subject} · jaxscope")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"{title}{own}{sheet}</style></head>"
        # The static report brings its style; all untrusted text in it is escaped.
        f"<body>{body.replace('<style>', own, 1)}"
        f"{f'<script>{script}</script>' if script else ''}</body></html>\n"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8", "replace")).digest()).decode()
