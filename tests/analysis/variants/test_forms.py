"""Findings become edits of the source; a form that a rewrite does not know is said, not guessed."""

from __future__ import annotations

import re

import pytest

from jaxscope.analysis.variants import VARIANTS
from jaxscope.analysis.variants.edits import parsed, unified
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
    (K.EXPLICIT_INVERSE, "y = jnp.dot(jnp.linalg.inv(m), b)", "y = jnp.linalg.solve(m, b)"),
    (K.EXPLICIT_INVERSE, "y = jnp.linalg.inv(m).dot(b).sum()", "y = jnp.linalg.solve(m, b).sum()"),
    (K.FULL_SORT, "y = jnp.sort(x)[-1] * 2", "y = jnp.max(x) * 2"),
    (K.FULL_SORT, "y = jnp.sort(x)[::-1][0]", "y = jnp.max(x)"),
    (K.FULL_SORT, "y = jnp.argsort(x)[0]", "y = jnp.argmin(x)"),
    (K.FULL_SORT, "y = jnp.sort(x, descending=True)[:3]", "y = jax.lax.top_k(x, 3)[0]"),
    (K.ONE_HOT_MATMUL, "y = jnp.matmul(jax.nn.one_hot(i, 9), t)", "y = t[i]"),
    (
        K.SEQUENTIAL_MAP,
        "y = jnp.stack([w @ x for x in xs])",
        "y = jax.vmap(lambda x: w @ x)(jnp.asarray(xs))",
    ),
    (
        K.SEQUENTIAL_MAP,
        "y = jnp.array([w @ xs[i] for i in range(9)])",
        "y = jax.vmap(lambda i: w @ xs[i])(jnp.arange(9))",
    ),
    (
        K.COND_TO_SELECT,
        "y = jax.vmap(f, in_axes=(0, None))(x, w)",
        "y = jax.lax.map(lambda one: f(one, w), x)",
    ),
    (
        K.COND_TO_SELECT,
        "y = jax.vmap(f, (None, 0, 0))(w, p, x)",
        "y = jax.lax.map(lambda one: f(w, one[0], one[1]), (p, x))",
    ),
    (
        K.UNROLLED_LOOP,
        "for i in range(2, 9): out.append(w @ xs[i])",
        "out.extend(jax.vmap(lambda i: w @ xs[i])(jax.numpy.arange(2, 9)))",
    ),
    (K.TYPE_PROMOTION, "y = (h * np.array(0.5, np.float32)) @ v", "y = (h * 0.5) @ v"),
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
    return change(kind, text, message, fix, line).text


def change(kind: FindingKind, text: str, message: str = "", fix: str = "", line: int = 2) -> Change:
    rule = VARIANTS[kind]
    assert not isinstance(rule, str)
    made = rule(finding(kind, message, fix, line), text)
    assert isinstance(made, Change), made
    return made


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
        (K.FULL_SORT, "y = jnp.sort(x)[7]"),
        (K.COND_TO_SELECT, "y = jax.vmap(f, in_axes=(1, None))(x, y)"),
        (K.COND_TO_SELECT, "y = jax.vmap(f, axis_name='i')(x)"),
        (K.TYPE_PROMOTION, "y = (h * scale) @ v"),
        (K.UNROLLED_LOOP, "for w in layers(): z = w @ z"),
        (K.UNROLLED_LOOP, "for w in ws: z = w @ z\nw"),
        (K.UNROLLED_LOOP, "for w in layers.values(): z = w @ z"),
        (K.UNROLLED_LOOP, "for k, w in enumerate(ws): z = w @ z + k"),
        (K.EAGER, "n = 3"),
        (K.EAGER, "y = float(x)"),
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


@pytest.mark.parametrize(
    ("head", "made"),
    [
        ("for w in ws:", "    def iteration(z, w):\n"),
        ("for w, b in zip(ws, bs):", "    def iteration(z, rows):\n        w, b = rows\n"),
    ],
)
def test_a_loop_over_arrays_is_a_scan(head: str, made: str) -> None:
    xs = "(jax.numpy.asarray(ws), jax.numpy.asarray(bs))" if "zip" in head else ""
    after = (
        f"def net(z, ws, bs):\n{made}        z = w @ z\n        return z, None\n\n"
        f"    z, _ = jax.lax.scan(iteration, z, {xs or 'jax.numpy.asarray(ws)'})\n    return z"
    )
    before = f"def net(z, ws, bs):\n    {head}\n        z = w @ z\n    return z"
    assert changed(K.UNROLLED_LOOP, before) == after


