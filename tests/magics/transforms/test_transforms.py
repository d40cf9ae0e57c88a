"""`%%jaxgrad`, `%%jaxvmap` and stacks: what Out and the names hold, and how often a cell runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import jax
import jax.monitoring
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope.model import Applied, Form
from jaxscope.results.report import Report
from tests.magics.notebook import Notebook, open_notebook

SETUP = """
import jax
import jax.numpy as jnp
import numpy as np
w = jnp.array([1.0, -2.0, 0.5])
b = 0.5
x = jnp.arange(12.0).reshape(4, 3)
y = jnp.ones(4)
n = 3
z = jnp.array([1 + 2j, 0.5j])
params = {"w": w, "rate": 0.1, "name": "linear", "steps": 3}
def f(w, x):
    return ((x @ w) ** 2).mean()
"""


@pytest.fixture
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(SETUP)
        yield opened


def report(notebook: Notebook) -> Report:
    return notebook.names["r"]


def same(ours: Any, plain: Any) -> None:
    assert jax.tree_util.tree_structure(ours) == jax.tree_util.tree_structure(plain)
    for a, c in zip(jax.tree_util.tree_leaves(ours), jax.tree_util.tree_leaves(plain), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(c), rtol=1e-5, atol=1e-6)


def loss(w: Any, x: Any, y: Any, b: Any) -> Any:
    return ((x @ w + b - y) ** 2).mean()


LOSS = "error = x @ w + b - y\n(error ** 2).mean()"


# The gradient of a cell


def test_out_is_the_gradient_and_names_hold_their_primal_values(notebook: Notebook) -> None:
    ran = notebook.must(f"%%jaxgrad -q -n 1 -w w\n{LOSS}")
    w, x, y, b = (notebook.names[name] for name in "wxyb")
    same(ran.value, jax.grad(loss)(w, x, y, b))
    same(notebook.names["error"], x @ w + b - y)


def test_several_names_give_a_dict_and_value_goes_first(notebook: Notebook) -> None:
    ran = notebook.must(f"%%jaxgrad -q -n 1 -w w,b --value\n{LOSS}")
    w, x, y, b = (notebook.names[name] for name in "wxyb")
    value, (by_w, by_b) = jax.value_and_grad(loss, (0, 3))(w, x, y, b)
    same(ran.value, (value, {"w": by_w, "b": by_b}))


def test_every_float_input_is_the_default(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxgrad -q -n 1\n(x @ w * n).sum()")
    assert set(ran.value) == {"x", "w"}


def test_one_float_input_is_bare(notebook: Notebook) -> None:
    same(notebook.must("%%jaxgrad -q -n 1\n(w * n).sum()").value, 3 * jnp.ones(3))


def test_the_loss_may_be_assigned_and_a_semicolon_silences(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxgrad -q -n 1 -w w\nloss = (w ** 2).sum()")
    same(ran.value, 2 * notebook.names["w"])
    same(notebook.names["loss"], jnp.float32(5.25))
    silent = notebook.must("%%jaxgrad -q -n 1 -w w\nother = (w ** 2).sum();")
    assert silent.value is None
    same(notebook.names["other"], jnp.float32(5.25))


def test_a_container_keeps_its_shape_with_none_at_what_is_no_float(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxgrad -q -n 1 -w params\n(params['w'] * params['rate']).sum() * n")
    assert ran.value["name"] is None
    assert ran.value["steps"] is None
    same(ran.value["w"], 0.3 * jnp.ones(3))
    same(ran.value["rate"], jnp.float32(-1.5))


def test_one_array_under_two_names_is_differentiated_by_one_of_them(notebook: Notebook) -> None:
    notebook.must("u = w")
    same(notebook.must("%%jaxgrad -q -n 1 -w w\n(w * u).sum()").value, notebook.names["w"])


def test_aux_is_passed_through(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxgrad -q -n 1 -w w --has-aux\n(w ** 2).sum(), {'twice': w * 2}")
    w = notebook.names["w"]
    same(ran.value, (2 * w, {"twice": 2 * w}))
    ran = notebook.must("%%jaxgrad -q -n 1 -w w --has-aux --value\n(w ** 2).sum(), w * 2")
    same(ran.value, ((jnp.float32(5.25), 2 * w), 2 * w))


@pytest.mark.parametrize(("order", "expected"), [(1, 4.0), (2, 12.0), (3, 24.0)])
def test_higher_orders_of_a_scalar(notebook: Notebook, order: int, expected: float) -> None:
    notebook.must("t, s = 1.0, 2.0")
    ran = notebook.must(f"%%jaxgrad -q -n 1 -w t --order {order} --value\nt ** 4 + 2.0 ** s + 3")
    value, derivative = ran.value
    assert float(derivative) == pytest.approx(expected)
    assert float(value) == 8.0


def test_a_function_of_complex_numbers(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxgrad -n 1 -w z -o r --view text\n(jnp.abs(z) ** 2).sum()")
    same(ran.value, jax.grad(lambda z: (jnp.abs(z) ** 2).sum())(notebook.names["z"]))
    # However wide the terminal is.
    assert "the conjugate of PyTorch's" in " ".join(ran.text.split())
    assert any("`z`" in note for note in report(notebook).record.notes)


def test_a_holomorphic_function_is_told_by_its_value(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxgrad -q -n 1 -w z\n(z ** 3).sum()")
    same(ran.value, jax.grad(lambda z: (z**3).sum(), holomorphic=True)(notebook.names["z"]))
    ran = notebook.must("%%jaxgrad -q -n 1 -w z --mode jacfwd\nz ** 3")
    same(ran.value, jax.jacfwd(lambda z: z**3, holomorphic=True)(notebook.names["z"]))


def test_tangents_and_cotangents_are_names(notebook: Notebook) -> None:
    notebook.must("v = jnp.array([1.0, 0.0, 2.0])")
    w, v = notebook.names["w"], notebook.names["v"]
    ran = notebook.must("%%jaxgrad -q -n 1 -w w --mode jvp --tangents v --value\nw ** 2")
    same(ran.value, jax.jvp(lambda w: w**2, (w,), (v,)))
    ran = notebook.must("%%jaxgrad -q -n 1 -w w --mode vjp --cotangent v\nw ** 2")
    same(ran.value, 2 * w * v)


# The map of a cell


def test_a_cell_for_one_example_runs_for_the_batch(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxvmap -q -n 1 -i x=0 -i w=None\np = x @ w\nalias = w\np * 2")
    x, w = notebook.names["x"], notebook.names["w"]
    same(ran.value, x @ w * 2)
    same(notebook.names["p"], x @ w)
    same(notebook.names["alias"], jnp.broadcast_to(w, (4, 3)))


def test_everything_but_scalars_is_mapped_when_nothing_is_named(notebook: Notebook) -> None:
    same(
        notebook.must("%%jaxvmap -q -n 1\nx.sum() * y + b").value,
        jnp.asarray([3.5, 12.5, 21.5, 30.5]),
    )


def test_paths_axes_and_output_axes(notebook: Notebook) -> None:
    notebook.must("batch = {'x': x.T, 'scale': 2.0, 'y': y}")
    ran = notebook.must(
        "%%jaxvmap -q -n 1 -i \"batch['x']=1,batch['y']=0\" --out-axes 1\n"
        "batch['x'] * batch['scale'] + batch['y']"
    )
    same(ran.value, notebook.names["x"].T * 2 + 1)


def test_one_array_under_two_names_is_mapped_along_two_axes(notebook: Notebook) -> None:
    notebook.must("s = jnp.arange(9.0).reshape(3, 3); t = s")
    ran = notebook.must("%%jaxvmap -q -n 1 -i s=0,t=1\ns @ t")
    s = notebook.names["s"]
    same(ran.value, jax.vmap(jnp.dot, (0, 1))(s, s))


def test_an_axis_name_reaches_collectives(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxvmap -q -n 1 -i y=0 --axis-name i\ny / jax.lax.psum(y, 'i')")
    same(ran.value, jnp.full(4, 0.25))


# Stacks


def test_gradients_of_each_example(notebook: Notebook) -> None:
    cell = "error = x @ w + b - y\nerror ** 2"
    ran = notebook.must(f"%%jaxcompose -n 1 -q -o r jit | vmap -i x=0,y=0 | grad -w w\n{cell}")
    w, x, y, b = (notebook.names[name] for name in "wxyb")
    one = lambda w, x, y: (x @ w + b - y) ** 2  # noqa: E731
    same(ran.value, jax.vmap(jax.grad(one), (None, 0, 0))(w, x, y))
    same(notebook.names["error"], x @ w + b - y)
    program = report(notebook).programs[0]
    assert program.title == "jit(vmap(grad(cell)))"
    assert program.stack == (
        Applied("jit"),
        Applied("vmap", (("-i", "x=0"), ("-i", "y=0"))),
        Applied("grad", (("-w", "w"),)),
    )
    reasons = {value.name: value.reason for value in program.inputs}
    assert reasons["x"] == "jax.Array, vmap along axis 0"
    assert reasons["w"] == "jax.Array, whole under vmap"


def test_a_jit_is_put_around_a_stack_and_jax_names_are_segments(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxcompose -n 1 -q -o r vmap -i x=0 | hessian -w w\n(x @ w) ** 3")
    w, x = notebook.names["w"], notebook.names["x"]
    same(ran.value, jax.vmap(jax.hessian(lambda w, x: (x @ w) ** 3), (None, 0))(w, x))
    assert report(notebook).programs[0].title == "jit(vmap(hessian(cell)))"


@pytest.mark.parametrize(
    ("magic", "title"),
    [
        ("jaxgrad -w w", "jit(grad(cell))"),
        ("jaxgrad -w w --value", "jit(value_and_grad(cell))"),
        ("jaxgrad -w b --order 2", "jit(grad(grad(cell)))"),
        ("jaxgrad -w w --mode jacrev", "jit(jacrev(cell))"),
        ("jaxvmap -i x=0", "jit(vmap(cell))"),
        ("jaxcompose jit | vmap -i x=0 | jit | grad -w w", "jit(vmap(jit(grad(cell))))"),
    ],
)
def test_each_stack_compiles_once_and_not_again(
    notebook: Notebook, compiled: list[float], magic: str, title: str
) -> None:
    cell = f"%%{magic} -q -n 1 -o r\n((x @ w) ** 2).sum() * b ** 3"
    if "compose" in magic:
        cell = cell.replace(" -q -n 1 -o r", "").replace("jaxcompose", "jaxcompose -q -n 1 -o r")
    compiled.clear()
    notebook.must(cell)
    assert len(compiled) == 1
    assert report(notebook).programs[0].title == title
    assert len(report(notebook).compiles) == 1
    notebook.must("w = np.asarray(w) * 2.0; w = jax.device_put(w)")
    compiled.clear()
    notebook.must(cell)
    assert len(compiled) == 0
    assert report(notebook).compiles == ()
    notebook.must("w = jnp.ones((3, 2))")
    if "grad" not in magic:
        return
    compiled.clear()
    notebook.must(cell if "order" in magic else cell.replace("-w w", "-w x"))
    assert len(compiled) == 1


def test_the_cell_is_traced_once_and_effects_run_once(notebook: Notebook) -> None:
    notebook.must("seen = []")
    cell = (
        "%%jaxgrad -q -w w\nprint('tracing')\n"
        "jax.debug.callback(seen.append, w.sum())\n(w ** 2).sum()"
    )
    ran = notebook.must(cell)
    assert ran.printed.count("tracing") == 1
    jax.effects_barrier()
    assert len(notebook.names["seen"]) == 1


def test_a_pure_program_is_timed(notebook: Notebook) -> None:
    notebook.must(f"%%jaxgrad -q -o r -n 5 -w w\n{LOSS}")
    assert sum(len(t.samples) * t.inner for t in report(notebook).timings) == 5
    before = dict(notebook.names)
    ran = notebook.must(f"%%jaxgrad -q -o r -n 0 -w w\n{LOSS}")
    assert ran.value is None
    assert notebook.names.get("error") is before.get("error")


def test_static_traced_donated_x64_and_report(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxgrad -q -n 1 -w w -t n -o r\n(w ** n).sum()")
    same(ran.value, 3 * notebook.names["w"] ** 2)
    assert [v.name for v in report(notebook).inputs] == ["w", "n"]
    notebook.must("t = 2.0")
    ran = notebook.must("%%jaxgrad -q -n 1 --x64\njnp.sqrt(t)")
    assert ran.value.dtype == jnp.float64
    notebook.must("gone = jnp.ones(3)")
    notebook.must("%%jaxgrad -q -n 1 -w gone -d gone\n(gone ** 2).sum()")
    assert notebook.names["gone"].is_deleted()


# Decorated functions, one call, and inspect


def test_a_root_is_decorated_with_jax_itself(notebook: Notebook, compiled: list[float]) -> None:
    cell = (
        "%%jaxgrad --decorate -q -n 1 -w w --value -o r\n"
        "def square(u):\n    return u ** 2\n"
        "def g(v, w):\n    return square(v @ w).sum()\n"
        "out = g(x, w)"
    )
    compiled.clear()
    notebook.must(cell)
    assert len(compiled) == 1
    x, w = notebook.names["x"], notebook.names["w"]
    same(notebook.names["out"], jax.value_and_grad(lambda x, w: ((x @ w) ** 2).sum(), 1)(x, w))
    assert type(notebook.names["g"]) is type(jax.jit(loss))
    assert report(notebook).record.form is Form.DECORATOR
    assert report(notebook).programs[0].title == "jit(value_and_grad(g))"
    assert notebook.names["square"](3) == 9


def test_a_decorated_map_leaves_defaults_alone(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxvmap -q -n 1 -i v=0\ndef g(v, u, k=2.0):\n    return v @ u * k\nout = g(x, w)"
    )
    same(notebook.names["out"], notebook.names["x"] @ notebook.names["w"] * 2)


def test_a_jitted_root_is_kept_under_the_transform(notebook: Notebook) -> None:
    notebook.must("%%jaxgrad -q -n 1\n@jax.jit\ndef g(v):\n    return (v ** 2).sum()\nout = g(w)")
    same(notebook.names["out"], 2 * notebook.names["w"])


@pytest.mark.parametrize(
    ("line", "plain"),
    [
        ("%jaxgrad -q -w w f(w, x)", lambda f, w, x: jax.grad(f)(w, x)),
        ("%jaxgrad -q -w w,x --value f(w, x)", lambda f, w, x: both(f, w, x)),
        ("%jaxgrad -q --mode hessian -w w f(w, x)", lambda f, w, x: jax.hessian(f)(w, x)),
        ("%jaxvmap -q -i x=0 f(w, x)", lambda f, w, x: jax.vmap(f, (None, 0))(w, x)),
        (
            "%jaxcompose -q jit | vmap -i x=0 | grad -w w f(w, x)",
            lambda f, w, x: jax.vmap(jax.grad(f), (None, 0))(w, x),
        ),
        ("%jaxgrad -q -w w jax.jit(f)(w, x | x) if 0 else", None),
    ],
)
def test_one_call_binds_nothing(notebook: Notebook, line: str, plain: Any) -> None:
    if plain is None:
        assert notebook.run(line).error is not None
        return
    before = set(notebook.names)
    ran = notebook.must(line)
    same(ran.value, plain(*[notebook.names[name] for name in ("f", "w", "x")]))
    assert {n for n in set(notebook.names) - before if not n.startswith("_")} == set()


def both(f: Any, w: Any, x: Any) -> Any:
    value, (by_w, by_x) = jax.value_and_grad(f, (0, 1))(w, x)
    return value, {"w": by_w, "x": by_x}


def test_a_bar_in_a_call_is_python(notebook: Notebook) -> None:
    notebook.must("flags = jnp.array([1, 2]) > 1\ndef pick(w, k):\n    return (w * k.sum()).sum()")
    ran = notebook.must("%jaxcompose -q grad -w w pick(w, flags | ~flags)")
    same(ran.value, 2 * jnp.ones(3))


@pytest.mark.parametrize(
    "make",
    [
        lambda f: jax.grad(f),
        lambda f: jax.vmap(f, (None, 0)),
        lambda f: jax.jit(jax.vmap(jax.value_and_grad(f), (None, 0))),
        lambda f: jax.jacfwd(f),
        lambda f: jax.checkpoint(f),
    ],
)
def test_inspect_takes_transformed_functions(make: Any) -> None:
    w, x = jnp.ones(3), jnp.arange(12.0).reshape(4, 3)
    made = make(lambda w, x: ((x @ w) ** 2).mean())
    found = jaxscope.inspect(made, w, x)
    assert found.exact
    assert len(found.compiles) == 1
    assert len(found.equations) > 3


def test_the_rules_of_a_differentiated_cell_are_on_the_lines_that_call_them(
    notebook: Notebook,
) -> None:
    notebook.must("%%jaxgrad -q -n 0 -w w -o r\nh = jax.nn.relu(x * w)\n(h**2).mean()")
    (program,) = report(notebook).programs
    lines = {e.primitive: e.span and e.span.line for e in program.equations}
    assert {name: lines[name] for name in ("max", "gt", "select_n")} == dict.fromkeys(
        ("max", "gt", "select_n"), 2
    )
    assert None not in lines.values()


def test_the_report_holds_the_program_before_the_transforms(notebook: Notebook) -> None:
    from jaxscope.capture.program.compile import trace_program

    seen: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        from jaxscope.capture.run import program_run

        def watched(request: Any, *args: Any) -> Any:
            traced = trace_program(request, *args)
            seen.append(request)
            return traced

        patch.setattr(program_run, "trace_program", watched)
        notebook.must("%%jaxcompose -q -n 1 vmap -i x=0 | grad -w w\n(x @ w) ** 2")
    (request,) = seen
    one = request.untransformed
    assert [a.shape for a in one.avals] == [(3,), (3,)]
    assert set(one.paths) == {"x", "w"}
    values = {"x": notebook.names["x"][1], "w": notebook.names["w"]}
    (value,) = one.function(*[values[path] for path in one.paths])
    assert float(value) == pytest.approx(float(values["x"] @ values["w"]) ** 2)


# The same as a module


@pytest.mark.parametrize(
    ("magic", "body"),
    [
        ("%%jaxgrad -q -n 1 -o r -w w,b --value", LOSS),
        ("%%jaxgrad -q -n 1 -o r -w w --mode jvp", "w ** n"),
        ("%%jaxgrad -q -n 1 -o r -w w,b --mode vjp --has-aux", "u = w * b\nu ** 2, {'u': u}"),
        ("%%jaxgrad -q -n 1 -o r -w z", "(z ** 2).sum()"),
        ("%%jaxvmap -q -n 1 -o r -i x=1 --out-axes 1", "t = x * 2\nt + 1"),
        ("%%jaxcompose -q -n 1 -o r vmap -i x=0 | jacrev -w w", "jnp.tanh(x @ w * b)"),
    ],
)
def test_to_python_gives_the_same_numbers(notebook: Notebook, magic: str, body: str) -> None:
    ran = notebook.must(f"{magic}\n{body}")
    scope: dict[str, Any] = {}
    exec(report(notebook).to_python(), scope)
    names = scope["cell"].__code__.co_varnames[: scope["cell"].__code__.co_argcount]
    made = scope["cell_transformed"](*[notebook.names[name] for name in names])
    ours = sorted(float(jnp.sum(jnp.abs(v))) for v in jax.tree_util.tree_leaves(ran.value))
    theirs = [float(jnp.sum(jnp.abs(v))) for v in jax.tree_util.tree_leaves(made)]
    for number in ours:
        assert any(number == pytest.approx(other, rel=1e-5) for other in theirs)
    if "=" not in body:  # it binds no names
        assert len(theirs) == len(ours)


# The line


def test_pages_have_options_and_examples(notebook: Notebook) -> None:
    magics = notebook.shell.magics_manager.magics["cell"]
    for name in ("jaxgrad", "jaxvmap", "jaxpmap", "jaxcompose"):
        page = magics[name].__doc__
        assert "examples:" in page
        assert f"%%{name}" in page
        assert "--runs" in page
    assert "--mode" in magics["jaxgrad"].__doc__


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("%%jaxgrad --m", {"--mode"}),
        ("%%jaxgrad --mode he", {"hessian"}),
        ("%%jaxgrad -w par", {"params"}),
        ("%%jaxvmap --out", {"--out-axes"}),
        ("%%jaxpmap --dev", {"--device", "--devices"}),
        ("%%jaxcompose vm", {"vmap"}),
        ("%%jaxcompose jit | gr", {"grad"}),
        ("%jaxcompose jit | grad -w par", {"params"}),
    ],
)
def test_completion(notebook: Notebook, line: str, offers: set[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # IPython's completer is provisional
        found = list(notebook.shell.Completer.completions(line, len(line)))
    assert offers <= {completion.text for completion in found}


def test_a_derivative_that_is_constant_depends_on_no_value(notebook: Notebook) -> None:
    ran = notebook.must("%%jaxgrad -n 1 --mode jacrev -w w\n3 * w")
    assert "No result depends on the value of `w`." in ran.text


def test_no_input_of_a_map_is_to_be_made_static(notebook: Notebook) -> None:
    notebook.must("import numpy\nx = numpy.ones((3, 2))")
    branch = "if x.sum() > 0:\n    s = 1"
    assert "run with `-s x`" in notebook.run(f"%%jaxjit\n{branch}").message
    mapped = notebook.run(f"%%jaxvmap -i x=0\n{branch}").message
    assert "`x` is traced." in mapped
    assert "-s x" not in mapped
