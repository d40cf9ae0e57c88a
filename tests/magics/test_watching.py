"""%%jaxwatch, %jaxwatch on|off and %jaxlog in a real shell."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import jax
import jsonschema
import pytest
from IPython.core.error import UsageError

from jaxscope.magics import display
from jaxscope.model import CauseKind, CompileKind, to_json
from jaxscope.model.compile_log import CompileEvent, Log
from jaxscope.model.schema import event_schema
from tests.magics.notebook import Notebook, open_notebook

STEP = """
def make():
    @jax.jit
    def step(x, lr=0.1):
        return x - lr * x
    return step

step = make()
"""


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must("import jax, jax.numpy as jnp, numpy as np")
        opened.must(STEP)
        yield opened


def session(notebook: Notebook) -> Any:
    return notebook.shell.jaxscope_magics.session  # type: ignore[attr-defined]


def log(notebook: Notebook) -> Log:
    return session(notebook).log().log


def prompt(notebook: Notebook) -> int:
    """The number of the cell that ran last."""
    return len(notebook.shell.history_manager.input_hist_parsed) - 1


# %%jaxwatch


def test_the_cell_runs_as_usual_and_its_compiles_are_shown(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxwatch\ny = step(np.ones(3))\nz = 2\ny.shape")
    assert ran.value == (3,)
    assert (notebook.names["z"], notebook.names["y"].shape) == (2, (3,))
    number = prompt(notebook)
    assert ran.text.startswith("1 compile in ")
    assert f"  In [{number}]:2  step " in ran.text
    assert re.search(r"first (call|compilation since [\d:]+) with x: f", ran.text)
    again = notebook.must("%%jaxwatch\ny = step(np.ones(3))")
    assert again.text == "Nothing was compiled."


def test_a_recompile_is_shown_with_its_cause_and_its_fix(notebook: Notebook) -> None:
    notebook.must("step(np.ones(8, np.float32))")
    ran = notebook.must("%%jaxwatch\nfor n in (8, 5):\n    step(np.ones(n, np.float32))")
    assert "1 recompile" in ran.text
    assert "The shape of x changed: f32[8] → f32[5]" in ran.text
    assert "→ Pad x" in ran.text


def test_a_semicolon_silences_and_magics_and_shell_lines_work(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxwatch -q\n\n%pwd\nwhere = %pwd\nfound = !echo hello\n1 + 1;")
    assert ran.value is None
    assert notebook.names["where"]
    assert notebook.names["found"] == ["hello"]
    assert ran.text == "Nothing was compiled."


def test_an_error_is_the_cells_own_and_the_log_is_shown(notebook: Notebook) -> None:
    ran = notebook.run("%%jaxwatch\nstep(np.ones(4))\n\n1 / 0\nnever = 1")
    assert isinstance(ran.error, ZeroDivisionError)
    assert ran.frames[-1][1] == 4
    assert ran.text.startswith("1 compile in ")
    assert "never" not in notebook.names
    assert notebook.must("1 + 1").value == 2


def test_a_syntax_error_stands_at_its_line(notebook: Notebook) -> None:
    ran = notebook.run("%%jaxwatch\nx = 1\ny = = 2")
    assert isinstance(ran.error, SyntaxError)
    assert ran.error.lineno == 3
    assert "x" not in notebook.names
    assert "Nothing was compiled" not in ran.text


def test_await_is_refused_with_the_way_round_it(notebook: Notebook) -> None:
    ran = notebook.run("%%jaxwatch\nimport asyncio\nawait asyncio.sleep(0)")
    assert isinstance(ran.error, UsageError)
    assert "Run `%jaxwatch on` in an earlier cell" in ran.message


def test_the_log_can_be_bound_to_a_name(notebook: Notebook) -> None:
    notebook.must("%%jaxwatch -q -o made\nstep(np.ones(6))")
    notebook.must("step(np.ones(7))")
    assert [compile.fun_name for compile in notebook.names["made"].compiles] == ["step"]


def test_a_program_of_the_session_can_be_opened_and_ours_are_not_in_its_log(
    notebook: Notebook,
) -> None:
    notebook.must("step(np.ones(6, np.float32))")
    notebook.must("a = np.ones(50, np.float32)")
    notebook.must("%%jaxjit -q -n 3\nb = a * 2 + 1")
    notebook.must("%jaxlog -q -o everything")
    made = notebook.names["everything"]
    assert [compile.fun_name for compile in made.compiles] == ["step", "cell"]
    assert made.report(0).stage("optimized_hlo").text.startswith("HloModule")


def test_a_call_of_a_cell_with_other_shapes_fails_nowhere(notebook: Notebook) -> None:
    cell = "%%jaxjit -n 1\ndef f(v):\n    return v * 2\nfor n in (5, 4, 3):\n    y = f(np.ones(n))"
    notebook.must(cell)
    found = log(notebook)
    mine = [one for one in (*found.compiles, *found.failed) if one.fun_name == "f"]
    assert [one.error for one in mine] == ["", "", ""]


def test_the_views_of_a_watched_cell(notebook: Notebook) -> None:
    (data,) = notebook.must("%%jaxwatch --view html\nstep(np.ones(6))").shown
    assert set(data) == {"text/plain", "text/html"}
    assert "<script" not in data["text/html"]
    (data,) = notebook.must("%%jaxwatch --view text\nstep(np.ones(7))").shown
    assert set(data) == {"text/plain"}
    (data,) = notebook.must("%%jaxwatch -q\nstep(np.ones(8))").shown
    assert len(data["text/plain"].splitlines()) == 1


def test_a_log_that_cannot_be_shown_leaves_the_cell_its_value(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise OSError("no screen")

    monkeypatch.setattr(display, "show_log", broken)
    ran = notebook.must("%%jaxwatch\n1 + 1")
    assert ran.value == 2
    assert ran.text == "jaxscope could not show the log (OSError: no screen)."


def test_calls_that_are_slow_though_nothing_compiles_are_found(notebook: Notebook) -> None:
    notebook.must(
        "@jax.jit\ndef noisy(x):\n    jax.debug.callback(lambda v: None, x)\n    return x + 1\n"
        "noisy(np.ones(3))"
    )
    ran = notebook.must("%%jaxwatch --slow-path -o slow\nfor _ in range(4):\n    noisy(np.ones(3))")
    assert ran.text.startswith("Nothing was compiled.")
    if sys.version_info >= (3, 12):
        (found,) = notebook.names["slow"].slow_calls
        assert (found.fun_name, found.calls) == ("noisy", 4)
        assert f"Slow calls at In [{prompt(notebook)}]:3 (4 calls, " in ran.text
        assert "noisy" in ran.text.partition("\n")[2]
    else:
        assert "3.12" in ran.text


# %jaxwatch on|off


def test_the_footer_speaks_of_long_compiles_and_of_recompiles(notebook: Notebook) -> None:
    assert notebook.must("%jaxwatch on --over 100").text == (
        "jaxwatch is on: cells that compile for 100 s or more, or recompile avoidably, get a "
        "one-line summary."
    )
    assert notebook.must("step(np.ones(3))").shown == ()
    assert notebook.must("step(np.ones(4))").shown == ()
    ran = notebook.must("for n in (5, 6):\n    step(np.ones(n))")
    assert ran.text.startswith("jaxscope: 2 compiles in ")
    assert "The shape of x changed: f32[5] → f32[6]" in ran.text
    assert "→ Pad x" in ran.text
    notebook.must("%config JaxScope.footer_s = 0.0")
    ran = notebook.must("jax.jit(lambda x: x + 3)(np.ones(3))")
    assert ran.text.startswith("jaxscope: 1 compile in ")
    assert notebook.must("%jaxwatch off").text.startswith("jaxwatch is off")
    assert notebook.must("jax.jit(lambda x: x + 4)(np.ones(3))").shown == ()


ORDINARY = """
key = jax.random.key(0)
x = jax.random.normal(key, (16, 3))
t = jnp.sin(x).sum(1)
w, history = jnp.zeros(3), []
@jax.jit
def train_step(w, x, t):
    loss, g = jax.value_and_grad(lambda w: ((x @ w - t) ** 2).mean())(w)
    return w - 0.1 * g, loss
