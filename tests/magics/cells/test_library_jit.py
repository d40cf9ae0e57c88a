"""Functions of `nnx.jit` and `equinox.filter_jit`: a report is of the program that they run."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator

import jax
import numpy as np
import pytest

import jaxscope
from jaxscope.capture.forms.made_of import package_of
from jaxscope.model import CauseKind
from tests.magics.notebook import Notebook, open_notebook

nnx = pytest.importorskip("flax.nnx")
eqx = pytest.importorskip("equinox")

SETUP = """
import functools, jax, jax.numpy as jnp, equinox as eqx
from flax import nnx
x = jnp.ones((4, 8))
net = nnx.Linear(8, 8, rngs=nnx.Rngs(0))
net.count = nnx.Variable(jnp.zeros((), jnp.int32))
net.bias[...] = net.bias[...] + 1
layer = eqx.nn.Linear(8, 8, key=jax.random.key(0))
"""
STEPS = {
    "nnx": "@nnx.jit\ndef step(model, x):\n    model.count[...] += 1\n"
    "    return jnp.tanh(model(x)).sum()",
    "filter_jit": "@eqx.filter_jit\ndef step(model, x):\n"
    "    return jnp.tanh(jax.vmap(model)(x)).sum()",
}
MODEL = {"nnx": "net", "filter_jit": "layer"}


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


@pytest.mark.parametrize("library", STEPS)
def test_what_a_report_has_compiled_is_neither_compiled_again_by_a_report_nor_by_a_call(
    notebook: Notebook, compiled: list[float], library: str
) -> None:
    call = f"step({MODEL[library]}, x)"
    notebook.must(f"%%jaxjit -n 1\n{STEPS[library]}\n{call}")
    compiled.clear()
    notebook.must(f"%jaxjit -n 1 {call}")
    notebook.must(f"%jaxjit -n 1 -o report {call}")
    notebook.must(call)
    assert compiled == []
    (program,) = notebook.names["report"].record.programs
    tanh = STEPS[library].count("\n", 0, STEPS[library].index("tanh"))
    frames = {e.frames[-1].span.line for e in program.equations if e.primitive == "tanh"}
    assert frames == {tanh + 2}  # below the line of the magic


@pytest.mark.parametrize("library", STEPS)
def test_a_function_that_has_run_is_compiled_once_for_its_links(
    notebook: Notebook, compiled: list[float], library: str
) -> None:
    call = f"step({MODEL[library]}, x)"
    notebook.must(f"{STEPS[library]}\n{call}")
    compiled.clear()
    notebook.must(f"%jaxjit -n 1 {call}")
    assert len(compiled) == 1
    notebook.must(f"%jaxjit -n 1 {call}")
    assert len(compiled) == 1


@pytest.mark.parametrize("library", STEPS)
def test_a_call_that_jax_traced_inside_a_cell_has_its_place_and_its_causes(
    notebook: Notebook, library: str
) -> None:
    call = f"step({MODEL[library]}, x)"
    with jaxscope.watch() as log:
        for cell in (STEPS[library], f"%%jaxjit -n 1\n{call}", f"%jaxjit -n 1 {call}"):
            notebook.must(cell)
        notebook.must(call.replace("x", "x[:2]"))
    first, again = [one for one in log.compiles if one.fun_name == "step"]
    assert first.site is not None
    assert "x: f32[4,8]" in first.signature
    assert [cause.kind for cause in again.causes] == [CauseKind.SHAPE]


@pytest.mark.parametrize("library", STEPS)
def test_an_edited_function_is_the_reason_of_a_cell_that_calls_it(
    notebook: Notebook, library: str
) -> None:
    cell = f"%%jaxjit -n 1 -o report\ny = step({MODEL[library]}, x)"
    for step in (STEPS[library], STEPS[library].replace("tanh", "sin")):
        notebook.must(step)
        notebook.must(cell)
    (compiled,) = notebook.names["report"].record.compiles
    assert [cause.text for cause in compiled.causes] == ["`step` changed, which the cell reads."]


def test_a_call_updates_the_model_once(notebook: Notebook) -> None:
    notebook.must(STEPS["nnx"])
    before = int(notebook.names["net"].count[...])
    expected = notebook.must("float(jnp.tanh(net(x)).sum())").value
    ran = notebook.must("%jaxjit step(net, x)")
    assert int(notebook.names["net"].count[...]) == before + 1
    np.testing.assert_allclose(ran.value, expected, rtol=1e-6)


def test_a_call_of_a_filter_jit_model_has_the_name_of_its_class(notebook: Notebook) -> None:
    notebook.must("called = eqx.filter_jit(eqx.nn.Linear(3, 2, key=jax.random.key(0)))")
    ran = notebook.must("%jaxjit -n 1 called(jnp.ones(3))")
    assert ran.text.startswith("jit(Linear)")


def test_arguments_have_the_names_of_the_users_function(notebook: Notebook) -> None:
    notebook.must("@nnx.jit(static_argnums=(2,))\ndef f(m, x, n, y):\n    return m(x) * n + y")
    notebook.must("%jaxjit -n 1 -o report f(net, x, 3, x)")
    (program,) = notebook.names["report"].record.programs
    named = {value.name: value.kind.value for value in program.inputs}
    traced = dict.fromkeys(("m.bias", "m.count", "m.kernel", "x", "y"), "traced")
    assert named == {**traced, "n": "static"}
    notebook.must("%jaxjit -n 1 -o report eqx.filter_jit(lambda a, b, n: a * b + n)(x, x, 3)")
    (program,) = notebook.names["report"].record.programs
    assert [value.name for value in program.inputs] == ["a", "b", "n"]


def test_what_a_wrapper_donates_is_shown_as_donated(notebook: Notebook) -> None:
    notebook.must("given = x + 1\nf = eqx.filter_jit(lambda a: a * 2, donate='all')")
    notebook.must("%jaxjit -o report f(given)")
    (program,) = notebook.names["report"].record.programs
    assert [value.kind.value for value in program.inputs] == ["donated"]
    assert notebook.names["given"].is_deleted()


def test_results_have_their_device_where_the_results_contain_none(notebook: Notebook) -> None:
    notebook.must(STEPS["nnx"])
    notebook.must("%jaxjit -n 1 -o report step(net, x)")
    (program,) = notebook.names["report"].record.programs
    assert {value.sharding for value in program.outputs} == {"cpu:0"}


def test_an_error_of_the_function_leaves_the_wrapper_as_it_was(notebook: Notebook) -> None:
    notebook.must("@nnx.jit\ndef bad(model, x):\n    return model(x) @ x[:1]")
    held = dict(vars(notebook.names["bad"]))
    ran = notebook.run("%jaxjit bad(net, x)")
    assert "contracting dimensions" in ran.message
    assert vars(notebook.names["bad"]) == held
    assert ("<call>", 1) not in ran.frames[-1:]


def test_what_is_made_of_a_jitted_function_is_not_taken_for_it(notebook: Notebook) -> None:
    from jaxscope.capture.forms.library_jit import held_jit

    inner = jax.jit(lambda x: x * 2)
    assert held_jit(jax.grad(inner)) is None
    assert held_jit(inner) is None
    assert held_jit(notebook.names["layer"]) is None
    held = held_jit(nnx.jit(inner))
    assert held is not None
    assert held[1] is not inner


def test_another_thread_calls_the_function_as_ever(notebook: Notebook) -> None:
    from jaxscope.capture.forms import library_jit
    from jaxscope.capture.forms.call import FunctionCall

    notebook.must("add = eqx.filter_jit(lambda a: a + 1)")
    add, x = notebook.names["add"], notebook.names["x"]
    found = library_jit.library_call(FunctionCall(add, (x,), {}))
    assert found is not None
    with library_jit._replaced(add, found.attribute, lambda *args: "ours"):
        results: list[object] = []
        other = threading.Thread(target=lambda: results.append(add(x)))
        other.start()
        other.join()
    np.testing.assert_array_equal(results[0], np.full((4, 8), 2.0))  # type: ignore[arg-type]


def test_a_jitted_method_of_a_library_is_reported_with_the_lines_of_the_cell(
    notebook: Notebook,
) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1 -o report\nimport flax.linen as nn\nclass Net(nn.Module):\n"
        "    @nn.compact\n    def __call__(self, x):\n        return nn.Dense(3)(x).sum()\n"
        "p = jax.jit(Net().init)(jax.random.key(0), x)\nout = jax.jit(Net().apply)(p, x)"
    )
    assert "apply, init with functions of the cell" in " ".join(ran.text.split())
    programs = notebook.names["report"].record.programs
    assert sorted(program.name for program in programs) == ["apply", "init"]
    for program in programs:
        assert {one.frames[0].span.line for one in program.equations} >= {6}


def test_the_work_of_a_library_is_of_the_line_that_calls_it_where_jax_drops_results(
    notebook: Notebook,
) -> None:
    notebook.must(
        "%%jaxjit -n 1 -o report\nimport flax.linen as nn\nclass Rows(nn.Module):\n"
        "    def __call__(self, x):\n"
        "        step = lambda total, row: (total + row, row * 2)\n"
        "        return jax.lax.scan(step, x[0], x)[1]\n"
        "y = jax.jit(Rows().apply)({}, x)"
    )
    (program,) = notebook.names["report"].record.programs
    assert {one.frames[-1].span.line for one in program.equations} == {7}


def test_a_check_of_equinox_has_its_fix(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit\ndef positive(x):\n"
        "    return jnp.sqrt(eqx.error_if(x, x.min() < 0, 'negative'))\npositive(x)"
    )
    text = " ".join(ran.text.split())
    assert "A branch of jit(positive) calls `jax.pure_callback`, so calls leave" in text
    assert "start Python with `EQX_ON_ERROR=off`" in text


CHECKED = "@jaxtyped(typechecker=check)\ndef total(x: Float[Array, 'a b'], s: float = 2.0):\n"


def _check(function: Callable[..., object]) -> Callable[..., object]:
    def checks(*args: object, **kwargs: object) -> object:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
        if type(given.get("s", 2.0)) is not float:
            raise TypeError("s")
        return function(*args, **kwargs)

    return checks


@pytest.fixture
def checked(notebook: Notebook) -> Notebook:
    """With a type checker that refuses all but Python's own number."""
    notebook.names["check"] = _check
    notebook.must(
        "from jaxtyping import Array, Float, jaxtyped\ndef logged(f):\n    @functools.wraps(f)\n"
        "    def call(*args):\n        return f(*args)\n    return call"
    )
    return notebook


