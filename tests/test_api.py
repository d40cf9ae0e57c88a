"""`jaxscope.inspect` and its settings, in a plain script: no IPython, one call."""

from __future__ import annotations

import copy
import functools
import gc
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope import model as m
from jaxscope.analysis.links.line_figures import figures
from jaxscope.capture.source import cell_names
from jaxscope.version import HOME

X = jnp.arange(6.0).reshape(2, 3)
W = jnp.ones((3, 2))


def layer(w: Any, x: Any, scale: Any = 1.0) -> Any:
    y = x @ w
    return jnp.tanh(y) * scale


def once(function: Any, *args: Any, **kwargs: Any) -> jaxscope.Report:
    """One run is enough where the time does not matter."""
    with jaxscope.options(runs=1):
        return jaxscope.inspect(function, *args, **kwargs)


def inputs(report: jaxscope.Report) -> dict[str, str]:
    return {value.name: str(value.kind) for value in report.inputs}


def line_of(text: str) -> int:
    lines = Path(__file__).read_text("utf-8").splitlines()
    return next(n for n, line in enumerate(lines, 1) if line.strip() == text)


def test_a_plain_function() -> None:
    report = once(layer, W, X, scale=2.0)
    assert inputs(report) == {"w": "traced", "x": "traced", "scale": "traced"}
    assert [(v.name, v.aval, v.bytes) for v in report.outputs] == [("Out", "float32[2,2]", 16)]
    assert [program.title for program in report.programs] == ["jit(layer)"]
    assert len(report.compiles) == 1
    assert report.exact
    assert isinstance(report.cost, m.Cost)
    assert report.cost.flops >= 2 * 2 * 3 * 2
    assert isinstance(report.memory, m.Memory)
    assert report.memory.output == 16
    assert [t.label for t in report.timings] == ["first call"]


@pytest.mark.parametrize("wrap", [lambda f: f, jax.grad], ids=["plain", "gradient"])
def test_another_function_is_compiled_for_the_first_time(wrap: Any) -> None:
    def first(x: Any) -> Any:
        return (x**2).sum()

    def second(y: Any) -> Any:
        return (y**3).sum()

    for function in (first, second):
        (compiled,) = once(wrap(function), X).compiles
        assert [str(cause.kind) for cause in compiled.causes] == ["first_call"]


@pytest.mark.jax
@pytest.mark.parametrize("wrap", [lambda f: f, jax.vmap, functools.partial])
def test_a_second_report_of_a_function_gives_no_reason_that_was_not_checked(wrap: Any) -> None:
    def tripled(x: Any) -> Any:
        return x * 3

    called = wrap(tripled)
    with jaxscope.watch():
        first, again, other = [
            [made.causes[0].kind for made in jaxscope.inspect(called, jnp.ones(size)).compiles]
            for size in (7, 7, 8)
        ]
    assert first == [m.CauseKind.FIRST_CALL]
    # A partial is compared by JAX as the function in it, and compiled by each report.
    assert again == ([m.CauseKind.LINKED_AGAIN] if wrap is functools.partial else [])
    assert other[0] in (m.CauseKind.SHAPE, m.CauseKind.VMAP_SIZE)


@pytest.mark.jax
def test_a_plain_function_is_compiled_once_for_a_shape_and_let_go() -> None:
    factor = [2.0]

    def scale_by(captured: Any) -> Any:
        return lambda x: x * captured * factor[0]

    scaled = scale_by(jnp.ones(5))
    counts = [len(once(scaled, jnp.ones(size)).compiles) for size in (5, 5, 1, 5)]
    assert counts == [1, 0, 1, 0]
    factor[0] = 3.0
    report = once(scaled, jnp.ones(5))
    assert len(report.compiles) == 1
    assert "3.0" in report.stage("jaxpr").text
    gone = weakref.ref(scaled)
    del scaled, report
    once(layer, W, X)  # the last report is kept
    gc.collect()
    assert gone() is None


