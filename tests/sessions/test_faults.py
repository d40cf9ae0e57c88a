"""jaxscope failing never makes the user's cell fail, changes its result or loses its output."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jaxscope
from tests.magics.notebook import Notebook, Ran, open_notebook
from tests.paths import ROOT
from tests.private_names import break_private, private_functions, private_functions_called

SETUP = """
import jax, functools
import jax.numpy as jnp
import numpy as np
from jax import lax
x = jnp.arange(6.0).reshape(2, 3)
a = np.linspace(0.0, 1.0, 4)
n = 3
s = 2.5
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
rows = [1.0, x[0]]
def helper(v):
    return v * 2 + 1
"""

CELLS = {
    "expression": "(x - x.mean()) / x.std()",
    "names": "y = x * 2\nz = y.sum()",
    "static": "y = x[:, :n].sum() ** n",
    "float": "s = s + 1\nout = s * x",
    "numpy": "t = jnp.sin(a)",
    "container": "y = x @ params['w'] + params['b']\nparams = {'w': params['w'] * 2, 'b': y[0]}",
    "list": "rows = [*rows, x[1]]\nlen(rows)",
    "helper": "y = helper(x)",
    "scan": "c, ys = lax.scan(lambda c, v: (c + v, c * v), 0.0, x[0])",
    "nested jit": "y = jax.jit(helper)(x) + jax.jit(helper)(x[0])",
    "gradient": "g = jax.grad(lambda w: (x @ w).sum())(params['w'])",
    "print": "print('hello', n)\ny = x + n",
    "delete": "temporary = x * 3\ny = temporary.sum()\ndel temporary",
    "lambda": "f = lambda v: v + n\ny = f(x)",
    "conditional name": "if n > 2:\n    big = x.max()\nelse:\n    small = x.min()",
    "silenced": "x.sum();",
    "static only": "k = n * 2",
    "sort": "i = jnp.argsort(a)\nq = a[i]",
    "function": "def f(v, w):\n    return (v @ w).sum()\nr = f(x, params['w'])\nr",
    "two functions": "def g(v):\n    return v + 1\ndef f(v):\n    return g(v) * 2\nf(x)",
    "class": "class P:\n    k = 2\n@jax.jit\ndef f(v):\n    return v * P.k\nf(x) + f(x)",
}


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        yield opened


def play(notebook: Notebook, cell: str, magic: str) -> tuple[Ran, dict[str, Any]]:
    notebook.shell.reset(new_session=False)
    notebook.must(SETUP)
    ran = notebook.run(f"{magic}\n{cell}" if magic else cell)
    names = {k: v for k, v in notebook.names.items() if not k.startswith("_")}
    return ran, {k: v for k, v in names.items() if k not in ("In", "Out", "exit", "quit", "open")}


@pytest.fixture(scope="module")
def plain(notebook: Notebook) -> dict[str, tuple[Ran, dict[str, Any]]]:
    return {name: play(notebook, cell, "") for name, cell in CELLS.items()}


def same(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if callable(a) or isinstance(a, types.ModuleType):
        return callable(b) or a is b
    if hasattr(a, "shape") or isinstance(a, float):
        return np.allclose(np.asarray(a), np.asarray(b), rtol=1e-5)
    return bool(a == b)


def check(name: str, expected: tuple[Ran, dict[str, Any]], seen: tuple[Ran, dict[str, Any]]) -> str:
    """Everything as in plain Python; returns the one line that was shown besides."""
    (before, names), (ran, found) = expected, seen
    if ran.error is not None:
        raise AssertionError(f"{name}: {ran.error!r}") from ran.error
    assert names.keys() == found.keys(), name
    assert [k for k in names if not same(names[k], found[k])] == [], name
    assert same(before.value, ran.value), name
    assert ran.printed == before.printed, name
    assert len(ran.text.strip().splitlines()) <= 1, ran.text
    return ran.text


def fault(*args: Any, **kwargs: Any) -> Any:
    raise AttributeError("this name is gone")


# It stands for a function of jaxscope, so that is where its frame lies.
fault.__code__ = fault.__code__.replace(co_filename=str(jaxscope.__file__))


PRIVATE = private_functions()


def test_without_faults_the_cells_give_what_plain_python_gives(
    notebook: Notebook, plain: dict[str, tuple[Ran, dict[str, Any]]]
) -> None:
    for name, cell in CELLS.items():
        said = check(name, plain[name], play(notebook, cell, "%%jaxjit -q -n 1"))
        assert "jaxscope could not" not in said


@pytest.fixture(scope="module")
def called(
    notebook: Notebook, plain: dict[str, tuple[Ran, dict[str, Any]]]
) -> dict[str, frozenset[str]]:
    """The private names that each cell needs when nothing is broken."""
    found: dict[str, frozenset[str]] = {}
    for name, cell in CELLS.items():
        with private_functions_called() as here:
            check(name, plain[name], play(notebook, cell, "%%jaxjit -q -n 1"))
        found[name] = frozenset(here)
    return found


def test_the_cells_call_most_of_the_private_names(called: dict[str, frozenset[str]]) -> None:
    assert len(frozenset().union(*called.values())) > len(PRIVATE) / 3


@pytest.mark.parametrize("broken", PRIVATE)
def test_no_private_name_of_jax_is_needed_for_a_cell(
    broken: str,
    notebook: Notebook,
    plain: dict[str, tuple[Ran, dict[str, Any]]],
    called: dict[str, frozenset[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a cell does not call cannot make it fail: one cell is tried there all the same."""
    break_private(monkeypatch, broken, fault)
    needing = [name for name in CELLS if broken in called[name]] or ["names"]
    for name in needing:
        cell = CELLS[name]
        check(name, plain[name], play(notebook, cell, "%%jaxjit -q -n 1"))


