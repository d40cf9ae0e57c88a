"""One JupyterLab and one Notebook 7 for all tests, and a kernel for each."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.lab.servers import Server
from tests.view.conftest import PATIENCE, browser_type_launch_args

pytest.importorskip("playwright", reason="pytest-playwright is not installed")

from playwright.sync_api import BrowserContext, BrowserType, Page, expect

from tests.paths import ROOT

BUILT = ROOT / "labextension" / "dist"
NOT_OURS = ("reading 'schema'", "reading 'last_modified'", "Disposed", "null (reading 'kernel'")
"""Of Notebook 7 itself: the first on each of its pages, without any extension too, the second in
some versions, from its line "Last Checkpoint". Where a notebook is closed whose kernel starts: the
third of JupyterLab, the fourth of ipywidgets, which then reads the kernel of no session. Nothing of
ours has these words."""

__all__ = ["browser_type_launch_args"]

Open = Callable[..., Page]


def _server(app: str, tmp: pytest.TempPathFactory) -> Iterator[Server]:
    if not (BUILT / "package.json").exists():
        pytest.fail(f"{BUILT} is not there: build the plugin with `make front-end` first.")
    server = Server(app, tmp.mktemp(app), BUILT)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from _server("jupyterlab", tmp_path_factory)


# A process of its own: served by JupyterLab's, Notebook 7 restores a layout that is not its own.
@pytest.fixture(scope="session")
def notebook7(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from _server("notebook", tmp_path_factory)


@pytest.fixture(scope="session")
def profile(
    browser_type: BrowserType,
    browser_type_launch_args: dict[str, Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[BrowserContext]:
    """A browser that keeps its cache on disk: it compiles JupyterLab's scripts once."""
    folder = tmp_path_factory.mktemp("profile")
    context = browser_type.launch_persistent_context(folder, **browser_type_launch_args)
    yield context
    context.close()


OPENED = """async path => {
  await jupyterapp.commands.execute('docmanager:open', { path });
  // An empty window shows one.
  for (const widget of [...jupyterapp.shell.widgets('main')])
    if (widget.id.startsWith('launcher')) widget.close();
}"""
CLEARED = """async () => {
  const { shell, commands } = jupyterapp;
  for (const widget of [...shell.widgets('main')]) {
    if (widget.context) widget.context.model.dirty = false; // else it asks whether to save it
    widget.close();
  }
  shell.expandLeft();
  shell.activateById('filebrowser');
  shell.collapseRight();
  if (document.body.dataset.jpThemeLight === 'false')
    await commands.execute('apputils:change-theme', { theme: 'JupyterLab Light' });
}"""
"""Closes what a test opened in JupyterLab's window."""


@dataclass
class Window:
    """The page of JupyterLab that tests share: to open it takes longer than most of them."""

    complaints: list[str] = field(default_factory=list)
    page: Page | None = None


@pytest.fixture(scope="session")
def window(profile: BrowserContext) -> Window:
    return Window()


@pytest.fixture
def visit(
    profile: BrowserContext, window: Window, request: pytest.FixtureRequest
) -> Iterator[Open]:
    """Opens an address of a server; fails the test on an error of the page. Ends the kernels.

    `own` is for a test that needs a page of its own: settings are read once, when one opens.
    """
    expect.set_options(timeout=PATIENCE)
    window.complaints.clear()
    pages: list[Page] = []
    servers: list[Server] = []
    failed = request.session.testsfailed

    def complain(text: str) -> None:
        if not any(words in text for words in NOT_OURS):
            window.complaints.append(text)

    def open_page(
        server: Server, address: str, *, width: int = 1500, height: int = 950, own: bool = False
    ) -> Page:
        shared = server.app == "jupyterlab" and not own
        servers.append(server)
        page = window.page if shared else None
        if page is not None:
            page.set_viewport_size({"width": width, "height": height})
            path = address.partition("/tree/")[2].partition("?")[0]
            page.evaluate(OPENED, path)
            return page
        page = profile.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: complain(str(error)))
        page.goto(address)
        if shared:
            window.page = page
        else:
            pages.append(page)
        return page

    yield open_page
    if window.page is not None and request.session.testsfailed > failed:
        pages.append(window.page)
        window.page = None
    for page in pages:
        page.close()
    if window.page is not None:
        window.page.evaluate(CLEARED)
    for server in servers:
        _end_sessions(server)
    expect.set_options(timeout=5000)
    assert window.complaints == []


def _end_sessions(server: Server) -> None:
    with urllib.request.urlopen(f"{server.url}/api/sessions", timeout=30) as answer:
        sessions = json.load(answer)
    for session in sessions:
        request = urllib.request.Request(
            f"{server.url}/api/sessions/{session['id']}", method="DELETE"
        )
        urllib.request.urlopen(request, timeout=30).close()


@pytest.fixture
def pictures() -> Path:
    """The folder of screenshots: docs/images where the environment asks for it, else out/lab.

    Not test-results: pytest-playwright empties that folder whenever a process of it starts.
    """
    folder = ROOT / ("docs/images" if os.environ.get("JAXSCOPE_REFRESH_IMAGES") else "out/lab")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def picture(pictures: Path) -> Callable[..., None]:
    """Keeps a screenshot."""

    def keep(page: Page, name: str) -> None:
        # Playwright scrolls a text to a click; a person does not.
        page.evaluate("document.querySelectorAll('.cm-scroller').forEach(n => n.scrollLeft = 0)")
        page.screenshot(path=pictures / f"{name}.png")

    return keep
