"""Listening that begins after a warm-up: what JAX still holds is compared, the rest is unknown."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Generator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import Listener, collecting
from jaxscope.model import Cause
from jaxscope.model import CauseKind as K
from tests.capture.compiles.cause_cases import ones

Program = Callable[[], Generator[None]]
PROGRAMS: dict[str, tuple[Program, K, str]] = {}
SINCE = r"since jaxscope started listening at \d\d:\d\d:\d\d"
BEFORE = r"JAX had traced the same call before jaxscope started listening at \d\d:\d\d:\d\d"


def program(kind: K, says: str) -> Callable[[Program], Program]:
    """Kind and words (a pattern) of the first cause of what compiles after the `yield`."""

    def add(run: Program) -> Program:
        PROGRAMS[run.__name__] = (run, kind, says)
        return run

    return add


def causes(run: Program) -> list[Cause]:
    steps = run()
    next(steps)
    with Listener() as listener, collecting(listener) as block:
        for _ in steps:
            pass
    return [cause for made in block.compiles() for cause in made.causes]


@program(K.NEW_FUNCTION, r"has the code of an earlier function, but is a new")
def a_new_lambda():
    def make() -> Any:
        return jax.jit(lambda x: x * 3)

    kept = [make()]
    kept[0](ones(3))
    yield
    make()(ones(3))


@program(K.NEW_FUNCTION, r"`jax.grad\(loss\)` is a new function")
def a_new_gradient():
    def loss(w: Any) -> Any:
        return (w**2).sum()

    kept = jax.jit(jax.grad(loss))
    kept(ones(3))
    yield
    jax.jit(jax.grad(loss))(ones(3))


@program(K.STRUCTURE, r"of `mask` changed: None → bool\[3\]\.")
def none_in_place_of_a_mask():
    @jax.jit
    def attend(x: Any, mask: Any) -> Any:
        return x if mask is None else jnp.where(mask, x, 0)

    attend(ones(3), None)
    yield
    attend(ones(3), np.ones(3, bool))


@program(K.STRUCTURE, r"of `p` changed: dict → OrderedDict\.")
def another_container():
    evaluate = jax.jit(lambda p: p["a"] + 1)
    evaluate({"a": ones(3)})
    yield
    evaluate(collections.OrderedDict(a=ones(3)))


@program(K.STRUCTURE, r"`state` has a new class, also named `State`\.")
def a_class_made_again():
    update = jax.jit(lambda state: state.w + 1)
    update(collections.namedtuple("State", "w")(ones(3)))
    yield
    update(collections.namedtuple("State", "w")(ones(3)))


@program(K.CALL_STYLE, r"`y` was passed by position and is now passed by keyword")
def a_keyword():
    add = jax.jit(lambda x, y: x + y)
    add(ones(3), ones(3))
    yield
    add(ones(3), y=ones(3))


@program(K.SHAPE, r"The shape of `x` changed: f32\[3\] → f32\[4\]")
def a_shape():
    f = jax.jit(lambda x: x * 8)
    f(ones(3))
    yield
    f(ones(4))


@program(K.FIRST_CALL, rf"first compilation of `<lambda>` under vmap {SINCE}\.$")
def a_batch_under_vmap():
    f = jax.jit(lambda x: x * 2)
    jax.vmap(f)(ones(8, 3))
    yield
    jax.vmap(f)(ones(5, 3))


@program(K.EAGER_OP, rf"`scan` ran eagerly \(outside any jit\) for the first time {SINCE}\.$")
def an_eager_scan():
    x = jnp.ones(4)

    def solve() -> Any:
        return lax.scan(lambda carry, v: (carry + v, carry), 0.0, x)

    solve()
    yield
    solve()


@program(K.UNKNOWN, rf"{BEFORE}, but does not show .*; now `x` is committed to cpu:0\.$")
def a_committed_array():
    f = jax.jit(lambda x: x * 5)
    f(ones(3))
    x = jax.device_put(ones(3), jax.devices()[0])
    yield
    f(x)


@program(K.UNKNOWN, r"cpu:0 with the memory layout major_to_minor=\(1, 0\)\.$")
def a_layout():
    from jax.experimental.layout import Format, Layout

    f = jax.jit(lambda x, y: x + y)
    x = jax.device_put(ones(3, 4), jax.devices()[0])
    f(x, x)
    y = jax.device_put(x, Format(Layout(major_to_minor=(1, 0)), x.sharding))
    yield
    f(x, y)


@program(K.UNKNOWN, rf"{BEFORE}, but does not show .*; now `donate_argnums` is \(0\)\.$")
def a_donation():
    def f(x: Any) -> Any:
        return x * 6

    jax.jit(f)(jnp.ones(3))
    x = jnp.ones(3)
    yield
    jax.jit(f, donate_argnums=0)(x)


@program(K.FIRST_CALL, rf"first compilation of `<lambda>` {SINCE}\.$")
def a_cleared_cache():
    f = jax.jit(lambda x: x * 7)
    f(ones(3))
    jax.clear_caches()
    yield
    f(ones(3))


@program(K.SHAPE, r"^The shape of `x` changed: f32\[3\] → f32\[4\] \(axis 0\)\.$")
def a_shape_under_filter_jit():
    eqx = pytest.importorskip("equinox")
    f = eqx.filter_jit(lambda x, rate: x * rate)
    f(ones(3), 0.1)
    yield
    f(ones(4), 0.1)


@program(K.STATIC_VALUE, r"^The static argument `n` changed: 2 → 3\.$")
def a_static_argument_that_was_left_out():
    f = jax.jit(lambda x, n=2: x * n, static_argnums=1)
    f(ones(3))
    yield
    f(ones(3), 3)


@program(K.FIRST_CALL, rf"first compilation of `<lambda>` {SINCE}\.$")
def two_functions_of_one_name_under_filter_jit():
    eqx = pytest.importorskip("equinox")
    eqx.filter_jit(lambda x: x * 8)(ones(3))
    yield
    eqx.filter_jit(lambda x: x * 9)(ones(4))


READ_FROM_JAX = {
    "a_new_lambda", "a_new_gradient", "none_in_place_of_a_mask", "another_container",
    "a_class_made_again", "a_keyword", "a_shape", "a_shape_under_filter_jit",
    "a_committed_array", "a_layout", "a_static_argument_that_was_left_out", "a_donation",
}  # fmt: skip
"""Programs whose cause needs JAX's own record of its traces, which jax 0.8 does not have."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_compiles_after_a_warm_up_has_its_cause_or_is_unknown(name: str) -> None:
    run, kind, says = PROGRAMS[name]
    found = causes(run)
    (cause, *_) = [one for one in found if one.kind is kind] or found
    if name in READ_FROM_JAX and _jax.traced_functions() is None:
        kind, says = K.FIRST_CALL, SINCE
    assert (cause.kind, bool(re.search(says, cause.text))) == (kind, True), cause.text


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_asserted_of_the_time_before_listening(name: str) -> None:
    for cause in causes(PROGRAMS[name][0]):
        text = re.sub(SINCE, "", cause.text)
        assert "left out" not in text
        assert "for the first time." not in text
        assert "had not been" not in text
