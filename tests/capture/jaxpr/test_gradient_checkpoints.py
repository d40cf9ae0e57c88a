"""Advice to checkpoint: where, what it saves and what it costs, against compiled programs."""

import sysconfig

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.cost import program_cost
from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.jaxpr.calls import lines_in_loops
from jaxscope.capture.jaxpr.gradient import gradient_of as read_gradient
from jaxscope.capture.jaxpr.tags import tag
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Source, SourceKind, StageKind

D, H, LAYERS, BATCH = 32, 64, 6, 64
KEY = jax.random.key(0)

BLOCKS = """\
def block(x, p):
    h = jnp.tanh(x @ p["a"])
    return x + jnp.sin(h @ p["b"]), None
def rounds(block, x, params):
    return jax.lax.scan(block, x, params)[0]
def layers(block, x, params):
    for i in range(6):
        x = block(x, jax.tree.map(lambda p: p[i], params))[0]
    return x
def loss(params, x, run, block):
    return jnp.mean(run(block, x, params) ** 2)
"""


def functions():
    namespace = {"jnp": jnp, "jax": jax}
    exec(compile(BLOCKS, "<blocks>", "exec"), namespace)
    return namespace


def weights():
    return {
        "a": jax.random.normal(KEY, (LAYERS, D, H)) * 0.1,
        "b": jax.random.normal(KEY, (LAYERS, H, D)) * 0.1,
    }


def traced(gradient, *args):
    program = jax.jit(gradient).trace(*args)
    sources = SourceFiles(Source("cell", "<blocks>", SourceKind.CELL, BLOCKS))
    return program, read_gradient(tag(program, sources), (), sources.all())


def compiled(gradient, *args):
    """Temporaries in bytes and FLOPs of what XLA makes of it."""
    program = jax.jit(gradient).lower(*args).compile()
    temporaries = program.memory_analysis().temp_size_in_bytes
    return temporaries, program_cost(parse_module(program.as_text())).flops


def gradient_of(run, block):
    loss = functions()["loss"]
    return lambda params, x: jax.grad(loss)(params, x, run, block)


def test_a_function_of_many_calls_is_named_with_its_lines():
    names = functions()
    for run in ("rounds", "layers"):
        gradient = gradient_of(names[run], names["block"])
        _, found = traced(gradient, weights(), jnp.ones((BATCH, D)))
        [advice] = found.checkpoints
        assert (advice.function, advice.line, advice.end_line) == ("block", 2, 3)
        assert advice.calls == LAYERS
        assert advice.loop is (run == "rounds")


def test_a_librarys_function_that_repeats_its_first_equation_begins_no_call():
    code = """\
def block(x, w):
    x = x + normalized(x)
    return jnp.tanh(jnp.sin(x @ w) @ w.T)
def loss(ws, x):
    for w in ws:
        x = block(x, w)
    return (x ** 2).mean()
"""
    library = """\
def normalized(x):
    mean = jnp.sum(x, -1, keepdims=True) / 32
    return (x - mean) / (jnp.sum(x * x, -1, keepdims=True) / 32 - mean * mean + 1)
"""
    namespace = {"jnp": jnp, "jax": jax}
    installed = f"{sysconfig.get_path('purelib')}/library.py"
    exec(compile(library, installed, "exec"), namespace)
    exec(compile(code, "<blocks>", "exec"), namespace)
    weights = [jax.random.normal(KEY, (D, H))] * 5
    program = jax.jit(jax.grad(namespace["loss"])).trace(weights, jnp.ones((BATCH, D)))
    sources = SourceFiles(Source("cell", "<blocks>", SourceKind.CELL, code))
    tagged = tag(program, sources)
    first, *rest = [e for e in tagged.equations if e.frames and e.frames[0].span.line == 2]
    assert (first.primitive, first.frames) in [(e.primitive, e.frames) for e in rest[:6]]
    [advice] = read_gradient(tagged, (), sources.all()).checkpoints
    assert (advice.function, advice.calls) == ("block", 5)


def test_the_bytes_are_those_of_all_calls_but_one():
    names = functions()
    _, found = traced(gradient_of(names["layers"], names["block"]), weights(), jnp.ones((BATCH, D)))
    [advice] = found.checkpoints
    made = ("tanh", "sub", "one_minus_square", "cos")
    inside = [r.bytes for r in found.residuals if r.kind == "output" and r.origin in made]
    # Inputs are kept already as outputs of the layer before. Only the first layer's first weights
    # were not: no gradient flows on to `x`.
    assert advice.saved_bytes == D * H * 4
    assert advice.freed_bytes == sum(inside) * (LAYERS - 1) // LAYERS - advice.saved_bytes
    # Two products of the block, BATCH × D × H multiply-adds each, and four functions.
    products = 2 * 2 * BATCH * D * H * LAYERS
    assert products < advice.flops < 1.05 * products