def test_a_function_with_checked_types_is_compiled(checked: Notebook) -> None:
    ran = checked.must(f"%%jaxjit -n 1\n{CHECKED}    return (x * s).sum()\nt = total(x)")
    assert "jit(total)" in ran.text
    assert float(checked.names["t"]) == 64.0


def test_a_transform_is_applied_to_a_decorated_function(checked: Notebook) -> None:
    for decorated in (CHECKED, "@logged\ndef total(x, s=2.0):\n"):
        ran = checked.must(f"%%jaxgrad -n 1\n{decorated}    return (x * s).sum()\ng = total(x)")
        assert "jit(grad(total))" in ran.text
        np.testing.assert_array_equal(checked.names["g"], np.full((4, 8), 2.0))


def test_a_check_that_refuses_a_tracer_is_no_failure_of_jaxscope(checked: Notebook) -> None:
    cell = f"{CHECKED}    return (x * s).sum()\nt = total(x, 3.0)"
    text = " ".join(checked.must(f"%%jaxjit -n 1\n{cell}").text.split())
    assert "`total` ran as plain Python: TypeCheckError" in text
    assert "`-s s` passes Python's own number." in text
    assert float(checked.names["t"]) == 96.0
    assert "jit(total)" in checked.must(f"%%jaxjit -n 1 -s s\n{cell}").text


