"""`%%jaxbench` in a shell: what it shows, and bad input that gets a sentence and loses nothing."""

from __future__ import annotations

import _thread
import ast
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

from jaxscope.bench.cell.arrays import DTYPES
from jaxscope.magics.options import bench as bench_options
from jaxscope.model import Unavailable
from tests.magics.notebook import Notebook, Ran, open_notebook
from tests.results.comparisons import few_rounds

SETUP = """
import numpy as np
import jax
import jax.numpy as jnp
x = np.linspace(0.0, 1.0, 32, dtype=np.float32)
zero = np.float32(0)
empty = np.zeros((0, 3), np.float32)
half = np.array([0.5, np.nan], np.float32)
wide = np.linspace(0.0, 1.0, 32)
f = jax.jit(lambda a: jnp.tanh(a))
"""
QUICK = "-o c"
USAGE = "UsageError"


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    few_rounds(monkeypatch)


def names(notebook: Notebook) -> dict[str, Any]:
    """The user's names and what they hold, without IPython's own and the comparison."""
    return {
        name: value
        for name, value in notebook.names.items()
        if not name.startswith("_") and name not in ("In", "Out", "c")
    }


def bench(notebook: Notebook, cell: str) -> Ran:
    """Run a cell, and check that the namespace is as before and that the next cell works."""
    before = names(notebook)
    arrays = {k: np.array(v) for k, v in before.items() if isinstance(v, np.ndarray)}
    ran = notebook.run(cell)
    after = names(notebook)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    for name, value in arrays.items():
        assert np.array_equal(after[name], value, equal_nan=True), name
    assert notebook.must("1 + 1").value == 2
    return ran


def row(notebook: Notebook, label: str, **size: int) -> Any:
    return notebook.names["c"].row(label, **size)


def test_loading_the_extension_leaves_the_benchmark_for_later() -> None:
    code = "import sys, jaxscope.magics; print([n for n in sys.modules if 'bench' in n])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ours = [name for name in ast.literal_eval(ran.stdout) if name.startswith("jaxscope.")]
    assert ours == ["jaxscope.magics.options.bench", "jaxscope.magics.benchmarking"]


def test_the_dtypes_that_are_offered_are_those_that_are_taken() -> None:
    assert bench_options.DTYPES == DTYPES


# What it does.


def test_one_source_runs_on_every_namespace_and_size(notebook: Notebook) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench --vs numpy,jax --sizes n=8,16 y=normal(n,n) {QUICK}\n"
        "(y - xp.mean(y)) / xp.std(y)",
    )
    assert ran.error is None
    made = notebook.names["c"]
    assert made.sizes == ({"n": 8}, {"n": 16})
    assert [r.dtype for r in made.rows] == ["float32"] * 4
    assert all(r.agrees for r in made.rows)
    assert "Time per call at n = 16" in ran.text
    assert made.summary().partition(";")[0] in " ".join(ran.text.split())


def test_sections_run_what_they_say_and_arrays_of_the_namespace_are_inputs(
    notebook: Notebook,
) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench {QUICK}\n# setup\nk = 2.0\n# numpy\nnp.tanh(x) * k\n"
        "# jax\njnp.tanh(x) * k\n# jax: by hand\ny = jnp.tanh(x)\ny * k\n"
        "# jax-eager\njnp.tanh(x) * k",
    )
    assert ran.error is None
    assert notebook.names["c"].labels == ("numpy", "jax", "jax: by hand", "jax-eager")
    assert all(r.agrees for r in notebook.names["c"].rows)


