"""Notes beside errors of cells: what they advise works when it is applied."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.magics.notebook import Notebook, open_notebook


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must("import jax, jax.numpy as jnp\nx = jnp.arange(3.0)")
        yield opened


MAGIC = "%%jaxjit -q -n 1\n"
STEP = "def step(x, n):\n    if n > 0:\n        return x\n    return -x\n"
JIT_STATIC = 'If its value may be fixed, jit `step` with `static_argnames="n"`.'


@pytest.mark.parametrize(
    ("cell", "fix"),
    [
        (f"%%jaxjit -q -n 1\n@jax.jit\n{STEP}y = step(x, 1)", JIT_STATIC),
        (f"%%jaxjit -q -n 1\n{STEP}fast = jax.jit(step)\ny = fast(x, 1)", JIT_STATIC),
        ("%%jaxjit -q -n 1\ny = earlier(x, 1)", JIT_STATIC),
        ("y = %jaxjit -q -n 1 earlier(x, 1)", JIT_STATIC),
        (f"%%jaxjit -q -n 1 --decorate\n{STEP}y = step(x, 1.0)", "run with `-s n`."),
    ],
)
def test_a_parameter_of_the_users_jit_is_to_be_made_static_where_it_is_jitted(
    notebook: Notebook, cell: str, fix: str
) -> None:
    notebook.must(f"@jax.jit\n{STEP}earlier = step")
    ran = notebook.run(cell)
    assert "`n` is traced. " in ran.message
    assert ran.message.endswith(fix)
    static = ("import functools\n@functools.partial(jax.jit, static_argnames='n')",)
    applied = cell.replace("@jax.jit", *static).replace("t(step)", "t(step, static_argnames='n')")
    notebook.must(f"{static[0]}\n{STEP}earlier = step")
    notebook.must(applied.replace("--decorate", "--decorate -s n"))
    np.testing.assert_array_equal(notebook.names["y"], [0, 1, 2])


@pytest.mark.parametrize(
    ("code", "fix"),
    [
        ("jax.vmap(jnp.add)(x, x[:2])", "with `None` in `in_axes`"),
        ("jax.vmap(jnp.add, in_axes=(0, 1))(x, x)", "map a different one with `in_axes`"),
        ("jax.vmap(jnp.add, in_axes=(0,))(x, x)", "give `in_axes` one for each argument."),
        ("jax.vmap(jnp.add, in_axes=None)(x, x)", "`in_axes=0`."),
        ("jax.grad(lambda v: v)(3)", "with `argnums`"),
        ("jax.grad(jnp.sin)(x)", "with `has_aux=True`, or use `jax.jacrev`."),
    ],
)
def test_the_fix_of_a_transform_in_the_code_has_its_keywords(
    notebook: Notebook, code: str, fix: str
) -> None:
    for form in ("%jaxjit -q -n 1 ", "%%jaxjit -q -n 1\ny = "):
        assert fix in notebook.run(form + code).message


def test_a_loop_that_changes_several_names_has_while_loop(notebook: Notebook) -> None:
    loop = "while x.sum() > 1:\n    x = x / 2\n    steps = 1"
    ran = notebook.run(f"%%jaxjit -q -n 1\n{loop}")
    assert "A traced value has no truth value: use `jax.lax.while_loop`" in ran.message


@pytest.mark.parametrize(
    "code",
    [" -s table\ny = x * float(table[0])", "\nk = jnp.argmax(jnp.arange(4))\nif k > 2:\n    y = x"],
)
def test_no_input_is_blamed_for_a_value_that_depends_on_none(notebook: Notebook, code: str) -> None:
    notebook.must("table = jnp.ones(3)")
    said = notebook.run(f"%%jaxjit -q -n 1{code}").message
    assert "The value depends on no traced input, but JAX traces all" in said
    assert "is traced. " not in said


def test_a_shape_that_is_a_float_is_not_called_traced(notebook: Notebook) -> None:
    ran = notebook.run("%%jaxjit -q -n 1\ny = jnp.zeros(x.shape[0] / 3) + x.sum()")
    advice = "A shape needs ints: divide with `//`, or convert a number with `int`."
    assert ran.message.endswith(f"jaxscope: Line 2: {advice}")
    notebook.must("%%jaxjit -q -n 1\ny = jnp.zeros(x.shape[0] // 3) + x.sum()")


@pytest.mark.parametrize(
    ("code", "size"),
    [
        ("jnp.unique(i)", "size"),
        ("i.nonzero()", "size"),
        ("jnp.where(i > 0,)", "size"),
        ("jnp.extract(i > 0, i)", "size"),
        ("jnp.setdiff1d(i, i[:2])", "size"),
        ("jnp.bincount(i)", "length"),
        ("i.repeat(i)", "total_repeat_length"),
        ("jax.ops.segment_sum(i, i)", "num_segments"),
        ("BCOO.fromdense(i).todense()", "nse"),
    ],
)
def test_a_result_whose_size_depends_on_values_is_to_be_given_a_size(
    notebook: Notebook, code: str, size: str
) -> None:
    notebook.must("from jax.experimental.sparse import BCOO\ni = jnp.arange(3)")
    ran = notebook.run(f"%%jaxjit -q -n 1\ny = {code}")
    advice, _, written = ran.message.partition(": write `")
    assert advice.endswith("The shape of the result would depend on values")
    assert "-s i" not in ran.message
    called = written.rpartition("`.")[0]
    assert called.endswith(f"{size}=...)")
    notebook.must(f"%%jaxjit -q -n 1\ny = {called.replace('...', '3')}")


@pytest.mark.parametrize("code", ["jax.lax.top_k(x, k)", "jnp.arange(k)", "jnp.split(x, k)"])
def test_a_function_that_needs_a_known_value_is_named(notebook: Notebook, code: str) -> None:
    notebook.must("k = jnp.int32(2)")
    ran = notebook.run(f"%%jaxjit -q -n 1\ny = {code}")
    function = code.partition("(")[0]
    assert f"`k` is traced. `{function}` needs known sizes and options" in ran.message


def test_numpy_functions_around_each_other_are_rewritten_together(notebook: Notebook) -> None:
    notebook.must("import numpy as np")
    ran = notebook.run("%%jaxjit -q -n 1\ny = np.mean(np.abs(x))")
    assert ran.message.endswith(": write `jnp.mean(jnp.abs(x))`.")
    ran = notebook.run("%%jaxjit -q -n 1\ny = np.zeros(3)\nnp.add.at(y, np.asarray(x), 1)")
    assert "write `jnp.asarray" not in ran.message
    assert "`a = a.at[i].set(value)`" in ran.message


@pytest.mark.parametrize(
    ("refused", "written"),
    [
        ("y = float(x.sum())", "x.sum()"),
        ("y = int(x[1] - 1)", "(x[1] - 1).astype(int)"),
        ("y = x.sum().item()", "x.sum()"),
        ("y = math.sqrt(x[2])", "jnp.sqrt(x[2])"),
        ("y = bool(x[0] == 0) and bool(x.any())", "(x[0] == 0) & x.any()"),
        ("y = bool(x[0])", "x[0] != 0"),
        ("y = table[x[1].astype(int)]", "jnp.asarray(table)[x[1].astype(int)]"),
    ],
)
def test_the_code_for_a_traced_number_gives_the_value(
    notebook: Notebook, refused: str, written: str
) -> None:
    notebook.must("import math\ntable = [1.0, 3.0]")
    notebook.must(refused)
    expected = notebook.names["y"]
    ran = notebook.run(f"{MAGIC}{refused}")
    assert f": write `{written}`" in ran.message
    assert "size" not in ran.message.partition("jaxscope: ")[2]
    notebook.must(f"{MAGIC}y = {written}")
    assert notebook.names["y"] == expected


def test_a_value_is_to_be_fixed_only_where_the_code_then_knows_it(notebook: Notebook) -> None:
    notebook.must("import numpy as np\nk, numpy = jnp.int32(2), np.arange(3.0)")
    for code in ("y = x[x > 1]", "k = x[1].astype(int)\ny = x[:k]"):
        assert "-s x" not in notebook.run(MAGIC + code).message
    for name, code in (("k", "y = x[:k]"), ("numpy", "y = numpy[numpy > 1]")):
        assert f"run with `-s {name}`" in notebook.run(MAGIC + code).message
        notebook.must(f"%%jaxjit -q -n 1 -s {name}\n{code}")


def test_a_list_of_a_traced_value_is_asked_of_the_result(notebook: Notebook) -> None:
    ran = notebook.run(f"{MAGIC}y = x.tolist()")
    assert "has no `tolist`: ask the result for it" in ran.message


def test_a_package_that_calls_the_code_and_needs_its_values_is_named(notebook: Notebook) -> None:
    pytest.importorskip("scipy")
    notebook.must("import numpy as np\nfrom scipy.optimize import minimize")
    cost = "jnp.sum((v - x) ** 2)"
    for code in (f"np.asarray({cost})", f"float({cost})"):
        line = f"best = minimize(lambda v: {code}, np.zeros(3)).x"
        ran = notebook.run(MAGIC + line)
        assert "scipy needs the values" in ran.message
        assert "move its call to a cell without the magic." in ran.message
        notebook.must(line)


@pytest.mark.parametrize(
    ("code", "shapes"),
    [
        ("jnp.concatenate([x, m * 2])", "f32[3]  f32[4,2]"),
        ("jnp.einsum('i,ij->j', x, m)", "f32[3]  f32[4,2]"),
        ("jnp.dot(jnp.zeros((2, 3)), m)", "f32[2,3]           f32[4,2]"),
        ("jnp.where(x > 0, x, m)", "bool[3]  f32[3]  f32[4,2]"),
    ],
)
def test_the_operands_of_a_call_have_their_shapes_above_them(
    notebook: Notebook, code: str, shapes: str
) -> None:
    notebook.must("m = jnp.ones((4, 2))")
    ran = notebook.run(f"{MAGIC}y = {code}")
    above, below = ran.message.splitlines()[-2:]
    assert above.strip() == shapes
    assert " ".join(below.split()) == code
    for shape, operand in zip(shapes.split(), ("x", "m"), strict=False):
        if "m * 2" in code or "einsum" in code:
            assert below[above.index(shape)] == operand


def test_shapes_are_not_guessed_where_arguments_are_unpacked(notebook: Notebook) -> None:
    ran = notebook.run(f"{MAGIC}both = x, jnp.ones((4, 2))\ny = jnp.dot(*both)")
    assert "f32" not in ran.message.partition("jaxscope")[2]


def test_an_error_that_a_library_makes_of_jaxs_has_the_fix_of_that(notebook: Notebook) -> None:
    notebook.must(
        "import numpy as np\n"
        "def objective(v):\n"
        "    try:\n        return np.asarray(v * 2)\n"
        "    except TypeError as error:\n        raise ValueError('No scalar.') from error"
    )
    ran = notebook.run(f"{MAGIC}y = 1\nz = objective(x)")
    assert ran.message.startswith("No scalar.")
    assert "NumPy needs the values of an array that is traced" in ran.message
    assert "write `jnp.asarray(v * 2)`" in notebook.run("%jaxjit objective(x)").message
    pytest.importorskip("scipy")
    notebook.must("from scipy.optimize import minimize")
    line = "best = minimize(jax.jit(lambda v: jnp.sum((v - x) ** 2)), np.zeros(3)).x"
    ran = notebook.run(MAGIC + line)
    assert "must return a scalar value" in ran.message
    assert "Line 2: scipy needs the values" in ran.message
    notebook.must(line)


@pytest.mark.parametrize("place", ["a[0]", "a[1:]"])
def test_a_numpy_array_that_is_filled_is_written_as_one_of_jax(
    notebook: Notebook, place: str
) -> None:
    notebook.must("import numpy as np")
    value = place.replace("a", "x")
    body = "def fill(x):\n    a = {}.zeros(3)\n    {}\n    return a\nfilled = fill(x)"
    written = f"a = {place.replace('[', '.at[')}.set({value})"
    ran = notebook.must(f"%%jaxjit -n 1\n{body.format('np', f'{place} = {value}')}")
    assert f"write `{written}`, with a `jnp` array." in " ".join(ran.text.split())
    expected = notebook.names["filled"]
    ran = notebook.must(f"%%jaxjit -n 1\n{body.format('jnp', written)}")
    assert "as plain Python" not in ran.text
    np.testing.assert_array_equal(notebook.names["filled"], expected)