def test_a_decorated_function_is_said_to_run_as_decorated(checked: Notebook) -> None:
    ran = checked.must("%%jaxjit\n@logged\ndef total(x):\n    return x.sum()\ntotal(x)")
    text = " ".join(ran.text.split())
    assert "`total` ran as decorated, so jaxscope compiled nothing. `--block` compiles" in text


def test_the_code_that_beartype_writes_is_of_beartype() -> None:
    def checks() -> None:
        pass

    checks.__code__ = checks.__code__.replace(co_filename="<@beartype(__main__.f) at 0x7f>")
    assert package_of(checks) == "beartype"


def test_a_cell_may_catch_the_error_of_a_check(notebook: Notebook) -> None:
    bad = "y = eqx.error_if(x, x.max() > 0, 'positive')"
    ran = notebook.must(
        f"%%jaxjit\ncaught = ''\ntry:\n    {bad}\nexcept Exception as error:\n"
        "    caught = str(error)"
    )
    assert "positive" in notebook.names["caught"]
    assert "run the program of this cell (one of its callbacks raised an error)" in ran.text
    plain = notebook.run(f"made = 1\n{bad}\nx2 = y")
    ran = notebook.run(f"%%jaxjit\nmade = 2\n{bad}\nx2 = y")
    assert type(ran.error) is type(plain.error)
    assert notebook.names["made"] == 1  # no variable was changed
    assert ran.frames[0][1] == 3


def test_a_gradient_of_a_function_that_has_run_is_a_program_of_its_own(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\nimport equinox as eqx\n@eqx.filter_jit\ndef energy(a):\n"
        "    return (a ** 2).sum()\ne = energy(jnp.ones(3))\n"
        "g = eqx.filter_grad(energy)(jnp.ones(3))"
    )
    assert "jit(filter_grad(energy))" in ran.text
    found = notebook.shell.jaxscope_magics.session.log().log  # pyright: ignore
    causes = [one.causes[0].kind for one in found.compiles if one.fun_name == "energy"]
    assert causes == [CauseKind.FIRST_CALL] * 2
