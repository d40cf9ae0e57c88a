"""`%jaxtry` after `%%jaxwatch`: fixes of recompilations, tried on the whole cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxscope
from jaxscope.analysis.variants import verdicts
from jaxscope.bench.variants import rounds
from jaxscope.model.comparison import Ratio, RatioVerdict
from jaxscope.model.variants import PlanFigures, TrialVerdict, VariantTrial
from jaxscope.results.trials import Trials
from tests.magics.notebook import Notebook, open_notebook
from tests.magics.trying.trials import only, tried

pytestmark = pytest.mark.jax

SETUP = """
import functools
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(16.0)

@functools.partial(jax.jit, static_argnames=("k", "flip"))
def scaled(x, k, flip=False):
    return -x * k if flip else x * k

def plain(x):
    return jnp.sin(x) * 2

sine = jax.jit(plain)
total = jax.jit(lambda w, x: w * jnp.sum(x))
mean = jax.jit(lambda x: jnp.mean(x) + 1)
"""


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    """A shell that times nothing: further runs take as long as before, each compilation 0.1 s."""
    monkeypatch.setattr(rounds, "ratio", lambda *_: Ratio(1.0, 0.9, 1.1, RatioVerdict.SAME))
    judge = verdicts.judge_compilations

    def judged(before: PlanFigures, after: PlanFigures, *further: Any) -> Any:
        plans = [replace(p, compile_s=0.1 * (p.compilations or 0)) for p in (before, after)]
        return judge(plans[0], plans[1], *further)

    monkeypatch.setattr(verdicts, "judge_compilations", judged)
    with open_notebook() as found:
        found.must(SETUP)
        yield found


def counts(trial: Any) -> tuple[int | None, int | None]:
    assert isinstance(trial.before, PlanFigures), trial.why
    assert isinstance(trial.after, PlanFigures), trial.why
    return trial.before.compilations, trial.after.compilations


def test_a_lambda_in_a_loop_is_created_once(notebook: Notebook) -> None:
    notebook.must("%%jaxwatch\nfor k in range(5):\n    y = jax.jit(lambda x: x * k)(x)")
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.BETTER
    assert counts(trial) == (5, 1)
    assert "+jitted = jax.jit(lambda x, k: x * k)" in trial.diff
    assert "+    y = jitted(x, k)" in trial.diff
    shown = notebook.must("%jaxtry").text
    assert "5 → 1 compilation" in shown  # the time that it saves is that of four small programs
    assert "results equal" in shown


@pytest.mark.parametrize(("limit", "forms"), [(0.0, 1), (30.0, 2)])
def test_a_further_form_of_a_fix_needs_time_that_is_left(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, limit: float, forms: int
) -> None:
    made: list[Any] = []

    def failed(record: Any, origin: Any, change: Any, *_: Any) -> VariantTrial:
        made.append(change)
        return VariantTrial(change.title, TrialVerdict.FAILED, "It took long.")

    monkeypatch.setattr("jaxscope.bench.variants.trial.tried", failed)
    notebook.must("%%jaxwatch -o log\nfor n in (5, 8, 6):\n    y = mean(np.ones(n))")
    notebook.shell.user_ns["log"].try_fixes(time_limit=limit)
    assert len(made) == forms


def test_apply_inserts_the_cell_of_a_recompilation(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted: list[str] = []
    monkeypatch.setattr(notebook.shell, "set_next_input", lambda s: inserted.append(s))
    notebook.must("%%jaxwatch\ny = [jax.jit(lambda x: x * k)(x) for k in range(4)]")
    notebook.must("%jaxtry --apply")
    assert inserted == [
        "%%jaxwatch\njitted = jax.jit(lambda x, k: x * k)\ny = [jitted(x, k) for k in range(4)]"
    ]


def test_a_function_in_a_function_of_another_cell(notebook: Notebook) -> None:
    notebook.must(
        "def train(x, rate):\n    @jax.jit\n    def update(x):\n        return x - rate * x\n\n"
        "    return update(x)"
    )
    before = notebook.names["train"]
    notebook.must("%%jaxwatch\nfor i in range(4):\n    y = train(x, 0.1 * i)")
    trial = only(tried(notebook))
    assert counts(trial) == (4, 1)
    assert trial.title.endswith("before the function in In [3]")
    assert notebook.names["train"] is before


def test_a_static_argument_is_traced(notebook: Notebook) -> None:
    notebook.must("%%jaxwatch\nfor k in range(4):\n    y = scaled(x, k)")
    trial = only(tried(notebook))
    assert counts(trial) == (4, 1)
    assert "static_argnames=('flip',)" in trial.cell
    assert notebook.names["scaled"](notebook.names["x"], 3, flip=True)[1] == -3


def test_a_static_argument_that_a_branch_depends_on(notebook: Notebook) -> None:
    notebook.must("%%jaxwatch\nfor flip in (False, True):\n    y = scaled(x, 2, flip)")
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.FAILED
    assert "TracerBoolConversionError" in trial.why
    assert "so it is no fix here" in trial.why


def test_a_constant_of_a_cell_is_traced(notebook: Notebook) -> None:
    for n in (3, 4):
        notebook.must(f"n = {n}")
        notebook.must("%%jaxjit -n 1\ny = x * n + n")
    trial = only(tried(notebook))
    assert trial.title == "`-t n`"
    assert counts(trial) == (2, 1)
    assert trial.cell.startswith("%%jaxjit -t n -n 1\n")
    assert notebook.names["n"] == 4


def test_lengths_are_padded_to_a_power_of_two(notebook: Notebook) -> None:
    sizes = "%%jaxwatch\nfor n in range(33, 39):\n    "
    notebook.must(f"{sizes}y = sine(np.ones(n, np.float32))")
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.BETTER
    assert counts(trial) == (6, 1)
    assert "numpy.asarray(y)[:n]" in trial.cell
    notebook.must(f"{sizes}y = total(2.0, np.ones(n, np.float32))")
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.BETTER
    assert "+    y = in_buckets(lambda x: total(2.0, x), np.ones(n, np.float32))" in trial.diff
    assert "[:n]" not in trial.cell


def test_each_array_is_padded_by_its_own_length(notebook: Notebook) -> None:
    notebook.must("two = jax.jit(lambda x, y: x.sum() + y.sum())")
    notebook.must(
        "%%jaxwatch\nfor i, j in ((3, 3), (4, 3), (5, 3), (5, 4), (5, 6)):\n"
        "    z = two(np.ones(i, np.float32), np.ones(j, np.float32))"
    )
    trial = only(tried(notebook))
    assert trial.title == "`x` and `y` padded to a power of two"
    assert counts(trial) == (5, 3)  # 4 and 4, 8 and 4, 8 and 8
    space: dict[str, Any] = {}
    exec(trial.cell[trial.cell.index("import") : trial.cell.index("for i, j")], space)
    exec("import jax", space)
    shapes = space["in_buckets"](lambda *arrays: [x.shape for x in arrays], np.ones(5), np.ones(6))
    assert shapes == [(8,), (8,)]


def test_a_last_batch_that_enters_the_result_is_not_padded(notebook: Notebook) -> None:
    notebook.must("%%jaxwatch\nfor n in (32, 32, 20):\n    y = mean(np.ones(n, np.float32))")
    trial = only(tried(notebook))
    assert trial.title == "`x` padded to 32"
    assert trial.verdict is TrialVerdict.RESULTS_DIFFER
    assert "The padding enters the result: mask it" in trial.why


OBJECT = """
class Running:
    def __init__(self):
        self.total = jnp.zeros(())

    def __call__(self):
        return self.total