BEFORE = (
    "analysis.python.cell.NameFlow.visit",
    "capture.forms.block.Inputs",
    "capture.forms.block.Trial",
    "capture.forms.block.Reads",
    "capture.forms.reads.Snapshot",
    "capture.run.context.place",
    "capture.transforms.apply.named",
    "capture.run.context.SourceFiles",
    "capture.run.context.device_and_precision",
    "capture.run.context.collecting",
    "capture.inputs.results.OutcomeReader.read",
    "capture.forms.block.Block.finalize",
    "magics.session.session.Session.programs",
)
AFTER = (
    "capture.inputs.leaks.TracerNet.kept",
    "capture.program.describe.inputs",
    "capture.program.describe.outputs",
    "capture.program.describe.constants",
    "capture.program.describe.cost",
    "capture.program.describe.environment",
    "capture.program.describe.now",
    "capture.program.describe.effects",
    "capture.program.describe.device_objects",
    "capture.program.describe.devices",
    "capture.devices.memory.memory",
    "capture.devices.memory.fits",
    "capture.run.to_python.of_block",
    "capture.run.to_python.of_cell",
    "capture.run.record.record",
    "capture.program.stages.parse_module",
    "capture.program.stages.Handles.text",
    "capture.program.compile.tag",
    "capture.program.identity._digest",
    "view.report.summary.first_parts",
    "capture.source.sources.SourceFiles.index",
)
SMALL = ("names", "print", "function")


