"""Transforms with Flax NNX objects, in every form, and when jaxscope itself fails."""

from __future__ import annotations

import sys
import sysconfig
import types
from collections.abc import Iterator
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope.capture.timing import timed_calls
from jaxscope.model import Timing
from tests.magics.notebook import Notebook, open_notebook
from tests.private_names import break_private, private_functions

SETUP = """
import jax
from jax import lax
import jax.numpy as jnp
x = jnp.linspace(-1.0, 1.0, 24).reshape(8, 3)
y = jnp.linspace(0.0, 1.0, 8)
w = jnp.array([1.0, -2.0, 0.5])
rows = []
def f(v, k):
    return v * k
"""
NNX = """
from flax import nnx
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
class Counter(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.float32(0.0))
        self.weight = nnx.Param(jnp.ones(3))
    def __call__(self, x):
        self.calls[...] = self.calls[...] + 1.0
        return x @ self.weight[...]
counter = Counter()
"""


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


def same(ours: Any, plain: Any) -> None:
    for a, b in zip(jax.tree_util.tree_leaves(ours), jax.tree_util.tree_leaves(plain), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-6)


def test_a_call_takes_its_tangents_from_the_namespace(notebook: Notebook) -> None:
    notebook.must("dv = jnp.ones((8, 3))")
    ran = notebook.must("%jaxgrad -q -n 1 -w v --mode jvp --tangents dv f(x, 2.0)")
    same(ran.value, 2 * jnp.ones((8, 3)))


# Flax NNX


@pytest.fixture
def nnx(notebook: Notebook) -> Any:
    nnx = pytest.importorskip("flax.nnx")
    notebook.must(NNX)
    return nnx


@pytest.mark.parametrize(
    "line",
    [
        "%jaxjit -q f(mine, 2.0)",
        "%jaxgrad -q f(mine, 2.0).sum()",
        "%jaxgrad -q -w v --mode jvp --tangents shift f(mine, 2.0)",
        "%jaxvmap -q (lambda row: f(row, mine.sum()))(x)",
        "%jaxprof -q f(mine, 2.0)",
        "%jaxbench -q f(mine, 2.0) vs mine * 2",
        "%jaxflags --time-limit 1 f(mine, 2.0)",
    ],
)
def test_a_line_magic_in_a_function_has_the_variables_of_the_function(
    notebook: Notebook, line: str
) -> None:
    notebook.must(f"def inside(n):\n    mine = shift = x[:n] * 0.5\n    {line}\n    return mine")
    assert notebook.must("inside(4)").value.shape == (4, 3)
    assert "mine" not in notebook.names


def test_the_gradient_by_a_split_state_is_that_of_jax(notebook: Notebook, nnx: Any) -> None:
    """`nnx.split` gives a State of Variables: each is an NNX object of its own."""
    notebook.must("graphdef, params = nnx.split(model, nnx.Param)")
    ran = notebook.must("%%jaxgrad -q -w params\n((nnx.merge(graphdef, params)(x)) ** 2).mean()")
    names = notebook.names
    plain = jax.grad(lambda p: (nnx.merge(names["graphdef"], p)(names["x"]) ** 2).mean())(
        names["params"]
    )
    assert jax.tree.structure(ran.value) == jax.tree.structure(plain)
    assert all(jax.tree.leaves(jax.tree.map(np.allclose, ran.value, plain)))


def test_the_gradient_by_a_model_is_a_state_of_its_parameters(notebook: Notebook, nnx: Any) -> None:
    ran = notebook.must("%%jaxgrad -q -n 1 -w model\n((model(x)[:, 0] - y) ** 2).mean()")
    x, y = notebook.names["x"], notebook.names["y"]
    plain = nnx.grad(lambda m: ((m(x)[:, 0] - y) ** 2).mean())(notebook.names["model"])
    assert set(ran.value) == {"kernel", "bias"}
    same(ran.value, plain)