def test_a_loop_over_the_parts_of_an_array_is_a_scan() -> None:
    before = "%%jaxjit\nfor xb in jnp.split(x, 8):\n    w = w - step(w, xb)"
    made = changed(K.TRAINING_LOOP, before)
    assert "jax.lax.scan(iteration, w, jax.numpy.asarray(jnp.split(x, 8)))" in made


def test_a_local_variable_of_one_use_is_put_into_it() -> None:
    before = "def f(m, b):\n    p = jnp.linalg.inv(m)\n    c = b + 1\n    return p @ c"
    after = "def f(m, b):\n    c = b + 1\n    return jnp.linalg.solve(m, c)"
    assert changed(K.EXPLICIT_INVERSE, before) == after
    assert changed(K.EXPLICIT_INVERSE, before, line=4) == after


@pytest.mark.parametrize(
    "code",
    [
        "def f(m, b):\n    p = jnp.linalg.inv(m)\n    return p @ b, p",
        "def f(m, b):\n    p = jnp.linalg.inv(m)\n    m = m + 1\n    return p @ b",
        "def f(m, b):\n    p = jnp.linalg.inv(m)\n    for i in range(3):\n        b = p @ b",
        "%%jaxjit\np = jnp.linalg.inv(m)\ny = p @ b",
    ],
)
def test_a_variable_that_is_needed_stays(code: str) -> None:
    rule = VARIANTS[K.EXPLICIT_INVERSE]
    assert not isinstance(rule, str)
    assert isinstance(rule(finding(K.EXPLICIT_INVERSE), code), str)


def test_eager_lines_become_one_jitted_function_before_the_loop() -> None:
    before = (
        "%%jaxprof\nx = x0 + 1\nfor i in range(9):\n    s = jnp.sin(x) * w\n    x = s + x\n"
        "    seen.append(float(x[0]))"
    )
    after = (
        "%%jaxprof\nx = x0 + 1\n@jax.jit\ndef step(x, w):\n    s = jnp.sin(x) * w\n    x = s + x\n"
        "    return s, x\n\nfor i in range(9):\n    s, x = step(x, w)\n"
        "    seen.append(float(x[0]))"
    )
    assert changed(K.EAGER, before, line=4) == after


def test_the_variable_of_a_comprehension_is_no_value_of_the_cell() -> None:
    before = "\nmeans = [x[:n].mean() for n in range(1, 9)]"
    after = (
        "\n@jax.jit\ndef step(x):\n    means = [x[:n].mean() for n in range(1, 9)]\n"
        "    return means\n\nmeans = step(x)"
    )
    assert changed(K.EAGER, before, line=2) == after


@pytest.mark.parametrize(
    ("line", "compiled", "called"),
    [
        ("seen.append(float(loss(w, x)))", "loss(w, x)", "seen.append(float(step(w, x)))"),
        ("seen.append(loss(w, x))", "loss(w, x)", "seen.append(step(w, x))"),
        ("s = float((x @ w).sum()) + 1", "(x @ w).sum()", "s = float(step(x, w)) + 1"),
    ],
)
def test_an_eager_expression_whose_value_is_kept_on_the_host(line, compiled, called) -> None:
    before = f"%%jaxprof\nseen = []\nfor x in xs:\n    {line}"
    names = re.findall(r"step\((.*?)\)", called)[0]
    after = (
        f"%%jaxprof\nseen = []\n@jax.jit\ndef step({names}):\n    return {compiled}\n\n"
        f"for x in xs:\n    {called}"
    )
    assert changed(K.EAGER, before, line=4) == after


def test_a_function_that_is_differentiated_is_no_array() -> None:
    assert "def step(w, x):" in changed(K.EAGER, "\nl, g = jax.value_and_grad(loss)(w, x)")


def test_the_line_of_a_scan_is_compiled_with_the_lambda_that_it_runs() -> None:
    line = "y = jax.lax.scan(lambda c, v, *more: (c + v * k, None), 0.0, x)[0]"
    after = (
        f"\n@jax.jit\ndef step(k, x):\n    {line}\n    return y\n\n"
        "for k in range(9):\n    y = step(k, x)"
    )
    assert changed(K.EAGER, f"\nfor k in range(9):\n    {line}", line=3) == after