def add(running, value):
    running.total = running.total + value

running = Running()
"""


def test_what_a_cell_changes_in_place_is_compared(notebook: Notebook) -> None:
    notebook.must(OBJECT)
    sizes = "%%jaxwatch\nfor n in (32, 32, 20):\n    add(running, "
    notebook.must(f"{sizes}mean(np.ones(n, np.float32)))")
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.RESULTS_DIFFER
    assert trial.why == (
        "The code changes `running`, whose state afterwards differs from the original by 0.031 of "
        "the largest value (tolerance 7.6e-06). The padding enters the result: mask it in the "
        "function."
    )
    notebook.must(f"{sizes}total(2.0, np.ones(n, np.float32)))")
    assert only(tried(notebook)).verdict is TrialVerdict.BETTER
    assert notebook.names["running"].total == 6 + 2 * 84


def test_an_object_that_a_cell_creates_is_compared(notebook: Notebook) -> None:
    notebook.must(OBJECT)
    notebook.must(
        "%%jaxwatch\nmade = Running()\nfor n in (32, 32, 20):\n"
        "    add(made, mean(np.ones(n, np.float32)))"
    )
    assert only(tried(notebook)).verdict is TrialVerdict.RESULTS_DIFFER


def test_an_object_that_cannot_be_compared_is_no_gain(notebook: Notebook) -> None:
    notebook.must(OBJECT)
    notebook.must(
        "class Closed(Running):\n    def __reduce_ex__(self, protocol):\n"
        "        raise TypeError\n\n    def __deepcopy__(self, memo):\n        return Closed()\n\n"
        "running = Closed()"
    )
    notebook.must(
        "%%jaxwatch\nfor n in (32, 32, 20):\n    add(running, total(2.0, np.ones(n, 'f')))"
    )
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.NOT_TRIED
    assert trial.why == "The code may change `running`, whose state cannot be read and compared."


def test_a_mesh_or_a_compiled_program_is_no_object_that_changes(notebook: Notebook) -> None:
    notebook.must(
        "mesh = jax.sharding.Mesh(jax.devices()[:1], ('i',))\n"
        "compiled = total.lower(2.0, x).compile()\n"
        "place = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec('i'))"
    )
    notebook.must(
        "%%jaxwatch\nfor n in range(33, 39):\n"
        "    y = total(2.0, np.ones(n, np.float32)), len(mesh.axis_names)\n"
        "z = compiled(2.0, x), place.spec"
    )
    assert only(tried(notebook)).verdict is TrialVerdict.BETTER


def test_a_generator_of_numpy_that_a_trial_advances_is_a_copy(notebook: Notebook) -> None:
    notebook.must("generator = np.random.default_rng(0)")
    notebook.must(
        "%%jaxwatch\nfor n in range(33, 39):\n    y = total(generator.random(), np.ones(n, 'f'))"
    )
    assert only(tried(notebook)).verdict is TrialVerdict.BETTER


def test_an_nnx_model_is_compared_and_its_streams_stay_as_they_were(notebook: Notebook) -> None:
    pytest.importorskip("flax.nnx")
    notebook.must(
        "from flax import nnx\nrngs = nnx.Rngs(0)\nmodel = nnx.Linear(4, 1, rngs=rngs)\n"
        "@nnx.jit\ndef train(model, x):\n    loss = lambda m: jnp.mean(m(x) ** 2)\n"
        "    grads = nnx.grad(loss)(model)\n    model.kernel[...] -= grads.kernel[...]\n"
        "    return jnp.ones(())"
    )
    notebook.must(
        "%%jaxwatch\nfor n in (32, 32, 20):\n    key = rngs.params()\n"
        "    done = train(model, np.ones((n, 4), np.float32))"
    )
    count = int(notebook.must("rngs.params.count[...]").value)
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.RESULTS_DIFFER
    assert trial.why.startswith("The code changes `model`, whose state afterwards differs")
    assert int(notebook.must("rngs.params.count[...]").value) == count


def test_a_cell_that_keeps_no_result_proves_nothing(notebook: Notebook) -> None:
    notebook.must("%%jaxwatch\nfor n in range(33, 39):\n    print(mean(np.ones(n, np.float32)))")
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.UNCLEAR
    shown = " ".join(notebook.must("%jaxtry").text.split())
    assert (
        "The cell keeps no result, so whether the fix changes one is not checked. "
        "6 → 1 compilation, −"
    ) in shown
    assert "results equal" not in shown


def test_a_cell_without_a_magic_that_prints(notebook: Notebook) -> None:
    notebook.must(
        "for k in range(4):\n    y = jax.jit(lambda x: x + k)(x)\n    print('y', y.sum())"
    )
    trial = only(tried(notebook, "%jaxtry --of 3"))
    assert counts(trial) == (4, 1)
    assert notebook.must("%jaxtry --of 3").printed == ""


def test_a_log_and_a_profile_try_the_same(notebook: Notebook) -> None:
    loop = "for k in range(4):\n    y = jax.jit(lambda x: x * k)(x)"
    notebook.must(f"%%jaxwatch -o log\n{loop}")
    assert counts(only(notebook.names["log"].try_fixes())) == (4, 1)
    notebook.must(f"%%jaxprof\n{loop}")
    found = tried(notebook)
    assert any(one.before for one in found), [(one.title, one.why) for one in found]
    assert counts(only(Trials(tuple([one for one in found if one.before])))) == (4, 1)


def test_what_a_later_cell_defined_again_is_no_obstacle(notebook: Notebook) -> None:
    notebook.must("def g(x):\n    return x + 1\nh = jax.jit(lambda x: x)\nkept = jnp.ones(10**6)")
    notebook.must("def g(x):\n    return x + 2\nh = jax.jit(lambda x: x + 2)")
    notebook.must("%%jaxprof -o profile\nfor k in range(4):\n    y = jax.jit(lambda x: x * k)(x)")
    cells = [one.text for one in notebook.names["profile"].sources]
    assert any("kept" in text for text in cells)  # as its array is alive
    assert counts(only(tried(notebook))) == (4, 1)
    assert notebook.must("h(g(x))[0]").value == 4


def test_the_last_of_report_and_log_is_tried(notebook: Notebook) -> None:
    notebook.must("%%jaxwatch\nfor k in range(4):\n    y = jax.jit(lambda x: x * k)(x)")
    notebook.must("m = 3 * jnp.eye(64)")
    notebook.must("%%jaxjit -n 1\ny = jnp.linalg.inv(m) @ m[0]")
    assert "solve" in tried(notebook, "%jaxtry 1")[0].title


def test_a_new_body_of_an_eager_scan_is_tried_as_often_as_the_log_calls_it_repeated(
    notebook: Notebook,
) -> None:
    shown = notebook.must(
        "%%jaxwatch\nfor k in range(4):\n"
        "    y = jax.lax.scan(lambda c, v: (c + v * k, None), 0.0, x)[0]"
    ).text
    assert "a new body for scan each time" in shown
    assert counts(only(tried(notebook))) == (4, 1)


def test_the_value_of_a_call_that_the_cell_discards_is_compared(notebook: Notebook) -> None:
    notebook.must("generator = np.random.default_rng(0)")
    notebook.must(
        "%%jaxwatch\nfor n in (32, 32, 20):\n    mean(generator.random(n).astype('f'))\ndone = 1"
    )
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.RESULTS_DIFFER, trial.why
    assert not [name for name in notebook.names if "jaxscope_values" in name]


def test_a_second_axis_that_changes_is_not_padded(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxwatch\nfor n in (5, 6, 7, 9):\n    y = total(2.0, np.ones((3, n), np.float32))"
    )
    assert only(tried(notebook)).why == "`x` changes along another axis than the first."


def test_the_fix_below_a_cell_is_the_one_that_is_tried(notebook: Notebook) -> None:
    notebook.must("%%jaxwatch\ny = sine(x)")
    notebook.must("%jaxwatch on --over 100")
    footer = notebook.must("for k in range(4):\n    y = jax.jit(lambda x: x * k)(x)").text
    assert "→" in footer
    assert counts(only(tried(notebook))) == (4, 1)
    notebook.must("%%jaxprof\ny = sine(x)")
    assert "no findings" in notebook.run("%jaxtry").message


@pytest.mark.parametrize(
    ("cell", "line", "said"),
    [
        ("%%jaxwatch\ny = sine(x)", "%jaxtry", "In [3] recompiled nothing with a fix"),
        ("y = sine(x)", "%jaxtry --of 3", "In [3] has no report, and recompiled nothing"),
        ("y = 1", "%jaxtry --of 99", "In [99] has no report, and recompiled nothing"),
        (
            "%%jaxwatch\nfor k in range(4):\n    y = scaled(x, k)\n%pwd",
            "%jaxtry",
            "The cell has magics or shell commands",
        ),
    ],
)
def test_a_cell_of_which_nothing_can_be_tried(
    notebook: Notebook, cell: str, line: str, said: str
) -> None:
    notebook.must(cell)
    assert said in notebook.run(line).message


def test_a_log_of_several_cells_or_of_a_file_is_a_sentence(
    notebook: Notebook, tmp_path: Path
) -> None:
    notebook.must("y = sine(x)")
    notebook.must("%jaxlog -q -o log")
    with pytest.raises(ValueError, match=r"The log is not of one cell"):
        notebook.names["log"].try_fixes()
    notebook.names["log"].save(tmp_path / "log.json.gz")
    loaded = jaxscope.load(tmp_path / "log.json.gz")
    assert isinstance(loaded, jaxscope.CompileLog)
    with pytest.raises(ValueError, match=r"loaded from a file"):
        loaded.try_fixes()


def test_a_function_that_cannot_be_created_anew(notebook: Notebook) -> None:
    notebook.must("held = {'f': jax.jit(lambda x: x + 2)}")
    notebook.must("%%jaxwatch\nfor n in range(3, 7):\n    y = held['f'](np.ones(n, np.float32))")
    trial = only(tried(notebook))
    assert trial.verdict is TrialVerdict.NOT_TRIED
    assert "cannot be created anew here" in trial.why


def test_operations_whose_programs_jax_holds_are_not_tried(notebook: Notebook) -> None:
    notebook.must("signal = jnp.linspace(0.0, 1.0, 31)")
    notebook.must(
        "%%jaxwatch\n"
        "means = [signal[:n].mean() for n in range(1, 10)]\n"
        "doubled = [jax.jit(lambda x: 2 * x)(signal) for _ in range(4)]"
    )
    eager, created = tried(notebook)
    assert (eager.verdict, "do not come again" in eager.why) == (TrialVerdict.NOT_TRIED, True)
    assert created.verdict is not TrialVerdict.NOT_TRIED