@pytest.mark.parametrize(
    "timed",
    [
        "step(net, tx, x2)",
        "loss(net, x2)",
        "predict(x2)",
        "# jax\npredict(x2)\n# jax-eager\npredict(x2)",
    ],
)
def test_a_flax_model_keeps_its_state_and_every_run_begins_with_it(
    notebook: Notebook, timed: str
) -> None:
    nnx = pytest.importorskip("flax.nnx")
    pytest.importorskip("optax")
    notebook.must("""
from flax import nnx
import optax
x2 = jnp.ones((2, 3))
net = nnx.Sequential(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), nnx.BatchNorm(3, rngs=nnx.Rngs(0)))
tx = nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)
def loss(net, x):
    return net(x).var() + net.layers[0].kernel.sum()
@nnx.jit
def step(net, tx, x):
    value, grads = nnx.value_and_grad(loss)(net, x)
    tx.update(net, grads)
    return value
jitted = nnx.jit(loss)
def predict(x):
    return jitted(net, x)
""")

    def state() -> list[Any]:
        held = nnx.state((notebook.names["net"], notebook.names["tx"]))
        return [np.asarray(leaf) for leaf in jax.tree.leaves(held)]

    before = state()
    assert before
    bench(notebook, f"%%jaxbench {QUICK}\n{timed}")
    assert all(np.array_equal(a, b) for a, b in zip(before, state(), strict=True))
    assert any(not r.failure for r in notebook.names["c"].rows)


def test_a_list_that_timed_code_appends_to_is_as_before(notebook: Notebook) -> None:
    notebook.must("seen = [0.0]")
    bench(notebook, f"%%jaxbench {QUICK}\nseen.append(0.0)\nf(x)")
    assert notebook.names["seen"] == [0.0]


def test_expressions_are_timed_as_written(notebook: Notebook) -> None:
    ran = bench(notebook, f"%jaxbench {QUICK} np.tanh(x) vs f(x) vs jax: jnp.tanh(x)")
    assert ran.error is None
    assert [(r.label, r.implementation) for r in notebook.names["c"].rows] == [
        ("np.tanh(x)", "numpy"),
        ("f(x)", "jax-eager"),
        ("jax: jnp.tanh(x)", "jax"),
    ]


@pytest.mark.parametrize("form", ["%jaxbench {} {} vs {}", "%%jaxbench {}\n{}\n{}"])
@pytest.mark.parametrize(("array", "framework"), [("x", "numpy"), ("f(x)", "jax-eager")])
def test_operators_run_on_the_framework_of_their_arrays(
    notebook: Notebook, form: str, array: str, framework: str
) -> None:
    notebook.must(f"operand = {array}")
    ran = bench(notebook, form.format(QUICK, "operand * 2", "operand + operand"))
    assert ran.error is None
    assert {row.implementation for row in notebook.names["c"].rows} == {framework}


def test_gradients_run_each_frameworks_own_way(notebook: Notebook) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench --grad x --vs jax,jax-eager {QUICK}\nxp.sum(xp.tanh(x) * x)",
    )
    assert ran.error is None
    assert [r.agrees for r in notebook.names["c"].rows] == [True, True]


def test_a_batch_is_run_each_frameworks_own_way(notebook: Notebook) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench --vmap y=0,x=none --vs numpy,jax y=normal(6,32) {QUICK}\nxp.sum(x * y)",
    )
    assert ran.error is None
    assert [r.agrees for r in notebook.names["c"].rows] == [True, True]


def test_quiet_is_one_line_and_html_is_html(notebook: Notebook) -> None:
    ran = bench(notebook, "%jaxbench -q np.sin(x) vs np.cos(x)")
    assert len(ran.shown) == 1
    assert ran.text.count("\n") == 0
    ran = bench(notebook, "%jaxbench -q np.sin(x) vs np.cos(x) vs nowhere(x)")
    assert ran.text.endswith("nowhere(x) was not run.")
    ran = bench(notebook, "%jaxbench --view html np.sin(x) vs np.cos(x)")
    assert ran.shown[0]["text/html"].startswith('<div class="jxs report comparison">')


def test_plots_are_shown_or_say_why_not(notebook: Notebook) -> None:
    pytest.importorskip("plotly")
    ran = bench(notebook, "%jaxbench --plot rounds --plot time np.sin(x) vs np.cos(x)")
    assert ran.error is None
    assert any("application/vnd.plotly.v1+json" in data for data in ran.shown)
    assert "The time plot was not drawn. Fewer than two sizes" in ran.text


