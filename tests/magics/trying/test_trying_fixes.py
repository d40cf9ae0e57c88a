"""`%jaxtry`: the fixes of findings, and what stays as it was."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from jaxscope.bench.variants import rounds
from jaxscope.bench.variants.built_program import BuiltProgram
from jaxscope.bench.variants.trial import TrialError, try_fixes
from jaxscope.capture.compiles.listener import Listener
from jaxscope.model.comparison import Ratio, RatioVerdict
from jaxscope.model.variants import PlanFigures, TrialVerdict
from tests.magics.notebook import Notebook
from tests.magics.trying.trials import INVERSE, only, tried

pytestmark = pytest.mark.jax


def test_a_fix_is_compared_and_shown_as_a_diff(notebook: Notebook) -> None:
    notebook.must(INVERSE)
    trial = only(tried(notebook, "%jaxtry 1"))
    assert trial.verdict is TrialVerdict.BETTER
    assert "+y = jnp.linalg.solve(m, b)" in trial.diff
    shown = " ".join(notebook.must("%jaxtry 1").text.split())
    assert "2.00× faster [1.82, 2.22]" in shown
    assert "results equal" in shown


def test_apply_inserts_the_cell(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    inserted: list[str] = []
    monkeypatch.setattr(notebook.shell, "set_next_input", lambda s: inserted.append(s))
    notebook.must(INVERSE)
    notebook.must("%jaxtry --apply 1")
    assert inserted == ["%%jaxjit -n 1\ny = jnp.linalg.solve(m, b)"]


def test_the_fix_of_a_call_and_of_a_function_of_the_cell(notebook: Notebook) -> None:
    notebook.must("def g(m, b):\n    return jnp.linalg.inv(m) @ b")
    notebook.must("%jaxjit -n 1 g(m, b)")
    assert tried(notebook, "%jaxtry 1")[0].verdict is TrialVerdict.BETTER
    notebook.must("%%jaxjit -n 1\ndef h(m, b):\n    return jnp.linalg.inv(m) @ b\n\nz = h(m, b)")
    assert tried(notebook, "%jaxtry 1")[0].verdict is TrialVerdict.BETTER


def test_the_program_that_the_fix_changes_is_compared(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -n 1\ndef scaled(b):\n    return b * 2\n\ndef solved(m, b):\n"
        "    return jnp.linalg.inv(m) @ b\n\nc = scaled(b)\ny = solved(m, c)"
    )
    trial = next(one for one in tried(notebook) if one.diff)
    assert trial.verdict is TrialVerdict.BETTER
    assert "+    return jnp.linalg.solve(m, b)" in trial.diff


def test_the_result_of_a_program_that_no_name_keeps_is_compared(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -n 1\ndef solved(m, b):\n    return jnp.linalg.inv(m) @ b\n\n"
        "for _ in range(2):\n    solved(m, b)"
    )
    assert tried(notebook, "%jaxtry 1")[0].verdict is TrialVerdict.BETTER
    assert "results equal" in notebook.must("%jaxtry 1").text


def test_the_program_whose_jit_the_fix_edits_is_compared(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -n 1\nbuffer = jnp.ones(300_000)\n@jax.jit\ndef scaled(b):\n"
        "    return b * 2\n\n@jax.jit\ndef updated(buffer, b):\n    return buffer - b[0]\n\n"
        "c = scaled(b)\nbuffer = updated(buffer, c)"
    )
    found = tried(notebook)
    trial = next(one for one in found if "donate_argnames" in one.title)
    assert trial.before.peak > 1_000_000


def test_the_fix_is_in_the_function_of_an_earlier_cell(notebook: Notebook) -> None:
    notebook.must("def g(m, b):\n    p = jnp.linalg.inv(m)\n    return p @ b")
    before = notebook.names["g"]
    notebook.must("%%jaxjit -n 1\ny = g(m, b) + 1")
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.BETTER
    assert trial.title == "`solve` instead of an inverse in In [3]"
    assert trial.cell.endswith("return jnp.linalg.solve(m, b)")
    assert notebook.names["g"] is before


def test_the_fix_of_an_inspected_call(notebook: Notebook) -> None:
    notebook.must("import jaxscope\ndef g(m, b):\n    return jnp.linalg.inv(m) @ b")
    notebook.must("report = jaxscope.inspect(g, m, b)")
    report, before = notebook.names["report"], notebook.names["g"]
    assert only(report.try_fixes()).verdict is TrialVerdict.BETTER
    assert notebook.names["g"] is before
    notebook.must("b.delete()")
    assert "was donated or deleted since the run" in only(report.try_fixes()).why


def test_the_eager_lines_of_a_profiled_cell(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxprof\nc, seen = b, []\nfor i in range(20):\n    s = jnp.sin(c) * 2 + i\n"
        "    c = jnp.cos(s) + c\n    seen.append(c)"
    )
    found = tried(notebook)
    assert {trial.verdict for trial in found} == {TrialVerdict.BETTER}
    assert "+@jax.jit\n+def step(c, i):" in found[0].diff


def test_lists_of_another_cell_that_a_loop_appends_to_are_copied_for_each_run(
    notebook: Notebook,
) -> None:
    notebook.must("losses, history = [1.0], {'norm': []}")
    notebook.must(
        "%%jaxprof\nc = b\nfor i in range(20):\n    c = jnp.cos(jnp.sin(c) * 2) + i\n"
        "    losses.append(float(c[0]))\n    history['norm'].append(c)\nlength = len(losses)"
    )
    before = list(notebook.names["losses"]), list(notebook.names["history"]["norm"])
    trial = next(one for one in tried(notebook) if one.line == 4)
    assert trial.verdict is TrialVerdict.BETTER, trial.why
    assert (notebook.names["losses"], notebook.names["history"]["norm"]) == before
    assert notebook.names["length"] == 21


def test_an_eager_value_that_is_kept_as_a_python_float(notebook: Notebook) -> None:
    notebook.must("def loss(c, i): return jnp.tanh(c + i).mean()")
    notebook.must("%%jaxprof\nseen = []\nfor i in range(20):\n    seen.append(float(loss(b, i)))")
    (trial,) = tried(notebook)
    assert "+    seen.append(float(step(b, i)))" in trial.diff


def test_a_cell_of_many_seconds_is_not_tried_in_vain(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook.must("%%jaxprof -o r\nc = b\nfor i in range(20):\n    c = jnp.cos(jnp.sin(c) * 2) + i")
    record = notebook.names["r"].record
    long = replace(record, profile=replace(record.profile, wall_s=12.0, compile_s=2.0))
    with pytest.raises(TrialError, match=r"A run of the cell took 10 s.*`--time-limit 300`"):
        try_fixes(long, notebook.names["r"].origin)
    assert not rounds.too_long(long, 100.0)
    assert [one.verdict for one in tried(notebook)] == [TrialVerdict.BETTER]


@pytest.mark.parametrize(("result", "agrees"), [(0.5 + 2e-7, True), (0.501, False)])
def test_a_python_float_of_an_array_is_compared_as_float32(result: float, agrees: bool) -> None:
    def built(value: float) -> Any:
        return SimpleNamespace(results={"seen": [value]}, args=(), state={})

    assert rounds.compared(built(0.5), built(result)).agrees is agrees


def test_a_function_of_the_changed_cell_is_compiled_once(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def ratio(before: BuiltProgram, after: BuiltProgram, *_: Any) -> Ratio:
        with Listener() as listener:
            after.call()
            counts.append(len(listener.since(0)))
        return Ratio(0.5, 0.45, 0.55, RatioVerdict.FASTER)

    monkeypatch.setattr(rounds, "ratio", ratio)
    notebook.must(
        "%%jaxprof\nc = b\nfor i in range(20):\n    s = jnp.sin(c) * 2 + i\n"
        "    c = jnp.cos(s) * 0.1 + c * 0.1"
    )
    trial = tried(notebook, "%jaxtry 1")[0]
    assert counts == [0]
    assert trial.after is not None
    assert trial.after.compile_s


def test_the_cells_own_jit_is_tried_with_donation(notebook: Notebook) -> None:
    notebook.must("w = jnp.ones((600, 600))")
    notebook.must("%%jaxjit -n 1\n@jax.jit\ndef step(w):\n    return w * 0.9\n\nw = step(w)")
    trial = only(tried(notebook, "%jaxtry 1"))
    assert trial.verdict is TrialVerdict.BETTER
    assert "donate_argnames='w'" in trial.cell
    assert not notebook.names["w"].is_deleted()


def test_two_findings_of_one_change_are_tried_once(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook.must(
        "%%jaxprof\nc = b\nfor i in range(20):\n    s = jnp.sin(c) * 2 + i\n"
        "    c = jnp.cos(s) * 0.1 + c * 0.1"
    )
    calls: list[Any] = []
    ratio = Ratio(0.5, 0.45, 0.55, RatioVerdict.FASTER)
    monkeypatch.setattr(rounds, "ratio", lambda *given: (calls.append(given), ratio)[1])
    found = tried(notebook)
    assert [trial.verdict for trial in found] == [TrialVerdict.BETTER] * 2, found[0].why
    assert len(calls) == 1


def test_a_donated_keyword_is_copied_before_each_call(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -n 1\n@jax.jit(donate_argnames='state')\ndef step(m, state):\n"
        "    return jnp.linalg.inv(m) @ state['b'], state\n\n"
        "y, s = step(m, state={'b': b + 0})"
    )
    assert tried(notebook, "%jaxtry 1")[0].verdict is TrialVerdict.BETTER


def test_another_form_is_tried_where_the_first_makes_calls_slower(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    slower = Ratio(2.0, 1.9, 2.1, RatioVerdict.SLOWER)
    series = iter([slower, Ratio(0.9, 0.8, 0.95, RatioVerdict.FASTER)])
    monkeypatch.setattr(rounds, "ratio", lambda *_: next(series))
    notebook.must("%%jaxjit -n 1\nfor i in range(16):\n    b = jnp.abs(b) * b + b - i")
    trial = tried(notebook, "%jaxtry 1")[0]
    assert trial.verdict is TrialVerdict.BETTER
    assert "unroll=4" in trial.diff


def test_a_loop_variable_is_not_a_result(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -n 1\nout = []\nfor row in m[:20]:\n"
        "    out.append(row * b + jnp.abs(row) * b)\ny = jnp.stack(out)"
    )
    trial = tried(notebook, "%jaxtry 1")[0]
    assert trial.verdict is TrialVerdict.BETTER
    assert "+out.extend(jax.vmap(lambda row: row * b + jnp.abs(row) * b)" in trial.diff


def test_a_fix_brings_the_import_that_the_notebook_lacks(notebook: Notebook) -> None:
    notebook.must("def largest(x):\n    return jnp.sort(x)[-2:]\nbig = jnp.tile(b, 40); del jax")
    for run, cell in (("%jaxjit -n 1 largest(big)", "import jax\ndef"), ("y = largest(big)", "")):
        notebook.must(run if cell else f"%%jaxjit -n 1\n{run}")
        trial = tried(notebook, "%jaxtry 1")[0]
        assert trial.verdict is TrialVerdict.BETTER, trial.why
        assert trial.cell.startswith(cell)


def test_a_gain_that_hangs_on_the_address_of_a_numpy_array_is_no_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    array = np.ones(100_000, np.float32)
    plan = PlanFigures(None, None, None, None)
    mine = BuiltProgram("f", lambda x: x, (array,), False, {}, plan)
    other = BuiltProgram("f", lambda x: x, (jax.numpy.asarray(array),), False, {}, plan)
    faster = Ratio(0.5, 0.45, 0.55, RatioVerdict.FASTER)

    def series(before: BuiltProgram, *_: Any) -> Ratio:
        return faster if before.args[0] is array else Ratio(1.0, 0.99, 1.01, RatioVerdict.SAME)

    monkeypatch.setattr(rounds, "_series", series)
    found = rounds.ratio(mine, other, 0.0, None)  # type: ignore[arg-type]
    assert found.verdict is RatioVerdict.UNCLEAR
    assert "depends on the address" in found.why
    moved = rounds._elsewhere(array)
    assert np.array_equal(moved, array)
    assert (moved.ctypes.data % 64 == 0) is not (array.ctypes.data % 64 == 0)


def test_a_method_of_an_array_is_a_program_of_its_expression(notebook: Notebook) -> None:
    shown = notebook.must("%jaxjit -n 1 -o report jnp.sort(jnp.tile(b, 40))[-2:].sum()").text
    assert "1 │ jnp.sort(jnp.tile(b, 40))[-2:].sum()" in shown
    assert [one.name for one in notebook.names["report"].record.programs[0].inputs] == ["b"]
    trial = tried(notebook, "%jaxtry 1")[0]
    assert trial.verdict is TrialVerdict.BETTER
    assert trial.cell.startswith("%jaxjit jax.lax.top_k(")


def test_arrays_that_the_cell_donates_to_its_own_jit_are_kept(notebook: Notebook) -> None:
    notebook.must("eat = jax.jit(lambda b: b + 1, donate_argnums=0)")
    inverse = "def g(m, b):\n    return jnp.linalg.inv(m) @ b"
    notebook.must(f"%%jaxjit -n 1\n{inverse}\n\ny = g(m, b)\nb = eat(b)")
    tried(notebook)
    assert not notebook.names["b"].is_deleted()
    assert not notebook.names["y"].is_deleted()


def test_what_a_function_of_another_cell_changes_is_a_copy(notebook: Notebook) -> None:
    notebook.must(
        "class Counter:\n    n = 0\ncounter, seen = Counter(), []\n"
        "def bump(x):\n    counter.n += 1\n    seen.append(1)\n    return x"
    )
    inverse = "def g(m, b):\n    return jnp.linalg.inv(m) @ b"
    notebook.must(f"%%jaxjit -n 1\n{inverse}\n\ny = g(m, bump(b))")
    before = notebook.names["counter"].n, len(notebook.names["seen"])
    tried(notebook)
    assert (notebook.names["counter"].n, len(notebook.names["seen"])) == before


def test_the_annotations_of_the_notebook_stay(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -n 1\ny: jax.Array = jnp.linalg.inv(m) @ b\nz: list[int] = [1]")
    before = dict(notebook.names["__annotations__"])
    tried(notebook)
    after = notebook.names["__annotations__"]
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_a_donated_input_is_copied(notebook: Notebook) -> None:
    notebook.must("w = jnp.ones((600, 600))")
    notebook.must("%%jaxjit -n 1\nw = w - 0.1 * w")
    trial = tried(notebook, "%jaxtry 1")[0]
    assert trial.verdict is TrialVerdict.BETTER
    assert trial.cell.startswith("%%jaxjit -d w -n 1\n")
    assert trial.before is not None
    assert trial.after is not None
    assert (trial.after.peak or 0) < (trial.before.peak or 0)
    assert not notebook.names["w"].is_deleted()


def test_a_random_key_gives_the_same_numbers(notebook: Notebook) -> None:
    notebook.must("key = jax.random.key(0)")
    notebook.must("%%jaxjit -n 1\nk2 = jax.random.split(key)[0]\ny = jnp.linalg.inv(m) @ b")
    assert tried(notebook, "%jaxtry 1")[0].verdict is TrialVerdict.BETTER


def test_numpy_arguments_of_64_bits_are_converted_once(notebook: Notebook) -> None:
    notebook.must("table, host = np.ones((300, 64)), np.arange(300)")
    notebook.must("%%jaxjit -n 1\ny = table @ b + host")
    trial = tried(notebook, "%jaxtry 1")[0]
    assert trial.verdict is TrialVerdict.BETTER
    assert trial.error == 0
    assert "table = table.astype('float32')" in trial.cell.split("\n")
    assert notebook.names["table"].dtype == "float64"


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")
def test_a_request_of_64_bits_is_a_choice(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -n 1\ny = b + jnp.zeros(64, dtype=jnp.float64)")
    trial = tried(notebook, "%jaxtry 1")[0]
    assert trial.verdict is TrialVerdict.NOT_TRIED
    assert "a choice of precision" in trial.why
