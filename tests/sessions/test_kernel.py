"""The magics in a real Jupyter kernel, seen as a front end sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

pytestmark = pytest.mark.kernel
pytest.importorskip("ipykernel")
manager = pytest.importorskip("jupyter_client.manager")


@dataclass
class Reply:
    """What a cell sent back."""

    displays: list[dict[str, Any]] = field(default_factory=list)
    updates: list[dict[str, Any]] = field(default_factory=list)
    value: str = ""
    prompt: int = 0
    stdout: str = ""
    stderr: str = ""
    error: dict[str, Any] = field(default_factory=dict)

    def take(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind == "execute_input":
            self.prompt = content["execution_count"]
        elif kind == "display_data":
            self.displays.append(content["data"])
        elif kind == "update_display_data":
            self.updates.append(content["data"])
        elif kind == "execute_result":
            self.value = content["data"]["text/plain"]
        elif kind == "stream":
            setattr(self, content["name"], getattr(self, content["name"]) + content["text"])
        elif kind == "error":
            self.error = content


class Kernel:
    def __init__(self, owner: Any, client: Any) -> None:
        self.owner, self.client = owner, client

    def run(self, code: str, heard: Callable[[Reply], None] = lambda reply: None) -> Reply:
        reply = Reply()

        def take(message: dict[str, Any]) -> None:
            reply.take(message)
            heard(reply)

        self.client.execute_interactive(
            code, timeout=800, output_hook=take, store_history=True, allow_stdin=False
        )
        return reply

    def must(self, code: str) -> Reply:
        reply = self.run(code)
        assert not reply.error, "\n".join(reply.error["traceback"])
        return reply


PHASE_AFTER = "from jaxscope.magics import progress; progress.STATUS_AFTER_S = {}"
"""Seconds: else a busy machine shows the phase of every cell."""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    owner, client = manager.start_new_kernel(kernel_name="python3", startup_timeout=200)
    try:
        opened = Kernel(owner, client)
        opened.must("%load_ext jaxscope")
        opened.must("import jax, jax.numpy as jnp, numpy as np\nx = jnp.arange(6.0)")
        opened.must(PHASE_AFTER.format(600))
        yield opened
    finally:
        client.stop_channels()
        owner.shutdown_kernel(now=True)
        owner.cleanup_resources()


def test_the_bundle_has_html_without_script_and_text(kernel: Kernel) -> None:
    reply = kernel.must("%%jaxjit\ny = (x - x.mean()) / x.std()\ny.sum()")
    (bundle,) = reply.displays
    assert "<script" not in bundle["text/html"]
    assert "x.mean()" in bundle["text/html"]
    assert bundle["text/plain"].startswith("jit(cell) · cpu:0 · ")
    assert reply.value.startswith("Array(")
    assert reply.stdout == reply.stderr == ""
    assert kernel.must("Out[max(Out)].shape").value == "()"
    assert kernel.must("y.shape").value == "(6,)"


def test_a_silenced_cell_has_no_value(kernel: Kernel) -> None:
    reply = kernel.must("%%jaxjit -q\nx.sum();")
    assert reply.value == ""


def test_views_as_text_as_html_and_quiet(kernel: Kernel) -> None:
    (text,) = kernel.must("%%jaxjit --view text\nx * 2").displays
    assert set(text) == {"text/plain"}
    assert "x * 2" in text["text/plain"]
    (html,) = kernel.must("%%jaxjit --view html\nx * 2").displays
    assert "<script" not in html["text/html"]
    (quiet,) = kernel.must("%%jaxjit -q\nx * 2").displays
    assert len(quiet["text/plain"].splitlines()) == 1


def test_the_report_is_bound_to_a_name(kernel: Kernel) -> None:
    kernel.must("%%jaxjit -q -n 1 -o report\nz = x * 3")
    assert kernel.must("report.exact, len(report.programs)").value == "(True, 1)"
    assert kernel.must("import jaxscope\njaxscope.last() is report").value == "True"
    (bundle,) = [kernel.must("display(report)").displays[0]]
    assert set(bundle) >= {"text/html", "text/plain"}


def test_running_a_cell_again_compiles_nothing(kernel: Kernel) -> None:
    cell = "%%jaxjit -q -n 1 -o report\nagain = x * 5"
    kernel.must(cell)
    assert kernel.must("len(report.compiles)").value == "1"
    kernel.must(cell)
    assert kernel.must("len(report.compiles)").value == "0"


def test_an_error_shows_the_cells_line_and_no_frame_of_ours(kernel: Kernel) -> None:
    reply = kernel.run("%%jaxjit\ny2 = x\nif x.sum() > 0:\n    y2 = x + 1")
    assert reply.error["ename"] == "TracerBoolConversionError"
    text = "\n".join(reply.error["traceback"])
    assert "jaxscope/" not in text
    assert "jaxscope: Line 3: `x` is traced." in text
    assert kernel.must("'y2' in dir()").value == "False"
    assert kernel.must("%%jaxjit -q\nx.sum()").value == "Array(15., dtype=float32)"


def test_a_refusal_points_at_the_line_that_it_refuses(kernel: Kernel) -> None:
    kernel.must("d = {}")
    reply = kernel.run("%%jaxjit\ny2 = x\nd['k'] = y2")
    text = "\n".join(reply.error["traceback"])
    assert reply.error["ename"] == "RefusedError"
    assert "jaxscope/" not in text
    assert "3" in text
    assert kernel.must("d").value == "{}"


def test_a_usage_error_is_one_line(kernel: Kernel) -> None:
    reply = kernel.run("%%jaxjit -s nothing\nx * 2")
    assert reply.stderr.strip() == (
        "UsageError: -s names `nothing`, which is not defined. Its inputs are: x."
    )


def test_cell_files_are_named_as_the_front_end_names_them(kernel: Kernel) -> None:
    cell = "%%jaxjit -q -n 1 -o report\nnamed = x * 7\n"
    kernel.must(cell)
    names = kernel.must(
        "from ipykernel.compiler import get_file_name\n"
        f"(report.sources[0].file == get_file_name({cell!r}), report.sources[0].text == {cell!r})"
    )
    assert names.value == "(True, True)"


def test_a_helper_of_another_cell_is_linked_under_its_prompt(kernel: Kernel) -> None:
    made = kernel.must("def helper(v):\n    w = v * 2\n    return jnp.tanh(w)")
    kernel.must("%%jaxjit -q -n 1 -o report\nlinked = helper(x)")
    assert kernel.must("[(s.name, str(s.kind)) for s in report.sources]").value == (
        f"[('cell', 'cell'), ('In [{made.prompt}]', 'other_cell')]"
    )
    lines = kernel.must(
        "link = report.stage_lines('optimized_hlo', 3, 1)\n"
        "text = report.stage('optimized_hlo').text.splitlines()\n"
        "(link.exact, any('tanh' in text[n - 1] for n in link.lines), "
        "3 in report.source_lines('optimized_hlo', link.lines[0], 1).lines)"
    )
    assert lines.value == "(True, True, True)"


def test_the_report_takes_the_place_of_the_phase_so_that_no_output_is_left_empty(
    kernel: Kernel,
) -> None:
    kernel.must(PHASE_AFTER.format(0.2))
    reply = kernel.must("%%jaxjit -n 1\nimport time\ntime.sleep(1.2)\nslow = x + 1")
    kernel.must(PHASE_AFTER.format(600))
    (shown,) = [one["text/plain"] for one in reply.displays]
    assert shown.startswith("jaxscope: tracing … ")
    assert reply.updates[-1]["text/plain"].startswith("jit(cell)")
    assert "text/html" in reply.updates[-1]
    (after,) = kernel.must("%jaxjit -q jnp.sin(x)").displays
    assert after["text/plain"].startswith("jit(sin)")


def test_a_quick_cell_shows_no_phase(kernel: Kernel) -> None:
    reply = kernel.must("%%jaxjit -q -n 1\nx + 1")
    assert len(reply.displays) == 1
    assert reply.updates == []


def test_an_interrupt_leaves_the_namespace_and_the_kernel_alone(kernel: Kernel) -> None:
    interrupted: list[Reply] = []

    def interrupt(reply: Reply) -> None:
        if "half" in reply.stdout and not interrupted:
            interrupted.append(reply)
            kernel.owner.interrupt_kernel()

    reply = kernel.run(
        "%%jaxjit\nimport time\nhalf = x * 2\nprint('half', flush=True)\ntime.sleep(60)", interrupt
    )
    assert reply.error["ename"] == "KeyboardInterrupt"
    assert kernel.must("'half' in dir()").value == "False"
    assert kernel.must("%%jaxjit -q\nx.sum()").value == "Array(15., dtype=float32)"


def test_the_line_form(kernel: Kernel) -> None:
    reply = kernel.must("%jaxjit -q jnp.dot(x, x)")
    assert reply.value == "Array(55., dtype=float32)"
    assert "jit(dot)" in reply.displays[0]["text/plain"]


def test_a_notebook_runs_from_top_to_bottom() -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    cells = [
        "%load_ext jaxscope",
        "import jax.numpy as jnp\nx = jnp.arange(10.0)",
        "%%jaxjit -o r\ny = x @ x\ny",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(book, timeout=400, kernel_name="python3").execute()
    outputs = book.cells[2].outputs
    assert {o.output_type for o in outputs} == {"display_data", "execute_result"}
    bundle = next(o for o in outputs if o.output_type == "display_data").data
    assert len(bundle["text/html"]) < 300_000
    nbformat.validate(book)