def break_(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = path.split(".")
    depth = next(i for i, part in enumerate(parts) if part[0].isupper() or i == len(parts) - 1)
    home: Any = importlib.import_module(".".join(["jaxscope", *parts[:depth]]))
    for part in parts[depth:-1]:
        home = getattr(home, part)
    monkeypatch.setattr(home, parts[-1], fault)


@pytest.mark.parametrize("broken", [*BEFORE, *AFTER])
def test_no_part_of_jaxscope_is_needed_for_a_cell(
    broken: str,
    notebook: Notebook,
    plain: dict[str, tuple[Ran, dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    break_(broken, monkeypatch)
    for name in SMALL:
        expected = plain[name]
        seen = play(notebook, CELLS[name], "%%jaxjit -q -n 1")
        if broken in TRACED_BEFORE and name == "print":
            # The trace was needed to fail, and has printed.
            seen = (once(seen[0]), seen[1])
        check(name, expected, seen)


TRACED_BEFORE = (
    "capture.inputs.results.OutcomeReader.read",
    "capture.forms.block.Block.finalize",
    "capture.program.compile.tag",
)


def once(ran: Ran) -> Ran:
    half = len(ran.printed) // 2
    assert ran.printed[:half] == ran.printed[half:]
    return Ran(ran.value, ran.error, ran.printed[:half], ran.shown)


def test_the_line_says_that_the_cell_ran_as_plain_python(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_("capture.forms.block.Inputs", monkeypatch)
    ran, names = play(notebook, "y = x * 2\ny.sum()", "%%jaxjit -o r")
    assert ran.text == (
        "jaxscope could not compile this cell (AttributeError: this name is gone), so it ran as "
        "plain Python."
    )
    assert float(ran.value) == 30.0
    assert "ran as plain Python" in names["r"].summary()
    assert names["r"].programs == ()


def test_the_line_says_that_the_report_is_missing(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_("capture.run.record.record", monkeypatch)
    ran, names = play(notebook, "y = x * 2\ny.sum()", "%%jaxjit -o r")
    assert ran.text == (
        "jaxscope could not build the report (AttributeError: this name is gone); the run is "
        "complete."
    )
    assert float(ran.value) == 30.0
    assert names["y"].shape == (2, 3)
    assert "cell" in names["r"].summary()


def test_the_line_says_that_the_report_cannot_be_drawn(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_("results.report.Report.to_text", monkeypatch)
    ran, _ = play(notebook, "x.sum()", "%%jaxjit -n 1")
    assert ran.text == "jaxscope could not show the report (AttributeError: this name is gone)."
    assert float(ran.value) == 15.0


def test_a_cell_that_changes_what_it_reads_runs_once_when_jaxscope_fails_first(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_("capture.run.context.place", monkeypatch)
    _, names = play(notebook, "n += 1\nrows.append(n)\ny = x * n", "%%jaxjit")
    assert names["n"] == 4
    assert len(names["rows"]) == 3


def test_an_error_of_the_user_is_raised_once_and_never_tried_again(notebook: Notebook) -> None:
    ran, _ = play(notebook, "print('here')\nraise AttributeError('mine')", "%%jaxjit")
    assert ran.printed == "here\n"
    assert isinstance(ran.error, AttributeError)
    assert ran.message.startswith("mine")


def test_an_error_of_jax_on_the_program_is_no_failure_of_jaxscope(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    import jax

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("no lowering for this platform")

    # As a backend does, below JAX's own frames.
    monkeypatch.setattr(jax._src.compiler, "backend_compile_and_load", refuse, raising=False)
    monkeypatch.setattr(jax._src.compiler, "backend_compile", refuse, raising=False)
    ran, names = play(notebook, "y = x * 17.25\n", "%%jaxjit")
    assert isinstance(ran.error, NotImplementedError)
    assert "y" not in names


def test_the_plain_run_shows_the_users_error_with_its_line(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_("capture.forms.block.Inputs", monkeypatch)
    ran, _ = play(notebook, "y = 1\nz = undefined", "%%jaxjit")
    assert isinstance(ran.error, NameError)
    assert ran.frames[-1][1] == 3
    assert not any(re.search(r"/jaxscope/", file) for file, _ in ran.frames)


def test_an_import_that_fails_inside_jaxscope_leaves_a_plain_cell(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jaxscope.magics.session.session import Session

    monkeypatch.setattr(Session, "context", fault)
    ran, names = play(notebook, "y = x * 2", "%%jaxjit")
    assert ran.error is None
    assert names["y"].shape == (2, 3)


def test_the_line_form_gives_the_value_when_jaxscope_fails(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_("capture.run.subjects.PlainCall", monkeypatch)
    notebook.must(SETUP)
    ran = notebook.must("%jaxjit helper(x)")
    assert float(ran.value.sum()) == 36.0
    assert ran.text.startswith("jaxscope could not compile this call (AttributeError")


ENTRIES = {
    "cell": "%%jaxjit -q -n 1\ny = x + 1",
    "function": "%%jaxjit -q -n 1\ndef f(v):\n    return v + 1\ny = f(x)",
    "call": "y = %jaxjit -q -n 1 helper(x)",
    "profiled cell": "%%jaxprof -q\ny = jax.jit(helper)(x)",
    "profiled call": "y = %jaxprof -q helper(x)",
    "watched cell": "%%jaxwatch -q\ny = x + 1",
    "gradient": "%%jaxgrad -q -n 1\n(x ** 2).sum()",
    "inspect": "import jaxscope\nwith jaxscope.options(runs=0):\n    jaxscope.inspect(helper, x)",
    "benchmark": "%jaxbench -q x + 1 vs x * 2",
}


@pytest.mark.parametrize(
    "name", ["event_listener", "event_duration_secs_listener", "scalar_listener", "un"]
)
def test_without_a_listener_of_jax_every_entry_still_runs_the_code(name: str) -> None:
    gone = [f"register_{name}"]
    if name == "un":
        gone = [f"unregister_{kind}" for kind in ("event_listener", "scalar_listener")]
    # In a process of its own: listeners that cannot be removed would stay for other tests.
    done = subprocess.run(
        [sys.executable, "-c", f"{WITHOUT_LISTENERS}run({gone!r}, {SETUP!r}, {ENTRIES!r})"],
        capture_output=True,
        text=True,
        timeout=800,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr[-2000:]


WITHOUT_LISTENERS = """
from jax import monitoring
from tests.magics.notebook import open_notebook

def run(gone, setup, entries):
    for name in gone:
        delattr(monitoring, name)
    with open_notebook() as opened:
        opened.must(setup)
        for entry, cell in entries.items():
            ran = opened.run(cell)
            assert ran.error is None, (entry, ran.error)
            if "y = " in cell:
                assert opened.names.pop("y").shape == (2, 3), entry

"""