def test_products_of_a_backward_pass_are_of_their_line_where_no_other_has_their_size() -> None:
    w1, w2, w3 = jnp.ones((3, 8)), jnp.ones((8, 16)), jnp.ones((16, 8))

    def loss(w1: Any, w2: Any, w3: Any, x: Any) -> Any:
        h = jnp.tanh(x @ w1)
        h = jnp.tanh(h @ w2)
        return ((h @ w3) ** 2).sum()

    report = once(jax.grad(loss, (0, 1, 2)), w1, w2, w3, X)
    report.to_json()  # fetches the texts
    found = figures(report.record.programs[0])
    lines = [line for line, row in sorted(found.items()) if row.equations]
    first, second, third = (found[line] for line in lines[-3:])
    spread = [
        high - low for low, high in (r.flops_bracket or (0, 0) for r in (first, second, third))
    ]
    assert spread[0] == 0
    # The two others are equally large: which of them a product is of is inferred.
    assert max(spread[1:]) > 0


def test_ints_and_strings_of_a_plain_function_are_static() -> None:
    report = once(lambda x, n, mode: x[:, :n].sum() if mode == "sum" else x, X, 2, mode="sum")
    assert inputs(report) == {"x": "traced", "n": "static", "mode": "static"}


def test_a_jitted_function_keeps_its_own_static_arguments() -> None:
    power = functools.partial(jax.jit, static_argnums=1)(lambda x, n: x**n)
    report = once(power, X, 3)
    assert [v.aval for v in report.inputs if v.kind == "traced"] == ["float32[2,3]"]
    assert report.exact
    # What jaxscope compiled is what the user's own call finds.
    with jaxscope.options(runs=1):
        again = jaxscope.inspect(power, X, 3)
    assert again.compiles == ()


def test_options_of_arguments_hold_for_a_jitted_function_and_are_refused_for_a_compiled() -> None:
    jitted, x = jax.jit(lambda a, n: a * n), jnp.arange(4.0)
    with jaxscope.options(runs=1, static=("n",), donate=("a",)):
        report = jaxscope.inspect(jitted, x, 2)
        assert inputs(report) == {"a": "donated", "n": "static"}
        assert x.is_deleted()
        compiled = jitted.lower(jnp.arange(4.0), 2).compile()
        with pytest.raises(ValueError, match="A Compiled keeps its own options: leave out -s"):
            jaxscope.inspect(compiled, jnp.arange(4.0), 2)


def test_a_copied_jitted_function_is_compiled_although_jax_cannot_trace_it() -> None:
    copied = copy.copy(jax.jit(lambda x: jnp.cos(x) * 3))
    with pytest.raises(AttributeError):
        copied.lower(X)
    report = once(copied, X)
    assert [equation.primitive for equation in report.equations if equation.primitive != "jit"] == [
        "cos",
        "mul",
    ]


def test_a_pmapped_function_is_compared_with_itself() -> None:
    mapped = jax.pmap(lambda v: v * 2)
    with jaxscope.watch() as log:
        once(jax.pmap(lambda v: v - 3), np.ones((1, 3), np.float32))
        once(mapped, np.ones((1, 3), np.float32))
        once(mapped, np.ones((1, 4), np.float32))
        mapped(np.ones((1, 5), np.float32))
    causes = [(c.kind, c.path) for compile in log.compiles for c in compile.causes]
    assert causes == [
        (m.CauseKind.FIRST_CALL, ""),
        (m.CauseKind.FIRST_CALL, ""),
        (m.CauseKind.SHAPE, "v"),
        (m.CauseKind.SHAPE, "v"),
    ]


def test_a_traced_is_tagged_and_compiled_once() -> None:
    fresh = jax.jit(lambda w, x: layer(w, x))  # another test may have compiled `jax.jit(layer)`
    report = once(fresh.trace(W, X))
    assert report.exact
    assert len(report.compiles) == 1
    assert report.timings == ()


def test_a_lowered_is_not_exact_and_says_why() -> None:
    report = once(jax.jit(layer).lower(W, X))
    assert not report.exact
    assert report.programs[0].inexact_why
    assert report.stage("stablehlo").unavailable is None


def test_a_compiled_compiles_nothing_and_runs_with_arguments() -> None:
    compiled = jax.jit(layer).lower(W, X).compile()
    report = once(compiled, W, X)
    assert report.compiles == ()
    assert [t.label for t in report.timings] == ["first call"]
    assert report.stage("optimized_hlo").text.startswith("HloModule")
    unavailable = report.stage("stablehlo").unavailable
    assert unavailable is not None
    assert "compiled before jaxscope saw it" in unavailable.reason