# %%
for _ in range(5):
    w, loss = train_step(w, x, t)
    history.append(loss)
# %%
np.asarray(history)
# %%
x.shape, w.shape
# %%
error = x @ w - t
# %%
error.mean(), error.std()
# %%
def evaluate(x, t):
    return (jnp.sin(x).sum(1) - t).mean()
# %%
evaluate(x, t)
# %%
test = jax.random.normal(jax.random.key(1), (8, 3))
# %%
aim = jnp.sin(test).sum(1)
# %%
evaluate(test, aim)
# %%
curve = jnp.linspace(0, 1, 50), jnp.linspace(0, 1, 60)
# %%
[jnp.ones(n).sum() for n in (3, 5, 7, 9)]
# %%
jax.lax.fori_loop(0, 3, lambda i, v: v * 2, x)
# %%
jax.lax.fori_loop(0, 3, lambda i, v: v * 2, x)
# %%
x[:5]
# %%
x[5:9]
# %%
test @ w
# %%
w, loss = train_step(w, test, aim)
# %%
w, loss = train_step(w, x, t)
# %%
evaluate(test[:5], aim[:5])
# %%
evaluate(test[:6], aim[:6])
# %% footer of sin
for n in range(20, 32):
    jnp.sin(np.ones(n, np.float32))
