"""Where a report is shown as a widget, and where it is not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jaxscope.view.bundle.payload import MIME
from tests.magics.notebook import open_notebook
from tests.magics.session.test_viewer_comm import CELL, heard, send, shown
from tests.sessions.test_kernel import Kernel, kernel

pytest.importorskip("anywidget")
__all__ = ["kernel"]

WIDGET = "application/vnd.jupyter.widget-view+json"
# As if the viewer had been built, whatever this checkout has.
BUILT = """
import jaxscope.frontend.widget
jaxscope.frontend.widget._viewer = lambda: ("export default {render(){}}", "")
"""


def test_a_terminal_is_told_that_it_shows_no_widgets() -> None:
    with open_notebook() as notebook:
        notebook.must("import jax.numpy as jnp; x = jnp.ones(3)")
        ran = notebook.must("%%jaxjit --view widget -n 1\nx + 1")
    assert "A terminal has no widgets" in ran.text
    assert "jit(cell)" in ran.text


@pytest.fixture
def built(kernel: Kernel) -> Kernel:
    kernel.must(BUILT)
    return kernel


@pytest.fixture
def vscode(built: Kernel) -> Iterator[Kernel]:
    built.must("__vsc_ipynb_file__ = 'a.ipynb'")
    yield built
    built.must("del __vsc_ipynb_file__")


@pytest.mark.kernel
def test_a_widget_is_shown_when_asked_for(built: Kernel) -> None:
    bundle = shown(built, CELL.replace("-o r", "--view widget -o r"))
    assert set(bundle) == {"text/plain", "text/html", WIDGET}
    assert MIME in shown(built)


@pytest.mark.kernel
def test_a_comparison_is_shown_as_a_widget_when_asked_for(built: Kernel) -> None:
    shown(built)
    assert WIDGET in shown(built, "%jaxdiff --view widget r r")
    assert WIDGET not in shown(built, "%jaxdiff r r")


@pytest.mark.kernel
def test_a_widget_answers_over_its_own_comm(built: Kernel) -> None:
    shown(built)
    model = shown(built, "display(r.widget())")
    content = {"request": 9, "op": "stage", "program": 0, "kind": "jaxpr"}
    name = model[WIDGET]["model_id"]
    send(built, "comm_msg", {"comm_id": name, "data": {"method": "custom", "content": content}})
    told = heard(built, name, lambda found: any(m["buffers"] for m in found))[-1]
    assert told["content"]["data"] == {"method": "custom", "content": {"request": 9, "ok": True}}


@pytest.mark.kernel
def test_vscode_gets_the_widget_and_not_our_type(vscode: Kernel) -> None:
    assert set(shown(vscode)) == {"text/plain", "text/html", WIDGET}
    assert set(shown(vscode, "%jaxdiff r r")) == {"text/plain", "text/html", WIDGET}


@pytest.mark.kernel
def test_vscode_without_the_widget_gets_html(vscode: Kernel) -> None:
    vscode.must("jaxscope.frontend.widget._viewer = None")
    assert set(shown(vscode)) == {"text/plain", "text/html"}


@pytest.mark.kernel
def test_colab_does_not_get_our_type(built: Kernel) -> None:
    built.must("import sys, types; sys.modules['google.colab'] = types.ModuleType('google.colab')")
    try:
        built.must("jaxscope.frontend.widget._viewer = None")
        assert set(shown(built)) == {"text/plain", "text/html"}
    finally:
        built.must("del sys.modules['google.colab']")


@pytest.mark.kernel
def test_a_widget_that_cannot_be_made_is_said_and_the_report_shown(kernel: Kernel) -> None:
    kernel.must("from jaxscope.frontend import widget; widget._viewer = widget.built")
    reply = kernel.must(CELL.replace("-o r", "--view widget -o r"))
    sentence, bundle = reply.displays
    assert "This is the view `auto`." in sentence["text/plain"]
    assert MIME in bundle
