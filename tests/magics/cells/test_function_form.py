"""Function form: which calls are compiled, how often they are traced, and what the report says."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope.capture.options.refusals import RefusedError
from jaxscope.capture.run import callee, function_form, program_run
from jaxscope.model import CauseKind, Form, SourceKind
from tests.magics.notebook import Notebook, Ran, open_notebook

SETUP = "import jax, jax.numpy as jnp, numpy as np\nx = jnp.arange(3.0)\ntraces = []"


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


def words(ran: Ran) -> str:
    return " ".join(ran.text.split())


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that were traced, by name."""
    found: list[str] = []
    original = callee.Callee._traced

    def noted(self: Any, *args: Any) -> Any:
        found.append(self._name)
        return original(self, *args)

    monkeypatch.setattr(callee.Callee, "_traced", noted)
    return found


def test_a_loop_of_calls_is_traced_once(notebook: Notebook, traced: list[str]) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1 -o rep\ndef step(p, v):\n    return {k: w * v.sum() for k, w in p.items()}\n"
        "p = {'a': x, 'b': x + 1}\nfor _ in range(1000):\n    p = step(p, x * 0.5)"
    )
    assert traced == ["step"]
    assert "1,000 calls compiled" in words(ran) or "1000 calls compiled" in words(ran)
    assert notebook.names["rep"].record.form is Form.FUNCTION
    made = [one for one in notebook.names["rep"].compiles if one.fun_name == "step"]
    assert len(made) == 1