def test_a_model_with_dropout_is_differentiated_by_its_parameters(
    notebook: Notebook, nnx: Any
) -> None:
    """Its key and its counter are integers."""
    notebook.must(
        "linear, dropout = nnx.Linear(3, 4, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(1))"
        "\ndrop = nnx.Sequential(linear, dropout)"
        "\nplain = nnx.grad(lambda m: (m(x) ** 2).mean())(nnx.clone(drop))"
    )
    ran = notebook.must("%%jaxgrad -q -n 1 -w drop\n(drop(x) ** 2).mean()")
    names = notebook.names
    assert jax.tree.structure(ran.value) == jax.tree.structure(names["plain"])
    assert all(jax.tree.leaves(jax.tree.map(np.allclose, ran.value, names["plain"])))
    assert int(names["drop"].layers[1].rngs.count[...]) == 1
    refused = notebook.run("rngs = nnx.Rngs(2)\n%jaxgrad -w r (lambda r: r.count[...].sum())(rngs)")
    assert "`r.default.count` is uint32" in refused.message


def test_a_model_under_a_map_stays_whole(notebook: Notebook, nnx: Any) -> None:
    notebook.must("%%jaxvmap -q -n 1 -i x=0\np = model(x)")
    same(notebook.names["p"], notebook.names["model"](notebook.names["x"]))
    assert notebook.names["model"].kernel[...].shape == (3, 1)


def test_gradients_of_each_example_by_a_model(notebook: Notebook, nnx: Any) -> None:
    ran = notebook.must(
        "%%jaxcompose -q -n 1 vmap -i x=0,y=0 | grad -w model\n(model(x)[0] - y) ** 2"
    )
    assert ran.value["kernel"][...].shape == (8, 3, 1)


def test_state_that_a_gradient_changes_is_written_back(notebook: Notebook, nnx: Any) -> None:
    ran = notebook.must("%%jaxgrad -q -n 1 -w counter\ncounter(x).sum()")
    assert set(ran.value) == {"weight"}
    assert float(notebook.names["counter"].calls[...]) == 1.0


def test_state_that_a_map_would_change_is_refused(notebook: Notebook, nnx: Any) -> None:
    ran = notebook.run("%%jaxvmap -q -n 1 -i x=0\ncounter(x)")
    assert "each example has its own new state" in ran.message
    assert notebook.names["counter"].calls[...].shape == ()


# Forms


def test_block_form_of_a_cell_with_a_def(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxgrad -q -n 1 -w w --block\ndef g(v):\n    return (v ** 2).sum()\ng(w)"
    )
    same(ran.value, 2 * notebook.names["w"])


def test_only_chooses_the_function(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxgrad -q -n 1 --only h\n"
        "def g(v):\n    return (v ** 2).sum()\n"
        "def h(v):\n    return g(v) * 2\n"
        "def k(v):\n    return g(v)\n"
        "out = h(w), k(w)"
    )
    same(notebook.names["out"], (4 * notebook.names["w"], 5.25))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (
            (
                "%%jaxvmap -q -n 1 -i v=0 -s k\n"
                "def g(v, k):\n    return v * k if k > 1 else v\ng(x, 3)"
            ),
            3,
        ),
        ("%jaxvmap -q -n 1 -i v=0 f(x, 3)", 3),
        ("%jaxvmap -q -n 1 -i v=0 f(v=x, k=3)", 3),
        ("%jaxvmap -q -n 1 -i v=0 jax.jit(f, static_argnums=1)(x, 3)", 3),
        ("%jaxvmap -q -n 1 -i v=0 -t k f(x, 3)", 3),
    ],
)
def test_static_arguments_in_functions_and_calls(
    notebook: Notebook, cell: str, expected: int
) -> None:
    same(notebook.must(cell).value, notebook.names["x"] * expected)