def test_a_setup_runs_for_each_size_and_a_number_on_the_line_is_no_input(
    notebook: Notebook,
) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench --sizes n=4,8 k=3 {QUICK}\n# setup\ny = np.ones(n, np.float32)\n"
        "# numpy\ny * n * k\n# jax\ny * n * k",
    )
    assert ran.error is None
    assert [r.agrees for r in notebook.names["c"].rows] == [True] * 4


def test_the_same_shape_at_a_different_size_is_recompiled(notebook: Notebook) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench --sizes n=2,5 {QUICK}\n# numpy\nx * n\n# jax\nx * n",
    )
    assert ran.error is None
    assert [r.agrees for r in notebook.names["c"].rows] == [True] * 4


def test_c_takes_inputs_by_name(notebook: Notebook) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench --sizes n=8,9 z=ones(n) --dtype float32 {QUICK}\n"
        "# numpy\nz * 2\n# c\n// y: like z\n"
        "void twice(float *y, const float *z, long n) {\n"
        "    for (long i = 0; i < n; i++) y[i] = 2 * z[i];\n}",
    )
    assert ran.error is None
    c = row(notebook, "c")
    assert c.agrees is True or "No C compiler" in c.failure


def test_baselines_are_stored_and_compared(
    notebook: Notebook, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAXSCOPE_BASELINES", str(tmp_path))
    bench(notebook, "%jaxbench --save sines np.sin(x) vs np.cos(x)")
    ran = bench(notebook, "%jaxbench --against sines np.sin(x) vs np.cos(x)")
    assert ran.error is None
    assert "Since the baseline" in ran.text
    ran = bench(notebook, "%jaxbench --against cosines np.sin(x) vs np.cos(x)")
    assert ran.message == (f"There is no baseline 'cosines' in {tmp_path}. Did you mean 'sines'?")
    ran = bench(notebook, "%jaxbench --against ./sines.json np.sin(x) vs np.cos(x)")
    assert ran.message == "There is no baseline sines.json; `--save ./sines.json` stores one."


def test_an_error_before_the_section_has_no_line(notebook: Notebook) -> None:
    bench(notebook, "%%jaxbench --vs jax --grad -o c k=integers(0,5,9)\n(k * 3).sum()")
    failure = row(notebook, "jax").failure
    assert "TypeError: grad requires" in failure
    assert "on line" not in failure


def test_c_that_returns_a_number_keeps_its_type(notebook: Notebook) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench k=32 {QUICK}\n# jax\nx.sum()\n# c\n"
        "float sum(const float *x, int k) {\n    float s = 0;\n"
        "    for (int i = 0; i < k; i++) s += x[i];\n    return s;\n}",
    )
    assert ran.error is None
    c = row(notebook, "c")
    assert (c.dtype, c.agrees) == ("float32", True) or "No C compiler" in c.failure


def test_the_option_processes_runs_fresh_processes(notebook: Notebook) -> None:
    pytest.importorskip("cloudpickle")
    ran = bench(
        notebook,
        f"%%jaxbench --processes 2 --vs numpy,jax {QUICK}\nxp.tanh(x)",
    )
    assert ran.error is None
    assert [len(r.processes) for r in notebook.names["c"].rows] == [2, 2]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("%%jaxbench --vs ", "jax-eager"),
        ("%jaxbench --dtype ", "bfloat16"),
        ("%jaxbench --plot ", "break_even"),
        ("%%jaxbench --t", "--time-limit"),
    ],
)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # IPython's own, in `complete`
def test_options_and_their_values_are_completed(
    notebook: Notebook, line: str, offered: str
) -> None:
    _, found = notebook.shell.complete("", line, len(line))
    assert offered in found


# Bad input: the line and the cell.


@dataclass(frozen=True)
class Bad:
    cell: str
    says: str
    kind: str = USAGE


