"""The experiments on compilation that users come with, each as they would type it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jaxscope
from jaxscope.model import CauseKind, FindingKind, StageKind
from tests.magics.notebook import Notebook, open_notebook


@pytest.fixture(scope="module")
def opened() -> Iterator[Notebook]:
    with open_notebook() as notebook:
        notebook.must(
            "import functools\nimport jax, jax.numpy as jnp, numpy as np\nfrom jax import lax"
        )
        yield notebook


@pytest.fixture
def notebook(opened: Notebook) -> Notebook:
    return opened


def kinds(log: jaxscope.CompileLog) -> list[list[str]]:
    return [[str(cause.kind) for cause in compile.causes] for compile in log.compiles]


# λ·where(x > 0, x, α·eˣ − α): every rung of the ladder, and its gradient.


def test_every_rung_of_the_ladder_leads_back_to_the_line(notebook: Notebook) -> None:
    notebook.must("v = jnp.linspace(-4.0, 4.0, 100)\nalpha, scale = 1.67, 1.05")
    notebook.must(
        "%%jaxjit -q -n 1 -o selu\n"
        "negative = alpha * jnp.exp(v) - alpha\n"
        "y = scale * jnp.where(v > 0, v, negative)\n"
        "del negative"
    )
    report = notebook.names["selu"]
    for kind in StageKind:
        # Nothing of this line stayed unfused.
        if kind is not StageKind.REMARKS and report.stage(kind).unavailable is None:
            found = report.stage_lines(kind, 2)
            assert found.lines, kind
            assert 2 in report.source_lines(kind, found.lines[0]).lines, kind
    assert {"jaxpr", "stablehlo", "hlo", "optimized_hlo"} <= {
        str(stage.kind) for stage in report.programs[0].stages
    }


def test_forward_and_backward_equations_are_told_apart() -> None:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def selu(x: Any) -> Any:
        return 1.05 * jnp.where(x > 0, x, 1.67 * jnp.exp(x) - 1.67)

    with jaxscope.options(runs=0):
        report = jaxscope.inspect(
            jax.jit(jax.grad(lambda v: selu(v).sum())), np.ones(9, np.float32)
        )
    phases = {str(equation.phase) for equation in report.equations}
    assert {"forward", "backward"} <= phases
    forward = {e.primitive for e in report.equations if e.phase == "forward"}
    assert "exp" in forward


def test_a_compile_of_any_function_can_be_opened() -> None:
    import jax
    import jax.numpy as jnp

    value = np.linspace(0, 1, 33, dtype=np.float32)
    with jaxscope.watch() as log:
        jax.jit(lambda x: jnp.exp(x) + 1)(value)
        jnp.sinc(value)
    for index, compile in enumerate(log.compiles):
        text = log.report(index).stage("optimized_hlo").text
        assert text.startswith("HloModule"), compile.fun_name
    assert "exponential" in log.report(0).stage("stablehlo").text


# A jitted function that prints.


def test_a_print_shows_at_the_first_call_only_and_jitting_again_changes_nothing(
    notebook: Notebook,
) -> None:
    ran = notebook.must(
        "%%jaxwatch -q -o printed\n"
        "def shout(x):\n"
        "    print('tracing')\n"
        "    return x * 2\n"
        "for _ in range(3):\n"
        "    jax.jit(shout)(np.ones(3))"
    )
    assert ran.printed.count("tracing") == 1
    assert len(notebook.names["printed"].compiles) == 1
    ran = notebook.must(
        "%%jaxjit -n 1 -o told\ndef loud(x):\n    print('tracing')\n    return x * 2\n"
        "loud(np.ones(3))"
    )
    (finding,) = [
        f for f in notebook.names["told"].findings if f.kind is FindingKind.TRACE_TIME_SIDE_EFFECT
    ]
    assert finding.line == 3


# A method jitted with a static self that counts its calls.


def test_a_method_with_a_static_self_counts_its_traces(notebook: Notebook) -> None:
    notebook.must(
        "class Counter:\n"
        "    def __init__(self):\n"
        "        self.calls = 0\n"
        "    @functools.partial(jax.jit, static_argnums=0)\n"
        "    def scaled(self, x):\n"
        "        self.calls += 1\n"
        "        return x * 3\n"
    )
    ran = notebook.must(
        "%%jaxwatch -o counted\n"
        "counter, seen = Counter(), []\n"
        "for _ in range(3):\n"
        "    seen.append(counter.calls)\n"
        "    counter.scaled(np.ones(3))\n"
        "other = Counter()\n"
        "other.scaled(np.ones(3))\n"
        "seen, other.calls"
    )
    assert ran.value == ([0, 1, 1], 1)
    log = notebook.names["counted"]
    assert kinds(log) == [["first_call"], ["static_identity"]]
    (cause,) = log.compiles[1].causes
    assert cause.path == "self"
    assert "__eq__" in cause.fix
    assert "__hash__" in cause.fix


def test_a_jitted_method_of_an_object_can_be_looked_into(notebook: Notebook) -> None:
    notebook.must(
        "class Scaler:\n"
        "    factor = 3\n"
        "    @functools.partial(jax.jit, static_argnums=0)\n"
        "    def scaled(self, x):\n"
        "        return x * self.factor\n"
        "scaler = Scaler()"
    )
    ran = notebook.must("%jaxjit -q -n 1 -o looked scaler.scaled(np.ones(3))")
    assert ran.value.tolist() == [3.0, 3.0, 3.0]
    report = notebook.names["looked"]
    assert [value.name for value in report.inputs] == ["x"]
    assert [equation.primitive for equation in report.equations] == ["mul"]
    same = jaxscope.inspect(notebook.names["scaler"].scaled, np.ones(3))
    assert [value.name for value in same.inputs] == ["x"]


def test_an_object_with_a_jitted_call_is_called_as_it_is(notebook: Notebook) -> None:
    notebook.must(
        "class Counted:\n"
        "    calls = 0\n"
        "    @functools.partial(jax.jit, static_argnums=0)\n"
        "    def __call__(self, x):\n"
        "        self.calls += 1\n"
        "        return x * 3\n"
        "counted = Counted()"
    )
    ran = notebook.must("%jaxjit -n 1 -o looked counted(np.ones(3))")
    assert (ran.value.tolist(), notebook.names["counted"].calls) == ([3.0, 3.0, 3.0], 1)
    assert "`self.calls` is mutated only while `__call__` is traced" in " ".join(ran.text.split())
    assert [value.name for value in notebook.names["looked"].inputs] == ["x"]


@pytest.mark.parametrize("call", ["g(x, 3)", "g(x, n=3)", "g(n=3, x=x)"])
def test_a_static_argument_is_no_input_however_it_is_given(notebook: Notebook, call: str) -> None:
    notebook.must(
        "x = np.ones(4, np.float32)\n"
        "@functools.partial(jax.jit, static_argnames='n')\n"
        "def g(x, n):\n"
        "    return x * n"
    )
    notebook.must(f"%jaxjit -q -n 1 -o told {call}")
    (value,) = notebook.names["told"].inputs
    assert (value.name, value.reason) == ("x", "NumPy array of float32")


def test_a_jitted_method_of_the_cell_is_reported_with_what_made_it_compile_again(
    notebook: Notebook,
) -> None:
    ran = notebook.must(
        "%%jaxjit\n"
        "class Doubler:\n"
        "    @functools.partial(jax.jit, static_argnums=0)\n"
        "    def doubled(self, x):\n"
        "        return x * 2\n"
        "x = np.ones(3)\n"
        "Doubler().doubled(x), Doubler().doubled(x)"
    )
    text = " ".join(ran.text.split())
    assert re.search(r"jit\(doubled\) .* because self: Doubler object \d+ → Doubler object", text)
    assert "othing was compiled" not in text


# When XLA recompiles.

CALLS = {
    "another shape": ("f(x)", "f(np.ones(5, np.float32))", CauseKind.SHAPE),
    "another rank": ("f(x)", "f(np.ones((4, 1), np.float32))", CauseKind.RANK),
    "another dtype": ("f(x)", "f(np.ones(4, np.int32))", CauseKind.DTYPE),
    "a weak type": ("f(x, 2.0)", "f(x, np.float32(2))", CauseKind.WEAK_TYPE),
    "another kind of number": ("f(x, 2.0)", "f(x, 2)", CauseKind.VALUE_KIND),
    "another static value": ("f(x, n=1)", "f(x, n=2)", CauseKind.STATIC_VALUE),
    "a default given": ("f(x)", "f(x, n=1)", CauseKind.CALL_STYLE),
    "another structure": ("f(x)", "f([x, x])", CauseKind.STRUCTURE),
    "a setting": (
        "f(x)",
        "with jax.default_matmul_precision('highest'):\n    f(x)",
        CauseKind.CONTEXT,
    ),
    "a commitment": ("f(x)", "f(jax.device_put(x, jax.devices()[0]))", CauseKind.COMMITTED),
}


@pytest.mark.parametrize("name", CALLS)
def test_each_reason_to_compile_again_is_told_apart(notebook: Notebook, name: str) -> None:
    first, call, kind = CALLS[name]
    notebook.must(
        "x = np.ones(4, np.float32)\n"
        "@functools.partial(jax.jit, static_argnames='n')\n"
        "def f(x, scale=1.0, n=1):\n"
        "    return sum(jnp.sum(leaf) for leaf in jax.tree.leaves(x)) * scale * n\n"
        f"{first};"
    )
    notebook.must(f"%%jaxwatch -q -o again\n{call};")
    (compile,) = notebook.names["again"].compiles
    assert compile.causes[0].kind is kind
    assert compile.is_recompile
    assert compile.causes[0].fix


def test_an_unhashable_static_argument_is_an_error_and_no_compile(notebook: Notebook) -> None:
    notebook.must("g = jax.jit(lambda x, n: x * n[0], static_argnums=1)")
    ran = notebook.run("%%jaxwatch\ng(np.ones(3), [1, 2])")
    assert isinstance(ran.error, ValueError)
    assert "hash" in str(ran.error)
    assert ran.text.startswith("Nothing was compiled.")


# Value-dependent Python.


@pytest.mark.parametrize(
    ("line", "option", "error", "cure"),
    [
        (
            "y = a if limit > 0 else -a",
            "",
            "TracerBoolConversionError",
            "`jnp.where(limit > 0, a, -a)`",
        ),
        ("y = jnp.unique(a)", "", "ConcretizationTypeError", "size="),
        ("y = a[a > 0]", "", "NonConcreteBooleanIndexError", "`jnp.where(mask, x, 0)`"),
        ("y = a[:count]", "-t count", "IndexError", "-s count"),
        ("y = jnp.zeros(count)", "-t count", "TypeError", "`-s count`"),
        ("print(f'{limit * 2:.2e}')", "", "TypeError", "jax.debug.print"),
        ("b.block_until_ready()", "", "AttributeError", "leave `block_until_ready` out"),
    ],
)
def test_what_needs_a_value_is_an_error_with_its_line_and_the_cure(
    notebook: Notebook, line: str, option: str, error: str, cure: str
) -> None:
    notebook.must("a, limit, count = np.ones(3, np.float32), 1.5, 2")
    ran = notebook.run(f"%%jaxjit {option}\nb = a * 2\n{line}")
    assert type(ran.error).__name__ == error
    assert "Line 3" in ran.message
    assert cure in ran.message


def test_the_cure_names_the_input_that_was_asked_for_and_no_other(notebook: Notebook) -> None:
    notebook.must("a, limit, config = np.ones(3, np.float32), 1.5, {'rate': 0.5}")
    ran = notebook.run("%%jaxjit\ny = a if limit > 0 else -a")
    assert "`limit` is traced" in ran.message
    assert "`-s limit`" in ran.message
    ran = notebook.run("%%jaxjit\nif config['rate'] > 0.2: y = a")
    assert "`config` is traced" in ran.message


def test_in_a_function_a_number_may_be_made_static_and_an_array_may_not(
    notebook: Notebook,
) -> None:
    notebook.must("a = np.ones(3, np.float32)")
    body = "def head(v, n):\n    return v[:n]\nhead(a, 2)"
    ran = notebook.run(f"%%jaxjit --decorate\n{body}")
    assert "Line 3: `n` is traced" in ran.message
    assert "`-s n`" in ran.message
    assert notebook.must(f"%%jaxjit -n 1 -s n\n{body}").value.shape == (2,)
    assert notebook.must(f"%%jaxjit -n 1\n{body}").value.shape == (2,)
    sign = "def sign(v):\n    return v if v[0] > 0 else -v\nsign(a)"
    ran = notebook.run(f"%%jaxjit --decorate\n{sign}")
    assert "jnp.where(" in ran.message
    assert "-s" not in ran.message
    ran = notebook.must(f"%%jaxjit\n{sign}")
    assert "`sign` ran as plain Python" in ran.text
    assert "jnp.where(" in ran.text


# A Python loop traced many times.


def test_a_python_loop_is_unrolled_and_a_lax_loop_is_not(notebook: Notebook) -> None:
    notebook.must("w = np.ones(4, np.float32)")
    notebook.must(
        "%%jaxjit -q -n 1 -o unrolled\nz = w\nfor _ in range(60):\n    z = jnp.sin(z) * 1.01"
    )
    report = notebook.names["unrolled"]
    (finding,) = [f for f in report.findings if f.kind is FindingKind.UNROLLED_LOOP]
    assert finding.line == 3
    rows = report.to_dataframe("lines").set_index("line")
    assert rows.equations[4] == 120
    notebook.must(
        "%%jaxjit -q -n 1 -o rolled\nz = lax.fori_loop(0, 60, lambda i, z: jnp.sin(z) * 1.01, w)"
    )
    assert len(notebook.names["rolled"].equations) < 20


# The sum of arange(n).


def test_a_sum_that_needs_no_argument_is_folded_and_the_report_says_so(
    notebook: Notebook,
) -> None:
    notebook.must("%%jaxjit -q -n 1 -o folded\ntotal = jnp.arange(5000, dtype=jnp.float32).sum()")
    assert float(notebook.names["total"]) == pytest.approx(5000 * 4999 / 2, rel=1e-3)
    found = [f for f in notebook.names["folded"].findings if f.kind is FindingKind.CONSTANT_FOLDED]
    assert found
    assert re.search("compile", found[0].message)
