"""Residuals: equal to JAX's own listing, with the line and the reason."""

import re

import jax
import jax.numpy as jnp
import pytest
from jax.ad_checkpoint import checkpoint_name, print_saved_residuals

from jaxscope.analysis.gradient.residual_rows import frame_of
from jaxscope.analysis.gradient.residuals import residuals
from jaxscope.capture.jaxpr.dataflow import RegionReader
from jaxscope.capture.jaxpr.equations import expand
from jaxscope.capture.jaxpr.reader import JaxprReader
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import ResidualKind, Source, SourceKind
from tests.capture.jaxpr.gradients import LOSSES, W, X, mlp, rnn

ITEM = {"f32": 4, "bf16": 2, "bool": 1, "i32": 4, "u32": 4, "c64": 8, "key<fry>": 8}


def listed(capsys, function, *args):
    """JAX's own listing: types, sorted. A literal takes no memory of its own."""
    print_saved_residuals(function, *args)
    lines = capsys.readouterr().out.strip().splitlines()
    return sorted(line.split(" ")[0] for line in lines if "from a literal" not in line)


def kept(function, *args, names=()):
    traced = jax.jit(function).trace(*args)
    return residuals(RegionReader().region(JaxprReader(SourceFiles()).body(traced.jaxpr)), names)


def nbytes(aval):
    dtype, shape = re.fullmatch(r"([^\[]+)\[([\d,]*)\]", aval).groups()
    size = 1
    for extent in filter(None, shape.split(",")):
        size *= int(extent)
    return size * ITEM[dtype]


def outermost(found):
    return sorted(residual.aval for residual in found if 0 in residual.derivatives)


@pytest.mark.parametrize("name", LOSSES)
def test_residuals_are_those_that_jax_lists(name, capsys):
    loss, args = LOSSES[name]
    gradient = jax.grad(loss, argnums=tuple(range(len(args))))
    wanted = listed(capsys, loss, *args)
    found = kept(gradient, *args)
    assert outermost(found) == wanted
    assert [r.bytes for r in found] == [nbytes(r.aval) for r in found]


@pytest.mark.parametrize("name", ["mlp", "rnn", "checkpoint", "attention"])
def test_a_training_step_keeps_what_its_loss_does(name, capsys):
    loss, args = LOSSES[name]

    def step(*args):
        value, gradient = jax.value_and_grad(loss, argnums=(0,))(*args)
        return args[0] - 0.1 * gradient[0], value, jnp.mean(args[-1])

    wanted = listed(capsys, lambda first: loss(first, *args[1:]), args[0])
    assert outermost(kept(step, *args)) == wanted


def test_zeros_that_no_equation_reads_are_not_residuals(capsys):
    def loss(x):
        return jax.nn.relu(x * 2).sum()

    assert listed(capsys, loss, X) == ["bool[4,3]", "f32[4,3]"]
    assert outermost(kept(jax.grad(loss), X)) == ["bool[4,3]"]
    # The zeros are in the program, and nothing reads them: XLA drops them.
    jaxpr = jax.make_jaxpr(jax.grad(loss))(X).jaxpr
    read = {id(atom) for equation in jaxpr.eqns for atom in equation.invars}
    [mask] = [e for e in jaxpr.eqns if e.primitive.name == "gt"]
    zeros = jaxpr.eqns[list(jaxpr.eqns).index(mask) + 1]
    assert zeros.primitive.name == "broadcast_in_dim"
    assert id(zeros.outvars[0]) not in read
    assert id(mask.outvars[0]) in read


def test_a_cotangent_is_not_a_residual(capsys):
    def pulled(w, x):
        y, pull = jax.vjp(lambda w, x: jnp.tanh(x @ w), w, x)
        return pull(jnp.ones_like(y) * 2)

    def loss(w, x):
        return jnp.tanh(x @ w)

    wanted = listed(capsys, loss, W, X)
    assert outermost(kept(pulled, W, X)) == wanted
    assert outermost(kept(lambda w, x, ct: jax.vjp(loss, w, x)[1](ct), W, X, X)) == wanted
    assert outermost(kept(jax.jacrev(loss, argnums=(0, 1)), W, X)) == wanted


def test_a_pullback_that_is_returned_from_jit_saves_the_same(capsys):
    @jax.jit
    def forward(w, x):
        return jax.vjp(mlp, w, x)

    def step(w, x):
        _, pull = forward(w, x)
        return pull(1.0)

    assert outermost(kept(step, W, X)) == listed(capsys, mlp, W, X)


