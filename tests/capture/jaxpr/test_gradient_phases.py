"""Phases: those that JAX's own name stack tells, for equations, instructions and lines."""

import re

import jax
import jax.numpy as jnp
import pytest

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.links.line_figures import differentiates, figures, phase_of, phase_shares
from jaxscope.capture.jaxpr.tags import tag
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Phase, Program, Source, SourceKind, StageKind
from tests.capture.jaxpr.gradients import LOSSES, W, X, mlp
from tests.capture.jaxpr.test_equations import read_equations
from tests.capture.program.programs import PROGRAMS

BACKWARD = re.compile(r"transpose\((vmap\()*jvp\(")


def said(name):
    """The phases in an instruction's `op_name`, of which XLA may have joined several."""
    found = set()
    for part in name.split(";"):
        backward = BACKWARD.search(part)
        if backward is None:
            found.add(Phase.FORWARD if "jvp(" in part else Phase.PRIMAL)
        elif "rematted_computation" in part[backward.start() :]:
            found.add(Phase.REMATERIALIZED)
        else:
            found.add(Phase.BACKWARD)
    return found


def compared(function, *args):
    """The equations, and (equation, phases by JAX's own name) of every instruction, of what JAX
    gave to XLA and of what XLA made of it."""
    traced = (function if hasattr(function, "trace") else jax.jit(function)).trace(*args)
    tagged = tag(traced, SourceFiles())
    lowered = traced.lower()
    compiled = lowered.compile()
    handles = Handles(traced, lowered, compiled, tagged, SourceFiles())
    pairs = []
    for kind, raw in (
        (StageKind.HLO, lowered.as_text("hlo", debug_info=True)),
        (StageKind.OPTIMIZED_HLO, compiled.as_text()),
    ):
        anchors = {a.line: a for a in handles.text(kind).anchors}
        shown = {i.name: i.line for i in handles.module(kind).instructions()}
        for instruction in parse_module(raw).instructions():
            anchor = anchors.get(shown[instruction.name])
            # Names of what reducers and shared functions hold begin anew, without the way to them.
            if anchor is None or not anchor.exact or not instruction.op_name.startswith("jit("):
                continue
            equation = tagged.equations[anchor.equations[0]]
            pairs.append((equation, said(instruction.op_name), instruction.op_name))
    return tagged.equations, pairs


DERIVATIVES = {
    "grad of grad": (jax.grad(jax.grad(lambda x: jnp.sin(x) * x)), (1.5,)),
    "hessian": (jax.hessian(lambda x: jnp.sum(jnp.sin(x) * x)), (X[0],)),
    "reverse over reverse": (
        jax.jacrev(jax.jacrev(lambda x: jnp.sum(jnp.sin(x) * x))),
        (X[0],),
    ),
    "jvp": (lambda x: jax.jvp(lambda x: jnp.sin(x) * x, (x,), (x,)), (X,)),
    "jacfwd": (jax.jacfwd(lambda x: jnp.sin(x) * x), (X[0],)),
    "jacrev": (jax.jacrev(lambda x: jnp.sin(x) * x), (X[0],)),
    "per-example gradients": (jax.vmap(jax.grad(mlp), (None, 0)), (W, X[:, None])),
    "linear_transpose": (lambda x: jax.linear_transpose(lambda y: 2 * y, x)(x), (X,)),
}


def cases():
    yield from DERIVATIVES.items()
    for name in ("rnn", "checkpoint", "checkpointed scan", "cond", "custom_vjp", "attention"):
        loss, args = LOSSES[name]
        yield name, (jax.grad(loss, argnums=tuple(range(len(args)))), args)
    for name in ("conv and batchnorm, gradient", "FFT and linear algebra", "vmap of grad"):
        yield name, PROGRAMS[name]()


@pytest.mark.parametrize(("name", "case"), list(cases()), ids=[name for name, _ in cases()])
def test_instructions_have_the_phase_that_their_name_tells(name, case):
    function, args = case
    _, pairs = compared(function, *args)
    assert [name for equation, phases, name in pairs if equation.phase not in phases] == []
    assert pairs


