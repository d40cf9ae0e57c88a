"""Equations: order, depth, spans, frames and phases."""

from __future__ import annotations

import linecache
from functools import partial

import jax
import jax.numpy as jnp
import pytest

from jaxscope.analysis.jaxpr.flops import uncounted
from jaxscope.capture.jaxpr.equations import expand
from jaxscope.capture.jaxpr.reader import JaxprReader
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Phase, Source, SourceKind, Span
from tests.capture.program.programs import PROGRAMS


def read_equations(closed_jaxpr, sources):
    """All equations of a jaxpr, at every depth."""
    return expand(JaxprReader(sources).body(closed_jaxpr)).equations


def read(text, name, *args, transform=lambda f: f, file="<the cell>", others=()):
    """The equations of a function that a cell's text defines."""
    namespace = {"jax": jax, "jnp": jnp, **dict(others)}
    exec(compile(text, file, "exec"), namespace)
    sources = SourceFiles(Source("cell", file, SourceKind.CELL, text))
    traced = jax.jit(transform(namespace[name])).trace(*args)
    return read_equations(traced.jaxpr, sources), sources


def test_ids_are_positions_and_an_equation_comes_before_those_inside():
    text = "def f(x):\n    return jax.lax.scan(lambda c, v: (c + v, c * v), 0., x)\n"
    equations, _ = read(text, "f", jnp.ones(4))
    assert [e.id for e in equations] == list(range(len(equations)))
    scan = next(e for e in equations if e.primitive == "scan")
    inside = [e for e in equations if e.parent == scan.id]
    assert {"add", "mul"} <= {e.primitive for e in inside}
    assert all(e.id > scan.id for e in inside)
    assert all(e.parent is None or e.parent < e.id for e in equations)


def test_spans_have_lines_and_columns_of_the_expression():
    text = "def f(x):\n    y = jnp.sin(x) + \\\n        jnp.cos(x)\n    return y\n"
    equations, _ = read(text, "f", jnp.ones(3))
    spans = {e.primitive: e.span for e in equations}
    assert spans["sin"] == Span(2, 8, 2, 18)
    assert spans["cos"] == Span(3, 8, 3, 18)
    assert spans["add"] == Span(2, 8, 3, 18)


def test_columns_are_characters():
    equations, _ = read("def f(é): return jnp.sin(é)\n", "f", jnp.ones(3))
    assert equations[0].span == Span(1, 17, 1, 27)


def test_avals_are_short():
    equations, _ = read("def f(x): return x @ x\n", "f", jnp.ones((4, 4)))
    assert equations[0].inputs == ("f32[4,4]", "f32[4,4]")
    assert equations[0].outputs == ("f32[4,4]",)


def test_library_code_is_left_out_and_its_equations_have_the_users_line():
    text = "def f(x):\n    return jax.nn.relu(jnp.where(x > 0, x, 0.))\n"
    equations, sources = read(text, "f", jnp.ones(3))
    assert {e.primitive for e in equations} >= {"max", "select_n"}
    assert all(e.span is not None and e.span.line == 2 for e in equations)
    assert len(sources.all()) == 1


def test_each_use_of_a_shared_jaxpr_has_the_frames_of_its_own_call():
    text = (
        "@jax.jit\n"
        "def helper(x):\n"
        "    return jnp.sin(x)\n"
        "def f(x):\n"
        "    a = helper(x)\n"
        "    return helper(a)\n"
    )
    equations, _ = read(text, "f", jnp.ones(3))
    sines = [e for e in equations if e.primitive == "sin"]
    assert [[frame.span.line for frame in e.frames] for e in sines] == [[3, 5], [3, 6]]
    assert [frame.function for frame in sines[0].frames] == ["helper", "f"]


def test_a_shared_library_jaxpr_does_not_carry_the_frames_of_its_first_use():
    shape = jnp.ones((3, 17))
    read("\n\n\ndef f(x):\n    return jnp.where(x > 0, x, 1.)\n", "f", shape, file="<first>")
    text = "def g(x):\n    return jnp.where(x > 0, x, 1.)\n"
    equations, _ = read(text, "g", shape, file="<second>")
    assert {frame.span.line for e in equations for frame in e.frames} == {2}


def test_helpers_in_other_files_are_kept_innermost_first(tmp_path, monkeypatch):
    file = str(tmp_path / "helpers.py")
    text = "import jax.numpy as jnp\ndef twice(x):\n    return jnp.sin(x) * 2\n"
    (tmp_path / "helpers.py").write_text(text)
    namespace = {}
    exec(compile(text, file, "exec"), namespace)
    cell = "def f(x):\n    return twice(x)\n"
    equations, sources = read(cell, "f", jnp.ones(3), others={"twice": namespace["twice"]})
    assert [s.name for s in sources.all()] == ["cell", "helpers.py"]
    for equation in equations:
        assert [(f.source, f.span.line) for f in equation.frames] == [(1, 3), (0, 2)]
        assert equation.span == Span(2, 11, 2, 19)