@pytest.mark.parametrize(
    "function",
    [
        mlp,
        lambda w, x: jax.jvp(mlp, (w, x), (w, x)),
        lambda w, x: jax.jacfwd(mlp)(w, x),
        lambda w, x: jnp.linalg.solve(w + 3 * jnp.eye(3), x.T),
        lambda w, x: jax.linear_transpose(lambda w: x @ w, w)(x),
    ],
)
def test_without_a_backward_pass_there_are_no_residuals(function):
    assert kept(function, W, X) == ()


def test_each_residual_has_its_reason_and_its_line():
    text = (
        "def loss(w, x):\n"
        "    h = jnp.exp(x @ w)\n"
        "    h = checkpoint_name(h, 'hidden')\n"
        "    return jnp.sum(jnp.sin(h)) + jnp.sum(h * scale)\n"
    )
    scale = jnp.arange(12.0).reshape(4, 3)
    namespace = {"jnp": jnp, "checkpoint_name": checkpoint_name, "scale": scale}
    exec(compile(text, "<a cell>", "exec"), namespace)
    sources = SourceFiles(Source("cell", "<a cell>", SourceKind.CELL, text))
    traced = jax.jit(jax.grad(namespace["loss"])).trace(W, X)
    body = JaxprReader(sources).body(traced.jaxpr)
    equations = expand(body).equations
    found = residuals(RegionReader().region(body), ("w", "x"))

    def line(equation):
        return None if equation is None else equations[equation].span.line

    rows = {(str(r.kind), r.origin, line(r.equation), line(r.used_by)) for r in found}
    assert ("argument", "x", None, 2) in rows
    assert ("constant", "constant 0", None, 4) in rows
    assert ("named", "hidden", 2, 2) in rows
    assert ("output", "cos", 4, 4) in rows


def test_a_loop_keeps_one_for_each_round_and_names_the_line_inside(capsys):
    found = kept(jax.grad(rnn, argnums=(0, 1)), W, X, names=("w", "x"))
    stacked = [r for r in found if r.iterations is not None]
    assert {r.iterations for r in stacked} == {4}
    carried = [r for r in stacked if r.kind is ResidualKind.CARRIED]
    assert [(r.origin, r.bytes) for r in carried] == [("scan", 48)]
    made = {r.origin for r in stacked if r.kind is ResidualKind.OUTPUT}
    assert made <= {"tanh", "sub", "one_minus_square"}
    assert made
    assert [r.origin for r in found if r.kind is ResidualKind.ARGUMENT] == ["w"]


def test_the_inner_of_two_derivatives_has_residuals_of_its_own(capsys):
    def f(x):
        return jnp.sin(x) * jnp.cos(x)

    found = kept(jax.grad(jax.grad(f)), 1.5)
    assert outermost(found) == listed(capsys, jax.grad(f), 1.5)
    inner = [r.aval for r in found if 1 in r.derivatives]
    assert inner == listed(capsys, f, 1.5)
    hessian = kept(jax.hessian(lambda x: jnp.sum(jnp.sin(x) ** 2)), X[0])
    assert {r.derivatives for r in hessian} == {(1,)}


def test_gradients_in_a_row_are_distinguished():
    def steps(w, x):
        for _ in range(3):
            w = w - 0.1 * jax.grad(mlp)(w, x)
        return w

    found = kept(steps, W, X)
    assert {r.call for r in found} == {0, 1, 2}
    one = [r.bytes for r in kept(jax.grad(mlp), W, X)]
    outputs = [r for r in found if r.kind is ResidualKind.OUTPUT]
    new = [sum(r.bytes for r in outputs if r.call == n) for n in range(3)]
    assert new[0] == new[1] == new[2]
    assert new[0] < sum(one)


def test_what_a_loop_of_training_keeps_dies_in_each_round():
    def train(w, x):
        def step(w, _):
            return w - 0.1 * jax.grad(mlp)(w, x), None

        return jax.lax.scan(step, w, None, length=5)[0]

    found = kept(train, W, X, names=("w", "x"))
    assert {r.parent for r in found} == {0}
    assert {r.iterations for r in found} == {None}
    assert sorted(r.aval for r in found if r.kind is ResidualKind.OUTPUT) == sorted(
        r.aval for r in kept(jax.grad(mlp), W, X) if r.kind is ResidualKind.OUTPUT
    )
    assert [r.origin for r in found if r.kind is ResidualKind.ARGUMENT] == ["x"]


def test_the_place_of_an_equation_without_a_users_frame_is_unknown():
    class Program:
        equations = ()

    assert frame_of(Program(), None) is None
    assert frame_of(Program(), 3) is None