@pytest.mark.parametrize("length", [4, 12])
def test_in_a_loop_the_estimate_is_what_xla_saves_and_does_again(length):
    names = functions()
    params = jax.tree.map(lambda p: jnp.resize(p, (length, *p.shape[1:])), weights())
    x = jnp.ones((BATCH, D))
    plain = gradient_of(names["rounds"], names["block"])
    [advice] = traced(plain, params, x)[1].checkpoints
    again = gradient_of(names["rounds"], jax.checkpoint(names["block"]))
    before, work = compiled(plain, params, x)
    after, more = compiled(again, params, x)
    assert before - after == pytest.approx(advice.freed_bytes, rel=0.5)
    assert more - work == pytest.approx(advice.flops, rel=0.1)


def test_of_checkpointed_code_there_is_no_advice_and_the_repetition_is_counted():
    names = functions()
    x = jnp.ones((BATCH, D))
    for run in ("rounds", "layers"):
        plain = traced(gradient_of(names[run], names["block"]), weights(), x)[1]
        [advice] = plain.checkpoints
        again = traced(gradient_of(names[run], jax.checkpoint(names["block"])), weights(), x)[1]
        assert again.checkpoints == ()
        assert again.rematerialized_flops == pytest.approx(advice.flops, rel=0.02)
        assert plain.new_bytes - again.new_bytes >= advice.freed_bytes


def test_a_checkpoint_that_xla_undid_is_not_advised_again():
    x, w = jnp.ones((64, 32)), jnp.eye(32)

    def block(x, w):
        return jnp.sin(jnp.tanh(x @ w))

    def loss(w, block):
        h = x
        for _ in range(3):
            h = block(h, w)
        return h.sum()

    for one, advised in ((block, 1), (jax.checkpoint(block), 0)):
        with jaxscope.options(runs=0):
            report = jaxscope.inspect(jax.grad(lambda w, one=one: loss(w, one)), w)
        report.compiled_residuals()
        gradient = report.gradient
        assert gradient is not None
        assert len(gradient.checkpoints) == advised


def test_outside_loops_the_estimate_is_what_xla_saves_unless_it_undoes_the_checkpoint():
    """Why there is a note for CPUs: XLA of jaxlib 0.10 finds the repetition, and undoes it."""
    names = functions()
    params, x = weights(), jnp.ones((BATCH, D))
    plain = jax.jit(gradient_of(names["layers"], names["block"])).trace(params, x)
    sources = SourceFiles(Source("cell", "<blocks>", SourceKind.CELL, BLOCKS))
    tagged = tag(plain, sources)
    lowered = plain.lower()
    handles = Handles(plain, lowered, lowered.compile(), tagged, sources)
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    [advice] = read_gradient(tagged, (), sources.all(), stage).checkpoints
    [rough] = read_gradient(tagged, (), sources.all()).checkpoints
    # XLA saves neither a cosine nor 1 - tanh², but their arguments.
    assert advice.freed_bytes < rough.freed_bytes
    before, work = compiled(gradient_of(names["layers"], names["block"]), params, x)
    again = gradient_of(names["layers"], jax.checkpoint(names["block"]))
    after, more = compiled(again, params, x)
    if more == work:
        assert after == before
    else:
        assert before - after == pytest.approx(advice.freed_bytes, rel=0.25)
        assert more - work == pytest.approx(advice.flops, rel=0.1)


def test_residuals_of_gradients_in_a_row_are_not_added_up():
    names = functions()
    gradient = gradient_of(names["layers"], names["block"])
    params, x = weights(), jnp.ones((BATCH, D))
    [one] = traced(gradient, params, x)[1].checkpoints

    def descent(params, x):
        for _ in range(3):
            params = jax.tree.map(lambda p, g: p - g, params, gradient(params, x))
        return params

    def looped(params, x):
        return jax.lax.scan(lambda p, _: (descent(p, x), None), params, None, length=5)[0]

    [three] = traced(descent, params, x)[1].checkpoints
    [many] = traced(looped, params, x)[1].checkpoints
    assert three.freed_bytes == many.freed_bytes == one.freed_bytes
    assert (three.calls, many.calls) == (3 * one.calls, 15 * one.calls)
    assert many.flops == pytest.approx(15 * one.flops)
    assert not many.loop


def test_a_function_called_once_would_save_nothing():
    def loss(w, x):
        return jnp.mean(jnp.sin(jnp.sin(x @ w)))

    _, found = traced(jax.grad(loss), jnp.ones((D, H)), jnp.ones((BATCH, D)))
    assert found.residuals
    assert found.checkpoints == ()


