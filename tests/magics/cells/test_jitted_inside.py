"""Functions jitted by a cell that only other code of the cell calls, such as a training loop."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import jax
import numpy as np
import pytest

from tests.magics.notebook import Notebook, open_notebook

STEP = """
    for i in range(3):
        w = step(w, x)
        print(i, float(w.sum()))
    return w
w2 = fit(w, x)"""
CELLS = {
    "a function": "@jax.jit\ndef step(w, x):\n    return w - 0.1 * jax.grad(loss)(w, x)\n"
    "def fit(w, x):" + STEP,
    "a donated argument": "@functools.partial(jax.jit, donate_argnums=0)\ndef step(w, x):\n"
    "    return w - 0.1 * jax.grad(loss)(w, x)\ndef fit(w, x):\n    w = w.copy()" + STEP,
    "a static argument": "@functools.partial(jax.jit, static_argnames='n')\n"
    "def step(w, x, n=1):\n    return w - 0.1 * n * jax.grad(loss)(w, x)\n"
    "def fit(w, x):" + STEP.replace("step(w, x)", "step(w, x, n=1)"),
    "in the loop's function": "def fit(w, x):\n    @jax.jit\n    def step(w, x):\n"
    "        return w - 0.1 * jax.grad(loss)(w, x)" + STEP,
    "a method": "class Trainer:\n    def __init__(self, w):\n        self.w = w\n"
    "        self._step = jax.jit(self.step)\n    def step(self, w, x):\n"
    "        return w - 0.1 * jax.grad(loss)(w, x)\n    def fit(self, x):\n"
    "        for i in range(3):\n            self.w = self._step(self.w, x)\n"
    "            print(i, float(self.w.sum()))\n        return self.w\nw2 = Trainer(w).fit(x)",
}


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must(
            "import functools, jax, jax.numpy as jnp, numpy as np\n"
            "x, w = jnp.ones((8, 4)), jnp.eye(4)\n"
            "def loss(w, x):\n    return (jnp.tanh(x @ w) ** 2).mean()\n"
            "ones = np.ones((4, 4))\nmesh = jax.sharding.Mesh(jax.devices()[:1], 'd')\n"
            "expected = w\nfor _ in range(3):\n"
            "    expected = expected - 0.1 * jax.grad(loss)(expected, x)"
        )
        yield opened


@pytest.mark.parametrize("case", CELLS)
def test_its_program_is_reported(notebook: Notebook, case: str) -> None:
    ran = notebook.must(f"%%jaxjit -n 1 -o report\n{CELLS[case]}")
    np.testing.assert_allclose(notebook.names["w2"], notebook.names["expected"], rtol=1e-6)
    assert ran.printed.count("\n") == 3
    (program,) = notebook.names["report"].record.programs
    assert program.name == "step"
    assert {frame.span.line for one in program.equations for frame in one.frames[-1:]} == {
        1 + CELLS[case][: CELLS[case].index("jax.grad")].count("\n") + 1
    }
    assert "step jitted by the cell" in " ".join(ran.text.split())


def test_the_program_of_a_filter_jit_function_is_reported(notebook: Notebook) -> None:
    pytest.importorskip("equinox")
    notebook.must("import equinox as eqx")
    ran = notebook.must(
        "%%jaxjit -n 1 -o report\ndef fit(w, x):\n"
        "    step = eqx.filter_jit(lambda w, x: w - 0.1 * jax.grad(loss)(w, x))" + STEP
    )
    assert ran.text.startswith("jit(<lambda>)")
    assert "compiled once" in ran.text
    (program,) = notebook.names["report"].record.programs
    assert [value.name for value in program.inputs] == ["w", "x"]
    np.testing.assert_allclose(notebook.names["w2"], notebook.names["expected"], rtol=1e-6)


def test_a_function_of_another_cell_is_left_alone(notebook: Notebook) -> None:
    notebook.must("other = jax.jit(lambda v: v * 7)")
    ran = notebook.must("%%jaxjit -n 1\ndef fit(v):\n    print(float(other(v).sum()))\nfit(x)")
    assert "no program to show" in ran.text


def test_a_cell_that_clears_the_caches_compiled_once_and_has_exact_links(
    notebook: Notebook,
) -> None:
    notebook.must(
        "%%jaxjit -n 1 -q -o report\n@jax.jit\ndef step(w, x):\n    return loss(w, x) * 2\n"
        "y = step(w, x)\njax.clear_caches()"
    )
    report = notebook.names["report"]
    assert [one.fun_name for one in report.compiles] == ["step"]
    assert report.exact


def test_a_call_after_its_cell_has_the_same_links(notebook: Notebook) -> None:
    notebook.must(
        "%%jaxjit -n 1 -q -o report\n@jax.jit\ndef fit_step(w, x):\n"
        "    def nll(w):\n        return -jax.nn.log_softmax(x @ w)[:, 0].mean()\n"
        "    value, grad = jax.value_and_grad(nll)(w)\n    return w - 0.1 * grad\n"
        "y = fit_step(w, x)"  # JAX drops the value, and what only it needs
    )
    first = notebook.names["report"]
    notebook.must("%jaxjit -n 1 -q -o again fit_step(w, x)")
    again = notebook.names["again"]
    assert first.exact
    assert again.exact
    assert len(again.equations) == len(first.equations)
    assert not again.compiles


SOLVER = """
def rate(y, t):
    return -y * jnp.sin(t)
