"""`%jaxtry`: what is refused, what fails, and the sentence that says why."""

from __future__ import annotations

import pytest

from jaxscope.bench.variants import trial
from jaxscope.model.variants import Change, TrialVerdict
from tests.magics.notebook import Notebook
from tests.magics.trying.trials import INVERSE, only, tried

pytestmark = pytest.mark.jax


def test_a_change_that_the_program_does_not_use_is_not_tried(notebook: Notebook) -> None:
    notebook.must("def g(m, b):\n    return jnp.linalg.inv(m) @ b")
    notebook.must("compiled = jax.jit(g)")
    notebook.must("%jaxjit -n 1 compiled(m, b)")
    trial = only(tried(notebook, "%jaxtry 1"))
    assert trial.verdict is TrialVerdict.NOT_TRIED
    assert "does not use the function that was changed" in trial.why
    assert not trial.diff


def test_a_method_of_an_earlier_cell_is_not_tried(notebook: Notebook) -> None:
    notebook.must(
        "class Solver:\n    def solve(self, m, b):\n        return jnp.linalg.inv(m) @ b\n"
        "solver = Solver()"
    )
    notebook.must("%%jaxjit -n 1\ny = solver.solve(m, b)")
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.NOT_TRIED
    assert "is not in a plain function of `In [3]`" in trial.why


CAPTURING = "W = jnp.ones((300, 300))\ndef f(v):\n    return W @ v"


def test_a_captured_array_of_a_function_that_is_called_elsewhere_is_not_tried(
    notebook: Notebook,
) -> None:
    notebook.must(CAPTURING)
    for cell in ("%%jaxjit -n 1\ny = f(m[0, 0] * jnp.ones(300))", "%jaxjit -n 1 f(W[0])"):
        notebook.must(cell)
        trial = only(tried(notebook))
        assert trial.verdict is TrialVerdict.NOT_TRIED
        assert trial.why.startswith("The function is called from other cells")
        where = " in In [3]" if cell.startswith("%%") else ""
        assert trial.title == f"captured_constant{where}"


def test_a_call_at_the_top_of_another_cell_is_not_edited(notebook: Notebook) -> None:
    notebook.must(f"{CAPTURING}\ny = f(W[0])")
    notebook.must("%jaxjit -n 1 f(W[0])")
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.NOT_TRIED
    assert trial.why.startswith("A line that the fix also changes is not in a plain function of")


def test_a_large_argument_is_not_kept_alive(notebook: Notebook) -> None:
    notebook.must("import jaxscope\ndef g(m):\n    return jnp.linalg.inv(m) @ m[0]")
    notebook.must("report = jaxscope.inspect(g, 3 * jnp.eye(600))")
    trial = only(notebook.names["report"].try_fixes(1))
    assert trial.verdict is TrialVerdict.NOT_TRIED
    assert "An input of `g` is gone since the run" in trial.why


def test_a_report_of_shapes_has_no_values_to_run(notebook: Notebook) -> None:
    notebook.must("import jaxscope\ndef g(m, b):\n    return jnp.linalg.inv(m) @ b")
    notebook.must(
        "report = jaxscope.inspect(g, *[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (m, b)])"
    )
    assert "is of shapes, without values" in only(notebook.names["report"].try_fixes()).why


def test_a_profiled_cell_that_can_run_only_once(notebook: Notebook) -> None:
    notebook.must("eat, history = jax.jit(lambda b: b + 1, donate_argnums=0), []")
    notebook.must("from types import SimpleNamespace\nlog = SimpleNamespace(history=history)")
    loop = "for i in range(20):\n    s = jnp.sin(m) * 2 + i\n    t = jnp.cos(s) + m * s"
    for last, said in (
        ("b = eat(b)", "The cell donates `b`"),
        ("history[:] = [b]", "`history` is changed in place on line 5"),
        ("log.history.append(b)", "`log.history.append` on line 5 has effects"),
    ):
        notebook.must(f"%%jaxprof\n{loop}\n{last}")
        assert said in tried(notebook, "%jaxtry 1")[0].why
        notebook.must("b = jnp.ones(64)")