@pytest.mark.parametrize(
    "line",
    [
        "print(float(x))",
        "seen.append([f(x), g(x)])",
        "g = jax.grad(lambda w: (w * x).sum())",
        "y = map(lambda v: v * x, seen)",
    ],
)
def test_a_line_without_one_expression_to_compile_is_not_changed(line) -> None:
    rule = VARIANTS[K.EAGER]
    assert not isinstance(rule, str)
    assert isinstance(rule(finding(K.EAGER, 2), f"for x in xs:\n    {line}"), str)


def test_eager_lines_with_an_object_of_a_library_are_one_function_under_its_own_jit() -> None:
    text = "%%jaxprof\nloss = fit(model, x) * 2"
    assert "@jax.jit\ndef step(model, x):" in changed(K.EAGER, text)
    assert "@nnx.jit\ndef step(model, x):" in changed(K.EAGER, text, fix="under `nnx.jit`")
    assert "@eqx.filter_jit\ndef" in changed(K.EAGER, text, fix="under `eqx.filter_jit`")


def test_eager_lines_at_the_top_are_one_function() -> None:
    before = "%%jaxprof\na = jnp.sin(x)\nb = a * y\nprint(b)"
    after = (
        "%%jaxprof\n@jax.jit\ndef step(x, y):\n    a = jnp.sin(x)\n    b = a * y\n"
        "    return a, b\n\na, b = step(x, y)\nprint(b)"
    )
    assert changed(K.EAGER, before, line=3) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("run = jax.jit(step)", "run = jax.jit(step, donate_argnames='w')"),
        (
            "run = jax.jit(step, static_argnames='n',)",
            "run = jax.jit(step, static_argnames='n', donate_argnames='w')",
        ),
        (
            "@jax.jit\ndef step(w): pass",
            "import functools\n@functools.partial(jax.jit, donate_argnames='w')\ndef step(w): pass",
        ),
        (
            "@partial(jax.jit, static_argnums=1)\ndef step(w, n): pass",
            "@partial(jax.jit, static_argnums=1, donate_argnames='w')\ndef step(w, n): pass",
        ),
    ],
)
def test_the_cells_own_jit_donates(before: str, after: str) -> None:
    fix = "Jit `step` with `donate_argnames='w'`, so that the result reuses the buffer."
    assert changed(K.MISSED_DONATION, before, fix=fix) == after


@pytest.mark.parametrize("own", ["jax.jit(step, donate_argnums=1)", "compiled(step)"])
def test_a_jit_that_donates_already_or_is_elsewhere_is_left_alone(own: str) -> None:
    rule = VARIANTS[K.MISSED_DONATION]
    assert not isinstance(rule, str)
    fix = "Jit `step` with `donate_argnames='w'`, so that"
    assert isinstance(rule(finding(K.MISSED_DONATION, fix=fix), f"run = {own}"), str)


def test_a_name_that_is_read_after_the_loop_only_is_no_carry() -> None:
    rule = VARIANTS[K.UNROLLED_LOOP]
    assert not isinstance(rule, str)
    text = "%%jaxjit\nfor i in range(40):\n    s = jnp.sin(z)\n    z = s + z\ns"
    assert rule(finding(K.UNROLLED_LOOP), text) == ("`s` is read after the loop.")


def test_a_name_of_the_same_spelling_in_another_scope_is_no_use_after_the_loop() -> None:
    rule = VARIANTS[K.UNROLLED_LOOP]
    assert not isinstance(rule, str)
    loop = "def f(z):\n    for i in range(40):\n        s = jnp.sin(z)\n        z = s + z\n"
    other = "\ndef g(x):\n    s = x\n    return s\n\ns = f(1.0) + g(2.0)\ns"
    for end in ("z", "(lambda s: s + 1)(z)", "sum(s for s in z)"):
        made = rule(finding(K.UNROLLED_LOOP), f"{loop}    return {end}\n{other}")
        assert isinstance(made, Change), made
    for end in ("s + z", "(lambda x: x + s)(z)"):
        made = rule(finding(K.UNROLLED_LOOP), f"{loop}    return {end}\n{other}")
        assert made == "`s` is read after the loop."


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "u = us[-1]\n    us.append(jnp.sin(u))",
            "The loop has a statement without a result, which may have an effect.",
        ),
        ("us[i + 1] = jnp.sin(us[i])", "The loop changes an object in place."),
        ("u = jnp.sin(v)", "No value is carried from one iteration to the next."),
    ],
)
def test_a_list_that_the_loop_changes_may_carry_a_value(body: str, reason: str) -> None:
    rule = VARIANTS[K.UNROLLED_LOOP]
    assert not isinstance(rule, str)
    assert rule(finding(K.UNROLLED_LOOP), f"%%jaxjit\nfor i in range(40):\n    {body}") == reason