BAD = {
    "unknown implementation": Bad(
        "%%jaxbench --vs numpy,jaxx\nxp.sin(x)",
        "There is no implementation `jaxx`. Did you mean `jax`? The implementations are autograd, ",
    ),
    "unknown section": Bad(
        "%%jaxbench\n# numpy\nx\n# pytorch\nx",
        "Line 4 begins a section for `pytorch`, which is not an implementation. "
        "Did you mean `torch`",
    ),
    "section without code": Bad(
        "%%jaxbench\n# numpy\nx\n# jax\n\n",
        "The section `# jax` on line 4 holds no code. Write its code below the comment",
    ),
    "set-up alone": Bad(
        "%%jaxbench\n# setup\ny = x",
        "The cell has a set-up but nothing to time. Add sections such as `# numpy`",
    ),
    "empty cell": Bad("%%jaxbench\n\n", "The %%jaxbench cell has no code to time."),
    "no section for --vs": Bad(
        "%%jaxbench --vs numpy,torch\n# numpy\nx\n# jax\nx",
        "--vs names `torch`, but the cell has sections only for `# numpy` and `# jax`.",
    ),
    "magic in a section": Bad(
        "%%jaxbench\n# numpy\n%time x", "Line 3, `%time x`, is a magic command"
    ),
    "no value": Bad(
        "%%jaxbench\n# numpy\nfor i in x:\n    pass",
        "The section `# numpy` on line 2 ends on line 3 with a statement (for) that has no value.",
    ),
    "syntax": Bad(
        "%%jaxbench\n# numpy\ny = x +* 2\n# jax\nx",
        "Line 3 of the cell is not valid Python: invalid syntax.\n    y = x +* 2\n           ^",
    ),
    "set-up that fails": Bad(
        "%%jaxbench\n# setup\ny = nowhere\n# numpy\nx", "'nowhere' is not defined", "NameError"
    ),
    "sizes": Bad("%%jaxbench --sizes 2^6\nxp.sin(x)", "--sizes cannot read '2^6'"),
    "input": Bad(
        "%%jaxbench --sizes n=4 y=nrmal(n)\nxp.sin(y)",
        "The input `y=nrmal(n)` needs `nrmal`, which is not defined: it is neither a size, nor a ",
    ),
    "gradient of nothing": Bad(
        "%%jaxbench --grad z\nxp.sin(x)", "--grad names `z`, which is not an input"
    ),
    "a word on the line": Bad(
        "%%jaxbench numpy\nxp.sin(x)",
        "'numpy' is neither an option nor an input such as `x=normal(n,n)`.",
    ),
    "one expression": Bad(
        "%jaxbench f(x)", "%jaxbench compares at least two expressions: `%jaxbench f(x) vs g(x)`."
    ),
    "unknown option": Bad(
        "%%jaxbench --size n=4\nxp.sin(x)",
        "There is no option --size. Did you mean --sizes? `%jaxbench?` lists the options.",
    ),
    "unknown short option": Bad(
        "%%jaxbench -n 5\nxp.sin(x)",
        "There is no option -n. `%jaxbench?` lists the options.",
    ),
    "unknown option before expressions": Bad(
        "%jaxbench --bogus 3 f(x) vs f(x)",
        "There is no option --bogus. `%jaxbench?` lists the options. Write `--` before an",
    ),
    "no expression": Bad(
        "%jaxbench f(x) vs for x", "`for x` is not a Python expression: invalid syntax"
    ),
    "mode": Bad(
        "%%jaxbench --mode fast\nxp.sin(x)", "--mode takes latency or throughput, but got 'fast'."
    ),
    "name": Bad("%jaxbench -o 1c f(x) vs f(x)", "-o needs a name for the comparison"),
    "time limit": Bad("%jaxbench --time-limit 0 f(x) vs f(x)", "'0' is not a number above 0"),
    "bracket": Bad("%%jaxbench y=ones((3\nxp.sin(x)", "a bracket is not closed"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_reported_and_changes_nothing(notebook: Notebook, name: str) -> None:
    bad = BAD[name]
    ran = bench(notebook, bad.cell)
    assert type(ran.error).__name__ == bad.kind
    assert bad.says in ran.message


def test_a_failing_setup_is_shown_at_its_line(notebook: Notebook) -> None:
    ran = bench(notebook, "%%jaxbench\n# setup\ny = 1\nz = nowhere\n# numpy\nx")
    assert [line for _, line in ran.frames] == [4]


# Bad input: what the implementations do.


def test_sizes_that_exhaust_the_memory_are_skipped_and_the_rest_is_kept(
    notebook: Notebook,
) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench --vs numpy,jax --sizes n=8,1_000_000 y=normal(n,n) {QUICK}\nxp.sum(y)",
    )
    assert ran.error is None
    assert row(notebook, "jax", n=8).measured
    assert re.match(r"This size was skipped: .* are free\.", row(notebook, "jax", n=10**6).failure)
    assert "This size was skipped" in " ".join(ran.text.split())


def test_results_that_differ_are_reported(notebook: Notebook) -> None:
    ran = bench(notebook, f"%%jaxbench {QUICK}\n# numpy\nx + 1\n# jax\nx + 1.5")
    assert ran.error is None
    assert row(notebook, "jax").agrees is False
    assert "but the results differ" in " ".join(ran.text.split())
    assert "J201" in ran.text


def test_one_that_raises_on_the_third_call_names_call_and_line(notebook: Notebook) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench {QUICK}\n# setup\ncalls = []\n# numpy\nx + 1\n# numpy: third\n"
        "calls.append(1)\n"
        'if len(calls) == 3:\n    raise ValueError("no more")\nx + 1',
    )
    assert ran.error is None
    assert "ValueError on line 9: no more in call 3" in row(notebook, "numpy: third").failure
    assert row(notebook, "numpy").measured