@pytest.mark.parametrize(
    ("last", "kind"),
    [("step(b[:3])", "TypeError"), ("raise KeyboardInterrupt", "KeyboardInterrupt")],
)
def test_a_profiled_cell_that_did_not_run_to_its_end(
    notebook: Notebook, last: str, kind: str
) -> None:
    notebook.must("@jax.jit\ndef step(v):\n    return b - v")
    failed = notebook.run(f"%%jaxprof\nfor i in range(20):\n    s = jnp.sin(m) * 2 + i\n{last}")
    assert type(failed.error).__name__ == kind
    assert "eagerly" not in f"{failed.text}{failed.printed}"
    assert notebook.run("%jaxtry").message == (
        f"The cell ended with {kind}, so it cannot be tried: run it again without the error."
    )


def test_a_change_of_the_results_is_no_fix(notebook: Notebook) -> None:
    notebook.must("i, t = jnp.array([1, 99] * 500), jnp.ones((50, 50))")
    notebook.must("%%jaxjit -n 1\ny = jax.nn.one_hot(i, 50) @ t")
    trial = tried(notebook, "%jaxtry 1")[0]
    assert trial.verdict is TrialVerdict.RESULTS_DIFFER
    assert "differs" in trial.why


def test_a_fix_that_raises_is_a_sentence(notebook: Notebook) -> None:
    notebook.must("ws = [jnp.eye(4)] * 20\nz0 = jnp.ones(4)")
    loop = "z = z0\nfor i in range(20):\n    z = jnp.sin(ws[i] @ z) + jnp.cos(z) * z0\nz"
    notebook.must(f"%%jaxjit -n 1\n{loop}")
    trial = tried(notebook, "%jaxtry 1")[0]
    assert trial.verdict is TrialVerdict.FAILED
    assert "so it is no fix here" in trial.why


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("print('once')\ny = jnp.linalg.inv(m) @ b", "`print` on line 2 has effects"),
        ("jax.debug.print('{}', b)\ny = jnp.linalg.inv(m) @ b", "has effects"),
        ("y = jnp.linalg.inv(m) @ b + loud(b)", "`print` in `loud` has effects"),
    ],
)
def test_effects_are_not_repeated(notebook: Notebook, cell: str, said: str) -> None:
    notebook.must("def loud(x):\n    print('loud')\n    return x")
    notebook.must(f"%%jaxjit -n 1\n{cell}")
    assert said in " ".join(one.why for one in tried(notebook))
    assert not any(one.ratio for one in tried(notebook))


def test_an_array_behind_a_function_or_in_an_object_that_was_deleted(notebook: Notebook) -> None:
    notebook.must("class Held: pass\nheld, gone = Held(), b + 1\nheld.b = b + 2")
    notebook.must("def g(m, b):\n    return jnp.linalg.inv(m) @ (b + gone + held.b)")
    notebook.must("%jaxjit -n 1 g(m, b)")
    notebook.must("held.b.delete()")
    assert "`held` was donated or deleted since" in tried(notebook, "%jaxtry 1")[0].why
    notebook.must("held.b = b; gone.delete()")
    trial = tried(notebook, "%jaxtry 1")[0]
    assert "`gone` was donated or deleted since" in trial.why
    assert trial.verdict is TrialVerdict.NOT_TRIED


def test_a_batch_is_not_timed_against_one_call_of_a_function(notebook: Notebook) -> None:
    notebook.must("xs = jnp.ones((300, 64))")
    notebook.must(
        "%%jaxjit -n 1\n@jax.jit\ndef g(m, v):\n    return m @ v\n\n"
        "y = jnp.stack([g(m, v) for v in xs])"
    )
    trial = tried(notebook, "%jaxtry 1")[0]
    assert trial.verdict is TrialVerdict.NOT_TRIED
    assert "results of other shapes" in trial.why


def test_an_object_in_a_closure_is_not_tried(notebook: Notebook) -> None:
    notebook.must("def keeping():\n    seen = []\n    return lambda x: (seen, x)[1]")
    notebook.must("keep = keeping()")
    notebook.must("%%jaxjit -n 1\ny = jnp.linalg.inv(m) @ keep(b)")
    assert "keeps `seen` in its closure" in tried(notebook, "%jaxtry 1")[0].why