def spelled(jaxpr, around=""):
    """JAX's own spelling of each equation's name stack, with those of the equations around it."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        name = f"{around}/{equation.source_info.name_stack}"
        yield name
        for parameter in equation.params.values():
            for inner in parameter if isinstance(parameter, tuple | list) else (parameter,):
                if hasattr(inner, "eqns"):
                    yield from spelled(inner, name)


@pytest.mark.parametrize("name", LOSSES)
def test_every_equation_has_the_phase_that_its_name_stack_tells(name):
    loss, args = LOSSES[name]
    compare_with_name_stacks(jax.grad(loss), args)


@pytest.mark.parametrize("name", ["mlp", "rnn", "cond", "checkpoint", "custom_vjp", "solve"])
def test_a_batched_gradient_has_the_same_phases(name):
    loss, args = LOSSES[name]
    batched = tuple(jnp.stack([jnp.asarray(arg)] * 2) for arg in args)
    compare_with_name_stacks(jax.vmap(jax.value_and_grad(loss), 0), batched)


def compare_with_name_stacks(function, args):
    jaxpr = jax.make_jaxpr(function)(*args)
    equations = read_equations(jaxpr, SourceFiles())
    names = list(spelled(jaxpr))
    assert len(names) == len(equations)
    wrong = [n for n, e in zip(names, equations, strict=True) if {e.phase} != said(n)]
    assert wrong == []
    assert {Phase.FORWARD, Phase.BACKWARD} <= {e.phase for e in equations}


def test_a_checkpoint_marks_what_it_does_again():
    loss, args = LOSSES["checkpoint"]
    equations, _ = compared(jax.grad(loss, argnums=(0, 1)), *args)
    again = [e.primitive for e in equations if e.phase is Phase.REMATERIALIZED]
    assert sorted(set(again)) == ["cos", "dot_general", "sin"]
    assert all(
        "rematted_computation" in e.scope for e in equations if e.phase is Phase.REMATERIALIZED
    )


def test_a_users_scopes_change_no_phase():
    def loss(w, x):
        with jax.named_scope("transpose"), jax.named_scope("jvp"):
            return mlp(w, x)

    plain = [e.phase for e in compared(jax.grad(mlp), W, X)[0]]
    assert [e.phase for e in compared(jax.grad(loss), W, X)[0]] == plain
    assert {e.phase for e in compared(loss, W, X)[0]} == {Phase.PRIMAL}


def test_a_solvers_transposed_function_is_not_backward():
    function, args = PROGRAMS["FFT and linear algebra"]()
    equations, _ = compared(function, *args)
    assert any("transpose()" in e.scope for e in equations)
    assert {e.phase for e in equations} == {Phase.PRIMAL}


CELL = """\
def loss(w, x):
    h = jnp.tanh(x @ w)
    return jnp.sum(h ** 2)
def step(w, x):
    return w - 0.1 * jax.grad(loss)(w, x)
"""


def program():
    namespace = {"jnp": jnp, "jax": jax}
    exec(compile(CELL, "<the cell>", "exec"), namespace)
    sources = SourceFiles(Source("cell", "<the cell>", SourceKind.CELL, CELL))
    traced = jax.jit(namespace["step"]).trace(W, X)
    tagged = tag(traced, sources)
    lowered = traced.lower()
    handles = Handles(traced, lowered, lowered.compile(), tagged, sources)
    stage = handles.text(StageKind.OPTIMIZED_HLO)
    return Program(
        "step", ("jit",), (), (), (), constants=(), equations=tagged.equations, stages=(stage,)
    ), stage


def test_each_line_has_its_figures_by_phase():
    step, stage = program()
    assert differentiates(step)
    found = figures(step)
    assert set(found) == {2, 3, 5}
    assert set(found[2].phases) == {Phase.FORWARD, Phase.BACKWARD}
    assert found[5].phases == {}
    assert found[5].backward.equations == 0
    for row in found.values():
        shares = row.phases.values()
        if shares:
            assert sum(s.equations for s in shares) == row.equations
            assert sum(s.instructions for s in shares) == row.instructions
            assert sum(s.flops for s in shares) == row.flops
    # x @ w forward, and x.T @ (…) backward: 4 × 3 × 3 multiply-adds each.
    assert found[2].phases[Phase.FORWARD].flops >= 72
    assert found[2].backward.flops >= 72
    assert 0 < found[2].backward_share < 1
    totals = phase_shares(step)
    assert sum(share.equations for share in totals.values()) == len(step.equations)
    dots = [n for n, line in enumerate(stage.text.splitlines(), 1) if " dot(" in line]
    anchors = {anchor.line: anchor for anchor in stage.anchors}
    assert sorted(phase_of(step, anchors[n]) for n in dots) == ["backward", "forward"]


def test_without_the_compiled_text_equations_still_have_their_phase():
    step, _ = program()
    bare = Program("step", ("jit",), (), (), (), constants=(), equations=step.equations)
    row = figures(bare)[2]
    assert row.backward.equations > 0
    assert row.backward.flops is None
    assert row.backward_share is None
