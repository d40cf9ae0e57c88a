"""What vmap makes of a program, against what JAX is known to make of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxscope
from jaxscope.capture import _jax
from jaxscope.model import Batching, Cost, Program, Unavailable
from jaxscope.model import BatchingResult as Result
from tests.capture.batched import read
from tests.private_names import break_private

ROWS = jnp.arange(15.0).reshape(5, 3)
WEIGHTS = jnp.arange(3.0) + 1
NUMBERS = jnp.arange(4.0)


def test_what_depends_on_no_example_is_shared() -> None:
    def f(x, w):
        return jnp.tanh(x) * jnp.sum(jnp.sin(w))

    found = read(jax.vmap(f, (0, None)), ROWS, WEIGHTS)
    assert found.sizes == [5]
    assert found.rows() == [
        ("tanh", "0"),
        ("sin", ""),
        ("reduce_sum", ""),
        ("mul", "0"),
    ]


def test_an_unbatched_argument_of_the_size_of_the_batch_stays_unbatched() -> None:
    square = jnp.ones((3, 3))
    first = read(jax.vmap(lambda x, w: jnp.sin(w) @ x, (0, None)), square, square)
    assert (first.over("sin"), first.over("dot_general")) == ([()], [(0,)])
    second = read(jax.vmap(lambda x, w: jnp.sin(w) @ x, (None, 0)), square, square)
    assert (second.over("sin"), second.over("dot_general")) == ([(0,)], [(0,)])


def test_a_vdot_becomes_a_matrix_product_in_two_steps() -> None:
    a, b = jnp.ones((4, 3)), jnp.ones((3, 5))
    one = read(jax.vmap(jnp.vdot, (0, None)), a, b[:, 0])
    assert one.results() == [("dot_general", Result.DOT_GENERAL, "(4×3) · (3×1)", "")]
    both = read(jax.vmap(jax.vmap(jnp.vdot, (None, 1), axis_name="column"), (0, None)), a, b)
    assert both.sizes == [4, 5]
    assert [axis.name for axis in both.vmap.axes] == ["", "column"]
    assert both.results() == [("dot_general", Result.DOT_GENERAL, "(4×3) · (3×5)", "")]
    assert both.over("dot_general") == [(0, 1)]


def test_a_product_of_two_batches_is_a_product_for_each_example() -> None:
    found = read(jax.vmap(lambda a, b: a @ b), jnp.ones((7, 2, 3)), jnp.ones((7, 3, 4)))
    assert found.results() == [("dot_general", Result.BATCHED_DOT_GENERAL, "7 × (2×3) · (3×4)", "")]


def test_per_example_gradients() -> None:
    def loss(w, x, y):
        return jnp.sum((jnp.tanh(jnp.sin(w) @ x) - y) ** 2)

    batch = jnp.ones((7, 3))
    found = read(jax.vmap(jax.grad(loss), (None, 0, 0)), jnp.ones((3, 3)), batch, batch)
    assert found.sizes == [7]
    assert found.over("sin") == [()]
    assert found.over("cos") == [()]
    assert found.over("tanh") == [(0,)]
    forward, backward = found.each("dot_general")
    assert (forward.result, backward.result) == (
        Result.DOT_GENERAL,
        Result.BATCHED_DOT_GENERAL,
    )
    assert backward.detail == "7 × (3×1) · (1×3)"


def test_the_gradient_of_a_batched_loss_is_batched_where_the_loss_is() -> None:
    def loss(w, x):
        return jnp.mean(jax.vmap(lambda a: jnp.tanh(jnp.sin(w) @ a).sum())(x))

    found = read(jax.grad(loss), jnp.ones((3, 3)), jnp.ones((7, 3)))
    assert found.over("sin") == [()]
    assert found.over("cos") == [()]
    assert found.over("dot_general") == [(0,), (0,)]
    # The last product is cos(w) times the cotangent of sin(w), which is summed over the batch.
    *batched, last = found.over("mul")
    assert last == ()
    assert set(batched) == {(0,)}


@pytest.mark.parametrize("transform", [jax.grad, jax.value_and_grad, jax.hessian, jax.jit])
def test_a_jitted_loss_of_captured_rows_is_batched_as_it_is_without_the_jit(
    transform: Callable[..., Any],
) -> None:
    rows = jnp.ones((7, 3))

    def read_loss(jit: Callable[..., Any]) -> list[tuple[str, str]]:
        def loss(w):
            return jnp.mean(jax.vmap(lambda a: jnp.tanh(jnp.sin(w) @ a).sum())(rows))

        found = read(transform(jit(loss)), jnp.ones((3, 3))).rows()
        # The last axis of a Hessian has one element, that of the loss.
        by_name = [(name, "".join(sorted(set(over) - {"2"}))) for name, over in found]
        return sorted(row for row in by_name if row[0] not in ("jit", "pjit"))

    assert read_loss(jax.jit) == read_loss(lambda function: function)


def test_spectral_radius_goes_through_the_matrices_in_one_library_call() -> None:
    found = read(jax.vmap(lambda a: jnp.max(jnp.abs(jnp.linalg.eigvals(a)))), jnp.ones((128, 3, 3)))
    assert found.results() == [("eig", Result.BATCHED_LIBRARY_CALL, "128 × (3×3) in one call", "")]
    assert not list(found.vmap.unbatched())


@pytest.mark.parametrize("inside_jit", [False, True])
def test_a_choice_by_example_computes_both_branches(inside_jit: bool) -> None:
    def f(x):
        return lax.cond(x > 0, lambda v: jnp.sin(v) * 2, lambda v: jnp.cos(v), x) + 1

    found = read(jax.vmap(jax.jit(f) if inside_jit else f), NUMBERS)
    assert found.results() == [("select_n", Result.SELECT_ALL_BRANCHES, "2 branches", "cond")]
    assert found.over("sin") == found.over("cos") == [(0,)]


def test_a_switch_by_example_computes_all_branches() -> None:
    branches = [jnp.sin, jnp.cos, jnp.tanh]
    found = read(jax.vmap(lambda i, x: lax.switch(i, branches, x)), jnp.arange(4), NUMBERS)
    assert found.results() == [("select_n", Result.SELECT_ALL_BRANCHES, "3 branches", "switch")]


@pytest.mark.parametrize(
    "accept",
    [
        lambda new, old: lax.cond(new > 0, lambda: new, lambda: old),
        lambda new, old: lax.cond(new > 0, lambda a, b: a, lambda a, b: b, new, old),
        lambda new, old: lax.cond(new > 0, lambda v: v, jnp.zeros_like, new),
        lambda new, old: lax.cond(new > 0, lambda: 1, lambda: 2),
    ],
)
def test_branches_that_only_choose_cost_an_example_nothing(accept: Any) -> None:
    # As where a Monte Carlo method takes a step or stays: the step was computed before.
    found = read(jax.vmap(lambda x: accept(jnp.sin(x) * 2, x)), NUMBERS)
    assert found.results() == []


@pytest.mark.parametrize("one", [jnp.sin, lambda v: jnp.where(v > 0, jnp.sin(v), v)])
def test_one_branch_that_computes_runs_for_every_example(one: Any) -> None:
    found = read(jax.vmap(lambda x: lax.cond(x > 0, one, lambda v: v, x)), NUMBERS)
    assert found.results() == [("select_n", Result.SELECT_ALL_BRANCHES, "2 branches", "cond")]


def test_a_choice_that_all_examples_share_stays_a_choice() -> None:
    found = read(jax.vmap(lambda x, p: lax.cond(p, jnp.sin, jnp.cos, x), (0, None)), NUMBERS, True)
    assert found.results() == []
    assert found.over("cond") == [(0,)]
    one, other = found.each("sin") + found.each("cos")
    assert sorted([one.flops, other.flops]) == [0, 4], "one of the branches runs"


def test_a_where_does_not_count_as_branches() -> None:
    def f(x):
        return lax.cond(True, lambda v: jnp.where(v > 0, jnp.sin(v), v), jnp.cos, x)

    assert read(jax.vmap(lambda x: jnp.where(x > 0, x, -x)), NUMBERS).results() == []
    assert read(jax.vmap(f), NUMBERS).results() == []


def test_a_loop_that_ends_by_example_runs_until_the_slowest_is_done() -> None:
    def f(x):
        return lax.while_loop(lambda v: v < 10, lambda v: v * 2 + 1, x)

    found = read(jax.vmap(f), NUMBERS)
    assert [result for _, result, _, _ in found.results()] == [Result.WHILE_UNTIL_ALL_DONE]


def test_a_loop_that_ends_for_all_at_once_counts_once() -> None:
    def f(x, n):
        return lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * 2), (n, x))[1]

    found = read(jax.vmap(f, (0, None)), NUMBERS, 0)
    assert found.results() == []
    assert found.over("lt") == [()]
    assert found.over("add") == [()]
    assert found.over("mul") == [(0,)]


def test_a_scan_stays_a_scan_of_larger_steps() -> None:
    def f(x, w):
        return lax.scan(lambda c, k: (c * 2 + jnp.sin(w), c * k), x, jnp.arange(3.0))

    found = read(jax.vmap(f, (0, None)), NUMBERS, 1.0)
    assert found.results() == []
    assert found.over("sin") == [()]
    assert found.over("mul") == [(0,), (0,)]
    assert [e.flops for e in found.each("mul")] == [12, 12], "three steps of four examples"


def test_a_carry_is_batched_once_it_is_combined_with_a_batch() -> None:
    def f(x):
        return lax.scan(lambda c, _: (c + x, jnp.sin(c)), 0.0, None, length=3)[1]

    assert read(jax.vmap(f), NUMBERS).over("sin") == [(0,)]


def test_a_map_of_the_users_is_not_a_sequential_loop() -> None:
    found = read(jax.vmap(lambda x: lax.map(jnp.sin, x)), jnp.ones((4, 4)))
    assert found.results() == []


def callback(method: str, x: jax.Array) -> jax.Array:
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(np.sin, shape, x, vmap_method=method)


@pytest.mark.parametrize("inside_jit", [False, True])
def test_a_sequential_callback_is_a_loop(inside_jit: bool) -> None:
    def f(x):
        return callback("sequential", x) * 2

    found = read(jax.vmap(jax.jit(f) if inside_jit else f), NUMBERS)
    assert found.results() == [
        ("scan", Result.SEQUENTIAL_LOOP, "4 iterations of one example", "pure_callback")
    ]


@pytest.mark.parametrize("method", ["expand_dims", "broadcast_all"])
def test_a_callback_that_takes_batches_is_called_once(method: str) -> None:
    found = read(jax.vmap(lambda x: callback(method, x)), NUMBERS)
    assert found.results() == []
    (call,) = found.each("pure_callback")
    assert (call.result, call.detail) == (
        Result.EXTRA_BATCH_DIMENSION,
        "called once for the whole batch",
    )


def test_a_foreign_call_is_a_loop_only_if_sequential() -> None:
    def f(method):
        shape = jax.ShapeDtypeStruct((), NUMBERS.dtype)
        return lambda x: jax.ffi.ffi_call("nowhere", shape, vmap_method=method)(x)

    loop = ("scan", Result.SEQUENTIAL_LOOP, "4 iterations of one example", "ffi_call")
    assert read(jax.vmap(f("sequential")), NUMBERS).results() == [loop]
    assert read(jax.vmap(f("broadcast_all")), NUMBERS).results() == []


def test_a_debug_print_is_called_for_each_example() -> None:
    found = read(jax.vmap(lambda x: (jax.debug.print("{}", x), x + 1)[1]), NUMBERS)
    results = [(turn, detail, cause) for _, turn, detail, cause in found.results()]
    assert results == [(Result.SEQUENTIAL_LOOP, "one call per example", "")] * 4


def test_a_callback_inside_a_scan_of_the_users_is_a_loop_only_if_sequential() -> None:
    def f(method):
        return lambda x: lax.scan(lambda c, k: (callback(method, c) * k, None), x, NUMBERS)[0]

    assert read(jax.vmap(f("expand_dims")), NUMBERS).results() == []
    assert [t for _, t, _, _ in read(jax.vmap(f("sequential")), NUMBERS).results()] == [
        Result.SEQUENTIAL_LOOP
    ]


def test_sequential_vmap_is_a_loop() -> None:
    f = jax.custom_batching.sequential_vmap(lambda x: jnp.sin(x))
    found = read(jax.vmap(lambda x: f(x)), NUMBERS)
    assert found.results() == [
        ("scan", Result.SEQUENTIAL_LOOP, "4 iterations of one example", "custom_vmap")
    ]


def test_a_custom_rule_for_the_batch_is_not_a_loop() -> None:
    @jax.custom_batching.custom_vmap
    def f(x):
        return jnp.sin(x)

    @f.def_vmap
    def rule(axis_size, in_batched, x):
        return jnp.cos(x), True

    found = read(jax.vmap(lambda x: f(x)), NUMBERS)
    assert found.results() == []
    assert found.over("cos") == [(0,)]


def test_an_index_that_differs_by_example_is_a_gather() -> None:
    found = read(jax.vmap(lambda i, v: v[i], (0, None)), jnp.arange(3), NUMBERS)
    assert found.results() == [("gather", Result.GATHER, "from dynamic_slice", "")]
    same = read(jax.vmap(lambda i, v: v[i], (None, 0)), 1, jnp.ones((3, 4)))
    assert same.results() == []


def test_an_update_whose_place_differs_by_example_is_a_scatter() -> None:
    def f(i, v):
        return lax.dynamic_update_slice(v, jnp.ones(1), (i,))

    found = read(jax.vmap(f, (0, None)), jnp.arange(3), NUMBERS)
    assert found.results() == [("scatter", Result.SCATTER, "from dynamic_update_slice", "")]


def test_a_kernel_for_each_example_is_a_convolution_in_groups() -> None:
    def f(x, kernel):
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME")

    images, kernels = jnp.ones((6, 1, 2, 8, 8)), jnp.ones((6, 3, 2, 3, 3))
    found = read(jax.vmap(f), images, kernels)
    assert found.results() == [("conv_general_dilated", Result.GROUPED_CONVOLUTION, "6 groups", "")]
    assert read(jax.vmap(f, (0, None)), images, kernels[0]).results() == []


def test_sorting_summing_up_and_drawing_stay_what_they_are() -> None:
    def f(key, x):
        return jnp.sort(x), jnp.cumsum(x), jax.random.normal(key, (3,))

    keys = jax.random.split(jax.random.key(0), 5)
    found = read(jax.vmap(f), keys, ROWS)
    assert found.results() == []
    assert found.over("sort") == found.over("cumsum") == found.over("random_bits") == [(0,)]


def test_axes_go_by_leaf_of_a_pytree() -> None:
    def f(p, x):
        return jnp.sin(p["w"]) * x, jnp.cos(p["b"]) + x

    axes = ({"w": None, "b": 0}, 0)
    found = read(jax.vmap(f, axes), {"w": WEIGHTS, "b": ROWS}, ROWS)
    assert found.over("sin") == [()]
    assert found.over("cos") == [(0,)]


def test_each_axis_of_nested_vmaps_is_followed_by_itself() -> None:
    def f(a, b):
        return jnp.sin(a) + jnp.cos(b) * jnp.tanh(a * b)

    found = read(jax.vmap(jax.vmap(f, (None, 0)), (0, None)), jnp.ones(4), jnp.ones(5))
    assert found.over("sin") == [(0,)]
    assert found.over("cos") == [(1,)]
    assert found.over("tanh") == [(0, 1)]
    # Six operations on each of twenty pairs; the sine and the cosine of four and five numbers.
    assert found.vmap.loop_flops == 6 * 20
    assert found.vmap.flops == 4 + 5 + 4 * 20


def test_a_vmap_inside_jitted_code_names_its_line_and_size() -> None:
    def f(x, w):
        y = x * 2
        z = jax.vmap(lambda a: jnp.sin(a) * jnp.cos(w))(y)
        return z.sum()

    with jaxscope.options(runs=0):
        report = jaxscope.inspect(f, ROWS, WEIGHTS)
    batching = batching_of(report.programs[0])
    (axis,) = batching.axes
    assert axis.size == 5
    assert report.sources[axis.source].lines[axis.line - 1].strip().startswith("z = jax.vmap")
    under = [report.equations[e.equation].primitive for e in batching.equations]
    assert "cos" in under
    assert "reduce_sum" not in under, "the sum stands outside"


def solved(matrices, vectors):
    return jnp.linalg.solve(matrices, vectors[..., None])


def attended(matrices, _):
    return jax.nn.dot_product_attention(*[matrices[:, :, None]] * 3)


def mapped_and_solved(matrices, vectors):
    return jax.vmap(jnp.dot)(vectors, vectors) + solved(matrices, vectors).sum((1, 2))


def mapped_by_jax(matrices, vectors):
    row = jax.jit(lambda matrix, vector: jnp.tanh(matrix @ vector))
    return jnp.vectorize(row, signature="(n,n),(n)->(n)")(matrices, vectors)


def jacobian(matrices, vectors):
    return jax.jacfwd(jax.jit(lambda vector: jnp.tanh(matrices[0] @ vector)))(vectors[0])


def derivative_of_a_product(matrices, vectors):
    """A rule of JAX's, which runs where the equations have the traceback of the user's line."""
    return jax.grad(jax.jit(lambda vector: jnp.prod(jnp.cos(vector))))(vectors[0])


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (solved, []),
        (derivative_of_a_product, []),
        (lambda a, b: jax.vmap(lambda row: derivative_of_a_product(a, row[None]))(b), [5]),
        (lambda a, b: jax.scipy.linalg.solve_triangular(a, b[..., None], lower=True), []),
        (attended, []),
        (mapped_and_solved, [5]),
        (jax.vmap(solved), [5]),
        (jax.vmap(jnp.linalg.solve), [5]),
        (mapped_by_jax, [5]),
        (jacobian, [3]),
        (jax.jacfwd(jnp.inner, 1), [15]),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_a_vmap_of_a_librarys_own_is_none_of_the_programs(function, sizes, again) -> None:
    """Also where JAX had traced the library's function before, and its batch is unknown."""
    matrices, vectors = jnp.eye(3) * jnp.ones((5, 1, 1)), jnp.ones((5, 3))
    if again:
        jax.make_jaxpr(function)(matrices, vectors)
    with jaxscope.options(runs=0):
        program = jaxscope.inspect(lambda a, b: function(a, b), matrices, vectors).programs[0]
    found = [] if program.vmap is None else [axis.size for axis in batching_of(program).axes]
    assert found == sizes