# %%
sizes = [(3, 8), (8, 8), (8, 5), (5, 1)]
weights = [jax.random.normal(key, size) * 0.1 for size in sizes]
# %%
w1 = jax.random.normal(key, (3, 6)) / 3
w2 = jax.random.normal(key, (6, 2)) / 6
b = jnp.zeros(2)
# %%
from flax import nnx
import optax
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(1e-2, 0.9), wrt=nnx.Param)
# %%
@nnx.jit
def fit(model, optimizer, x, t):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - t) ** 2).mean())(model)
    optimizer.update(model, grads)
    return loss
losses = [fit(model, optimizer, x, t) for _ in range(4)]
# %%
float(losses[-1]), len(losses)
# %% footer of fit
for start in (0, 6, 12):
    fit(model, optimizer, x[start : start + 6], t[start : start + 6])
# %%
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
losses = [fit(model, optimizer, x, t) for _ in range(4)]
# %% error
w, loss = train_step(w, x, t[:3])
# %%
scores = [jax.jit(lambda w: ((x @ w - t) ** 2).mean())(w), train_step(w, x[:12], t[:12])[1]]
# %% footer of <lambda>
for rate in (0.1, 0.2, 0.3):
    w = jax.jit(lambda w: w - rate * w)(w)
# %% footer of train_step
for n in range(4, 7):
    train_step(w, x[:n], t[:n])
# %%
w, key = jnp.zeros(3), jax.random.key(1)
# %%
for _ in range(5):
    w, loss = train_step(w, x, t)
# %%
@jax.jit
def train_step(w, x, t):
    loss, g = jax.value_and_grad(lambda w: (abs(x @ w - t)).mean())(w)
    return w - 0.1 * g, loss