ys = odeint(rate, x[0], ts)"""


@pytest.fixture
def solver(notebook: Notebook) -> Notebook:
    notebook.must(
        "from jax.experimental.ode import odeint\nts = jnp.linspace(0.0, 1.0, 5)\nkept = []"
    )
    return notebook


def test_a_librarys_solver_is_reported_with_the_lines_of_its_function(solver: Notebook) -> None:
    ran = solver.must(f"%%jaxjit -n 1 -o report{SOLVER}")
    ys = solver.names["ys"]
    solver.must(SOLVER)
    np.testing.assert_array_equal(ys, solver.names["ys"])
    assert ran.text.startswith("jit(_odeint_wrapper)")
    assert "_odeint_wrapper with functions of the cell" in " ".join(ran.text.split())
    (program,) = solver.names["report"].record.programs
    lines = [frame.span.line for one in program.equations for frame in one.frames[:1]]
    assert len(lines) == len(program.equations)
    assert {e.frames[0].span.line for e in program.equations if e.primitive == "sin"} == {3}
    assert set(lines) == {3, 4}  # the solver's own work is of the line that calls it


def test_a_solver_that_the_collector_does_not_know_is_reported(solver: Notebook) -> None:
    gc.freeze()  # as a program may, and then its objects are in no list
    assert solver.must(f"%%jaxjit -n 1{SOLVER}").text.startswith("jit(_odeint_wrapper)")


def test_what_the_cell_jits_of_another_place_is_reported(notebook: Notebook) -> None:
    notebook.must("def far(x):\n    return jnp.sin(x) * 2")
    ran = notebook.must(
        "%%jaxjit -n 1 -o report\ndef helper(x):\n    return x\n"
        "rows = jax.jit(jax.vmap(far))\nfor _ in range(2):\n    y = rows(x)"
    )
    assert "far jitted by the cell" in " ".join(ran.text.split())
    (program,) = notebook.names["report"].record.programs
    assert {one.span.line for one in program.equations if one.span} == {6}
    np.testing.assert_allclose(notebook.names["y"], np.full((8, 4), 2 * np.sin(1)), rtol=1e-6)


NET = """%%jaxjit -n 1 -o report
class Net:
    def __init__(self, w):
        self.w = w
    def __call__(self, x, *, scale=1.0):
        h = x @ self.w
        return jnp.tanh(h) * scale