def test_the_vmaps_of_libraries_map_what_is_theirs_too() -> None:
    """`eqx.filter_vmap(model)`: neither its function nor the call of `jax.vmap` is the user's."""
    eqx, hk = pytest.importorskip("equinox"), pytest.importorskip("haiku")
    linear = eqx.nn.Linear(3, 2, key=jax.random.key(0))
    haiku = hk.without_apply_rng(hk.transform(lambda x: hk.vmap(hk.Linear(2), split_rng=False)(x)))
    weights = haiku.init(jax.random.key(0), ROWS)
    for function in (eqx.filter_vmap(linear), lambda x: haiku.apply(weights, x)):
        with jaxscope.options(runs=0):
            program = jaxscope.inspect(function, ROWS).programs[0]
        assert [axis.size for axis in batching_of(program).axes] == [5]


def test_a_function_of_a_librarys_own_under_the_vmap_of_a_library_is_none_of_the_programs() -> None:
    """`eqx.nn.MLP` maps its activation over the units of a layer by `eqx.filter_vmap`."""
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.MLP(3, 2, 4, 1, key=jax.random.key(0))
    for function in (jax.vmap(model), eqx.filter_vmap(model)):
        with jaxscope.options(runs=0):
            program = jaxscope.inspect(function, ROWS).programs[0]
        assert [axis.size for axis in batching_of(program).axes] == [5]
    with jaxscope.options(runs=0):
        assert jaxscope.inspect(model, ROWS[0]).programs[0].vmap is None


