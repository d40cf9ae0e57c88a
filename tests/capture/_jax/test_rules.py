"""The lines of the rules of `custom_vjp` and `custom_jvp`."""

from __future__ import annotations

import inspect
import os

import jax
import jax.numpy as jnp
import pytest
from jax._src.interpreters import partial_eval
from jax.interpreters import ad

import jaxscope
from jaxscope.analysis.links.line_figures import figures
from jaxscope.analysis.profile.shares import source_shares
from jaxscope.capture._jax.equations import as_function
from jaxscope.capture._jax.frames import code_positions, traceback_of
from jaxscope.capture._jax.rules import own_lines_of_rules
from jaxscope.capture.compiles.listener import Listener


@jax.custom_vjp
def layer(x, w):
    return jnp.tanh(x @ w)


def forward(x, w):
    y = jnp.tanh(x @ w)
    return y, (x, w, y)


def backward(saved, g):
    x, w, y = saved
    d = g * (1 - y * y)
    return d @ w.T, x.T @ d


layer.defvjp(forward, backward)


def loss(x, w):
    h = layer(x, w)
    return jnp.sum(h * 2)


X = jnp.ones((8, 8))


def lines_of(rule, report):
    """The primitives of the equations on the lines of a function of this file."""
    (program,) = report.programs
    (number,) = (n for n, one in enumerate(report.sources) if one.file == __file__)
    lines, first = inspect.getsourcelines(rule)
    return sorted(
        equation.primitive
        for equation in program.equations
        for frame in equation.frames[:1]
        if frame.source == number and first < frame.span.line < first + len(lines)
    )


RULES = ["dot_general", "dot_general", "mul", "mul", "sub", "transpose", "transpose"]
INSIDE = {
    "grad": lambda f: f,
    "jit": jax.jit,
    "checkpoint": jax.checkpoint,
    "scan": lambda f: lambda *xs: jax.lax.scan(lambda c, _: (f(c, xs[1]), 0), xs[0], None, 3)[0],
    "cond": lambda f: lambda *xs: jax.lax.cond(xs[0][0, 0] > 0, f, lambda x, w: x, *xs),
}


@pytest.mark.jax
@pytest.mark.parametrize("inside", INSIDE)
def test_the_equations_of_a_rule_are_on_its_lines(inside):
    called = INSIDE[inside](layer)
    report = jaxscope.inspect(jax.grad(lambda *xs: called(*xs).sum(), (0, 1)), X, 2 * X)
    assert [one for one in lines_of(backward, report) if one in RULES] == RULES
    assert {"dot_general", "tanh"} <= {*lines_of(forward, report)}


@jax.custom_jvp
def square(x):
    return x * x


@square.defjvp
def derivative(primals, tangents):
    (x,), (dx,) = primals, tangents
    return square(x), jnp.cos(x) * dx


@pytest.mark.jax
def test_the_equations_of_a_rule_of_custom_jvp_are_on_its_lines():
    report = jaxscope.inspect(jax.grad(lambda x: jax.jit(square)(x).sum()), X)
    assert "cos" in lines_of(derivative, report)


def library(rules):
    """A function whose rules are in no file of the user's."""
    code = f"""
def f(x):
    return jnp.sin(x) * x
f = jax.custom_{rules}(f)
if {rules!r} == "vjp":
    f.defvjp(lambda x: (f(x), x), lambda x, g: (g * jnp.cos(jnp.cbrt(x)),))
else:
    f.defjvp(lambda x, dx: (f(*x), dx[0] * jnp.cos(jnp.cbrt(x[0]))))
"""
    names = {"jax": jax, "jnp": jnp}
    exec(compile(code, os.path.join(os.path.dirname(jax.__file__), "rules.py"), "exec"), names)
    return names["f"]


@pytest.mark.jax
@pytest.mark.parametrize("inside", ["grad", "jit", "scan"])
@pytest.mark.parametrize("rules", ["vjp", "jvp"])
def test_the_equations_of_a_rule_of_a_library_are_on_the_line_of_the_call(rules, inside):
    f = library(rules)

    def calls(x, w):
        return f(x)

    def summed(x):
        return INSIDE[inside](calls)(x, x).sum()

    report = jaxscope.inspect(jax.grad(summed), X)
    assert {"cos", "cbrt"} <= {*lines_of(calls, report)}


