"""The right first cause for everything that makes JAX compile again, on real JAX."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jaxscope.analysis.compiles.causes.difference import Difference, PlainKind
from jaxscope.model import CauseKind, CompileKind
from tests.capture.compiles.cause_cases import CASES, ON_DEVICES, Case, Params, play
from tests.docs.causes_page import sections
from tests.paths import ROOT

OPERATIONS = (CauseKind.EAGER_OP, CauseKind.EAGER_SHAPE)
WITHOUT_DIFFERENCE = (
    CauseKind.LINKED_AGAIN,
    CauseKind.FIRST_CALL,
    CauseKind.EAGER_OP,
    CauseKind.UNKNOWN,
)


def check(name: str, case: Case, causes: list[list[tuple[str, ...]]], names: list[str]) -> None:
    """One compile has exactly the causes of the case; others are operations on the way to it."""
    if not case.causes:
        assert causes == [], f"{name} compiled {names}"
        return
    assert causes, f"{name} compiled nothing"
    wanted = [tuple(pair) for pair in case.causes]
    found = [[(kind, path) for kind, path, *_ in one] for one in causes]
    assert wanted in found, f"{name}: {causes}"
    mine = causes[found.index(wanted)]
    assert case.says in mine[0][2]
    for one in causes:
        assert all(text.endswith((".", "…")) and len(text) < 400 for _, _, text, _ in one)
        assert all(kind != CauseKind.UNKNOWN for kind, *_ in one)
        # A gradient is two programs, and its backward pass has no name that a user knows.
        backward = one[0][0] == mine[0][0] or "under grad" in one[0][2]
        assert one is mine or one[0][0] in OPERATIONS or backward, one


@pytest.mark.parametrize("kind", CauseKind)
def test_a_kind_of_cause_has_all_its_parts(kind):
    """To add one: the member of `CauseKind`, and whatever this test then misses."""
    parts = {
        "a place in `PlainKind` or a class in `Difference` (causes/difference.py)": (
            kind in get_args(PlainKind)
            or kind in [getattr(one, "kind", None) for one in get_args(Difference)]
            or kind in WITHOUT_DIFFERENCE
        ),
        "a reproducer (tests/capture/compiles/cause_cases.py)": (
            any(kind in dict(case.causes) for case in (*CASES.values(), *ON_DEVICES.values()))
            or kind is CauseKind.UNKNOWN
        ),
        "a section (docs/causes.md)": kind in sections(),
    }
    missing = [part for part, there in parts.items() if not there]
    assert missing == [], f"{kind} lacks {', '.join(missing)}"


@pytest.mark.parametrize("name", CASES)
def test_the_causes_of(name):
    _, made, listener = play(CASES[name])
    causes = [[(c.kind, c.path, c.text, c.fix) for c in one.causes] for one in made]
    check(name, CASES[name], causes, [one.fun_name for one in made])
    assert listener.notes == ()


@pytest.fixture(scope="module")
def on_devices():
    """All cases that need several devices, in one process that has them."""
    here = Path(__file__).parent
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
    }
    done = subprocess.run(
        [sys.executable, str(here / "cause_cases.py"), "devices"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=800,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", ON_DEVICES)
def test_the_causes_on_devices_of(name, on_devices):
    shown = on_devices[name]
    causes = [[tuple(cause) for cause in one] for one in shown["causes"]]
    check(name, ON_DEVICES[name], causes, shown["names"])
    assert shown["notes"] == []


def _gradient_of_layers():
    @jax.jit
    def layer(w, x):
        return jnp.tanh(x @ w)

    def net(weights, x):
        for w in weights:
            x = layer(w, x)
        return x.sum()

    weights, x = [jnp.eye(16) * 0.1 for _ in range(3)], jnp.ones((8, 16))
    jax.grad(jnp.sum)(x)
    yield
    jax.grad(net)(weights, x)


def test_the_programs_of_one_gradient_are_no_recompilations_of_each_other():
    """The first layer needs no gradient of its input: it has a forward and a backward program of
    its own, with fewer residuals."""
    _, compiles, _ = play(Case(_gradient_of_layers, ()))
    mine = [one for one in compiles if one.fun_name == "layer"]
    kinds = [one.causes[0].kind for one in mine]
    first = CauseKind.FIRST_CALL
    assert kinds == [first, CauseKind.UNKNOWN, first, first]
    assert {one.transform for one in mine} == {"grad"}


def _gradients_of_a_checkpoint():
    wave = jax.checkpoint(jax.jit(lambda x, w: (jnp.sin(x) * w).sum()))

    def gradient(x):
        return jax.grad(wave)(x, 3.0)

    jax.grad(jnp.sum)(jnp.ones(3))
    yield
    gradient(jnp.ones(3))
    gradient(jnp.ones(4))


def test_the_programs_of_a_rematerialized_gradient_are_compared_each_with_its_own():
    _, compiles, _ = play(Case(_gradients_of_a_checkpoint, ()))
    kinds = [one.causes[0].kind for one in compiles if one.kind is CompileKind.TRANSFORMED]
    assert kinds == [CauseKind.FIRST_CALL] * 3 + [CauseKind.SHAPE] * 3


def test_what_compiles_in_every_call_because_jax_looks_for_leaks_says_so():
    """JAX before 0.12 caches no trace then."""

    def run():
        x = jnp.ones(3)
        lax.neg(x)
        yield
        with jax.checking_leaks():
            lax.neg(x)

    _, compiles, _ = play(Case(run, ()))
    causes = [cause for one in compiles for cause in one.causes]
    assert {cause.path for cause in causes} <= {"jax_check_tracer_leaks"}
    assert all("JAX caches no traces while" in cause.text for cause in causes)


def test_a_static_field_that_is_no_number_is_not_advised_to_be_data():
    def run():
        f = jax.jit(lambda p: p.w)
        f(Params(jnp.ones(3), jnp.sin))
        yield
        f(Params(jnp.ones(3), None))

    _, compiles, _ = play(Case(run, ()))
    (cause,) = compiles[-1].causes
    assert (cause.kind, cause.path) == (CauseKind.STATIC_VALUE, "p.act")
    assert cause.fix == "Keep to a few values: each value of `p.act` is a program of its own."


def test_a_backward_pass_is_no_call_of_its_function():
    """JAX runs it when `jax.vjp` has returned."""

    def run():
        square = jax.jit(lambda x: x * x)
        x = jnp.ones(3)
        yield
        _, back = jax.vjp(square, x)
        back(x)

    _, compiles, _ = play(Case(run, ()))
    found = [one.transform for one in compiles if one.kind is CompileKind.TRANSFORMED]
    assert found == ["vjp∘linearize", "a transform"]