def test_a_sum_over_the_axis_is_shared_again_and_its_index_is_a_batch() -> None:
    def f(x):
        return jnp.sin(lax.pmean(x, "i")) * jnp.cos(x) + jnp.tanh(1.0 * lax.axis_index("i"))

    for inside in (f, jax.jit(f)):
        found = read(jax.vmap(lambda x, inside=inside: inside(x), axis_name="i"), ROWS)
        assert found.over("psum") == [(0,)]
        assert found.over("sin") == [()]
        assert found.over("cos") == found.over("tanh") == [(0,)]


def test_a_collective_over_the_axis_of_a_vmap_is_a_sum_over_the_batch() -> None:
    def f(x):
        return lax.psum(x, "i"), lax.pmax(x, "i"), lax.pmin(x, "i"), jnp.sin(x)

    found = read(jax.vmap(f, axis_name="i"), ROWS)
    assert [each.detail for each in found.each("psum")] == ["sums over the batch"]
    assert [each.detail for each in found.each("pmax")] == ["takes the largest over the batch"]
    assert [each.detail for each in found.each("pmin")] == ["takes the smallest over the batch"]
    assert [each.detail for each in found.each("sin")] == [""]

    def g(x):
        return lax.psum(x, "i"), lax.psum(x, ("i", "j"))

    one = jax.vmap(jax.vmap(g, axis_name="i"), axis_name="j")
    found = read(one, jnp.ones((2, 5, 3)))
    assert [each.detail for each in found.each("psum")] == ["sums over i", "sums over the batch"]