net = Net(w)
y = """


@pytest.mark.parametrize(
    "call", ["jax.jit(net)(x)", "jax.jit(functools.partial(Net(w), scale=2.0))(x)"]
)
def test_a_jitted_object_has_the_name_of_its_class(notebook: Notebook, call: str) -> None:
    ran = notebook.must(NET + call)
    assert "compiled once" in " ".join(ran.text.split())
    (program,) = notebook.names["report"].record.programs
    assert program.name == "Net"
    lines = {frame.span.line for one in program.equations for frame in one.frames[-1:]}
    assert lines == {6, 7}


def test_a_jitted_object_has_one_name_in_the_log_and_in_a_guard(notebook: Notebook) -> None:
    notebook.must(
        "class Model:\n    def __call__(self, x):\n        return x - 5\n"
        "import jaxscope\ncalled = jax.jit(Model())\n"
        "with jaxscope.expect_compiles(exactly=1, function=called):\n    called(x)"
    )
    ran = notebook.must("%jaxjit -n 1 called(x)")
    assert ran.text.startswith("jit(Model)")


def test_a_function_that_only_a_lambda_calls_can_be_jitted(notebook: Notebook) -> None:
    cell = (
        "%%jaxjit -n 1\nDECORATORdef cost(t):\n    return jnp.sum(t * 3)\n"
        "y = list(map(lambda t: np.asarray(cost(t)), [ones]))"
    )
    ran = notebook.must(cell.replace("DECORATOR", ""))
    assert "Only other functions get or call `cost` here" in " ".join(ran.text.split())
    ran = notebook.must(cell.replace("DECORATOR", "@jax.jit\n"))
    assert ran.text.startswith("jit(cost)")


def test_a_jitted_function_of_an_earlier_cell_is_not_the_cells(notebook: Notebook) -> None:
    notebook.must("earlier = jax.jit(lambda x: x * 3)")
    ran = notebook.must("%%jaxjit\ndef helper(x):\n    return x\ny = earlier(x)")
    assert "no program to show" in ran.text


def test_a_function_that_a_decorator_hides_is_not_called_handed_to_others(
    notebook: Notebook,
) -> None:
    notebook.must(
        "def outside(f):\n    jitted = jax.jit(f)\n    @functools.wraps(f)\n"
        "    def called(*args):\n        return jax.block_until_ready(jitted(*args))\n"
        "    return called"
    )
    ran = notebook.must(
        "%%jaxjit\n@outside\ndef hidden(x):\n    return x + 1\n"
        "with jax.disable_jit():\n    y = hidden(x)"
    )
    said = " ".join(ran.text.split())
    assert "`hidden` ran as decorated, so jaxscope compiled nothing." in said


def test_operations_one_by_one_are_called_eager_the_longest_first(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit\ndef cost(v):\n    return jnp.linalg.slogdet(jnp.outer(v - 3.25, v))[1]\n"
        "r = list(map(cost, [jnp.arange(7.0)]))"
    )
    assert "Only eager operations compiled here (`slogdet`" in " ".join(ran.text.split())


def test_a_loop_that_other_code_runs_is_reported_with_the_lines_of_its_function(
    notebook: Notebook,
) -> None:
    notebook.must(
        "def descend(loss, w):\n    step = lambda w: w - 0.1 * jax.grad(loss)(w)\n"
        "    return jax.lax.while_loop(lambda w: loss(w) > 1e-3, step, w)\nx0 = jnp.ones(3)"
    )
    cell = "def height(v):\n    return (v**2).sum()\nlow = descend(height, x0)"
    ran = notebook.must(f"%%jaxjit -n 1 -o report\n{cell}")
    low = notebook.names["low"]
    notebook.must(cell)
    np.testing.assert_array_equal(low, notebook.names["low"])
    assert ran.text.startswith("jit(while)")
    assert "while with functions of the cell" in " ".join(ran.text.split())
    report = notebook.names["report"]
    assert [one.fun_name for one in report.compiles] == ["while"]
    (program,) = report.record.programs
    assert {e.frames[0].span.line for e in program.equations if e.primitive == "integer_pow"} == {3}


def test_the_counter_of_a_loop_is_of_the_line_that_calls_it(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1 -o report\ndef step(total, row):\n    return total + row, total\n"
        "last, _ = jax.lax.scan(step, jnp.zeros(4), x)"
    )
    assert "Unattributed" not in ran.text
    (program,) = notebook.names["report"].record.programs
    assert {one.span.line for one in program.equations if one.span} == {3, 4}


WITH = {
    "jax.enable_x64(True)": "f64[4,4]",
    "jax.default_matmul_precision('highest')": "Precision.HIGHEST",
    "jax.set_mesh(mesh)": "f32[4,4]",
}


@pytest.mark.parametrize("settings", WITH)
def test_the_program_that_ran_with_settings_is_reported_after_them(
    notebook: Notebook, settings: str
) -> None:
    seen: list[str] = []

    def listen(event: str, seconds: float, **given: object) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            seen.append(str(given.get("fun_name")))

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        notebook.must(
            "%%jaxjit -n 1 -o report\n@jax.jit\ndef square(a):\n    return a @ a\n"
            f"with {settings}:\n    y = square(ones)"
        )
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert WITH[settings] in notebook.names["report"].stage("jaxpr").text
    assert [name for name in seen if "square" in name] == seen[:1]


@pytest.mark.parametrize("magic", ["%%jaxjit", "%%jaxgrad", "%%jaxjit --decorate"])
@pytest.mark.parametrize("given", ["1.0", "np.float64(1.0)", "np.arange(1.0)"])
def test_a_call_with_settings_is_timed_with_them(
    notebook: Notebook, magic: str, given: str
) -> None:
    notebook.must(
        f"{magic} -n 2 -o report\ndef double(v):\n    return jnp.sum(v * 2.0)\n"
        f"with jax.enable_x64(True):\n    y = double({given})"
    )
    (program,) = notebook.names["report"].record.programs
    assert program.timings
    assert [one.aval.partition("[")[0] for one in program.inputs] == ["float64"]
    assert notebook.names["y"].dtype == np.float64


@pytest.mark.parametrize("change", ["held['more'] = x", "held.update(x=w)", "held.clear()"])
def test_the_program_that_ran_is_reported_after_its_argument_changed(
    notebook: Notebook, change: str
) -> None:
    notebook.must(
        "%%jaxjit -n 1 -o report\n@jax.jit\ndef total(held):\n"
        "    return sum(value.sum() for value in held.values())\n"
        f"held = {{'x': x}}\ny = total(held)\n{change}"
    )
    (program,) = notebook.names["report"].record.programs
    assert [(one.name, one.aval) for one in program.inputs] == [("held['x']", "float32[8,4]")]


AOT = {
    "square.lower(ones).compile()(ones)": 1,
    "square.trace(ones).lower().compile()": 1,
    "square.lower(jax.ShapeDtypeStruct((4, 4), 'float32')).compile()": 1,
    "square.lower(ones).as_text(), square.trace(ones).jaxpr, square.eval_shape(ones)": 0,
    "square.lower(ones), square(ones)": 1,
    "square.trace(ones).lower()": 0,
    "square.lower(ones).compile(compiler_options={'xla_cpu_enable_fast_math': True})": 0,
    "square.trace(ones), square(ones)": 1,
    "square.trace(ones), square.lower(ones).compile()": 1,
    "square(ones), square.lower(ones).compile()": 1,
}


@pytest.mark.parametrize("call", AOT)
def test_a_cell_that_lowers_and_compiles_its_function_is_reported(
    notebook: Notebook, call: str
) -> None:
    ran = notebook.must(
        f"%%jaxjit -n 2 -o report\n@jax.jit\ndef square(a):\n    return a @ a\nheld = {call}"
    )
    assert ran.text.startswith("jit(square)" if AOT[call] else "cell")
    found = notebook.names["report"].record.programs
    assert [(one.name, len(one.compiles)) for one in found] == [("square", 1)] * AOT[call]
    assert "approximate" not in ran.text
    assert ("not run (jax.ShapeDtypeStruct)" in ran.text) == ("ShapeDtype" in call)


TRANSFORMED = {
    "jax.vjp(square, m)": [1],
    "jax.vjp(square, m)[1](m)": [1, 2],
    "jax.jvp(square, (m,), (m,))": [3],
    "jax.linearize(square, m)[1](m)": [1, 2],
    "square(m), jax.vjp(square, m)[1](m)": [1, 1, 2],
    "jax.checkpoint(square)(m)": [1],
}
"""Calls, and the products of 4 × 4 matrices in each program that they compile."""


@pytest.mark.parametrize("call", TRANSFORMED)
def test_what_a_transform_makes_of_a_jitted_function_is_reported(
    notebook: Notebook, compiled: list[float], call: str
) -> None:
    notebook.must("m = jnp.eye(4) + 1")
    cell = f"@jax.jit\ndef square(a):\n    return a @ a\nheld = {call}"
    for _ in range(2):  # what JAX compiles once for itself is then there
        compiled.clear()
        notebook.must(cell)
    plainly, alone = len(compiled), notebook.names["held"]
    # jaxscope compiles some once, to measure the device.
    notebook.must(f"%%jaxjit -n 2\n{cell.replace('square', 'other')}")
    compiled.clear()
    ran = notebook.must(f"%%jaxjit -n 2 -o report\n{cell}")
    programs = notebook.names["report"].record.programs
    products = [round(one.cost.flops / (2 * 4**3)) for one in programs]
    assert sorted(products) == TRANSFORMED[call]
    assert [len(one.compiles) for one in programs] == [1] * len(programs)
    assert len(compiled) == plainly  # the programs that ran: none is compiled again
    own = [one.title for one in programs if one.title == "jit(square)"]
    assert len(own) == call.startswith("square")
    assert "approximate" not in ran.text
    for before, after in zip(*map(jax.tree.leaves, (alone, notebook.names["held"])), strict=True):
        assert np.array_equal(before, after)


def test_what_a_transform_makes_of_a_function_that_donates_is_run_on_copies(
    notebook: Notebook,
) -> None:
    ran = notebook.must(
        "%%jaxjit -n 2 -o report\n@functools.partial(jax.jit, donate_argnums=0)\ndef double(a):\n"
        "    return a * 2\na, b = jnp.eye(4) + 0, jnp.eye(4) + 1\n"
        "y, dy = jax.jvp(double, (a,), (b,))\n"
        "z, back = jax.vjp(double, jnp.eye(4) + 3)\nback(z)"
    )
    assert ran.text.startswith("jit(transform(double))")
    programs = notebook.names["report"].record.programs
    assert [len(one.compiles) for one in programs] == [1, 1, 1]
    assert all(one.timings for one in programs)
    notebook.must("g, = back(z)")
    assert np.array_equal(notebook.names["g"], 2 * notebook.names["z"])


THREADS = {
    "a pool": "with ThreadPoolExecutor(2) as pool:\n    held = list(pool.map(square, sizes))",
    "threads": "held = []\nones = [threading.Thread(target=lambda a=a: held.append(square(a)))"
    " for a in sizes]\nfor one in ones:\n    one.start()\nfor one in ones:\n    one.join()",
}


@pytest.mark.parametrize("way", THREADS)
def test_what_the_threads_of_a_cell_compile_is_reported(notebook: Notebook, way: str) -> None:
    notebook.must(
        "import threading\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "sizes = [jnp.ones((n, n)) for n in (8, 4, 2)]"
    )
    ran = notebook.must(
        "%%jaxjit -n 1 -o report\n@jax.jit\ndef square(a):\n    return a @ a\n" + THREADS[way]
    )
    programs = notebook.names["report"].record.programs
    products = sorted(round((one.cost.flops / 2) ** (1 / 3)) for one in programs)
    assert products == [2, 4, 8]
    assert [len(one.compiles) for one in programs] == [1, 1, 1]
    assert "approximate" not in ran.text


def test_a_loop_around_a_transform_is_not_traced_with_it(notebook: Notebook) -> None:
    ran = notebook.must(
        "%%jaxjit -n 1\n@jax.jit\ndef square(a):\n    return a @ a\ndef fit(a):\n"
        "    for i in range(2):\n        a, back = jax.vjp(square, a)\n"
        "        print(i, float(back(a)[0].sum()))\n    return a\nb = fit(jnp.eye(4))"
    )
    said = " ".join(ran.text.split())
    assert said.startswith("jit(transform(square))")
    assert "runs only while" not in said
    assert "one signature" not in said


def test_a_function_that_returns_a_closure_is_not_told_of_the_variable_out(
    notebook: Notebook,
) -> None:
    ran = notebook.must(
        "%%jaxjit\ndef make(rate):\n    return lambda x: x * rate\nscaled = make(x)"
    )
    said = " ".join(ran.text.split())
    assert "`make` ran as plain Python: the result would keep an array inside a function" in said
    np.testing.assert_array_equal(notebook.must("scaled(x)").value, np.ones((8, 4)))


def test_an_operation_inside_a_helper_is_no_program_of_it(solver: Notebook) -> None:
    ran = solver.must(
        "%%jaxjit\ndef helper(x):\n    return jnp.linalg.norm(x) + jax.nn.relu(x).mean()\n"
        "found = list(map(helper, [x]))"
    )
    assert "no program to show" in ran.text


@pytest.fixture
def unfrozen() -> Iterator[None]:
    """Objects as in a session of a user's: what is frozen refers to nothing that can be found."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("unfrozen")
