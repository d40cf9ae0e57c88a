"""Hooks of MkDocs: the pages of the site that are not files of `docs/`.

    make docs

A demo becomes a page with its saved outputs. Each report in it is the viewer, in a frame, from the
data that the notebook holds: nothing is run. The changes, the notes for contributors and the
public API become pages too. Links that lead out of `docs/` in the repository are set right.
"""

from __future__ import annotations

import html
import posixpath
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

import jaxscope
from jaxscope.view.base.html import Html
from jaxscope.view.bundle.page import NOT_BUILT, built, viewer_page

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
REPORT = "application/vnd.jaxscope.report+json"
FILES = ("CHANGELOG.md", "CONTRIBUTING.md", "labextension/README.md", "tests/cells/README.md")
"""Files outside of `docs/` that become pages."""
HEIGHT_PX = 560
_LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s#]+)")
_LOADED = re.compile(
    r"""<(?:script|img|iframe|source|link\b[^>]*\brel="?(?:stylesheet|preload|icon))\b[^>]*?"""
    r"""\b(?:src|href)="?((?:https?:)?//[^\s">]+)"""
)
_SLOT = re.compile(r'<div data-output="(\d+)"></div>')
_INSIDE = {"README.md": "index.md", "docs": "index.md"}
"""Targets in the repository whose page has a different name."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The notebooks in the navigation, in their order."""
    for entry in config.nav or ():
        if "Notebooks" in entry:
            entry["Notebooks"] += [f"demos/{path.stem}.md" for path in demos()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File

    if built("page.js") is None:
        raise SystemExit(NOT_BUILT)
    for uri, content in generated().items():
        files.append(File.generated(config, uri, content=content))
    return files


def generated() -> dict[str, str]:
    """The content of each page that is not a file of `docs/`, by its place in the site."""
    found = {name: (ROOT / name).read_text("utf-8") for name in FILES}
    found |= {"notebooks.md": gallery(), "api.md": api()}
    for path in demos():
        found[f"demos/{path.stem}.md"] = markdown(path)
        for number, (code, data) in enumerate(reports(path), 1):
            content = viewer_page(code, Html(data["text/html"]), data[REPORT])
            found[f"demos/{frame(path, number)}"] = content
    return found


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    return moved_links(markdown, page.file.src_uri)


def moved_links(text: str, uri: str) -> str:
    """The text of a page with links as they are on the site: `docs/` is its root."""
    here = uri if uri in FILES or uri.startswith("demos/") else f"docs/{uri}"

    def moved(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), match[1]))
        return posixpath.relpath(site_path(target), posixpath.dirname(uri) or ".")

    parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", text, flags=re.M | re.S)
    return "".join(part if i % 2 else _LINK.sub(moved, part) for i, part in enumerate(parts))


def site_path(target: str) -> str:
    """The page of a file of the repository, from the root of the site; itself where it has none."""
    target = _INSIDE.get(target, target).removeprefix("docs/")
    if target.startswith("demos/") and target.endswith(".ipynb"):
        return target.removesuffix(".ipynb") + ".md"
    return target


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Saved outputs at their places: Markdown would read their HTML as text."""
    uri = page.file.src_uri
    if not uri.startswith("demos/"):
        return content
    drawn = outputs(ROOT / "demos" / f"{Path(uri).stem}.ipynb")
    return _SLOT.sub(lambda match: drawn[int(match[1])], content)


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site that needs the network."""
    found = {
        f"{path.name}: {url}"
        for path in Path(config.site_dir).rglob("*.html")
        for url in foreign(path.read_text("utf-8"))
    }
    if found:
        raise SystemExit("The site loads from the network:\n" + "\n".join(sorted(found)))


def foreign(text: str) -> list[str]:
    """Scripts, styles, pictures and frames of a page that a different host would have to send."""
    return _LOADED.findall(text)


def demos() -> list[Path]:
    return sorted((ROOT / "demos").glob("*.ipynb"))