def test_a_constant_that_is_mapped_is_a_batch() -> None:
    table = np.arange(12.0, dtype=np.float32).reshape(4, 3)
    found = read(lambda w: jax.vmap(lambda row: jnp.sin(row) + jnp.cos(w))(table), WEIGHTS)
    assert found.over("sin") == [(0,)]
    assert found.over("cos") == [()]


def test_a_jacobian_by_columns_shares_the_function_itself() -> None:
    found = read(jax.jacfwd(lambda x: jnp.sin(x) * 2), WEIGHTS)
    assert found.sizes == [3]
    assert found.over("sin") == found.over("cos") == [()]


def test_a_loop_of_python_makes_one_axis_of_each_call_site() -> None:
    def f(x, w):
        for _ in range(3):
            w = w - jax.vmap(lambda w, a: jnp.sin(w) * a, (None, 0))(w, x).mean(0)
        return w

    found = read(f, ROWS, WEIGHTS)
    assert found.sizes == [5]
    assert found.over("sin") == [()] * 3


def test_a_program_without_vmap_has_no_batching() -> None:
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(lambda x: jnp.sin(x).sum(), ROWS)
    assert report.programs[0].vmap is None


def test_a_function_that_jax_had_traced_before_says_its_axes_itself() -> None:
    f = jax.jit(jax.vmap(jax.vmap(lambda p, x: jnp.sin(p["w"]) * x, (None, 0)), (None, 1)))
    args = {"w": jnp.float32(2)}, jnp.ones((5, 7))
    f(*args)
    with jaxscope.options(runs=0):
        program = jaxscope.inspect(f, *args).programs[0]
    batching = batching_of(program)
    assert [axis.size for axis in batching.axes] == [7, 5]
    over = {program.equations[e.equation].primitive: e.over for e in batching.equations}
    assert over["sin"] == ()
    assert over["mul"] == (0, 1)