def test_a_function_that_a_cache_of_jax_keeps_is_not_refused(solver: Notebook) -> None:
    loss = "def loss(p):\n    return odeint(lambda y, t: -p * y, x[0], ts)[-1].sum()\n"
    solver.must(f"%%jaxgrad -n 1\n{loss}g = loss(2.0)")
    solver.must(f"{loss}expected = jax.grad(loss)(2.0)")
    np.testing.assert_allclose(solver.names["g"], solver.names["expected"], rtol=1e-6)


def test_what_the_function_of_a_solver_keeps_is_refused(solver: Notebook) -> None:
    ran = solver.run(
        "%%jaxjit --block\ndef rate(y, t):\n    kept.append(y)\n    return -y\n"
        "ys = odeint(rate, x[0], ts)"
    )
    assert "keeps a traced value" in ran.message or "changes `kept`" in ran.message
    assert solver.names["kept"] == []


def test_its_links_are_exact_after_another_program_was_compiled_with_it(solver: Notebook) -> None:
    solver.must(
        "%%jaxjit -n 1\ndef loss(w):\n    return (jnp.tanh(x @ w) ** 2).mean()\n@jax.jit\n"
        "def step(w):\n    return w - 0.1 * jax.grad(loss)(w)\nw = jnp.eye(x.shape[1])\n"
        "for _ in range(2):\n    w = step(w)"
    )
    solver.must("%%jaxjit -n 1\nw2 = step(w) * 2")
    ran = solver.must("%jaxjit -n 1 step(w)")
    assert "reused the compiled program" in " ".join(ran.text.split())
    assert "approximate" not in ran.text


def test_a_profile_that_would_repeat_effects_is_said_to_be_missing(solver: Notebook) -> None:
    shape = "jax.ShapeDtypeStruct((), 'float32')"
    step = f"@jax.jit\ndef step(x):\n    return jax.pure_callback(abs, {shape}, x.sum())\nstep(x)"
    ran = solver.must(f"%%jaxjit --profile\n{step}")
    text = " ".join(ran.text.split())
    assert "There is no profile: the cell has run it, and a second run would repeat its" in text
    assert "Profile the cell with %%jaxprof." in text
    ran = solver.must("%%jaxjit --profile -n 1\n@jax.jit\ndef step(x):\n    return x\nstep(x)")
    assert "the cell has run it, and -n 1 allows no second run" in " ".join(ran.text.split())