def test_an_equation_outside_the_cell_has_the_span_of_its_own_file(monkeypatch):
    text = "def f(x):\n    return jnp.sin(x)\n"
    monkeypatch.setitem(linecache.cache, "<other>", (len(text), None, text.splitlines(True), ""))
    namespace = {"jnp": jnp}
    exec(compile(text, "<other>", "exec"), namespace)
    cell = Source("cell", "<the cell>", SourceKind.CELL, "f(x)\n")
    sources = SourceFiles(cell, {"<other>": "In [1]"}.get)
    [equation] = read_equations(jax.jit(namespace["f"]).trace(jnp.ones(3)).jaxpr, sources)
    assert equation.frames[0].source == 1
    assert equation.span == Span(2, 11, 2, 21)


def test_phases_tell_the_forward_pass_from_the_backward_pass():
    text = "def loss(w, x):\n    return jnp.sum(jnp.tanh(x @ w))\n"
    plain, _ = read(text, "loss", jnp.ones((3, 2)), jnp.ones((4, 3)))
    assert {e.phase for e in plain} == {Phase.PRIMAL}
    gradient, _ = read(text, "loss", jnp.ones((3, 2)), jnp.ones((4, 3)), transform=jax.grad)
    phases = {e.primitive: e.phase for e in gradient}
    assert phases["tanh"] is Phase.FORWARD
    assert gradient[-1].phase is Phase.BACKWARD
    assert all(e.span is not None and e.span.line == 2 for e in gradient)


def test_phases_reach_into_loops():
    f, args = PROGRAMS["RNN by scan, gradient"]()
    equations = read_equations(jax.jit(f).trace(*args).jaxpr, SourceFiles())
    scans = [e for e in equations if e.primitive == "scan"]
    assert [e.phase for e in scans] == [Phase.FORWARD, Phase.BACKWARD]
    for scan in scans:
        assert {e.phase for e in equations if e.parent == scan.id} == {scan.phase}


def test_scopes_are_joined_and_hold_no_tags():
    from jaxscope.capture.jaxpr.tags import tag

    def f(x):
        with jax.named_scope("layer"):
            return jax.lax.cond(x[0] > 0, lambda v: jnp.sin(v), lambda v: v, x)

    traced = jax.jit(f).trace(jnp.ones(3))
    before = read_equations(traced.jaxpr, SourceFiles())
    tagged = tag(traced, SourceFiles())
    assert [e.scope for e in tagged.equations] == [e.scope for e in before]
    assert [e.scope for e in read_equations(traced.jaxpr, SourceFiles())] == [
        e.scope for e in before
    ]
    assert next(e.scope for e in before if e.primitive == "sin") == "layer"


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_reading_twice_gives_the_same_equations(name):
    f, args = PROGRAMS[name]()
    jaxpr = jax.jit(f).trace(*args).jaxpr
    assert read_equations(jaxpr, SourceFiles()) == read_equations(jaxpr, SourceFiles())


def test_the_inside_of_a_kernel_is_left_alone():
    pallas = pytest.importorskip("jax.experimental.pallas")

    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.sin(x_ref[...])

    def f(x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pallas.pallas_call(kernel, out_shape=shape, interpret=True)(x)

    equations = read_equations(jax.jit(f).trace(jnp.ones(8)).jaxpr, SourceFiles())
    assert [e.primitive for e in equations][-1] == "pallas_call"


@pytest.mark.parametrize(
    "function",
    [
        jnp.tanh, jnp.arctanh, jnp.arcsin, jnp.arccos, jnp.sinc, jax.nn.gelu,
        partial(jax.nn.gelu, approximate=False), jax.scipy.special.erf, jax.scipy.special.erfc,
        jax.scipy.stats.norm.ppf, partial(jnp.polyval, jnp.arange(12.0)),
    ],
)  # fmt: skip
def test_the_flops_of_common_functions_and_their_gradients_are_known(function):
    gradient = jax.grad(lambda x: function(x).sum())
    for made in (function, gradient, jax.vmap(gradient)):
        traced = jax.jit(made).trace(jnp.full((3, 3), 0.5))
        assert uncounted(read_equations(traced.jaxpr, SourceFiles())) == ()


def test_a_primitive_is_named_as_in_the_text_of_the_jaxpr():
    def function(x):
        return jnp.searchsorted(x, x), jnp.nonzero(x, size=2), jnp.frexp(x)

    jaxpr = jax.jit(function).trace(jnp.arange(4.0)).jaxpr
    text = str(jaxpr)
    names = {one.primitive for one in read_equations(jaxpr, SourceFiles())}
    assert names
    assert all(name in text for name in names)
