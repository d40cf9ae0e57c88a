"""What a person does in a notebook, and where things stand on the page."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

from tests.lab.servers import Server, notebook

SETUP = "import jax, jax.numpy as jnp\nx = jnp.ones((8, 8))"
SHORT = "%%jaxjit\ny = jnp.sin(x) @ x\nz = jnp.tanh(y) + 1\nz.sum()"
LONG = "%%jaxjit\ny = x\nfor i in range(250):\n    y = jnp.tanh(y) + i\ny"
"""Its texts are too long to be saved."""
WAIT = "import time\nprint('begun')\nwhile True:\n    time.sleep(0.05)"
"""Until it is interrupted."""
AGAIN = "f = jax.jit(lambda v: v * 2)\nfor n in range(1, 6):\n    f(jnp.ones(n))"


def opened(server: Server, visit: object, name: str, *cells: str, **kwargs: object) -> Page:
    """A notebook with these cells below `%load_ext jaxscope`, its kernel waiting."""
    address = server.write(name, notebook("%load_ext jaxscope", *cells))
    page: Page = visit(server, address, **kwargs)  # type: ignore[operator]
    expect(cell(page, len(cells))).to_be_attached()
    idle(page)
    return page


def idle(page: Page) -> None:
    shown = page.locator(".jp-Notebook-ExecutionIndicator, .jp-NotebookKernelStatus-success")
    expect(shown.first).to_be_attached()
    page.wait_for_function(
        "() => jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
    )


def command(page: Page, name: str) -> None:
    page.evaluate("name => void jupyterapp.commands.execute(name)", name)


def run_all(page: Page, cells: int) -> None:
    """Runs every cell of the notebook and waits for the last of so many."""
    command(page, "notebook:run-all-cells")
    ran(page, cells - 1, cells)


def ran(page: Page, index: int, number: int) -> None:
    expect(cell(page, index).locator(".jp-InputPrompt")).to_have_text(f"[{number}]:")


def restart(page: Page) -> None:
    page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    idle(page)


def choose(page: Page, index: int) -> None:
    """Makes a cell the active one, as a click beside it does."""
    cell(page, index).locator(".jp-InputPrompt").click()


def cell(page: Page, index: int) -> Locator:
    return page.locator(".jp-Notebook .jp-Cell").nth(index)


def viewer(page: Page, index: int) -> Locator:
    """The report in a cell's output."""
    return cell(page, index).locator(".jxs-root")


def pane(report: Locator, name: str) -> Locator:
    return report.locator(f'[data-pane="{name}"]')


def line(report: Locator, name: str, number: int) -> Locator:
    return pane(report, name).locator(f'.cm-line[data-line="{number}"]')


def hlo_entry(report: Locator) -> Locator:
    """Where the optimized HLO opens."""
    return pane(report, "optimized_hlo").locator(".cm-line", has_text="ENTRY %")


def badge(page: Page, index: int) -> Locator:
    return cell(page, index).locator(".jxs-badge")


def compiles(page: Page) -> Locator:
    """The side panel, opened."""
    command(page, "jaxscope:open-compiles")
    panel = page.locator("#jaxscope-compiles")
    expect(panel).to_be_visible()
    return panel