UNKNOWN = {
    "a vmap inside": lambda x, w: jax.vmap(lambda a: jnp.sin(a) @ w)(x),
    "a value of the batch's size that every example shares": lambda x, w: jax.vmap(
        lambda a: w @ a + w.sum(0)
    )(w * 2),
    "two axes": lambda x, w: jax.vmap(jnp.sum)(x).sum() + jax.vmap(jnp.sum, 1)(x * 2).sum(),
    "the examples' numbers": lambda x, w: jax.vmap(lambda i: x[i] * w[0])(jnp.arange(5)),
    "a loop inside": lambda x, w: jax.vmap(
        lambda a: jax.lax.fori_loop(0, 3, lambda i, c: jnp.tanh(c @ w), a)
    )(x + 1),
    "inside a loop": lambda x, w: jax.lax.fori_loop(
        0, 3, lambda i, c: jax.vmap(lambda a: jnp.tanh(a @ w))(c), x
    ),
    "only some arguments": lambda x, w: jax.vmap(lambda a, v: v @ a, (0, None))(x * 2, w),
    "a function that is batched too": lambda x, w: jax.vmap(
        jax.jit(lambda a: jax.vmap(jnp.sin)(a) * w[0])
    )(x),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_nothing_is_said_of_a_vmap_that_jax_had_traced_before(case: str) -> None:
    step, x, w = jax.jit(UNKNOWN[case]), jnp.ones((5, 4)), jnp.ones((4, 4))
    step(x, w)
    with jaxscope.options(runs=0):
        assert jaxscope.inspect(step, x, w).programs[0].vmap is None


def test_a_second_report_of_a_function_knows_its_vmap() -> None:
    step = jax.jit(lambda v: jax.vmap(jnp.sin, in_axes=1)(v)[0] @ v)
    with jaxscope.options(runs=0):
        first, second = (jaxscope.inspect(step, jnp.ones((3, 2))).programs[0] for _ in range(2))
    assert second.vmap == first.vmap
    assert second.vmap is not None


def test_nothing_is_said_where_only_some_mapped_values_are_those_of_the_program() -> None:
    rows = jnp.ones((5, 3))

    @jax.jit
    def loss(given):
        return jax.vmap(lambda a, b: jnp.sin(a).sum() + jnp.cosh(b).sum())(rows, given).sum()

    with jaxscope.options(runs=0):
        program = jaxscope.inspect(jax.grad(loss), jnp.ones((5, 3))).programs[0]
    assert program.vmap is None


def test_nothing_is_said_where_a_batched_function_has_a_vmap_of_its_own() -> None:
    @jax.jit
    def inner(square, w):
        return jax.vmap(lambda a, w: jnp.sin(a) * jnp.cos(w), (1, None))(square, w)

    batched = jax.vmap(inner, (0, None))
    with jaxscope.options(runs=0):
        program = jaxscope.inspect(batched, jnp.ones((4, 2, 3)), jnp.ones(2)).programs[0]
    assert program.vmap is None


def test_the_watch_is_off_again_whatever_happens() -> None:
    from jax._src.interpreters import batching

    before = batching.batch
    seen: list[_jax.VmapEntry] = []
    with pytest.raises(ZeroDivisionError), _jax.watching_vmaps(seen):
        jax.make_jaxpr(jax.vmap(lambda x: x / (1 // 0)))(NUMBERS)
    assert len(seen) == 1
    assert batching.batch is before
    jax.vmap(jnp.sin)(NUMBERS)
    assert len(seen) == 1


def test_without_the_name_in_jax_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src.interpreters import batching

    original = batching.batch
    seen: list[_jax.VmapEntry] = []
    with monkeypatch.context() as patched:
        patched.delattr(batching, "batch")
        with _jax.watching_vmaps(seen):
            patched.setattr(batching, "batch", original, raising=False)
            jax.vmap(jnp.sin)(NUMBERS)
    assert not seen


def test_the_loop_does_what_one_example_does_as_often_as_there_are_examples() -> None:
    def f(w, x):
        return jnp.tanh(jnp.sin(w) @ x).sum() * jnp.max(w)

    w, x = jnp.ones((3, 3)), jnp.ones((7, 3))
    batched = read(jax.vmap(f, (None, 0)), w, x).vmap
    one = read(jax.vmap(f, (None, 0)), w, x[:1]).vmap
    assert batched.loop_flops == 7 * one.flops
    assert batched.flops < batched.loop_flops


def test_the_arithmetic_of_products_is_what_xla_counts() -> None:
    """For the batch, and for one example as often as there are examples."""
    w, x = jnp.ones((16, 8)), jnp.ones((32, 8))
    with jaxscope.options(runs=0):
        batch = jaxscope.inspect(jax.vmap(lambda w, x: w @ x, (None, 0)), w, x).programs[0]
        one = jaxscope.inspect(lambda w, x: w @ x, w, x[0]).programs[0]
    assert isinstance(batch.cost, Cost)
    assert isinstance(one.cost, Cost)
    batching = batching_of(batch)
    assert batching.flops == batch.cost.flops
    assert batching.loop_flops == 32 * one.cost.flops


def test_a_vmap_that_runs_outside_of_any_program_is_not_noted() -> None:
    seen: list[_jax.VmapEntry] = []
    with _jax.watching_vmaps(seen):
        jax.vmap(jnp.sin)(NUMBERS)
    assert not seen


def test_watching_costs_nothing_where_nothing_is_batched() -> None:
    seen: list[_jax.VmapEntry] = []
    with _jax.watching_vmaps(seen):
        jax.make_jaxpr(lambda x: jnp.sin(x) + 1)(NUMBERS)
    assert not seen


def batching_of(program: Program) -> Batching:
    assert isinstance(program.vmap, Batching)
    return program.vmap


def test_a_program_is_captured_even_where_vmap_cannot_be_watched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise AttributeError("this name is gone")

    for name in ("watching_vmaps", "vmap_sites", "jax_calls", "leading_vmaps"):
        with monkeypatch.context() as patched, jaxscope.options(runs=0):
            break_private(patched, name, broken)
            program = jaxscope.inspect(jax.vmap(jnp.sin), NUMBERS).programs[0]
        assert program.equations
        assert program.vmap is None or isinstance(program.vmap, (Batching, Unavailable))