def test_one_that_hangs_is_stopped_and_the_others_are_measured(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_rounds(monkeypatch, call_s=1.5)
    ran = bench(
        notebook,
        "%%jaxbench -o c\n# numpy\nx + 1\n# numpy: hangs\nwhile True:\n    pass\nx\n# jax\nx + 1",
    )
    assert ran.error is None
    assert "longer than 1.5 s" in row(notebook, "numpy: hangs").failure
    assert row(notebook, "jax").measured


def test_one_that_changes_its_input_gets_fresh_ones_and_the_array_stays(
    notebook: Notebook,
) -> None:
    ran = bench(notebook, f"%%jaxbench {QUICK}\n# numpy\nx + 1\n# numpy: in place\nx += 1\nx")
    assert ran.error is None
    assert [r.agrees for r in notebook.names["c"].rows] == [True, True]
    assert "changes `x` in place" in " ".join(ran.text.split())


@pytest.mark.parametrize("name", ["zero", "empty"])
def test_arrays_without_dimensions_or_elements_are_inputs(notebook: Notebook, name: str) -> None:
    ran = bench(notebook, f"%%jaxbench --vs numpy,jax {QUICK}\nxp.sin({name}) + 1")
    assert ran.error is None
    assert [(r.measured, r.agrees) for r in notebook.names["c"].rows] == [(True, True)] * 2


def test_a_float64_constant_of_numpy_makes_no_result_differ(notebook: Notebook) -> None:
    bench(notebook, f"%%jaxbench {QUICK}\n# numpy\nnp.tanh(x) * np.ones(32)\n# jax\njnp.tanh(x)")
    assert [r.dtype for r in notebook.names["c"].rows] == ["float64", "float32"]
    assert all(r.agrees for r in notebook.names["c"].rows)


def test_a_nan_that_both_have_is_no_difference_and_one_that_one_has_is(notebook: Notebook) -> None:
    ran = bench(notebook, f"%%jaxbench --vs numpy,jax {QUICK}\nxp.sin(half)")
    assert [r.agrees for r in notebook.names["c"].rows] == [True, True]
    ran = bench(notebook, f"%%jaxbench {QUICK}\n# numpy\nx\n# jax\nx * jnp.nan")
    assert ran.error is None
    assert row(notebook, "jax").agrees is False


def test_a_mismatch_of_64_bits_is_reported_or_avoided(notebook: Notebook) -> None:
    ran = bench(notebook, f"%%jaxbench --vs numpy,jax {QUICK}\nxp.sin(wide)")
    assert [r.dtype for r in notebook.names["c"].rows] == ["float32", "float32"]
    assert "`wide` (float64) was converted to 32 bits for all" in " ".join(ran.text.split())
    ran = bench(notebook, f"%%jaxbench --vs numpy,jax --dtype keep {QUICK}\nxp.sin(wide)")
    assert [r.dtype for r in notebook.names["c"].rows] == ["float64", "float32"]
    assert "J202" in ran.text


def test_64_bits_can_be_enabled_for_a_comparison_alone(notebook: Notebook) -> None:
    ran = bench(notebook, f"%%jaxbench --x64 --vs numpy,jax {QUICK}\nxp.sin(wide)")
    assert ran.error is None
    assert [(r.dtype, r.agrees) for r in notebook.names["c"].rows] == [("float64", True)] * 2
    assert notebook.names["c"].record.environment.x64 is True
    assert notebook.must("jax.config.jax_enable_x64").value is False


def test_a_typed_random_key_is_noted_as_a_constant(notebook: Notebook) -> None:
    ran = bench(
        notebook,
        f"%%jaxbench --no-check {QUICK}\n# setup\nkey = jax.random.key(0)\n"
        "# jax\njax.random.normal(key, (8,))",
    )
    assert ran.error is None
    assert (
        "`key` is a typed random key, so it is a constant to JAX's compiler, not an input."
        in " ".join(ran.text.split())
    )


def test_an_interrupt_keeps_what_was_measured(notebook: Notebook) -> None:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    notebook.names["sizes"] = sizes = []
    notebook.names["interrupt"] = _thread.interrupt_main
    try:
        # From the third size on each call asks for it, so that the sizes before it are measured:
        # Python drops an interrupt that arrives while it collects garbage.
        ran = bench(
            notebook,
            "%%jaxbench --sizes n=2..64 -o c\n# setup\nsizes.append(n)\n# numpy\n"
            "if len(sizes) > 2:\n    interrupt()\nx * n\n# jax\nx * n",
        )
    finally:
        signal.signal(signal.SIGINT, before)
        notebook.names.pop("sizes")
        notebook.names.pop("interrupt")
    assert len(sizes) == 3
    assert ran.error is None
    made = notebook.names["c"]
    assert made.record.stopped.startswith("interrupted")
    assert any(r.measured for r in made.rows)
    assert any(not r.measured for r in made.rows)
    assert "Interrupted at n = " in ran.text


def test_a_result_that_is_no_number_is_a_row_that_says_so(notebook: Notebook) -> None:
    ran = bench(notebook, "%%jaxbench --time-limit 2 -o c\n# numpy\nlambda: 3\n# numpy: text\n'a'")
    assert ran.error is None
    for row in notebook.names["c"].rows:
        assert isinstance(row.error, Unavailable)
        assert row.error.reason == "the results are not arrays of numbers"


@pytest.mark.parametrize(
    "cell",
    [
        "%jaxbench -o c np.tanh(x) vs remembered(x)",
        "%%jaxbench -o c\n# numpy\nnp.tanh(x)\n# numpy: cached\nremembered(x)",
    ],
)
def test_a_remembered_result_has_no_verdict_in_any_form(notebook: Notebook, cell: str) -> None:
    notebook.must(
        "import functools\n@functools.cache\ndef _of(n): return np.tanh(x)\n"
        "def remembered(a): return _of(a.size)"
    )
    ran = bench(notebook, cell)
    notebook.must("del functools, remembered, _of")
    assert ran.error is None
    made = notebook.names["c"]
    assert made.ratio(made.labels[1]).verdict == "not compared"
    first = made.summary()
    assert "is not compared with" in first
    assert "its result does not change with `x`" in first
    assert " ".join(ran.text.split()).startswith(" ".join(first.split()))
    assert "faster" not in ran.text