def test_a_dict_in_another_order_is_traced_again_and_not_lowered(
    notebook: Notebook, traced: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered: list[str] = []
    original = callee.Run.compile

    def noted(self: Any, program: Any) -> Any:
        lowered.append(program.request.name)
        return original(self, program)

    monkeypatch.setattr(callee.Run, "compile", noted)
    notebook.must(
        "%%jaxjit -n 1 -q\n"
        "def step(p):\n    return jax.tree.map(lambda one: one * 2, p)\n"
        "def first(p):\n    return next(iter(p.values())) + 1\n"
        "p = {'b': x, 'a': x + 1}\n"
        "for _ in range(5):\n    p = step(p)\n"
        "one, other = first({'b': x, 'a': x + 1}), first({'a': x + 1, 'b': x})"
    )
    assert traced == ["step", "step", "first", "first"]
    assert lowered == ["step", "first", "first"]  # the order decides what `first` computes
    assert list(notebook.names["p"]) == ["a", "b"]
    np.testing.assert_array_equal(notebook.names["p"]["b"], 32 * np.arange(3.0))
    np.testing.assert_array_equal(notebook.names["one"], np.arange(3.0) + 1)
    np.testing.assert_array_equal(notebook.names["other"], np.arange(3.0) + 2)


def test_a_builtin_is_looked_at_once_per_call(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    original = function_form._Callees._pick_other
    monkeypatch.setattr(
        function_form._Callees,
        "_pick_other",
        lambda self, function: (seen.append(function), original(self, function))[1],
    )
    notebook.must(
        "%%jaxjit -n 1 -q\ndef f(v):\n    return v\nn = [len([i]) for i in range(3)]\nf(x)"
    )
    assert seen.count(len) == 3
    assert len(seen) < 10


def test_a_loop_that_trains_a_flax_model_is_traced_once(
    notebook: Notebook, traced: list[str]
) -> None:
    pytest.importorskip("flax.nnx")
    notebook.must(
        "from flax import nnx\nimport optax\nmodel = nnx.Linear(3, 1, rngs=nnx.Rngs(0))\n"
        "opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)\nt = jnp.ones((4, 1))\n"
        "data = jnp.ones((4, 3))"
    )
    notebook.must(
        "%%jaxjit -q -n 1\ndef step(model, opt, v, t):\n"
        "    loss, g = nnx.value_and_grad(lambda m: ((m(v) - t) ** 2).mean())(model)\n"
        "    opt.update(model, g)\n    return loss\n"
        "losses = [float(step(model, opt, data, t)) for _ in range(20)]"
    )
    assert traced == ["step"]
    assert notebook.names["losses"][-1] < 0.1 * notebook.names["losses"][0]


@pytest.mark.parametrize(
    ("setup", "change"),
    [
        ("scale = 2.0", "scale = 3.0"),
        ("scale = [2.0]", "scale[0] = 3.0"),
        ("scale = np.ones(3)", "scale[:] = 3.0"),
        ("from types import SimpleNamespace as S\nscale = S(w=2.0)", "scale.w = 3.0"),
    ],
)
def test_what_a_function_reads_is_read_again_when_it_changes(
    notebook: Notebook, traced: list[str], setup: str, change: str
) -> None:
    read = "scale.w" if "S(" in setup else "scale[0]" if "[2.0]" in setup else "scale"
    notebook.must(setup)
    notebook.must(
        f"%%jaxjit -q -n 1\ndef f(v):\n    return v * {read}\nf(x), f(x)\n{change}\nf(x)\ny = f(x)"
    )
    assert traced == ["f", "f"]
    np.testing.assert_allclose(notebook.names["y"], 3 * notebook.names["x"])


@pytest.mark.parametrize(
    ("setup", "read", "change"),
    [
        (
            "class Act:\n    def __call__(self, v): return v * 2\nact = Act()",
            "act(v)",
            "Act.__call__ = lambda self, v: v * 3",
        ),
        (
            "def act(v): return v * 2\ndef other(v): return v * 3",
            "act(v)",
            "act.__code__ = other.__code__",
        ),
        ("def act(v, *, k=2): return v * k", "act(v)", "act.__kwdefaults__['k'] = 3"),
        ("def act(v): return v * act.k\nact.k = 2", "act(v)", "act.k = 3"),
        (
            "table = {'a': 2, 'b': 3}",
            "v * list(table.values())[0]",
            "table['a'] = table.pop('a')",
        ),
        ("rows = [2, 5]", "v * (rows[0] + len(rows))", "rows.append(5)"),
        ("class S:\n    k = 2\ns = S()", "v * s.k", "s.__dict__ = {'k': 3}"),
        ("import types\nm = types.ModuleType('m')\nm.k = 2", "v * m.k", "m.k = 3"),
        (
            "import types\nm = types.ModuleType('m')\nm.table = {'k': 2}",
            "v * m.table['k']",
            "m.table['k'] = 3",
        ),
        ("import optax\noptax.times = 2", "v * optax.times", "optax.times = 3"),
    ],
)
def test_what_lies_below_a_name_is_read_again_when_it_changes(
    notebook: Notebook, setup: str, read: str, change: str
) -> None:
    cell = f"def f(v):\n    return {read}\na = f(x), f(x)\n{change}\nb = f(x)"
    notebook.must(f"{setup}\n{cell}")
    plain = {name: notebook.names[name] for name in "ab"}
    notebook.must(setup)
    ran = notebook.must(f"%%jaxjit -n 1\n{cell}")
    assert "3 calls compiled" in words(ran)
    for name in "ab":
        np.testing.assert_array_equal(notebook.names[name], plain[name])
    assert not np.array_equal(plain["a"][0], plain["b"])


@pytest.mark.parametrize(
    "change",
    [
        "model.drop.deterministic = True",
        "model.drop.rate = 0.0",
        "model.layers[0].bias = nnx.Param(model.layers[0].bias[...] + 1)",
        "model.layers[0].bias[...] += 1",
        "model.layers[0].bias = model.layers[1].bias",
        "model.layers.append(model.layers[0])",
        "model.scale = 3.0",
        "model.table['k'] = 3.0",
        "model.extra = nnx.Param(jnp.ones(3))",
        "model.layers[0].bias.set_metadata(scale=2.0)",
    ],
)
def test_a_model_that_changes_between_two_calls_is_read_again(
    notebook: Notebook, change: str
) -> None:
    pytest.importorskip("flax.nnx")
    setup = (
        "from flax import nnx\n"
        "class Model(nnx.Module):\n"
        "    def __init__(self, rngs):\n"
        "        self.layers = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(2)])\n"
        "        self.drop = nnx.Dropout(0.5, rngs=rngs)\n"
        "        self.scale = 2.0\n"
        "        self.table = nnx.Dict({'k': 2.0})\n"
        "    def __call__(self, v):\n"
        "        for layer in self.layers:\n"
        "            v = layer(v) * layer.bias.get_metadata().get('scale', 1.0)\n"
        "        if hasattr(self, 'extra'): v = v + self.extra[...]\n"
        "        return self.drop(v) * self.scale * self.table['k']\n"
        "model = Model(nnx.Rngs(0))"
    )
    cell = f"def f(m, v):\n    return m(v)\na = [f(model, x) for _ in range(3)]\n{change}\n"
    cell += "b = [f(model, x) for _ in range(2)]"
    notebook.must(f"{setup}\n{cell}")
    plain = {name: notebook.names[name] for name in "ab"}
    notebook.must(setup)
    ran = notebook.must(f"%%jaxjit -n 1\n{cell}")
    assert "5 calls compiled" in words(ran)
    for name in "ab":
        np.testing.assert_allclose(notebook.names[name], plain[name], rtol=1e-5)


def test_models_of_one_structure_share_a_trace(notebook: Notebook, traced: list[str]) -> None:
    pytest.importorskip("flax.nnx")
    notebook.must(
        "from flax import nnx\nmodels = [nnx.Linear(3, 3, rngs=nnx.Rngs(i)) for i in range(3)]"
    )
    notebook.must("%%jaxjit -q -n 1\ndef f(m, v):\n    return m(v)\nys = [f(m, x) for m in models]")
    assert traced == ["f"]
    for model, y in zip(notebook.names["models"], notebook.names["ys"], strict=True):
        np.testing.assert_allclose(y, model(notebook.names["x"]), rtol=1e-6)


def test_a_gradient_made_anew_in_each_step_is_traced_once(
    notebook: Notebook, traced: list[str]
) -> None:
    notebook.must(
        "%%jaxjit -q -n 1\ndef loss(w):\n    return (w ** 2).sum()\n"
        "w = x\nfor _ in range(10):\n    w = w - 0.1 * jax.grad(loss)(w)"
    )
    assert traced == ["grad(loss)"]


def test_a_call_that_is_refused_is_tried_once_and_told_with_line_and_fix(
    notebook: Notebook, traced: list[str]
) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\ndef f(v):\n    if v.sum() > 0:\n        return v\n    return -v\n"
        "ys = [f(x) for _ in range(5)]"
    )
    assert "0 calls compiled, 5 as plain Python" in words(ran)
    assert "`f` ran as plain Python 5 times: line 3: `v` is traced" in words(ran)
    assert "write `return jnp.where(v.sum() > 0, v, -v)`" in words(ran)


def test_an_error_that_only_a_trace_meets_is_the_reason(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxjit -n 1\ndef f(v):\n    return v, len(v._arrays)\ny = f(x)")
    assert "`f` ran as plain Python: line 3: AttributeError: " in words(ran)


def test_wrong_shapes_are_a_reason_of_one_sentence(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\ndef f(v):\n    return v @ jnp.ones((2, 2))\n"
        "try:\n    f(x)\nexcept TypeError:\n    pass"
    )
    assert "`f` ran as plain Python: line 3: TypeError: dot_general requires" in words(ran)


def test_an_error_of_some_shapes_is_none_of_others(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\ndef f(v):\n    return v + jnp.ones(3)\nfor n in (2, 4, 3, 5, 6, 7, 3):\n"
        "    try:\n        y = f(jnp.zeros(n))\n    except TypeError:\n        pass"
    )
    assert "2 calls compiled, 5 as plain Python" in words(ran)
    assert words(ran).count("incompatible shapes for broadcasting") == 4
    assert "1 more call ran as plain Python, for other reasons." in words(ran)


def test_a_jitted_call_whose_error_the_cell_catches_is_left_out(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\n@jax.jit\ndef wrong(v):\n    raise ValueError('no')\n"
        "@jax.jit\ndef right(v):\n    return v * 2\n"
        "try:\n    wrong(x)\nexcept ValueError:\n    y = right(x)"
    )
    assert "jaxscope could not" not in words(ran)
    assert "jit(right)" in words(ran)


@pytest.mark.parametrize("options", ["", " -n 1"])
def test_a_jitted_function_that_writes_a_ref_is_reported_and_runs_once(
    options: str, notebook: Notebook
) -> None:
    notebook.must("r, s = jax.new_ref(x), jax.new_ref(x)")
    ran = notebook.must(
        f"%%jaxjit{options}\n@jax.jit\ndef double(r):\n    r[...] += 1\n    s[...] += 1\n"
        "double(r)\ny, z = r[...], s[...]"
    )
    assert "jaxscope could not" not in words(ran)
    for name, found in (("r", "y"), ("s", "z")):
        now = notebook.names[name][...]
        np.testing.assert_allclose(now, notebook.names["x"] + 1)
        np.testing.assert_allclose(now, notebook.names[found])


def test_a_ref_that_a_cell_writes_is_listed_once(notebook: Notebook) -> None:
    notebook.must("r = jax.new_ref(x)")
    notebook.must("%%jaxjit -n 1\nr[...] += 1")
    program = jaxscope.last().programs[0]
    assert [value.name for value in (*program.inputs, *program.constants)] == ["r"]


def test_names_stay_the_functions_that_python_made(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -q -n 1\ndef f(v):\n    return v * 2\ny = f(x)")
    f = notebook.names["f"]
    assert type(f).__name__ == "function"
    assert not hasattr(f, "lower")
    assert "pick" not in notebook.names


def test_only_chooses_the_calls(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1 --only g\ndef f(v): return v * 2\ndef g(v): return v * 3\nf(x), g(x)"
    )
    assert "1 call compiled" in words(ran)


def test_a_cell_that_only_defines_says_what_to_do(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxjit -n 1\ndef f(v):\n    return v * 2")
    assert "so jaxscope compiled nothing. Call `f` here, run `%jaxjit f(...)`" in words(ran)


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        ("lax.scan(pair, 0.0, x)[0]", "scan", 6.0),
        ("lax.fori_loop(0, 3, twice, x)", "fori_loop", [0, 8, 16, 24]),
        ("lax.while_loop(lambda v: v[0] < 3, inc, x)", "while_loop", [3, 4, 5, 6]),
        ("lax.map(inc, x)", "map", [1, 2, 3, 4]),
        ("lax.cond(x[1] > 0, inc, jnp.sin, x)", "cond", [1, 2, 3, 4]),
        ("lax.switch(0, [inc, jnp.sin], x)", "switch", [1, 2, 3, 4]),
        ("lax.associative_scan(plus, x)", "associative_scan", [0, 1, 3, 6]),
    ],
)
def test_the_program_of_a_loop_of_jax_is_shown(
    notebook: Notebook, call: str, name: str, value: Any
) -> None:
    notebook.must("from jax import lax\nx = jnp.arange(4.0)")
    defined = (
        "def pair(c, v):\n    return c + v, c * v\n"
        "def inc(v):\n    return v + 1\n"
        "def plus(a, b):\n    return a + b\n"
        "def twice(i, v):\n    return v * 2\n"
    )
    notebook.must(f"%%jaxjit -n 1 -o shown\n{defined}y = {call}")
    shown = notebook.names["shown"]
    assert shown.programs[0].name.removeprefix("_") == name  # jax 0.8 has `_cond`
    assert notebook.names["y"].tolist() == value
    assert shown.sources[0].kind is SourceKind.CELL
    assert any(shown.stage_lines("optimized_hlo", line).lines for line in (3, 5, 7, 9))


def test_a_loop_of_jax_that_prints_prints_as_often_as_before(notebook: Notebook) -> None:
    cell = (
        "def said(i):\n    print('traced')\n    return i\n"
        "def body(i, v):\n    return v + said(i)\nz = jax.lax.fori_loop(0, 3, body, x)"
    )
    assert notebook.must(f"%%jaxjit\n{cell}").printed.count("traced") == 1


def test_a_loop_of_jax_that_is_not_compiled_has_its_effects(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit\ncount = [0]\ndef body(i, v):\n    count[0] += 1\n    return v + i\n"
        "z = jax.lax.fori_loop(0, 5, body, 0)"
    )
    assert notebook.names["count"] != [0]
    assert int(notebook.names["z"]) == 10


def test_a_function_that_is_handed_over_is_not_denied_what_jax_compiled(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxjit\ndef f(v):\n    return v * 2\nz = jnp.vectorize(f)(x)")
    assert "nothing was compiled" not in words(ran)


def test_an_int_that_differs_in_each_call_ends_in_plain_python_with_the_option(
    notebook: Notebook,
) -> None:
    cell = "def f(v, n):\n    return v * n\nys = [f(x, n) for n in range(9)]"
    ran = notebook.must(f"%%jaxjit -n 1\n{cell}")
    assert "4 calls compiled, 5 as plain Python" in words(ran)
    assert "run with `-t n`" in words(ran)
    assert "9 calls compiled" in words(notebook.must(f"%%jaxjit -n 1 -t n\n{cell}"))


def test_cleared_caches_between_calls_change_nothing(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -q -n 1\ndef f(v):\n    traces.append(1) if False else None\n    return v * 2\n"
        "a = f(x)\njax.clear_caches()\nb = f(x)\nc = f(x)"
    )
    np.testing.assert_array_equal(notebook.names["c"], notebook.names["a"])


@pytest.mark.parametrize("magic", ["%%jaxjit -q", "%%jaxgrad -q -w x", "%%jaxvmap -q"])
def test_a_cell_runs_its_code_once_after_the_caches_were_cleared(
    notebook: Notebook, magic: str
) -> None:
    notebook.must("it = iter(range(9))")
    cell = f"{magic} -n 1\nk = next(it)\ny = (x * 2).sum()"
    notebook.must(cell)
    notebook.must("jax.clear_caches()")
    ran = notebook.must(cell)
    assert "jaxscope could not" not in ran.text
    assert notebook.names["k"] == 1


def test_a_call_for_which_the_cell_turns_jit_off_runs_as_written(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\ndef f(v):\n    return v * 2\na = f(x)\nwith jax.disable_jit():\n"
        "    b = f(x)\nc = f(x)\nequal = bool((a == b).all() and (b == c).all())"
    )
    assert "2 calls compiled, 1 as plain Python" in words(ran)
    assert "`f` ran as plain Python: jax_disable_jit is on." in words(ran)
    assert notebook.names["equal"] is True
    ran = notebook.must(
        "%%jaxgrad\ndef f(v):\n    return (v ** 2).sum()\nwith jax.disable_jit():\n    g = f(x)"
    )
    assert "this call (jax_disable_jit is on), so JAX ran it alone." in words(ran)
    assert (notebook.names["g"] == 2 * notebook.names["x"]).all()


@pytest.mark.parametrize("setting", ["jax_disable_jit", "jax_check_tracer_leaks"])
@pytest.mark.parametrize("body", ["k = next(it)", "def f():\n    return next(it)\nk = f()"])
def test_a_setting_that_forbids_compiling_means_one_plain_run_and_a_sentence(
    notebook: Notebook, setting: str, body: str
) -> None:
    notebook.must("it = iter(range(9))")
    notebook.must(f"jax.config.update('{setting}', True)")
    try:
        ran = notebook.must(f"%%jaxjit -n 1\n{body}")
    finally:
        jax.config.update(setting, False)
    assert f"({setting} is on), so it ran as plain Python." in words(ran)
    assert notebook.names["k"] == 0


def test_a_call_by_itself_is_refused_like_a_cell(notebook: Notebook) -> None:
    notebook.must("d = {}\ndef put(d, v):\n    d['a'] = v * 2")
    ran = notebook.run("%jaxjit put(d, x)")
    assert "changes `d` in place" in ran.message
    assert notebook.names["d"] == {}


def test_inspect_refuses_what_a_cell_refuses() -> None:
    kept: list[Any] = []

    def keep(v: Any) -> Any:
        kept.append(v)
        return v * 2

    with pytest.raises(RefusedError, match="changes `kept` in place"):
        jaxscope.inspect(keep, jnp.ones(3))
    assert kept == []


def test_a_fault_of_ours_in_a_call_leaves_its_value(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("jaxscope.capture.run.program_run.trace_program", broken)
    ran = notebook.must("%%jaxjit -n 1\ndef f(v):\n    return v * 2\ny = f(x)")
    assert "jaxscope could not compile this call (RuntimeError: broken on purpose)" in words(ran)
    np.testing.assert_array_equal(notebook.names["y"], 2 * notebook.names["x"])


@pytest.mark.parametrize("magic", ["jaxjit", "jaxgrad", "jaxvmap"])
def test_a_failing_cell_leaves_what_plain_python_leaves(notebook: Notebook, magic: str) -> None:
    notebook.must("rows, table = [], {}")
    ran = notebook.run(
        f"%%{magic} -q -n 1\ndef f(v):\n    return (v**2).sum()\n"
        "rows.append(f(x))\ntable['k'] = rows[0]\nnew = 1\n1 / 0"
    )
    assert isinstance(ran.error, ZeroDivisionError)
    (value,) = notebook.names["rows"]
    assert notebook.names["table"]["k"] is value
    assert notebook.names["new"] == 1
    assert callable(notebook.names["f"])


def test_a_refused_call_under_a_transform_claims_nothing_of_the_cell(notebook: Notebook) -> None:
    ran = notebook.run(
        "%%jaxgrad -q -n 1\ndef f(d):\n    d['z'] = 3\n    return d['a'].sum()\n"
        "made = {'a': x}\nf(made)"
    )
    assert "changes `d` in place" in ran.message
    assert "No variable was changed" not in ran.message
    assert notebook.names["made"].keys() == {"a"}


def test_a_thousand_functions_in_one_cell(notebook: Notebook) -> None:
    body = "\n".join(f"def f{i}(v):\n    return v + {i}" for i in range(1000))
    notebook.must(f"%%jaxjit -q -n 1\n{body}\ny = f7(x)")
    np.testing.assert_array_equal(notebook.names["y"], notebook.names["x"] + 7)


def test_a_function_with_a_decorator_of_another_cell_is_said_to_run_as_decorated(
    notebook: Notebook,
) -> None:
    notebook.must(
        "class Wrapped:\n"
        "    def __init__(self, f): self.function = f\n"
        "    def __call__(self, *args): return self.function(*args)\n"
    )
    ran = notebook.must("%%jaxjit\n@Wrapped\ndef train(v):\n    return v * 2\ny = train(x)\n")
    assert "`train` ran as decorated, so jaxscope compiled nothing." in words(ran)
    assert "calls no function" not in words(ran)
    assert float(notebook.names["y"].sum()) == 6.0


def _lines(report: jaxscope.Report) -> set[int]:
    return {equation.span.line for equation in report.equations if equation.span is not None}


def test_the_program_of_an_nnx_jit_function_is_reported_by_line(notebook: Notebook) -> None:
    pytest.importorskip("flax")
    notebook.must(
        "from flax import nnx\n"
        "model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))\n"
        "before = model.kernel[...].sum()\n"
    )
    ran = notebook.must(
        "%%jaxjit -n 2\n"
        "@nnx.jit\n"
        "def train(model, x):\n"
        "    loss, g = nnx.value_and_grad(lambda m: (m(x) ** 2).sum())(model)\n"
        "    nnx.update(model, jax.tree.map(lambda p, d: p - 0.1 * d, nnx.state(model), g))\n"
        "    return loss\n"
        "losses = [float(train(model, x)) for _ in range(3)]\n"
    )
    assert "train jitted by the cell" in words(ran)
    report = jaxscope.last()
    assert [program.title for program in report.programs] == ["jit(train)"]
    assert {4, 5} <= _lines(report)
    losses = notebook.names["losses"]
    assert losses == sorted(set(losses), reverse=True)
    assert len(losses) == 3
    # The timed calls train nothing.
    notebook.must("after = float(train(model, x))")
    assert notebook.names["after"] < losses[-1]


@pytest.mark.parametrize("decorated", ["function", "method"])
def test_the_program_of_a_filter_jit_function_is_reported_by_line(
    notebook: Notebook, decorated: str
) -> None:
    pytest.importorskip("equinox")
    notebook.must("import equinox as eqx\nmlp = eqx.nn.MLP(3, 1, 8, 2, key=jax.random.key(0))")
    cells = {
        "function": (
            "@eqx.filter_jit\ndef step(m, v):\n    return jnp.tanh(m(v))\ny = step(mlp, x)\n"
        ),
        "method": (
            "class Model(eqx.Module):\n    w: jax.Array\n    @eqx.filter_jit\n"
            "    def __call__(self, v):\n        return jnp.tanh(v @ self.w)\n"
            "y = Model(jnp.ones((3, 3)))(x)\n"
        ),
    }
    notebook.must("%%jaxjit -n 2\n" + cells[decorated])
    report = jaxscope.last()
    (program,) = report.programs
    assert program.title == {"function": "jit(step)", "method": "jit(__call__)"}[decorated]
    line = {"function": 4, "method": 6}[decorated]
    assert line in _lines(report)


def test_each_transform_of_a_function_is_a_program_by_its_own_name(notebook: Notebook) -> None:
    cell = (
        "%%jaxjit -n 2\n"
        "def loss(v):\n    return jnp.tanh(v).sum()\n"
        "a = jax.jit(jax.grad(loss))(x)\n"
        "b = jax.value_and_grad(loss)(x)\n"
        "c = jax.hessian(loss)(x)\n"
        "d = loss(x)\n"
    )
    notebook.must(cell)
    titles = {program.title for program in jaxscope.last().programs}
    assert titles == {
        "jit(grad(loss))",
        "jit(value_and_grad(loss))",
        "jit(jacfwd(jacrev(loss)))",
        "jit(loss)",
    }
    notebook.must(cell)
    report = jaxscope.last()
    again = {
        program.title: [report.compiles[i].causes[0].kind for i in program.compiles]
        for program in report.programs
    }
    # The cell makes a new jitted function; the other transforms are known.
    assert {title: kinds for title, kinds in again.items() if kinds} == {
        "jit(grad(loss))": [CauseKind.REDEFINED]
    }


def test_many_calls_under_a_transform_name_the_option_that_traces_once(notebook: Notebook) -> None:
    body = "def f(v):\n    return (v * v).sum()\nrows = [f(x) for _ in range(20)]\nrows[0]"
    told = "was traced in each of 20 calls"
    ran = notebook.must(f"%%jaxgrad -w v -n 1\n{body}")
    assert told in words(ran)
    assert "Run with `--decorate`" in words(ran)
    assert told not in words(notebook.must(f"%%jaxgrad --decorate -w v -n 1\n{body}"))
    assert told not in words(notebook.must(f"%%jaxgrad -w v -n 1\n{body.replace('20', '3')}"))


def test_gradients_of_one_function_with_other_options_are_other_programs(
    notebook: Notebook,
) -> None:
    cell = (
        "%%jaxjit -n 1\ndef loss(w, v):\n    return (w * v).sum()\n"
        "for where in (0, 1, (0, 1)):\n    g = jax.grad(loss, argnums=where)(x, x)"
    )
    notebook.must(cell)
    causes = [cause.kind for one in jaxscope.last().compiles for cause in one.causes]
    assert causes == 3 * [CauseKind.FIRST_CALL]
    notebook.must(cell)
    assert jaxscope.last().compiles == ()


def test_derivatives_of_higher_order_are_other_programs(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -n 1\ndef loss(v):\n    return jnp.sin(v)\n"
        "slope = jax.grad(loss)(0.5)\n"
        "third = jax.grad(jax.jit(jax.grad(jax.jit(jax.grad(loss)))))(0.5)"
    )
    report = jaxscope.last()
    titles = {program.title for program in report.programs}
    assert titles == {"jit(grad(loss))", "jit(grad(grad(grad(loss))))"}
    causes = [cause.kind for one in report.compiles for cause in one.causes]
    assert causes == 2 * [CauseKind.FIRST_CALL]


@pytest.mark.parametrize("graph", ["", ", graph=False"])
def test_a_gradient_of_nnx_is_compiled_once_and_named(notebook: Notebook, graph: str) -> None:
    pytest.importorskip("flax.nnx")
    notebook.must(
        "from flax import nnx\nmodel = nnx.Linear(8, 1, rngs=nnx.Rngs(0))\nrows = jnp.ones((4, 8))"
    )
    ran = notebook.must(
        "%%jaxjit -n 1\ndef loss(m, v):\n    return (m(v) ** 2).sum()\n"
        f"for _ in range(3):\n    g = nnx.grad(loss{graph})(model, rows)\n"
        f"y, h = nnx.value_and_grad(loss{graph})(model, rows)"
    )
    assert len(jaxscope.last().programs) == 2
    assert {"jit(grad(loss))", "jit(value_and_grad(loss))"} <= set(ran.text.split())
    assert "4 calls compiled" in words(ran)
    assert {value.name for one in jaxscope.last().programs for value in one.inputs} == {
        *("m.bias", "m.kernel", "v")
    }
    notebook.must(f"plain = nnx.grad(loss{graph})(model, rows)")
    for name in ("g", "h"):
        same = f"jax.tree.map(jnp.allclose, {name}, plain)"
        assert notebook.must(f"bool(jax.tree.all({same}))").value


def test_a_transform_of_equinox_is_in_the_name(notebook: Notebook) -> None:
    pytest.importorskip("equinox")
    notebook.must("import equinox as eqx\ndef loss(w, v):\n    return (w * v).sum()")
    ran = notebook.must("%jaxjit -q -n 1 eqx.filter_grad(loss)(x, x)")
    assert ran.text.startswith("jit(filter_grad(loss)) · ")


@pytest.mark.parametrize("times", [1, 2])
def test_what_another_thread_draws_while_a_call_is_traced_is_not_the_calls(
    notebook: Notebook, traced: list[str], monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    original = program_run.trace_program

    def drawing(*args: Any) -> Any:
        if len(traced) <= times:
            other = threading.Thread(target=random.random)
            other.start()
            other.join()
        return original(*args)

    monkeypatch.setattr(program_run, "trace_program", drawing)
    ran = notebook.must("%%jaxjit -n 1\ndef f(v): return v * 2\nf(x)")
    assert traced == ["f", "f"]
    assert ("1 call compiled ·" in words(ran)) is (times == 1)
    assert ("it draws from a random generator" in words(ran)) is (times == 2)


def test_a_call_that_draws_is_traced_twice_and_draws_once(
    notebook: Notebook, traced: list[str]
) -> None:
    cell = "{}random.seed(1)\ndef f(v): return v + random.random()\nr = [f(x), f(x)]"
    notebook.must("import random")
    notebook.must(cell.format(""))
    plain = np.asarray(notebook.names["r"])
    ran = notebook.must(cell.format("%%jaxjit\n"))
    np.testing.assert_array_equal(np.asarray(notebook.names["r"]), plain)
    assert traced == ["f", "f"]
    assert "`f` ran as plain Python 2 times: it draws from a random generator" in words(ran)


def test_a_draw_in_a_trace_that_jax_keeps_is_drawn_once(notebook: Notebook) -> None:
    cell = (
        "{}random.seed(1)\n@jax.jit\ndef noise(v): return v + random.random()\n"
        "def f(v): return noise(v) * 2\nr = [f(x), f(x)]\nafter = random.random()"
    )
    notebook.must("import random")
    notebook.must(cell.format(""))
    plain, after = np.asarray(notebook.names["r"]), notebook.names["after"]
    notebook.must(cell.format("%%jaxjit -n 1\n"))
    np.testing.assert_array_equal(np.asarray(notebook.names["r"]), plain)
    assert notebook.names["after"] == after


@pytest.mark.parametrize(
    "read",
    [
        "collections.UserDict(w=w)['w']",
        "held['w']",
        "proxy['w']",
        "globals()['w']",
        "cached()",
        "jax.lax.fori_loop(0, 1, lambda i, c: held['w'], v)",
    ],
)
def test_an_array_that_changes_in_place_where_no_name_leads_has_its_new_values(
    notebook: Notebook, read: str
) -> None:
    notebook.must(
        "import collections, functools, types\nw = np.ones(3)\n"
        "held = collections.UserDict(w=w)\nproxy = types.MappingProxyType({'w': w})\n"
        "@functools.lru_cache\ndef cached(): return w\n"
    )
    notebook.must(
        "%%jaxjit -q -n 1\ndef f(v):\n"
        f"    return v * jnp.float32(1) * {read}\na = f(x)\nw += 1\nb = f(x)"
    )
    notebook.must(f"%%jaxgrad -q -n 1 -w x\n(x * {read.replace('v)', 'x)')}).sum()")
    notebook.must("w += 1; first = _")
    notebook.must(f"%%jaxgrad -q -n 1 -w x\n(x * {read.replace('v)', 'x)')}).sum()")
    notebook.must("second = _\nassert cached() is w")
    names = {name: np.asarray(notebook.names[name])[1] for name in ("a", "b", "first", "second")}
    assert names == {"a": 1.0, "b": 2.0, "first": 2.0, "second": 3.0}