LOOP = """\
def unrolled(w, x):
    for _ in range(5):
        x = jnp.sin(jnp.tanh(x @ w))
    return jnp.mean(x)
"""


def test_iterations_of_a_python_loop_are_not_calls_of_the_function_around_it():
    namespace = {"jnp": jnp}
    exec(compile(LOOP, "<loop>", "exec"), namespace)
    program = jax.jit(jax.grad(namespace["unrolled"])).trace(jnp.eye(D), jnp.ones((BATCH, D)))
    sources = SourceFiles(Source("cell", "<loop>", SourceKind.CELL, LOOP))
    found = read_gradient(tag(program, sources), (), sources.all())
    assert [c.function for c in found.checkpoints] == []


def test_lines_in_loops_are_those_of_their_own_function():
    text = (
        "%%jaxjit\n"
        "for i in x:\n"
        "    def f():\n"
        "        return 1\n"
        "    f()\n"
        "y = [g(\n"
        "    z) for z in x]\n"
        "end\n"
    )
    cell = Source("cell", "<cell>", SourceKind.CELL, text)
    assert lines_in_loops(cell) == {2, 5, 6, 7}
    assert lines_in_loops(Source("cell", "<cell>", SourceKind.CELL, "not ( python")) == frozenset()


def test_a_value_that_others_read_stays():
    text = (
        "def half(x, w):\n"
        "    return jnp.sin(x @ w)\n"
        "def loss(w, x):\n"
        "    total = 0.0\n"
        "    for _ in range(4):\n"
        "        x = half(x, w)\n"
        "        total += jnp.sum(x ** 3)\n"
        "    return total\n"
    )
    namespace = {"jnp": jnp}
    exec(compile(text, "<half>", "exec"), namespace)
    program = jax.jit(jax.grad(namespace["loss"])).trace(jnp.eye(D), jnp.ones((BATCH, D)))
    sources = SourceFiles(Source("cell", "<half>", SourceKind.CELL, text))
    found = read_gradient(tag(program, sources), (), sources.all())
    [advice] = found.checkpoints
    # Only the cosine of each call can be forgotten: its result is read by the powers outside.
    assert (advice.function, advice.freed_bytes) == ("half", 3 * BATCH * D * 4)
    assert advice.saved_bytes == 0


def test_a_value_that_only_others_read_stays():
    text = (
        "def half(x, w):\n"
        "    return jnp.sin(x @ w)\n"
        "def loss(w, x):\n"
        "    total = 0.0\n"
        "    for i in range(4):\n"
        "        total += jnp.sum(half(x + i, w) @ w)\n"
        "    return total\n"
    )
    namespace = {"jnp": jnp}
    exec(compile(text, "<half>", "exec"), namespace)
    program = jax.jit(jax.grad(namespace["loss"])).trace(jnp.eye(D), jnp.ones((BATCH, D)))
    sources = SourceFiles(Source("cell", "<half>", SourceKind.CELL, text))
    [advice] = read_gradient(tag(program, sources), (), sources.all()).checkpoints
    # No other call needs the result, but the product outside does.
    assert (advice.function, advice.freed_bytes) == ("half", 3 * BATCH * D * 4)


@pytest.mark.parametrize("inner", [lambda f: f, jax.jit])
def test_a_carry_that_only_the_checkpoint_would_save_counts_in_a_jitted_function_too(inner):
    text = (
        "def sines(c):\n"
        "    return jnp.sin(jnp.sin(jnp.sin(c)))\n"
        "def loss(x, inner):\n"
        "    def body(c, _):\n"
        "        return inner(lambda c: sines(c))(c), None\n"
        "    return jnp.sum(jax.lax.scan(body, x, None, length=4)[0])\n"
    )
    namespace = {"jnp": jnp, "jax": jax}
    exec(compile(text, "<sines>", "exec"), namespace)
    gradient = jax.grad(lambda x: namespace["loss"](x, inner))
    program = jax.jit(gradient).trace(jnp.ones((BATCH, D)))
    sources = SourceFiles(Source("cell", "<sines>", SourceKind.CELL, text))
    found = read_gradient(tag(program, sources), (), sources.all()).checkpoints
    [advice] = [one for one in found if one.function == "sines"]
    size = BATCH * D * 4
    assert (advice.saved_bytes, advice.freed_bytes) == (4 * size, (3 * 4 - 3 - 4) * size)


def test_higher_derivatives_get_no_advice():
    def loss(w):
        return jnp.sum(jnp.sin(w) ** 3)

    _, found = traced(jax.grad(lambda w: jnp.sum(jax.grad(loss)(w) ** 2)), jnp.ones((D, H)))
    assert found.checkpoints == ()
    assert found.residuals