@pytest.mark.jax
def test_what_runs_while_jaxscope_listens_has_the_lines_of_its_rules_later():
    run = jax.jit(jax.grad(lambda x, w: loss(x, w) + 1))
    with Listener():
        run(X, X)
    assert lines_of(backward, jaxscope.inspect(run, X, X)).count("dot_general") == 2


@pytest.mark.jax
def test_the_work_of_a_backward_rule_is_on_its_lines():
    report = jaxscope.inspect(jax.grad(loss, (0, 1)), X, 2 * X).complete()
    (program,) = report.programs
    (number,) = (n for n, one in enumerate(report.sources) if one.file == __file__)
    first = inspect.getsourcelines(backward)[1]
    row = figures(program, number)[first + 3]
    assert row.flops == row.backward.flops == 2 * 2 * 8**3
    assert row.exact


@jax.custom_jvp
def mixed(x, w):
    return x @ w


@mixed.defjvp
def mixed_derivative(primals, tangents):
    (x, w), (dx, dw) = primals, tangents
    y = mixed(x, w)
    return y, (dx @ w + x @ dw) * jnp.cos(y)


LARGE = jnp.ones((512, 512)) / 512
PRODUCTS = {"vjp": (layer, backward, 3), "jvp": (mixed, mixed_derivative, 4)}
"""A function, the rule with two of its gradient's three products, and their line in the rule."""


@pytest.mark.jax
@pytest.mark.parametrize("kind", PRODUCTS)
def test_the_time_of_a_rule_is_on_its_lines(kind):
    f, rule, offset = PRODUCTS[kind]
    report = jaxscope.profile(jax.jit(jax.grad(lambda *xs: f(*xs).sum(), (0, 1))), LARGE, LARGE)
    (number,) = (n for n, one in enumerate(report.sources) if one.file == __file__)
    (program,) = report.programs
    line = inspect.getsourcelines(rule)[1] + offset
    shares = source_shares(program.profile, number)
    assert max(shares, key=lambda at: shares[at].seconds) == line


def test_the_functions_of_jax_are_as_before_afterwards():
    def now():
        tables = [ad.primitive_transposes, getattr(ad, "fancy_transposes", {})]
        return [*map(dict, tables), partial_eval._interleave_fun, partial_eval._jvp_jaxpr_zeros]

    before = now()
    outer, inner = own_lines_of_rules(), own_lines_of_rules()
    outer.__enter__()
    inner.__enter__()
    assert now() != before
    outer.__exit__(None, None, None)  # a session may end inside of a trace
    assert now() != before
    inner.__exit__(None, None, None)
    assert now() == before


def test_without_the_names_of_jax_nothing_is_changed(monkeypatch):
    monkeypatch.delattr(partial_eval, "_interleave_fun")
    monkeypatch.setattr(ad, "primitive_transposes", {})
    with own_lines_of_rules():
        assert ad.primitive_transposes == {}
        assert not hasattr(partial_eval, "_interleave_fun")


@pytest.mark.jax
def test_an_error_in_a_backward_rule_is_the_users():
    @jax.custom_vjp
    def wrong(x):
        return x * 2

    def fails(saved, g):
        raise ZeroDivisionError("mine")

    wrong.defvjp(lambda x: (x, None), fails)
    with own_lines_of_rules(), pytest.raises(ZeroDivisionError, match="mine"):
        jax.grad(lambda x: wrong(x))(1.0)


CALLS = {
    "vjp": lambda x: layer(x, x).sum(),
    "jvp": lambda x: square(x).sum(),
    "library": lambda x: jax.nn.relu(x).sum(),
    "nested": lambda x: jax.jit(lambda x: jax.nn.silu(square(x)))(x).sum(),
}


@pytest.mark.jax
@pytest.mark.parametrize("kind", CALLS)
def test_a_rule_that_runs_when_a_traced_program_is_differentiated_has_its_call_around_it(kind):
    call = CALLS[kind]
    with own_lines_of_rules():
        traced = jax.make_jaxpr(call)(X)
        made = jax.make_jaxpr(jax.grad(lambda x: as_function(traced)(x)[0]))(X)
    for equation in made.eqns:
        codes, offsets = code_positions(traceback_of(equation))
        assert len(codes) == len(offsets)
        assert call.__code__ in codes, equation
