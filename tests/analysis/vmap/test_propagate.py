"""Batches followed through hand-built regions, without JAX."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pytest

from jaxscope.analysis.jaxpr.dataflow import (
    InnerRegion,
    Region,
    RegionStep,
    RegionValue,
)
from jaxscope.analysis.vmap.axes import TRANSPOSE, VMAP, VmapCall
from jaxscope.analysis.vmap.propagate import propagate
from jaxscope.model import BatchedEquation, BatchingResult, Frame, Span

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Trace:
    """The traceback of an equation."""

    sites: tuple[str, ...] = ("vmap",)
    calls: tuple[tuple[str, str], ...] = ()


class Tracebacks:
    def vmap_sites(self, traceback: Any) -> tuple[str, ...]:
        return traceback.sites

    def jax_calls(self, traceback: Any) -> tuple[tuple[str, str], ...]:
        return traceback.calls


_variables = itertools.count(1)


def region(
    shapes: list[Shape], arguments: int, *steps: RegionStep, results: tuple[int, ...]
) -> Region:
    """A region whose values are float32 arrays of these shapes."""
    values = [RegionValue("f32", 4, shape) for shape in shapes]
    variables = tuple([next(_variables) for _ in values])
    return Region(tuple(values), arguments, 0, tuple(steps), tuple(results), variables=variables)


def step(
    primitive: str,
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
    offset: int = 0,
    *,
    trace: Trace = Trace(),
    scopes: tuple[tuple[str, str], ...] = (VMAP,),
    **more: Any,
) -> RegionStep:
    if primitive not in ("scan", "while", "cond"):
        more.setdefault("flops", 10.0)
    return RegionStep(
        offset, primitive, (), inputs, outputs, scopes=scopes, traceback=trace, **more
    )


def call(
    made: Region, axes: tuple[int | None, ...], site: str = "vmap", name: str = "", size: int = 5
) -> VmapCall:
    """A call of a vmapped function on the first arguments of a region."""
    arguments = [(axis, made.variables[i]) for i, axis in enumerate(axes)]
    return VmapCall(site, name, size, tuple(arguments))


def followed(made: Region, *calls: VmapCall) -> list[BatchedEquation]:
    return propagate(made, calls, Tracebacks())[1]


def over(made: Region, *calls: VmapCall) -> list[tuple[int, ...]]:
    return [each.over for each in followed(made, *calls)]


def test_an_equation_is_batched_when_an_operand_is() -> None:
    made = region(
        [(5, 3), (3,), (3,), (5, 3)],
        2,
        step("cos", (1,), (2,), 0),
        step("mul", (0, 2), (3,), 1),
        results=(3,),
    )
    assert over(made, call(made, (0, None))) == [(), (0,)]
    assert over(made, call(made, (0, 0))) == [(0,), (0,)]
    first, second = followed(made, call(made, (0, None)))
    assert (first.result, second.result) == (None, BatchingResult.EXTRA_BATCH_DIMENSION)


def test_an_equation_outside_of_any_vmap_is_not_listed() -> None:
    made = region(
        [(5,), (5,), (5,)],
        1,
        step("sin", (0,), (1,), 0, scopes=()),
        step("cos", (1,), (2,), 1),
        results=(2,),
    )
    found = propagate(made, [call(made, (0,))], Tracebacks())[1]
    assert [each.equation for each in found] == [1]


def test_nested_axes_are_followed_separately() -> None:
    both = Trace(("outer", "inner"))
    made = region(
        [(5, 3), (7, 3), (7, 3), (5, 7, 3)],
        2,
        step("sin", (1,), (2,), 0, trace=both, scopes=(VMAP, VMAP)),
        step("mul", (0, 2), (3,), 1, trace=both, scopes=(VMAP, VMAP)),
        results=(3,),
    )
    calls = call(made, (0, None), "outer"), call(made, (None, 0), "inner", size=7)
    assert over(made, *calls) == [(1,), (0, 1)]


@pytest.mark.parametrize(
    ("shape", "detail"),
    [
        ((5, 3, 3), "5 × (3×3) in one call"),
        ((5, 2, 4, 3), "10 × (4×3) in one call"),
        ((5, 3), "5 × (3) in one call"),
        ((5, 0, 0), "5 × (0×0) in one call"),
    ],
)
def test_a_library_call_takes_the_matrices_or_vectors_of_all_examples(
    shape: Shape, detail: str
) -> None:
    made = region([shape, shape], 1, step("tridiagonal_solve", (0,), (1,)), results=(1,))
    (found,) = followed(made, call(made, (0,)))
    assert (found.result, found.detail) == (BatchingResult.BATCHED_LIBRARY_CALL, detail)


def scan(body: Region, length: int, carried: int, constants: int = 0) -> InnerRegion:
    return InnerRegion(
        body,
        1,
        range(body.arguments),
        True,
        float(length),
        invariant=constants,
        carried=carried,
    )


def test_a_carry_is_batched_from_the_iteration_in_which_it_meets_a_batch() -> None:
    # Two values are carried: the second takes the first of the iteration before.
    body = region([(), (), (), ()], 3, step("add", (0, 2), (3,), 0), results=(3, 0))
    made = region(
        [(), (), (4, 5), (), ()],
        3,
        step("scan", (0, 1, 2), (3, 4), inner=(scan(body, 4, 2),), params={"length": 4}),
        results=(3, 4),
    )
    loop, add = followed(made, call(made, (None, None, 1)))
    assert (loop.over, add.over) == ((0,), (0,))
    assert add.flops == 4 * 10
    unbatched = followed(made, call(made, (None, None, None)))
    assert [each.over for each in unbatched] == [(), ()]


def test_a_while_with_a_batched_condition_batches_all_that_it_carries() -> None:
    condition = region([(), (), ()], 2, step("lt", (0, 1), (2,), 0), results=(2,))
    body = region([(), ()], 1, step("mul", (0, 0), (1,), 0), results=(1,))
    made = region(
        [(5,), (), ()],
        2,
        step(
            "while",
            (0, 1),
            (2,),
            inner=(
                InnerRegion(condition, 1, (0, 1), False, invariant=1, carried=1),
                InnerRegion(body, 2, (1,), True, invariant=0, carried=1),
            ),
        ),
        results=(2,),
    )
    loop, test, product = followed(made, call(made, (0, None)))
    assert (loop.result, loop.over) == (BatchingResult.WHILE_UNTIL_ALL_DONE, (0,))
    assert (test.over, product.over) == ((0,), (0,))
    shared = followed(made, call(made, (None, None)))
    assert [each.over for each in shared] == [(), (), ()]
    assert shared[0].result is None


def test_of_the_branches_of_a_cond_the_costliest_is_counted() -> None:
    cheap = region([(5,), (5,)], 1, step("sin", (0,), (1,), 0), results=(1,))
    costly = region([(5,), (5,)], 1, step("sort", (0,), (1,), 0, flops=70.0), results=(1,))
    branches = tuple(
        InnerRegion(branch, 1 + number, range(1, 2), True)
        for number, branch in enumerate((cheap, costly))
    )
    made = region([(), (5,), (5,)], 2, step("cond", (0, 1), (2,), inner=branches), results=(2,))
    found = followed(made, call(made, (None, 0)))
    assert [(each.over, each.flops) for each in found] == [((0,), 0.0), ((0,), 0.0), ((0,), 70.0)]


def test_the_predicate_of_a_cond_batches_its_results_and_not_its_branches() -> None:
    branch = region([(), ()], 1, step("sin", (0,), (1,), 0), results=(1,))
    made = region(
        [(5,), (), (), ()],
        2,
        step("cond", (0, 1), (2,), 0, inner=(InnerRegion(branch, 1, range(1, 2), True),)),
        step("exp", (2,), (3,), 2),
        results=(3,),
    )
    assert over(made, call(made, (0, None))) == [(0,), (), (0,)]


def test_a_sum_over_the_axis_is_unbatched() -> None:
    made = region(
        [(5,), (), ()],
        1,
        step("psum", (0,), (1,), 0, params={"axes": (0,)}),
        step("exp", (1,), (2,), 1),
        results=(2,),
    )
    total, after = followed(made, call(made, (0,), name="i"))
    assert (total.over, total.detail) == ((0,), "sums over the batch")
    assert after.over == ()


def test_a_loop_that_no_function_called_is_a_sequential_loop_of_its_examples() -> None:
    body = region([(), ()], 1, step("pure_callback", (0,), (1,), 0), results=(1,))
    trace = Trace(calls=(("callback.py", "pure_callback"),))
    made = region(
        [(5,), (5,)],
        1,
        step("scan", (0,), (1,), inner=(scan(body, 5, 0),), params={"length": 5}, trace=trace),
        results=(1,),
    )
    loop, inside = followed(made, call(made, (0,)))
    assert (loop.result, loop.function) == (BatchingResult.SEQUENTIAL_LOOP, "pure_callback")
    assert (inside.result, inside.detail) == (BatchingResult.SEQUENTIAL_LOOP, "")
    asked = Trace(calls=(("callback.py", "pure_callback"), ("loops.py", "scan")))
    made = region(
        [(5,), (5,)],
        1,
        step("scan", (0,), (1,), inner=(scan(body, 5, 0),), params={"length": 5}, trace=asked),
        results=(1,),
    )
    assert followed(made, call(made, (0,)))[0].result is None


def test_without_an_observed_call_the_axis_is_unknown() -> None:
    made = region(
        [(5, 3), (3,), (3,), (5, 3)],
        2,
        step("cos", (1,), (2,), 0),
        step("mul", (0, 2), (3,), 1),
        results=(3,),
    )
    axes, _ = propagate(made, (), Tracebacks())
    assert [(axis.size, axis.known) for axis in axes.all] == [(None, False)]


def test_what_a_derivative_adds_beside_a_known_equation_is_batched_like_it() -> None:
    known: dict[Any, Any] = {}
    at, beside = Trace(("vmap",)), Trace(("vmap",), calls=(("relu.py", "relu_jvp"),))
    base = region([(5,), (5,)], 1, step("max", (0,), (1,), 0, trace=at), results=(1,))
    propagate(base, [call(base, (0,))], Tracebacks(), learned=known)
    other = region(
        [(5,), (5,), (5,)],
        1,
        step("max", (0,), (1,), 0, trace=at),
        step("gt", (0,), (2,), 1, trace=beside),
        results=(1, 2),
    )
    _, found = propagate(other, [VmapCall("vmap", "", 5, ((0, 0),))], Tracebacks(), known)
    assert [each.over for each in found] == [(0,), (0,)]


def test_the_transpose_of_a_batched_equation_is_batched_as_that_was() -> None:
    frames = (Frame(0, "cell", "f", Span(2, 0, 2, 5)),)
    made = region(
        [(5,), (5,), (3,), (5,), (5,), (3,), (5,)],
        3,
        step("mul", (0, 0), (3,), 0, frames=frames),
        step("mul", (1, 1), (4,), 1, frames=frames, scopes=(TRANSPOSE, VMAP)),
        # Cotangents of what all examples share are added up without an axis of the batch.
        step("add_any", (2, 2), (5,), 2, frames=frames, scopes=(TRANSPOSE, VMAP)),
        step("neg", (1,), (6,), 3, scopes=(TRANSPOSE, VMAP)),
        results=(3, 4, 5, 6),
    )
    assert over(made, call(made, (0, None, None))) == [(0,), (0,), (), ()]


def test_facts_of_the_untransformed_program_make_an_axis_known() -> None:
    known: dict[Any, Any] = {}
    trace = Trace(("vmap",))
    square = [(5, 5), (5,), (5, 5)]
    base = region(square, 2, step("cos", (0,), (2,), 0, trace=trace), results=(2,))
    propagate(base, [call(base, (None, 0))], Tracebacks(), learned=known)
    other = region(square, 2, step("cos", (0,), (2,), 0, trace=trace), results=(2,))
    entered = VmapCall("vmap", "", 5, ((0, 0),))
    told, found = propagate(other, [entered], Tracebacks(), known)
    assert (told.all[0].known, found[0].over) == (True, ())
    assert not propagate(other, [entered], Tracebacks())[0].all[0].known