@pytest.mark.parametrize("magic", ["%jaxgrad", "%jaxjit", "%jaxcompose jit | grad"])
def test_a_semicolon_keeps_the_value_of_a_call_from_being_shown(
    notebook: Notebook, magic: str
) -> None:
    notebook.must("v = jnp.ones(3)")
    assert notebook.run(f"{magic} (lambda u: jnp.sum(u * u))(v)").value is not None
    assert notebook.run(f"{magic} (lambda u: jnp.sum(u * u))(v);").value is None


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%jaxcompose jit grad\nv.sum()\n", "There is no `|` before"),
        ("%jaxpmap -i u=0 (lambda u: u)(jnp.ones(640))", "The mapped axis has length 640"),
    ],
)
def test_what_a_stack_cannot_take_is_a_sentence(
    notebook: Notebook, capsys: pytest.CaptureFixture[str], cell: str, words: str
) -> None:
    notebook.must("v = jnp.ones(3)")
    ran = notebook.run(cell)
    assert words in ran.printed + ran.message + "".join(capsys.readouterr())


def test_a_call_again_compiles_nothing(notebook: Notebook) -> None:
    seen: list[str] = []

    def listen(event: str, duration: float, **kwargs: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            seen.append(event)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        line = "%jaxgrad -q -n 1 -w w (lambda w: (w ** 2).sum())(w)"
        first = notebook.must(line).value
        assert len(seen) == 1
        notebook.must("w = jnp.zeros(3)")
        seen.clear()
        same(notebook.must(line).value, jnp.zeros(3))
        assert seen == []
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    same(first, 2 * jnp.array([1.0, -2.0, 0.5]))


def test_a_change_in_place_is_refused_under_a_transform_too(notebook: Notebook) -> None:
    ran = notebook.run("%%jaxgrad -q -w w\nrows.append(w)\n(w ** 2).sum()")
    assert "Line 2: the cell changes `rows` in place" in ran.message
    assert notebook.names["rows"] == []


TRAINER = """
import functools
class Trainer:
    def __init__(self, w):
        self.w = w
    def fit(self, v):
        self.w = self.w + v.sum()
        return self
    __call__ = fit
trainer = Trainer(w)
fit, hooks = trainer.fit, {"fit": trainer.fit}
def note(rows, v):
    rows.append(v)
    return v
"""


@pytest.mark.parametrize(
    ("cell", "changed"),
    [
        ("%jaxjit -q trainer.fit(x)", "trainer"),
        ("%jaxprof -q trainer.fit(x)", "trainer"),
        ("%jaxjit -q fit(x).w", "fit"),
        ("import jaxscope\njaxscope.inspect(trainer.fit, x)", "self"),
        ("%jaxjit -q trainer(x).w", "trainer"),
        ("%jaxjit -q trainer(x)", "trainer"),
        ("%jaxgrad -q trainer.fit(x).w.sum()", "trainer"),
        ("%jaxjit -q (lambda v: fit(v).w)(x)", "fit"),
        ("%jaxjit -q functools.partial(note, rows)(x)", "rows"),
        ("%%jaxjit -q\ny = fit(x).w", "fit"),
        ("%%jaxjit -q\ny = hooks['fit'](x).w", "Trainer"),
    ],
)
def test_the_object_of_a_method_and_the_arguments_of_a_partial_are_as_before(
    notebook: Notebook, cell: str, changed: str
) -> None:
    notebook.must(TRAINER)
    ran = notebook.run(cell)
    assert f"changes `{changed}` in place" in ran.message
    assert notebook.names["trainer"].w is notebook.names["w"]
    assert notebook.names["rows"] == []


LIBRARY = """
class Variable:
    def __init__(self, value):
        self.value = value
class Trainer:
    def __init__(self, w):
        self.variables = (Variable(w),)
    def step(self, v):
        (variable,) = self.variables
        variable.value = variable.value + v.sum()
        return variable.value.sum()
"""


@pytest.mark.parametrize("call", ["trainer.step(x)", "trainers[0].step(x)"])
def test_the_object_of_a_librarys_method_is_as_before(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    library = types.ModuleType("training_library")
    library.__file__ = f"{sysconfig.get_path('purelib')}/training_library.py"
    monkeypatch.setitem(sys.modules, library.__name__, library)
    exec(compile(LIBRARY, library.__file__, "exec"), vars(library))
    notebook.names["trainer"] = trainer = library.Trainer(notebook.names["w"])
    notebook.must("trainers = [trainer]")
    ran = notebook.run(f"%jaxjit -q {call}")
    assert "No variable was changed" in ran.message
    assert trainer.variables[0].value is notebook.names["w"]


def test_a_method_that_changes_its_object_runs_as_plain_python_in_a_cell_with_functions(
    notebook: Notebook,
) -> None:
    notebook.must(TRAINER)
    notebook.must("%%jaxjit -q -n 1\ndef go(v):\n    return fit(v).w\ny = go(x)")
    same(notebook.names["y"], notebook.names["trainer"].w)
    same(notebook.names["y"], notebook.names["w"] + notebook.names["x"].sum())


# jaxscope failing


def broken(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("broken on purpose")


CELLS = (
    ("%%jaxgrad -n 1 -w w\nloss = (w ** 2).sum()", [2.0, -4.0, 1.0]),
    ("%%jaxvmap -n 1 -i x=0\nx.sum() * 0 + 1.0", [1.0] * 8),
    ("%%jaxcompose -n 1 vmap -i y=0 | grad -w y\nloss = y ** 2 * 0.5 - y", None),
    ("%%jaxgrad -n 1\ndef g(v):\n    return (v ** 2).sum()\ng(w)", [2.0, -4.0, 1.0]),
)


@pytest.mark.parametrize(
    "place",
    [
        "run.program_run.trace_program",
        "run.program_run.measure",
        "run.record.record",
        "run.evidence.advised",
    ],
)
@pytest.mark.parametrize("cell", CELLS, ids=["grad", "vmap", "stack", "functions"])
def test_a_fault_of_ours_leaves_the_transformed_value(
    notebook: Notebook,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    cell: tuple[str, list[float] | None],
) -> None:
    import importlib

    module, _, name = place.rpartition(".")
    with monkeypatch.context() as patch:
        patch.setattr(importlib.import_module(f"jaxscope.capture.{module}"), name, broken)
        ran = notebook.must(cell[0])
    expected = notebook.names["y"] - 1 if cell[1] is None else cell[1]
    same(ran.value, jnp.asarray(expected))
    assert "jaxscope could not" in ran.text


@pytest.mark.parametrize(
    "place", ["run.program_run.trace_program", "run.program_run.measure", "run.record.record"]
)
def test_a_fault_of_ours_leaves_the_value_of_a_call(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    import importlib

    module, _, name = place.rpartition(".")
    with monkeypatch.context() as patch:
        patch.setattr(importlib.import_module(f"jaxscope.capture.{module}"), name, broken)
        ran = notebook.must("%jaxvmap -n 1 -i v=0 f(x, 3)")
    same(ran.value, notebook.names["x"] * 3)
    assert "jaxscope could not" in ran.text


def test_no_private_name_of_jax_is_needed_for_a_transformed_cell(notebook: Notebook) -> None:
    cell = "%%jaxcompose -q -n 1 vmap -i x=0,y=0 | grad -w w\nerror = x @ w - y\nerror ** 2"
    plain = notebook.must(cell).value
    assert len(private_functions()) > 20
    for name in private_functions():
        with pytest.MonkeyPatch.context() as patch:
            break_private(patch, name, broken)
            ran = notebook.run(cell)
        assert ran.error is None, name
        same(ran.value, plain)
        same(
            notebook.names["error"], notebook.names["x"] @ notebook.names["w"] - notebook.names["y"]
        )


def test_a_static_numpy_array_is_not_an_input_of_a_transform(notebook: Notebook) -> None:
    notebook.must("import numpy as np\nimg = np.arange(4.0)")
    ran = notebook.must("%%jaxgrad -n 1 -s img\n(w * img[2]).sum()")
    same(ran.value, 2 * jnp.ones(3))
    assert ran.text.count("static by -s") == 1
    assert "No result depends on" not in notebook.must("%%jaxjit -s img\nz = x * img[1]").text
    notebook.must("%%jaxvmap -q -n 1 -s img\nz = x * img.sum()")
    same(notebook.names["z"], notebook.names["x"] * 6)


def test_an_array_in_two_places_is_taken_once_and_said_to_be(notebook: Notebook) -> None:
    notebook.must("bias = jnp.ones(3)\nlayers = [bias, bias, bias]\nspare = idle = jnp.zeros(3)")
    ran = notebook.must("%%jaxjit -n 1\nspare, idle\ntotal = layers[0] + layers[1] * layers[2]")
    said = (
        "`layers[1]` and `layers[2]` are the same array as `layers[0]`: the program takes it once."
    )
    words = " ".join(ran.text.split())
    assert said in words
    assert "No result depends on `spare` or" in words
    assert "depends on `layers" not in words
    notebook.must("fast = {n: jnp.ones(3) for n in 'abcd'}; slow = dict(fast)")
    ran = notebook.must("%%jaxjit -n 1\ngap = [fast[n] - slow[n] for n in 'abcd']")
    assert (
        "`slow['a']`, `slow['b']`, `slow['c']` and 1 more are the same arrays as `fast['a']`, "
        "`fast['b']`, `fast['c']` and 1 more: the program takes each once."
    ) in " ".join(ran.text.split())


def test_an_input_that_is_a_result_as_it_is_is_not_called_without_effect(
    notebook: Notebook,
) -> None:
    notebook.must("v, idle = jnp.ones(3), jnp.zeros(3)")
    words = " ".join(notebook.must("%%jaxjit -n 1\nidle\nu, w = v, idle + 1").text.split())
    assert "`v` is a result as it is: the program does not take it." in words
    assert "No result depends" not in words
    words = " ".join(notebook.must("%jaxjit -n 1 (lambda a, b: (a, a))(v, idle)").text.split())
    assert "No result depends on `b`." in words
    assert "`a` is a result as it is" in words
    notebook.must("state = {'w': v, 'deep': [jnp.ones(2), jnp.ones(5)]}; read = jnp.ones(4)")
    ran = notebook.must("%%jaxjit -n 1\nread\nfresh = {**state, 'w': state['w'] + 1}")
    words = " ".join(ran.text.split())
    given = "`state['deep'][0]` and `state['deep'][1]` are results as they are"
    assert given in words or given.replace("[0]", "[2]").replace("[1]", "[0]") in words, words
    assert "No result depends on `read`." in words


def test_each_signature_of_a_function_has_its_own_compile(notebook: Notebook) -> None:
    # The costliest comes first in the report, and was met last.
    cell = "def grow(v):\n    return v * 2\nfor n in (2, 3, 50):\n    grow(np.ones(n, np.float32))"
    notebook.must("import numpy as np")
    notebook.must(f"%%jaxjit -n 0 -o rep\n{cell}")
    rep = notebook.shell.user_ns["rep"]
    sizes = [program.inputs[0].aval for program in rep.programs]
    assert sizes == ["float32[50]", "float32[3]", "float32[2]"]
    compiled = [[rep.compiles[i].signature for i in program.compiles] for program in rep.programs]
    assert compiled == [[(f"v: f32[{n}]",)] for n in (50, 3, 2)]


def test_programs_are_ordered_by_the_time_of_a_call_and_not_of_the_first_one(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {1: (0.2, 1e-4), 2: (0.1, 2e-3)}

    def measured(call: Any, args: tuple[Any, ...], **_: Any) -> Any:
        first, later = times[args[0].size]
        timings = Timing("first call", "", (first,)), Timing("call", "", (later,) * 7)
        return call(*args), timings

    monkeypatch.setattr(timed_calls, "measure", measured)
    notebook.must("import numpy as np")
    cell = "def grow(v):\n    return v * 2\nfor n in (1, 2):\n    grow(np.ones(n, np.float32))"
    notebook.must(f"%%jaxjit -o rep\n{cell}")
    sizes = [program.inputs[0].aval for program in notebook.names["rep"].programs]
    assert sizes == ["float32[2]", "float32[1]"]


@pytest.mark.parametrize(
    ("body", "empty"), [("3 + 4", True), ("y = [1]\nlen(y)", True), ("x", False), ("x + 1", False)]
)
def test_a_program_that_does_nothing_is_said_to_be_empty(
    notebook: Notebook, body: str, empty: bool
) -> None:
    ran = notebook.must(f"%%jaxjit -n 1\n{body}")
    assert ("The program is empty: it has no traced input" in ran.text) is empty


def test_a_program_that_runs_again_keeps_its_links_and_text(notebook: Notebook) -> None:
    cell = "%%jaxjit -o r\nq = jnp.sin(x) @ w\nq.sum()"
    notebook.must(cell)
    first = notebook.names["r"].stage("optimized_hlo")
    notebook.must(cell)
    assert notebook.names["r"].stage("optimized_hlo") is first


def test_a_moved_line_of_the_same_program_has_links_of_its_own(notebook: Notebook) -> None:
    notebook.must("%%jaxjit -o r\nq = jnp.sin(x) @ w\nq.sum()")
    notebook.must("%%jaxjit -o s\n\n\nq = jnp.sin(x) @ w\nq.sum()")
    before, after = notebook.names["r"], notebook.names["s"]
    text = before.stage("optimized_hlo").text
    assert after.stage("optimized_hlo").text == text
    assert any(before.stage_lines("optimized_hlo", line).lines for line in (2, 3))
    for line in (2, 3):
        here = before.stage_lines("optimized_hlo", line).lines
        assert after.stage_lines("optimized_hlo", line + 2).lines == here


def test_a_note_on_one_of_several_programs_names_it(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\n"
        "def linear(v, u):\n"
        "    return (v * u).sum()\n"
        "slope = jax.grad(linear)(jnp.ones(3), jnp.arange(3.0))\n"
        "value = linear(jnp.ones(3), jnp.arange(3.0))"
    )
    words = " ".join(ran.text.split())
    assert "jit(grad(linear)): no result depends on `v`." in words
    assert "No result depends" not in words


def test_a_note_on_all_programs_is_said_once(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\n"
        "def product(v, u):\n"
        "    return (v * u).sum()\n"
        "same = jnp.ones(3)\n"
        "slope, value = jax.grad(product)(same, same), product(same, same)"
    )
    words = " ".join(ran.text.split())
    assert words.count("`u` is the same array as `v`") == 1
    assert ": `u` is" not in words


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        (
            "%%jaxgrad -q -n 1 -w w\ndef miss():\n    return x @ w - y\n(miss() ** 2).mean()",
            "jax.grad(lambda w: ((x @ w - y) ** 2).mean())(w)",
        ),
        (
            "%%jaxgrad -q -w w\ndef act(h, _): return h * w, 0\nlax.scan(act, w, x)[0].sum()",
            "jax.grad(lambda w: lax.scan(lambda h, _: (h * w, 0), w, x)[0].sum())(w)",
        ),
        (
            "%%jaxvmap -q -n 1 -i x=0\ndef square(v):\n    return v * v\nsquare(x).sum()",
            "(x * x).sum(1)",
        ),
    ],
)
def test_a_cell_with_functions_is_transformed_by_what_only_the_cell_reads(
    notebook: Notebook, cell: str, plain: str
) -> None:
    value = notebook.must(cell).value
    assert any("no function in it takes" in note for note in jaxscope.last().record.notes)
    same(value, notebook.must(plain).value)


def test_a_parameter_of_the_cells_function_is_not_the_cells(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxgrad -q -n 1 -w w\ndef miss(w):\n    return ((x @ w) ** 2).sum()\ng = miss(w)"
    )
    assert jaxscope.last().record.notes[0].startswith("function form: 1 call compiled")
    same(notebook.names["g"], notebook.must("jax.grad(miss)(w)").value)
