"""Loading and unloading, defaults, and what is remembered between cells."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from jax import monitoring

from jaxscope.magics.session.session import CELLS_KEPT, REPORTS_KEPT, Session
from tests.magics.cells.cell_shell import open_shell
from tests.magics.notebook import Notebook, open_notebook


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must("import jax, jax.numpy as jnp\nx = jnp.arange(4.0)")
        yield opened


def listeners() -> int:
    from jax._src import monitoring as private

    return sum(
        len(getattr(private, name))
        for name in ("_event_listeners", "_event_duration_secs_listeners", "_scalar_listeners")
    )


LOADS = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext jaxscope").raise_error()
shell.run_cell("%jaxscope").raise_error()
heavy = {"jax", "jaxlib", "numpy", "pandas", "plotly", "ipywidgets", "flax"} & set(sys.modules)
assert not heavy - {"numpy"} , heavy
shell.run_cell("import jax\\njax.config.update('jax_enable_x64', True)").raise_error()
from jax._src import xla_bridge
assert not xla_bridge.backends_are_initialized()
shell.run_cell("%jaxscope").raise_error()
assert not xla_bridge.backends_are_initialized()
shell.run_cell("%jaxdevices --cpu 3 --no-measure").raise_error()
jax = sys.modules["jax"]
assert len(jax.devices()) == 3
shell.run_cell("%%jaxjit -q -n 1 --device cpu:2\\ny = jax.numpy.arange(3.0) + 1").raise_error()
y = shell.user_ns["y"]
assert y.dtype == "float64" and [d.id for d in y.devices()] == [2], y.devices()
"""


def test_loading_imports_no_jax_and_starts_no_backend() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LOADS)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "not imported yet" in done.stdout
    assert "JAX has not started yet; %jaxdevices starts it and lists its devices" in done.stdout
    assert "cpu:2" in done.stdout
    assert "simulated: they share the cores and the memory of this machine" in done.stdout


def test_unloading_takes_everything_back() -> None:
    before = listeners()
    with open_shell() as shell:
        magics = {kind: set(names) for kind, names in shell.magics_manager.magics.items()}
        configurables = list(shell.configurables)
        callbacks = {name: list(found) for name, found in shell.events.callbacks.items()}
        shell.run_cell("%load_ext jaxscope").raise_error()
        shell.run_cell("import jax.numpy as jnp").raise_error()
        shell.run_cell("%%jaxjit -q\nt = jnp.arange(3.0)").raise_error()
        assert listeners() > before
        shell.run_cell("%unload_ext jaxscope").raise_error()
        assert {k: set(v) for k, v in shell.magics_manager.magics.items()} == magics
        left = [thing for thing in shell.configurables if thing not in configurables]
        assert [type(thing).__name__ for thing in left] == ["ExtensionMagics"]  # of %load_ext
        assert {n: list(f) for n, f in shell.events.callbacks.items()} == callbacks
    assert listeners() == before


def test_loading_twice_changes_nothing_and_loading_again_works(notebook: Notebook) -> None:
    before = listeners()
    notebook.must("%load_ext jaxscope")
    notebook.must("%reload_ext jaxscope")
    notebook.must("1")
    assert listeners() == before
    assert float(notebook.must("%%jaxjit -q -n 1\nx.sum()").value) == 6.0


def test_loading_again_keeps_the_settings(notebook: Notebook) -> None:
    notebook.must("%jaxwatch on --over 2")
    notebook.must("%config JaxScope.quiet = True")
    notebook.must("%reload_ext jaxscope")
    assert "jaxwatch is on: cells that compile for 2 s or more" in notebook.must("%jaxwatch").text
    assert len(notebook.must("%%jaxjit -n 1\ny = x * 2").text.splitlines()) == 1


def test_defaults_of_the_configurable(notebook: Notebook) -> None:
    notebook.must("%config JaxScope.runs = 0")
    notebook.must("%config JaxScope.quiet = True")
    ran = notebook.must("%%jaxjit\ny = x * 2")
    assert "not run (-n 0)" in ran.text
    assert len(ran.text.splitlines()) == 1
    assert "y" not in notebook.names
    notebook.must("%%jaxjit -n 1\ny = x * 2")
    assert "y" in notebook.names