@pytest.mark.parametrize("stage", [lambda lowered: lowered, lambda lowered: lowered.compile()])
def test_a_report_without_a_source_is_loaded_again(stage: Any, tmp_path: Path) -> None:
    report = once(stage(jax.jit(layer).lower(W, X)))
    assert (report.record.sources, [f.line for f in report.findings]) == ((), [None])
    report.save(tmp_path / "report.json")
    assert jaxscope.load(tmp_path / "report.json").findings == report.findings


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_shapes_are_compiled_and_not_run(wrap: Any) -> None:
    shape = jax.ShapeDtypeStruct((128, 64), jnp.bfloat16)
    report = jaxscope.inspect(wrap(lambda x: x * 2), shape)
    assert report.timings == ()
    assert report.inputs[0].aval == "bfloat16[128,64]"
    assert "not run" in report.summary()
    assert len(report.compiles) == 1


def test_settings_nest_and_the_inner_one_wins() -> None:
    with jaxscope.options(runs=0):
        assert jaxscope.inspect(layer, W, X).timings == ()
        with jaxscope.options(runs=2, static=("scale",)):
            inner = jaxscope.inspect(layer, W, X, scale=2.0)
        assert sum(len(t.samples) for t in inner.timings) == 2
        assert inputs(inner)["scale"] == "static"
        assert jaxscope.inspect(layer, W, X).timings == ()


def test_one_string_is_one_name() -> None:
    with jaxscope.options(runs=0, static="scale", traced="x"):
        report = jaxscope.inspect(layer, W, X, scale=2.0)
    assert inputs(report)["scale"] == "static"


def test_settings_that_cannot_be_met() -> None:
    with pytest.raises(ValueError, match=r"runs is -1; it must be 0 \(compile only\)"):
        jaxscope.options(runs=-1).__enter__()
    with (
        jaxscope.options(static=("nothing",)),
        pytest.raises(ValueError, match="-s names `nothing`, which is not an input of this call"),
    ):
        jaxscope.inspect(layer, W, X)
    with (
        jaxscope.options(device="cpu:99"),
        pytest.raises(ValueError, match="There is no device `cpu:99` here"),
    ):
        jaxscope.inspect(layer, W, X)


def test_64_bit_types() -> None:
    with jaxscope.options(runs=1, x64=True):
        report = jaxscope.inspect(lambda x: x + 1, np.arange(3.0))
    assert report.outputs[0].aval == "float64[3]"
    assert not jax.config.jax_enable_x64


def test_donated_arguments() -> None:
    x = jnp.arange(8.0)
    with jaxscope.options(runs=1, donate=("x",)):
        report = jaxscope.inspect(lambda x: x + 1, x)
    assert inputs(report) == {"x": "donated"}
    assert isinstance(report.memory, m.Memory)
    assert report.memory.alias == 32
    assert x.is_deleted()


def test_nothing_to_compile() -> None:
    with pytest.raises(TypeError, match="There is nothing to compile: int is not a function"):
        jaxscope.inspect(3, X)


def test_the_lowering_of_a_function_is_not_what_is_compiled() -> None:
    with pytest.raises(TypeError, match="`lower` computes nothing: call the function itself"):
        jaxscope.inspect(jax.jit(jnp.sin).lower, X)


def test_errors_of_the_function_are_its_own() -> None:
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jaxscope.inspect(lambda x: 1 if x.sum() > 0 else 2, X)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        jaxscope.inspect(layer, W)


def test_a_refusal_has_no_frames_below_the_call() -> None:
    kept: list[object] = []
    with pytest.raises(TypeError, match="changes `kept` in place") as raised:
        jaxscope.inspect(lambda x: kept.append(x), X)
    assert all(str(one.path) == __file__ or one.name == "inspect" for one in raised.traceback[:2])
    assert len(raised.traceback) <= 3


def test_an_error_of_the_function_has_no_frames_of_jaxscope_below_the_call() -> None:
    compiled = jax.jit(layer).lower(W, X).compile()
    for function in (lambda x: 1 if x.sum() > 0 else 2, compiled):
        with pytest.raises(TypeError) as raised:
            jaxscope.inspect(function, X)
        ours = [one.name for one in raised.traceback if str(one.path).startswith(HOME)]
        assert ours == ["inspect"]


class Model:
    def __init__(self) -> None:
        self.w = W

    def __call__(self, x: Any) -> Any:
        return x @ self.w

    def apply(self, x: Any, k: Any = 1.0) -> Any:
        return x @ self.w * k


