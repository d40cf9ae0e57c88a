"""Findings become edits of the source; a form that a rewrite does not know is said, not guessed."""

from __future__ import annotations

import re

import pytest

from jaxscope.analysis.variants import VARIANTS
from jaxscope.analysis.variants.edits import unified
from jaxscope.model import Finding, FindingKind
from jaxscope.model.variants import Change
from tests.paths import ROOT

K = FindingKind
CASES = (
    (K.EXPLICIT_INVERSE, "y = jnp.linalg.inv(m + 1) @ b", "y = jnp.linalg.solve(m + 1, b)"),
    (K.FULL_SORT, "y = jnp.sort(x)[-3:]", "y = jax.lax.top_k(x, 3)[0][..., ::-1]"),
    (K.FULL_SORT, "y = jnp.sort(x)[::-1][:k]", "y = jax.lax.top_k(x, k)[0]"),
    (K.FULL_SORT, "y = jnp.argsort(a - b)[:3]", "y = jax.lax.top_k(-(a - b), 3)[1]"),
    (K.ONE_HOT_MATMUL, "y = jax.nn.one_hot(i, 9) @ (t + u)", "y = (t + u)[i]"),
    (K.SEQUENTIAL_MAP, "y = jax.lax.map(lambda x: w @ x, xs)", "y = jax.vmap(lambda x: w @ x)(xs)"),
    (K.COND_TO_SELECT, "y = jax.vmap(f)(xs)", "y = jax.lax.map(f, xs)"),
    (
        K.COND_TO_SELECT,
        "y = jax.vmap(f)(p, x)",
        "y = jax.lax.map(lambda one: f(*one), (p, x))",
    ),
    (K.TYPE_PROMOTION, "y = (h * np.float32(0.5)) @ v", "y = (h * 0.5) @ v"),
    (
        K.SEQUENTIAL_VMAP,
        'y = jax.pure_callback(f, s, v, vmap_method="sequential")',
        'y = jax.pure_callback(f, s, v, vmap_method="expand_dims")',
    ),
)


def finding(kind: FindingKind, message: str = "", fix: str = "", line: int = 2) -> Finding:
    return Finding(kind, line, message, fix, "")


def changed(kind: FindingKind, text: str, message: str = "", fix: str = "", line: int = 2) -> str:
    rule = VARIANTS[kind]
    assert not isinstance(rule, str)
    made = rule(finding(kind, message, fix, line), text)
    assert isinstance(made, Change), made
    return made.text


@pytest.mark.parametrize(("kind", "before", "after"), CASES)
def test_a_form_is_rewritten_in_place(kind: FindingKind, before: str, after: str) -> None:
    assert changed(kind, f"%%jaxjit\n{before}  # ä\nz = 1") == f"%%jaxjit\n{after}  # ä\nz = 1"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (K.EXPLICIT_INVERSE, "p = jnp.linalg.inv(m)"),
        (K.FULL_SORT, "y = jnp.sort(x)[2:5]"),
        (K.FULL_SORT, "y = jnp.sort(x)[::-1][-3:]"),
        (K.SEQUENTIAL_MAP, "y = jax.lax.map(f, xs, batch_size=5)"),
        (K.COND_TO_SELECT, "y = jax.vmap(f, in_axes=(0, None))(x, y)"),
        (K.TYPE_PROMOTION, "y = (h * scale) @ v"),
        (K.UNROLLED_LOOP, "for w in ws: z = w @ z"),
        (K.UNROLLED_LOOP, "for i in range(9): out.append(z)"),
        (K.UNROLLED_LOOP, "for i in range(9): z[i] = z + 1"),
    ],
)
def test_an_unknown_form_is_a_sentence(kind: FindingKind, code: str) -> None:
    rule = VARIANTS[kind]
    assert not isinstance(rule, str)
    said = rule(finding(kind), f"%%jaxjit\n{code}")
    assert isinstance(said, str)
    assert said.endswith(".")


def test_a_loop_carries_the_names_that_an_iteration_reads() -> None:
    before = (
        "%%jaxjit\nfor i in range(40):\n    s = jnp.sin(z)  # inner\n    z, n = s + z, n + i\nz"
    )
    after = (
        "%%jaxjit\ndef iteration(i, carry):\n    z, n = carry\n    s = jnp.sin(z)  # inner\n"
        "    z, n = s + z, n + i\n    return z, n\n\n"
        "z, n = jax.lax.fori_loop(0, 40, iteration, (z, n))\nz"
    )
    assert changed(K.UNROLLED_LOOP, before) == after


def test_a_name_that_is_read_after_the_loop_only_is_no_carry() -> None:
    rule = VARIANTS[K.UNROLLED_LOOP]
    assert not isinstance(rule, str)
    text = "%%jaxjit\nfor i in range(40):\n    s = jnp.sin(z)\n    z = s + z\ns"
    assert rule(finding(K.UNROLLED_LOOP), text) == (
        "`s` is read after the loop, so it was not tried."
    )


def test_a_captured_array_becomes_the_first_argument_everywhere() -> None:
    text = "%%jaxjit\ndef f(v):\n    return W @ v\n\ny = f(v) + f(2 * v)"
    after = "%%jaxjit\ndef f(W, v):\n    return W @ v\n\ny = f(W, v) + f(W, 2 * v)"
    assert changed(K.CAPTURED_CONSTANT, text, "`W` is captured", line=3) == after


def test_a_function_that_is_passed_on_is_left_alone() -> None:
    rule = VARIANTS[K.CAPTURED_CONSTANT]
    assert not isinstance(rule, str)
    text = "%%jaxjit\ndef f(v):\n    return W @ v\n\ny = jax.vmap(f)(v)"
    assert isinstance(rule(finding(K.CAPTURED_CONSTANT, "`W`", line=3), text), str)


def test_a_checkpoint_is_the_innermost_decorator() -> None:
    text = "@jax.jit\ndef block(h, w):\n    return h @ w"
    fix = "Use `jax.checkpoint(block)`."
    after = "@jax.jit\n@jax.checkpoint\ndef block(h, w):\n    return h @ w"
    assert changed(K.SAVED_RESIDUALS, text, fix=fix, line=3) == after


def test_every_kind_has_a_variant_or_a_reason_and_the_docs_say_which() -> None:
    assert set(VARIANTS) == set(FindingKind)
    page = (ROOT / "docs/findings.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| \[`(\w+)`\]\(#\w+\) \|.*\| ([^|]*) \|$", page, re.M))
    for kind, rule in VARIANTS.items():
        assert rows[kind].startswith("–") == isinstance(rule, str), kind


def test_a_diff_has_the_changed_lines_only() -> None:
    assert unified("a\nb\nc", "a\nB\nc") == " a\n-b\n+B\n c"