def test_the_overview(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -q -n 1\nx.sum()")
    text = notebook.must("%jaxscope").printed
    assert "devices       cpu:0 (cpu)" in text
    assert "listening     to compilations, since " in text
    assert "reports kept  1 of at most 16" in text
    for magic in ("%%jaxjit", "%jaxjit", "%jaxdiff", "%jaxdevices", "%jaxscope"):
        assert f"\n{magic} " in text


def test_the_devices(notebook: Notebook, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    from jaxscope.analysis.cost.roofline import Peaks
    from jaxscope.capture.timing import peaks

    measured: list[Any] = []

    def measure(device: Any, dtype: str) -> Peaks:
        measured.append(device)
        return Peaks(
            "cpu", 2e11, 5e10, (1e11, 2e11), (4e10, 5e10), when="2026-01-02T03:04:05+00:00"
        )

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(peaks, "measure_peaks", measure)
    text = notebook.must("%jaxdevices --no-measure").printed
    assert text.splitlines()[0].split() == [
        *("device", "kind", "memory", "free"),
        *("peak", "FLOP/s", "peak", "bytes/s", "measured"),
    ]
    assert measured == []
    assert "200 GFLOP/s  50 GB/s" in notebook.must("%jaxdevices").printed
    assert "2026-01-02" in notebook.must("%jaxdevices").printed
    assert len(measured) == 1
    notebook.must("%jaxdevices --measure")
    assert len(measured) == 2


def test_the_last_reports_are_kept_and_older_ones_let_go(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -q -n 0 -o first\nx * 2")
    session = notebook.shell.jaxscope_magics.session
    gone = weakref.ref(notebook.names.pop("first"))
    for number in range(REPORTS_KEPT):
        notebook.must(f"%%jaxjit -q -n 0\nx * {number}")
    gc.collect()
    assert len(session.reports) == REPORTS_KEPT
    assert gone() is None


@pytest.mark.parametrize(
    "cell",
    [
        "%%jaxjit -q -n 1\ny = a * n",
        "%%jaxjit -q -n 1\ndef double(v): return v * 2\ny = double(a), double(n)",
        "%%jaxjit -q --target cpu:2\ndef double(v): return v * 2\ny = double(a), double(n)",
        "%%jaxgrad -q -n 1 -w a\n(a * n).sum();",
        "%%jaxvmap -q -n 1\ny = a * n",
        "%jaxjit -q -n 1 f(a, n);",
        "%jaxgrad -q -n 1 f(a, n);",
        "%jaxprof f(a, n);",
    ],
)
def test_arrays_that_are_replaced_are_let_go(notebook: Notebook, cell: str) -> None:
    """A model's parameters after each step would stay on the device otherwise."""
    notebook.must("import numpy as np\nf = lambda a, n: (a * n).sum()")
    notebook.must("a, n = x + 1, np.ones(4, 'float32')")
    gone = [weakref.ref(notebook.names[name]) for name in ("a", "n")]
    notebook.must(cell)
    notebook.must("a = n = None")
    gc.collect()
    assert [one() for one in gone] == [None, None]


@pytest.mark.parametrize("options", ["", "--decorate"])
def test_arrays_of_jitted_functions_are_let_go_at_once(notebook: Notebook, options: str) -> None:
    """As after the same cell without the magic, which leaves nothing to the collector."""
    notebook.must("a = x + 1")
    gone = weakref.ref(notebook.names["a"])
    gc.collect()
    gc.disable()
    try:
        notebook.must(
            f"%%jaxjit -q -n 1 {options}\n@jax.jit\ndef double(v): return v * 2\ny = double(a)"
        )
        notebook.must("a = None")
        assert gone() is None
    finally:
        gc.enable()


def test_an_array_that_an_earlier_cell_has_read_can_be_changed(notebook: Notebook) -> None:
    notebook.must("import numpy as np\nn = np.ones(4)")
    notebook.must("%%jaxjit -q -n 1\nm = n * 2")
    notebook.must("%%jaxjit -q -n 1\nn -= 1.0")
    assert not notebook.names["n"].any()


def test_the_programs_of_the_latest_cells_are_kept(notebook: Notebook) -> None:
    session = Session(notebook.shell)
    first = session.programs("a")
    assert session.programs("a") is first
    for number in range(CELLS_KEPT):
        session.programs(str(number))
    assert session.programs("a") is not first


def test_a_cell_without_an_id_is_known_by_its_first_line(notebook: Notebook) -> None:
    session = Session(notebook.shell)
    assert session.cell_key("\n# step\ny = 1") == session.cell_key("# step\ny = 2")
    assert session.cell_key("# step") != session.cell_key("# other")


def test_a_function_of_another_magic_cell_has_that_cells_prompt(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -q -n 1\ndef f(v):\n    return jnp.sin(v)\nf(x)")
    number = notebook.shell.execution_count - 1
    notebook.must("%%jaxjit -q -n 1 -o r\ny = f(x) * 2")
    names = [source.name for source in notebook.names["r"].sources]
    assert names == ["cell", f"In [{number}]"]


def test_a_failing_listener_does_not_disturb_plain_cells(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise AttributeError("gone")

    notebook.must("%unload_ext jaxscope")
    monkeypatch.setattr(monitoring, "register_scalar_listener", broken)
    notebook.must("%load_ext jaxscope")
    ran = notebook.must("1 + 1")
    assert (ran.value, ran.printed) == (2, "")
    said = notebook.must("%%jaxjit\ny = x * 2")
    assert said.text == (
        "jaxscope could not compile this cell (AttributeError: gone), so it ran as plain Python."
    )
    assert "y" in notebook.names


def offered(notebook: Notebook, line: str) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # IPython's completer is provisional
        found = list(notebook.shell.Completer.completions(line, len(line)))
    return {completion.text for completion in found}


def test_completion_offers_options_and_names(notebook: Notebook) -> None:
    notebook.must("weights = x")
    assert "weights" in offered(notebook, "%%jaxjit -s wei")
    assert "--view" in offered(notebook, "%%jaxjit --v")
    assert "text" in offered(notebook, "%jaxjit --view ")


def test_the_page_of_the_magic(notebook: Notebook) -> None:
    page = (
        notebook.shell.object_inspect_text("%%jaxjit")
        or notebook.shell.find_line_magic("jaxjit").__doc__
    )
    for option in ("--static", "--donate", "--runs", "--view"):
        assert option in page


def test_a_cell_of_comments_only_says_that_it_is_empty() -> None:
    with open_shell() as shell:
        shell.run_cell("%load_ext jaxscope").raise_error()
        shell.run_cell("%%jaxjit -q -o r\n# nothing here").raise_error()
        assert (
            "The cell contains no code, so its program is empty." in shell.user_ns["r"].record.notes
        )
        shell.run_cell("%unload_ext jaxscope").raise_error()