def positional(x: Any, /, *rest: Any, **named: Any) -> Any:
    return x + sum(rest) + named["k"]


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "expected"),
    [
        (Model().apply, (X,), {"k": 2.0}, {"x", "k"}),
        (functools.partial(layer, W), (X,), {}, {"x"}),
        (Model(), (X,), {}, {"x"}),
        (positional, (X, 1.0, 2.0), {"k": X}, {"x", "rest_0", "rest_1", "k"}),
        (lambda tree: tree["a"] + tree["b"][0], ({"a": X, "b": [X]},), {}, None),
        (jnp.sin, (X,), {}, {"x"}),
        (jax.vmap(layer, in_axes=(None, 0)), (W, X), {}, None),
        (jax.grad(lambda w: layer(w, X).sum()), (W,), {}, {"w"}),
        (np.sin, (X,), {}, None),
    ],
    ids=["method", "partial", "object", "stars", "tree", "jnp", "vmap", "grad", "ufunc"],
)
def test_whatever_can_be_called(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], expected: set[str] | None
) -> None:
    if function is np.sin:
        with pytest.raises(jax.errors.TracerArrayConversionError):
            once(function, *args)
        return
    report = once(function, *args, **kwargs)
    assert len(report.programs) == 1
    if expected is not None:
        assert {v.name for v in report.inputs} == expected
    assert report.outputs[0].kind == "traced"


def test_a_function_of_a_notebook_cell_has_the_name_of_its_cell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiler = SimpleNamespace(_filename_map={__file__: 3})
    monkeypatch.setattr(cell_names, "current_shell", lambda: SimpleNamespace(compile=compiler))
    (source,) = once(layer, W, X).sources
    assert (source.name, source.kind) == ("In [3]", m.SourceKind.OTHER_CELL)


def test_a_flax_nnx_argument_is_updated() -> None:
    nnx = pytest.importorskip("flax.nnx")

    def step(model: Any, x: Any) -> Any:
        model.kernel[...] = model.kernel[...] + 1.0
        return model(x)

    model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    before = np.asarray(model.kernel[...])
    once(step, model, X)
    np.testing.assert_allclose(np.asarray(model.kernel[...]), before + 1.0)


def test_lines_lead_to_the_compiled_text_and_back() -> None:
    report = once(layer, W, X)
    index = next(i for i, s in enumerate(report.sources) if s.file == __file__)
    line = line_of("y = x @ w")
    equations = [e for e in report.equations if any(f.span.line == line for f in e.frames)]
    assert [e.primitive for e in equations] == ["dot_general"]
    for kind in ("jaxpr", "stablehlo", "hlo", "optimized_hlo"):
        link = report.stage_lines(kind, line, index)
        assert link.exact
        assert link.lines
        for number in link.lines:
            assert line in report.source_lines(kind, number, index).lines
    text = report.stage("stablehlo").text.splitlines()
    found = [text[n - 1] for n in report.stage_lines("stablehlo", line, index).lines]
    assert any("dot_general" in row for row in found)
    assert report.stage_lines("jaxpr", 1, index).lines == ()


def test_a_stage_that_does_not_exist() -> None:
    report = once(layer, W, X)
    expected = "There is no stage 'spirv'. The stages are: jaxpr, stablehlo, hlo, passes"
    with pytest.raises(ValueError, match=expected):
        report.stage("spirv")
    with pytest.raises(ValueError, match=expected):
        report.price("spirv")


def test_the_last_report_is_the_newest() -> None:
    report = once(layer, W, X)
    assert jaxscope.last() is report


SCRIPT = """
import sys
import jaxscope
assert "jax" not in sys.modules
try:
    jaxscope.last()
except LookupError as error:
    print(error)
import jax.numpy as jnp
def f(x):
    return (x - x.mean()) / x.std()
report = jaxscope.inspect(f, jnp.arange(1000.0))
assert "IPython" not in sys.modules and "pandas" not in sys.modules
assert report.exact and report is jaxscope.last()
print(report.summary())
print(report.to_text(width=100))
"""


def test_a_plain_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr
    first, summary = done.stdout.splitlines()[:2]
    assert first == ("There is no report yet: run a %%jaxjit cell or jaxscope.inspect first.")
    assert summary.startswith("jit(f) · cpu:0 · ")
    assert "return (x - x.mean()) / x.std()" in done.stdout