def test_an_input_that_was_deleted_since(notebook: Notebook) -> None:
    notebook.must(INVERSE)
    notebook.must("b.delete()")
    assert "`b` was donated or deleted since the run" in tried(notebook, "%jaxtry 1")[0].why
    notebook.must("b = 3")
    assert "The code itself now raises" in tried(notebook, "%jaxtry 1")[0].why
    notebook.must("del b")
    assert "`b` was deleted since the run" in tried(notebook, "%jaxtry 1")[0].why


def test_a_function_that_was_edited_since(notebook: Notebook) -> None:
    notebook.must("def g(m, b):\n    return jnp.linalg.inv(m) @ b")
    notebook.must("%jaxjit -n 1 g(m, b)")
    notebook.must("def g(m, b):\n    return b")
    assert "was defined again since the run" in tried(notebook, "%jaxtry 1")[0].why


def test_a_fix_that_needs_more_memory_than_there_is(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook.must(INVERSE)
    monkeypatch.setattr("jaxscope.capture.devices.memory.free_bytes", lambda device: 0)
    assert "was not run: it needs" in tried(notebook, "%jaxtry 1")[0].why


def test_a_fix_that_never_ends_is_stopped(notebook: Notebook) -> None:
    notebook.must("import itertools")
    notebook.must(INVERSE)
    found = tried(notebook, "%jaxtry --time-limit 0.001 1")[0]
    assert found.verdict is TrialVerdict.FAILED
    assert "took longer than 0.001 s" in found.why


def test_a_changed_cell_that_loops_forever_or_does_not_trace(notebook: Notebook) -> None:
    notebook.must(f"{INVERSE}".replace("-n 1", "-n 1 -o report"))
    report = notebook.names["report"]
    for body, limit, said in (
        ("while True:\n    pass", 1.0, "took longer than 1 s"),
        ("y = m @ b[:3]", 20.0, "so it is no fix here"),
        ("y = nowhere + b", 20.0, "so it is no fix here"),
        ("z = b", 20.0, "does not bind `y` any more"),
    ):
        change = Change("other", text=f"%%jaxjit\n{body}")
        found = trial.tried(report.record, report.origin, change, limit)
        assert found.verdict in (TrialVerdict.FAILED, TrialVerdict.RESULTS_DIFFER)
        assert said in found.why
    assert set(notebook.names) >= {"m", "b", "y", "report"}
    assert "z" not in notebook.names


def test_a_callback_that_takes_no_batch_is_no_fix_and_prints_no_traceback(
    notebook: Notebook, caplog: pytest.LogCaptureFixture
) -> None:
    notebook.must(
        "import numpy as np\n"
        "def host(v):\n    if v.ndim > 1:\n        raise ValueError('a vector, please')\n"
        "    return v\n"
        "like = jax.ShapeDtypeStruct((8,), jnp.float32)\n"
        "vs = jnp.ones((4, 8))"
    )
    notebook.must(
        "%%jaxjit -n 1\n"
        "y = jax.vmap(lambda v: jax.pure_callback(host, like, v, vmap_method='sequential'))(vs)"
    )
    found = tried(notebook, "%jaxtry 1")[0]
    assert found.verdict is TrialVerdict.FAILED
    assert found.why.endswith("ValueError: a vector, please, so it is no fix here.")
    assert "callback failed" not in caplog.text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%jaxtry 9", "There is no finding 9"),
        ("%jaxtry x", "takes numbers of findings"),
    ],
)
def test_a_line_that_asks_for_nothing_there_is(notebook: Notebook, line: str, said: str) -> None:
    notebook.must(INVERSE)
    assert said in notebook.run(line).message


def test_without_a_report(notebook: Notebook) -> None:
    assert "There is no report yet" in notebook.run("%jaxtry").message
    assert "There is no report yet" in notebook.run("%jaxflags").message


def test_a_cell_without_a_program_is_not_tried(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -n 1 -o report\ndef f(x):\n    return x + 1\n\ny = 3")
    report = notebook.names["report"]
    found = trial.tried(report.record, report.origin, Change("same", text="%%jaxjit\ny = 3"), 9.0)
    assert found.verdict is TrialVerdict.NOT_TRIED
    assert "compiles no one program" in found.why