@cache
def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def title(path: Path) -> str:
    return read(path).cells[0].source.splitlines()[0].removeprefix("# ")


def saved(path: Path) -> list[Any]:
    """The outputs of a notebook, in order."""
    return [output for cell in read(path).cells for output in cell.get("outputs", ())]


def reports(path: Path) -> list[tuple[str, Any]]:
    """Subject and MIME bundle of each report that the notebook holds."""
    return [
        (subject(cell.source), output["data"])
        for cell in read(path).cells
        for output in cell.get("outputs", ())
        if is_report(output)
    ]


def is_report(output: Any) -> bool:
    """Comparisons have the type of the viewer too, and a style of their own in their HTML."""
    payload = output.get("data", {}).get(REPORT)
    return payload is not None and payload.get("kind") != "comparison"


def subject(code: str) -> str:
    """The first line of a cell below its magic, shortened."""
    magic, _, rest = code.partition("\n")
    lines = rest.splitlines() if magic.startswith("%%") else [magic]
    line = next((line for line in lines if line and not line.startswith("#")), magic)
    return line if len(line) <= 48 else f"{line[:47]}…"


def frame(path: Path, number: int) -> str:
    return f"{path.stem}_{number}.html"


def markdown(path: Path) -> str:
    """A notebook as Markdown, with a slot for each output."""
    parts: list[str] = []
    number = 0
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```ipython\n{cell.source}\n```")
        for _ in cell.outputs:
            parts.append(f'<div data-output="{number}"></div>')
            number += 1
    return "\n\n".join(parts)


def outputs(path: Path) -> list[str]:
    """The HTML of each output."""
    drawn: list[str] = []
    number = 0
    for output in saved(path):
        data = output.get("data", {})
        if is_report(output):
            number += 1
            where = frame(path, number)
            drawn.append(
                f'<iframe src="{where}" title="{html.escape(title(path))}" loading="lazy" '
                f'style="width:100%;height:{HEIGHT_PX}px;border:1px solid #8884"></iframe>'
                f'<p><a href="{where}">The report as a page</a></p>'
            )
        elif "text/html" in data and "<script" not in data["text/html"]:
            drawn.append(f'<div class="output">{data["text/html"]}</div>')
        else:
            text = output.get("text", data.get("text/plain", ""))
            drawn.append(f"<pre><code>{html.escape(text)}</code></pre>")
    return drawn


def gallery() -> str:
    """Every notebook, and the reports in it as pages to click without installing."""
    rows = [
        f"| [{title(path)}](demos/{path.stem}.md) | "
        + ", ".join(
            f"[`{code}`](demos/{frame(path, number)})".replace("|", "\\|")
            for number, (code, _) in enumerate(reports(path), 1)
        )
        + " |"
        for path in demos()
    ]
    return "\n".join((
        "# Notebooks",
        "",
        "**What does it look like?** Each notebook has its saved outputs. Each report in it is",
        "a page: the viewer as `report.to_html(path)` writes it, without a kernel.",
        'To run them, install what they import: `pip install ".[demos]"` in a checkout.',
        "",
        "| notebook | reports |",
        "|---|---|",
        *rows,
        "",
    ))  # fmt: skip


def api() -> str:
    """The public names, each with its docstrings."""
    functions = [name for name in jaxscope.__all__ if name[0].islower()]
    classes = [name for name in jaxscope.__all__ if name[0].isupper()]
    parts = [
        "# API",
        "Everything that a magic does is a function. `%jaxjit?` lists the options of a magic.",
    ]
    for heading, names in (("Functions", functions), ("Results", classes)):
        parts.append(f"## {heading}")
        parts += [f"::: {home(name)}.{name}" for name in names]
    return "\n\n".join(parts)


def home(name: str) -> str:
    """The module that defines a public name: the package itself imports it when it is asked for."""
    return getattr(jaxscope, name).__module__