# %%
w, loss = train_step(w.astype(jnp.float16), x, t)
"""


def test_an_ordinary_session_has_badges_and_footers_only_where_something_can_be_changed(
    notebook: Notebook,
) -> None:
    jax.clear_caches()  # an operation that another test compiled would not compile here
    badged: list[str] = []
    session(notebook).on_compile(lambda e: badged.append(e.fun_name) if e.avoidable else None)
    notebook.must("import jax.numpy as jnp")
    notebook.must("%jaxwatch on --over 100000")
    parts = re.split(r"^# %%(.*)\n", f"# %%\n{ORDINARY}", flags=re.M)[1:]
    assert len(parts) >= 60
    for mark, cell in zip(parts[::2], parts[1::2], strict=True):
        ran = notebook.run(cell)
        assert bool(ran.error) == ("error" in mark), cell
        _, planted, function = mark.partition("footer of ")
        assert bool(planted) == bool(ran.shown), cell
        assert f"  {function}" in ran.text or not planted, cell
    assert badged == ["fit", "<lambda>", "<lambda>", "train_step", "train_step"]
    # The log has the others, too.
    functions = [c for c in log(notebook).recompiles if c.kind is not CompileKind.EAGER]
    assert len(functions) > len(badged)
    assert all(any(cause.fix for cause in compile.causes) for compile in functions)


def test_a_footer_for_the_time_does_not_blame_a_second_shape(notebook: Notebook) -> None:
    notebook.must("import jax.numpy as jnp\njnp.ones(1117) * 7.5")
    notebook.must("%jaxwatch on --over 0")
    ran = notebook.must("jnp.ones(1118) * 7.5")
    assert ran.text.startswith("jaxscope: 2 eager operations, ")
    assert "→" not in ran.text


def test_code_that_was_edited_has_to_be_compiled_and_needs_no_footer(notebook: Notebook) -> None:
    notebook.must("%jaxwatch on --over 100")
    notebook.must("@jax.jit\ndef edited(x):\n    return x + 1")
    assert notebook.must("edited(np.ones(3))").shown == ()
    notebook.must("@jax.jit\ndef edited(x):\n    return x + 2")
    assert notebook.must("edited(np.ones(3))").shown == ()
    assert log(notebook).recompiles == ()


def test_a_watched_cell_has_no_footer_besides(notebook: Notebook) -> None:
    notebook.must("%jaxwatch on --over 0")
    assert len(notebook.must("%%jaxwatch\nstep(np.ones(3))").shown) == 1
    assert len(notebook.must("%jaxlog").shown) == 1
    assert "jaxwatch is on" in notebook.must("%jaxwatch").text


def test_a_cell_that_fails_has_its_footer_too(notebook: Notebook) -> None:
    notebook.must("%jaxwatch on --over 0")
    ran = notebook.run("step(np.ones(3))\n1 / 0")
    assert isinstance(ran.error, ZeroDivisionError)
    assert ran.text.startswith("jaxscope: 1 compile in ")


# %jaxlog


def test_the_log_listens_from_the_start_on(notebook: Notebook) -> None:
    notebook.must("step(np.ones(3))")
    notebook.must("for n in (4, 5, 6):\n    step(np.ones(n))")
    ran = notebook.must("%jaxlog")
    assert ran.text.startswith("4 compiles in ")
    assert "grows by 1 each time" in ran.text


def test_what_jaxscope_compiles_for_itself_is_in_no_log(notebook: Notebook) -> None:
    notebook.must("%%jaxbench -q --time-limit 5 --devices cpu v=np.ones(6)\n# jax\njnp.sin(v) + 1")
    notebook.must(
        "step = jax.jit(lambda x: x * 2, donate_argnums=0); v = jax.device_put(np.ones(9))"
    )
    notebook.must("%jaxjit step(v)")
    assert [compile.fun_name for compile in log(notebook).compiles] == ["<lambda>"]


@pytest.mark.parametrize(
    "traced",
    [
        "jax.eval_shape(step, x)",
        "jax.eval_shape(lambda x: step(x), x)",
        "jax.make_jaxpr(step)(x)",
        "step.trace(x)",
    ],
)
@pytest.mark.parametrize("compiled", ["%jaxjit step(x)", "step.lower(x).compile()"])
def test_a_function_that_was_only_traced_before_has_its_place_and_its_causes(
    notebook: Notebook, traced: str, compiled: str
) -> None:
    notebook.must("x, longer = np.ones(3, np.float32), np.ones(5, np.float32)")
    for cell in (traced, compiled, "y = step(longer)"):
        notebook.must(cell)
    first, again = [one for one in log(notebook).compiles if one.fun_name == "step"]
    assert first.site is not None
    if compiled.startswith("%"):  # the line of the magic, not that of the function
        assert first.defined is not None
        assert (first.site.span.line, first.site.file != first.defined.file) == (1, True)
    assert first.signature[:1] == ("x: f32[3]",)
    assert [cause.kind for cause in again.causes] == [CauseKind.SHAPE]


@pytest.mark.parametrize("by", ["function", "line", "cell"])
def test_the_log_by_function_line_and_cell(notebook: Notebook, by: str) -> None:
    notebook.must("step(np.ones(3))")
    notebook.must("step(np.ones(4)); make()(np.ones(4))")
    last = prompt(notebook)
    text = notebook.must(f"%jaxlog --by {by}").text
    _, head, table = text.partition(f"\n\n  {by} ")
    assert head
    assert table.split()[0] == "compiles"
    titles = [line.strip() for line in table.splitlines()[1:]]
    expected = {
        "function": ["step"],
        "line": [f"In [{last}]:1", f"In [{last - 1}]:1"],
        "cell": [f"In [{last}]", f"In [{last - 1}]"],
    }[by]
    assert sorted(title.partition("  ")[0] for title in titles) == sorted(expected)


def test_the_log_since_a_cell_and_of_the_slowest(notebook: Notebook) -> None:
    notebook.must("step(np.ones(3))")
    notebook.must("a = 1")
    since = prompt(notebook)
    notebook.must("step(np.ones(4)); step(np.ones(5))")
    assert notebook.must(f"%jaxlog --since {since} -q").text.startswith("2 compiles in ")
    assert notebook.must(f"%jaxlog --since {since + 2} -q").text == "Nothing was compiled."
    ran = notebook.must("%jaxlog --slowest 2 -o slow")
    assert "These are the 2 slowest of 3 compiles." in ran.text
    assert len(notebook.names["slow"].compiles) == 2


def test_the_log_before_anything_was_compiled(notebook: Notebook) -> None:
    assert notebook.must("%jaxlog").text == "Nothing was compiled."


def test_a_terminal_says_how_to_open_the_figure(notebook: Notebook) -> None:
    notebook.must("step(np.ones(3))")
    _, data = notebook.must("%jaxlog -q --figure").shown
    assert data["text/plain"].startswith("A terminal cannot draw figures: `%jaxlog --by function`")


def test_the_figure_comes_with_its_sums_for_front_ends_without_plotly(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("plotly")
    notebook.must("step(np.ones(3))")
    monkeypatch.setattr(notebook.shell, "kernel", object(), raising=False)
    _, data = notebook.must("%jaxlog -q --figure").shown
    assert {trace["type"] for trace in data["application/vnd.plotly.v1+json"]["data"]} == {
        "bar",
        "scatter",
    }
    assert "<script" not in data["text/html"]
    assert "step" in data["text/html"]
    assert "step" in data["text/plain"]


def test_the_figure_or_why_there_is_none(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook.must("step(np.ones(3))")
    monkeypatch.setattr(notebook.shell, "kernel", object(), raising=False)
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    text = notebook.must("%jaxlog -q --figure").text
    assert "A plot needs plotly, which is not installed: `pip install plotly`" in text


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("%jaxlog --by module", "--by takes line, function or cell, but got 'module'."),
        ("%jaxlog --since now", "'now' is not an integer of 1 or more"),
        ("%jaxlog --since 0", "'0' is not an integer of 1 or more"),
        ("%jaxlog --since 999", "There is no cell In [999] yet; this is In [4]."),
        ("%jaxlog --slowest -1", "'-1' is not an integer of 1 or more"),
        ("%jaxlog step", "%jaxlog takes only options, not 'step'."),
        ("%jaxlog -o 3x", "-o needs a name for the log, but got '3x'."),
        ("%jaxlog --unknown", "There is no option --unknown. `%jaxlog?` lists the options."),
        ("%jaxwatch maybe", "%jaxwatch takes on or off, not 'maybe'."),
        ("%jaxwatch on now", "%jaxwatch on takes only --over SECONDS, not 'now'."),
        ("%jaxwatch on --over soon", "'soon' is not a number of seconds, such as 0.5"),
        ("%jaxwatch on --slow-path", "takes only --over SECONDS, not '--slow-path'."),
        ("%jaxwatch on -o log", "takes only --over SECONDS, not '-o'."),
        ("%%jaxwatch --over 1\n1", "write `%jaxwatch on --over 1` in its own cell."),
        ("%%jaxwatch -n 2\n1", "There is no option -n. `%jaxwatch?` lists the options."),
        ("%jaxlog --cpu 2", "There is no option --cpu. `%jaxlog?` lists the options."),
        ("%%jaxwatch on\n1", "%%jaxwatch takes only options, not 'on'."),
        ("%%jaxwatch -o 1\n1", "-o needs a name for the log, but got '1'."),
    ],
)
def test_wrong_options_are_refused_in_a_sentence(
    notebook: Notebook, line: str, sentence: str
) -> None:
    before = dict(notebook.names)
    ran = notebook.run(line)
    assert isinstance(ran.error, UsageError)
    assert sentence in ran.message
    assert ran.shown == ()
    assert {n for n in notebook.names if not n.startswith("_")} == {
        n for n in before if not n.startswith("_")
    }
    assert notebook.must("1 + 1").value == 2


# Numbers of cells.


def test_a_compile_knows_the_cell_that_ran_and_the_cell_of_its_line(notebook: Notebook) -> None:
    notebook.must("def train(n):\n    return step(np.ones(n))")
    defined = prompt(notebook)
    notebook.must("# training\ntrain(3)")
    ran = prompt(notebook)
    (compile,) = log(notebook).compiles
    assert compile.cell == ran
    names = [log(notebook).sources[frame.source or 0].name for frame in compile.stack]
    assert names == [f"In [{defined}]", f"In [{ran}]"]
    assert [frame.span.line for frame in compile.stack] == [2, 2]
    text = notebook.must("%jaxlog --view html").shown[0]["text/html"]
    assert f"In [{defined}]:2" in text
    assert f"called from In [{ran}]:2" in text


def test_a_cell_that_is_run_again_has_both_its_numbers(notebook: Notebook) -> None:
    notebook.must("size = 3")
    cell = "made = step(np.ones(size))"
    notebook.must(cell)
    first = prompt(notebook)
    notebook.must("size = 4")
    notebook.must(cell)
    second = prompt(notebook)
    found = log(notebook)
    assert [compile.cell for compile in found.compiles] == [first, second]
    assert [group.title for group in session(notebook).log().by_line()] != []
    places = {group.title for group in session(notebook).log().by_line()}
    assert places == {f"In [{first}]:1", f"In [{second}]:1"}


def test_numbers_are_right_after_ten_thousand_cells(notebook: Notebook) -> None:
    shell = notebook.shell
    shell.history_manager.input_hist_parsed.extend([""] * 10_000)
    shell.history_manager.input_hist_raw.extend([""] * 10_000)
    shell.execution_count += 10_000
    notebook.must("step(np.ones(9))")
    number = prompt(notebook)
    assert number > 10_000
    (compile,) = log(notebook).compiles
    assert compile.cell == number
    assert f"In [{number}]:1" in notebook.must("%jaxlog").text
    assert notebook.must(f"%jaxlog -q --since {number}").text.startswith("1 compile")
    assert notebook.must(f"%jaxlog -q --since {number + 1}").text == "Nothing was compiled."


def test_a_history_of_ten_thousand_cells_is_quick_and_bounded(notebook: Notebook) -> None:
    history = session(notebook).cells
    began = time.perf_counter()
    for serial in range(30_000):
        history.begin(serial)
        history.end(serial + 1, serial + 1)
    assert time.perf_counter() - began < 60
    assert len(history._cells) <= 10_001
    assert [history.cell(n) for n in (29_999, 30_000)] == [29_999, 30_000]


def test_a_cell_that_runs_a_cell_keeps_its_number(notebook: Notebook) -> None:
    notebook.must(
        "step(np.ones(3))\n"
        "get_ipython().run_cell('step(np.ones(4))', store_history=False)\n"
        "step(np.ones(5));"
    )
    assert {compile.cell for compile in log(notebook).compiles} == {prompt(notebook)}


def test_timed_code_is_named_after_its_cell(notebook: Notebook) -> None:
    notebook.must("%time y = step(np.ones(3))")
    assert f"%time in In [{prompt(notebook)}]:1" in notebook.must("%jaxlog").text


# Bad input.


def test_listeners_that_were_cleared_are_put_back_at_the_next_cell(notebook: Notebook) -> None:
    notebook.names["take_away"] = session(notebook).listener._unregister
    notebook.must("step(np.ones(3))")
    notebook.must("take_away()\nstep(np.ones(4))")
    notebook.must("step(np.ones(5))")
    ran = notebook.must("%jaxlog")
    assert ran.text.startswith("2 compiles in ")
    assert "jax.monitoring.clear_event_listeners() removed jaxscope's listener" in " ".join(
        ran.text.replace("`", "").split()
    )


def test_unloading_forgets_and_loading_again_begins_anew(notebook: Notebook) -> None:
    notebook.must("step(np.ones(3))")
    assert notebook.must("%jaxlog -q").text.startswith("1 compile")
    notebook.must("%reload_ext jaxscope")
    assert notebook.must("%jaxlog -q").text == "Nothing was compiled."
    notebook.must("step(np.ones(4))")
    assert notebook.must("%jaxlog -q").text.startswith("1 compile")


def test_unloading_inside_a_watch_leaves_the_watch_its_ears(notebook: Notebook) -> None:
    notebook.must(
        "import jaxscope\n"
        "with jaxscope.watch() as made:\n"
        "    step(np.ones(3))\n"
        "    get_ipython().run_line_magic('reload_ext', 'jaxscope')\n"
        "    step(np.ones(4))"
    )
    assert len(notebook.names["made"].compiles) == 2


def test_two_threads_compile_in_one_cell(notebook: Notebook) -> None:
    notebook.must(
        "import threading\n"
        "work = lambda n: [make()(np.ones(n + k)) for k in range(3)]\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in (1, 11)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads];"
    )
    assert len(log(notebook).compiles) == 6
    assert {compile.cell for compile in log(notebook).compiles} == {prompt(notebook)}


def test_code_without_a_source_recursion_and_cleared_caches(notebook: Notebook) -> None:
    notebook.must(
        "exec('made = jax.jit(lambda x: x + 1)\\ndef call(n):\\n    return made(np.ones(n))')"
    )
    notebook.must(
        "def down(n):\n    call(n)\n    return down(n - 1) if n > 1 else 0\ndown(4)\n"
        "jax.clear_caches()\ncall(4);"
    )
    found = log(notebook)
    assert len(found.compiles) == 5
    assert [str(cause.kind) for cause in found.compiles[-1].causes] == ["cache_cleared"]
    assert {found.sources[c.site.source or 0].name for c in found.compiles if c.site} == {
        "<string>"
    }
    text = notebook.must("%jaxlog").text
    assert "<string>:3" in text
    html = notebook.must("%jaxlog --view html").shown[0]["text/html"]
    assert "&lt;string&gt;:3" in html
    assert "down at In [" in html


def test_an_interrupt_in_the_middle_of_a_compile_loses_nothing(notebook: Notebook) -> None:
    notebook.must("def stop(x):\n    raise KeyboardInterrupt")
    ran = notebook.run("%%jaxwatch\nstep(np.ones(3))\njax.jit(stop)(1.0)")
    assert isinstance(ran.error, KeyboardInterrupt)
    assert ran.text.startswith("1 compile in ")
    assert "failed: KeyboardInterrupt" in ran.text
    assert notebook.must("%%jaxwatch -q\nstep(np.ones(4))").text.startswith("1 compile")


# Events for front ends.


def test_a_front_end_hears_of_every_compile(notebook: Notebook) -> None:
    events: list[CompileEvent] = []

    def fails(event: CompileEvent) -> None:
        raise ValueError("front end")

    unsubscribe = session(notebook).on_compile(fails)
    also = session(notebook).on_compile(events.append)
    notebook.shell.run_cell("step(np.ones(3))", store_history=True, cell_id="abc")
    notebook.must("# again\nstep(np.ones(4))")
    unsubscribe()
    also()
    notebook.must("step(np.ones(5))")
    first, second = events
    assert (first.fun_name, first.cell_id, first.recompile) == ("step", "abc", False)
    assert first.cell == prompt(notebook) - 2
    assert second.place == f"In [{second.cell}]:2"
    assert (second.line, second.text, second.recompile) == (2, "step(np.ones(4))", True)
    assert second.cause
    assert second.fix
    assert second.seconds > 0
    for event in events:
        jsonschema.validate(to_json(event), event_schema())


def test_without_anybody_to_tell_nothing_is_worked_out(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jaxscope.capture.compile_log import log as gathered

    monkeypatch.setattr(gathered, "build_event", lambda *_: pytest.fail("nobody listens"))
    notebook.must("step(np.ones(3))")
    assert session(notebook).listener.errors == 0


FIRST_CELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext jaxscope", store_history=True).raise_error()
import sys
assert "jax" not in sys.modules
shell.run_cell(
    "import jax\\nimport numpy as np\\njax.jit(lambda x: x + 1)(np.ones(3))", store_history=True
).raise_error()
shell.run_cell("%jaxlog", store_history=True).raise_error()
shell.run_cell("from jax._src import monitoring\\nmonitoring.clear_event_listeners()").raise_error()
shell.run_cell("jax.jit(lambda x: x + 2)(np.ones(3))", store_history=True).raise_error()
print("cleared")
shell.run_cell("%jaxlog", store_history=True).raise_error()
shell.run_cell("%unload_ext jaxscope").raise_error()
shell.run_cell("%load_ext jaxscope").raise_error()
shell.run_cell("%unload_ext jaxscope").raise_error()
print(len(sys.meta_path), [f for f in sys.meta_path if type(f).__module__.startswith("jaxscope")])
"""


def test_the_cell_that_imports_jax_is_heard_from_its_first_compile_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FIRST_CELL)],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1 compile in " in done.stdout
    before, _, after = done.stdout.partition("cleared")
    assert "In [2]:3  <lambda>" in before
    assert "2 compiles in " in after
    assert "`jax.monitoring.clear_event_listeners()` removed jaxscope's listener" in " ".join(
        after.split()
    )
    assert done.stdout.splitlines()[-1].endswith(" []")


@pytest.mark.parametrize("magic", ["%%jaxwatch", "%%jaxjit"])
def test_an_interrupted_compilation_has_its_seconds_by_line(notebook: Notebook, magic: str) -> None:
    notebook.must("import jax, time\nimport jax.numpy as jnp\nx = jnp.ones(3)")
    ran = notebook.run(
        f"{magic} --compile-time\n"
        "def stopped(x):\n"
        "    time.sleep(0.1)\n"
        "    raise KeyboardInterrupt\n"
        "jax.jit(stopped)(x)"
    )
    assert isinstance(ran.error, KeyboardInterrupt)
    shown = ran.text + ran.printed
    assert "KeyboardInterrupt ended a compilation: these are its seconds so far." in shown
    assert "time.sleep(0.1)" in shown