def test_a_captured_array_becomes_the_first_argument_everywhere() -> None:
    text = "%%jaxjit\ndef f(v):\n    return W @ v\n\ny = f(v) + f(2 * v)"
    after = "%%jaxjit\ndef f(W, v):\n    return W @ v\n\ny = f(W, v) + f(W, 2 * v)"
    assert changed(K.CAPTURED_CONSTANT, text, fix="Pass `W`.", line=3) == after


def test_a_function_that_is_passed_on_is_left_alone() -> None:
    rule = VARIANTS[K.CAPTURED_CONSTANT]
    assert not isinstance(rule, str)
    text = "%%jaxjit\ndef f(v):\n    return W @ v\n\ny = jax.vmap(f)(v)"
    assert isinstance(rule(finding(K.CAPTURED_CONSTANT, fix="`W`", line=3), text), str)


def test_a_checkpoint_is_the_innermost_decorator() -> None:
    text = "@jax.jit\ndef block(h, w):\n    return h @ w"
    fix = "Use `jax.checkpoint(block)`."
    after = "@jax.jit\n@jax.checkpoint\ndef block(h, w):\n    return h @ w"
    assert changed(K.SAVED_RESIDUALS, text, fix=fix, line=3) == after
    (saving,) = change(K.SAVED_RESIDUALS, text, fix=fix, line=3).others
    assert saving.text.startswith("import functools\n@jax.jit\n@functools.partial(jax.checkpoint, ")
    assert "policy=jax.checkpoint_policies.dots_saveable)\ndef block" in saving.text


def test_a_loop_is_also_tried_with_several_iterations_per_step() -> None:
    text = "%%jaxjit\nfor i in range(40):\n    z = jnp.sin(z) + i"
    (other,) = change(K.UNROLLED_LOOP, text).others
    assert "jax.lax.fori_loop(0, 40, iteration, z, unroll=4)" in other.text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = jnp.sum(x[jnp.nonzero(m, size=9)])", "y = jnp.sum(jnp.where(m, x, 0))"),
        (
            "y = 2 * jnp.sum(x[jnp.nonzero(x > 0, size=9)] ** 2)",
            "y = 2 * jnp.sum(jnp.where(x > 0, x ** 2, 0))",
        ),
    ],
)
def test_a_reduction_of_what_nonzero_picks_is_one_of_where(before: str, after: str) -> None:
    fix = "Reduce `jnp.where(mask, values, 0)` instead, which moves no element."
    assert changed(K.MASKED_REDUCTION, f"%%jaxjit\n{before}", fix=fix) == f"%%jaxjit\n{after}"


def test_every_kind_has_a_variant_or_a_reason_and_the_docs_say_which() -> None:
    assert set(VARIANTS) == set(FindingKind)
    page = (ROOT / "docs/findings.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| \[`(\w+)`\]\(#\w+\) \|.*\| ([^|]*) \|$", page, re.M))
    for kind, rule in VARIANTS.items():
        assert rows[kind].startswith("–") == isinstance(rule, str), kind


def test_a_diff_has_the_changed_lines_only() -> None:
    assert unified("a\nb\nc", "a\nB\nc") == " a\n-b\n+B\n c"


@pytest.mark.parametrize("magic", ["best = %jaxjit f(x)", "%time f(x)", "    !ls", "a, b = !ls"])
def test_a_line_of_a_magic_counts_as_empty(magic: str) -> None:
    text = f"%%jaxprof\ndef f(x):\n    return (x\n      % 3)\n{magic}\ny = f(x)"
    assert [node.lineno for node in parsed(text).body] == [2, 6]


def test_an_array_whose_method_is_called_too_is_data_of_the_lines() -> None:
    before = "%%jaxprof\ny = jnp.sin(small) - small.mean() + jnp.cos(small)"
    assert "def step(small):" in changed(K.EAGER, before)
