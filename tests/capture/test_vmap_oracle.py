"""Random programs under random stacks of vmap: what is batched, against JAX's own batching.

Two oracles. JAX itself: every primitive that a `BatchTrace` processes, and whether any of its
operands is a batch there, seen while it traces. And numbers: of the equations of the batched
program, those whose operands change when one example changes must be told as batched.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from tests.capture.batched import Read, read

SIZE = 3
"""Of every vector, and of some batches too: shapes alone do not tell what is a batch."""

UNARY = (lax.sin, lax.cos, lax.tanh, lax.exp)
BINARY = (lax.add, lax.mul, lax.sub, lax.atan2)
NAMES = frozenset({"sin", "cos", "tanh", "exp", "add", "mul", "sub", "atan2", "dot_general", "max"})
"""Primitives that no batching rule puts in by itself."""

ARGUMENTS = 3


def any_axis(mapped: tuple[int | None, ...]) -> bool:
    return any(axis is not None for axis in mapped)


# Kind, which function, and the numbers of two earlier values.
plain_steps = st.one_of(
    st.tuples(st.just("unary"), st.integers(0, 3), st.integers(0, 99), st.just(0)),
    st.tuples(st.just("binary"), st.integers(0, 3), st.integers(0, 99), st.integers(0, 99)),
    st.tuples(st.just("dot"), st.just(0), st.integers(0, 99), st.integers(0, 99)),
    st.tuples(st.just("constant"), st.integers(0, 3), st.just(0), st.just(0)),
)
steps = st.one_of(
    plain_steps,
    st.tuples(st.just("scan"), st.integers(0, 3), st.integers(0, 99), st.integers(0, 99)),
    st.tuples(st.just("jit"), st.integers(0, 3), st.integers(0, 99), st.integers(0, 99)),
)
programs = st.lists(steps, min_size=1, max_size=7)
straight = st.lists(plain_steps, min_size=1, max_size=8)
axes = st.sampled_from(
    [mapped for mapped in itertools.product((None, 0, 1), repeat=ARGUMENTS) if any_axis(mapped)]
)
stacks = st.lists(axes, min_size=1, max_size=3)


def program(chosen: list[tuple[str, int, int, int]]) -> Callable[..., Any]:
    """A function of vectors: each step makes a new vector of earlier ones; all are returned."""

    def function(*arguments: jax.Array) -> list[jax.Array]:
        values = list(arguments)
        for kind, which, first, second in chosen:
            one, other = values[first % len(values)], values[second % len(values)]
            values.append(_step(kind, UNARY[which], BINARY[which], one, other))
        return values[ARGUMENTS:]

    return function


def _step(kind: str, unary: Any, binary: Any, one: jax.Array, other: jax.Array) -> jax.Array:
    match kind:
        case "unary":
            return unary(one)
        case "binary":
            return binary(one, other)
        case "dot":
            return lax.mul(lax.broadcast(lax.dot(one, other), (SIZE,)), one)
        case "constant":
            return unary(jnp.arange(SIZE, dtype=np.float32))
        case "scan":
            return lax.scan(lambda c, _: (binary(c, other), None), one, None, length=2)[0]
        case _:
            return jax.jit(lambda a, b: binary(unary(a), b))(one, other)


def stacked(
    function: Callable[..., Any], stack: list[tuple[int | None, ...]]
) -> tuple[Callable[..., Any], list[np.ndarray]]:
    """The function under vmaps, the first outermost, and arguments of the shapes that it takes."""
    shapes = [[SIZE] for _ in range(ARGUMENTS)]
    for depth, mapped in enumerate(reversed(stack)):
        function = jax.vmap(function, mapped)
        size = SIZE if depth else SIZE + 1
        for shape, axis in zip(shapes, mapped, strict=True):
            if axis is not None:
                shape.insert(min(axis, len(shape)), size)
    draws = np.random.default_rng(0)
    return function, [draws.uniform(0.5, 1.5, shape).astype(np.float32) for shape in shapes]


@contextmanager
def jax_seen(seen: list[tuple[str, int, bool]]) -> Iterator[None]:
    """Notes each primitive that a BatchTrace processes: its name, the depth, is any a batch."""
    from jax._src.interpreters.batching import BatchTrace

    original = BatchTrace.process_primitive

    def process(self, primitive, tracers, params, *rest):
        batched = any(self.to_batch_info(t)[1] is not None for t in tracers)
        depth, outer = 0, self.parent_trace
        while isinstance(outer, BatchTrace):
            depth, outer = depth + 1, outer.parent_trace
        seen.append((primitive.name, depth, batched))
        return original(self, primitive, tracers, params, *rest)

    BatchTrace.process_primitive = process
    try:
        yield
    finally:
        BatchTrace.process_primitive = original


def by_jax(seen: list[tuple[str, int, bool]], depth: int) -> list[tuple[str, tuple[int, ...]]]:
    """What JAX did, one row a primitive: the levels at which it was a batch, outermost 0.

    The innermost vmap processes a primitive first and asks the one around it for the result.
    """
    rows: list[tuple[str, set[int]]] = []
    for name, level, batched in seen:
        if name not in NAMES:
            continue
        if level == depth - 1:
            rows.append((name, set()))
        if batched:
            rows[-1][1].add(level)
    return [(name, tuple(sorted(levels))) for name, levels in rows]


def by_us(found: Read) -> list[tuple[str, tuple[int, ...]]]:
    return [
        (name, each.over)
        for each in found.vmap.equations
        if (name := found.equations[each.equation].primitive) in NAMES
    ]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(straight, stacks)
def test_every_equation_is_batched_exactly_where_jax_batches_it(chosen, stack) -> None:
    function, arguments = stacked(program(chosen), stack)
    seen: list[tuple[str, int, bool]] = []
    with jax_seen(seen):
        found = read(function, *arguments)
    assert by_us(found) == by_jax(seen, len(stack))


@settings(max_examples=10, deadline=None, derandomize=True)
@given(programs, stacks)
def test_equations_that_change_with_one_example_are_batched(chosen, stack) -> None:
    function, arguments = stacked(program(chosen), stack)
    found = read(function, *arguments)
    closed = jax.jit(function).trace(*arguments).jaxpr
    for level, changed in enumerate(_changed(arguments, stack)):
        dependent = _dependent(closed, arguments, changed)
        told = {e.equation for e in found.vmap.equations if level in e.over}
        under = {e.equation for e in found.vmap.equations if level in e.under}
        numbers = _numbers(found)
        assert {numbers[i] for i in dependent if numbers[i] in under} <= told


@settings(max_examples=25, deadline=None, derandomize=True)
@given(straight, axes)
def test_the_loop_counts_one_example_as_often_as_there_are_examples(chosen, mapped) -> None:
    function, arguments = stacked(program(chosen), [mapped])
    one = [
        a if axis is None else np.take(a, [0], min(axis, 1))
        for a, axis in zip(arguments, mapped, strict=True)
    ]
    many = read(function, *arguments).vmap
    assert many.loop_flops == (SIZE + 1) * read(function, *one).vmap.flops


def test_the_oracle_notices_a_wrong_classification(monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxscope.analysis.vmap.axes import VmapAxes

    function, arguments = stacked(program([("unary", 0, 0, 0)]), [(0, None, None)])
    seen: list[tuple[str, int, bool]] = []
    monkeypatch.setattr(VmapAxes, "operand", lambda *_, **__: 0)
    with jax_seen(seen):
        found = read(function, *arguments)
    assert by_us(found) != by_jax(seen, 1)


def _changed(
    arguments: list[np.ndarray], stack: list[tuple[int | None, ...]]
) -> Iterator[list[np.ndarray]]:
    """By level, outermost first: the arguments with one example of that vmap changed."""
    for level in range(len(stack)):
        changed: list[np.ndarray] = []
        for number, argument in enumerate(arguments):
            place = _place(argument.ndim, [mapped[number] for mapped in stack], level)
            new = argument.copy()
            if place is not None:
                new[(slice(None),) * place + (0,)] += 0.25
            changed.append(new)
        yield changed


def _place(rank: int, mapped: list[int | None], level: int) -> int | None:
    """Which dimension of an argument the vmap of a level takes."""
    dimensions = list(range(rank))
    for number, axis in enumerate(mapped):
        if axis is not None:
            taken = dimensions.pop(min(axis, len(dimensions) - 1))
            if number == level:
                return taken
    return None


def _dependent(closed: Any, before: list[np.ndarray], after: list[np.ndarray]) -> list[int]:
    """The outermost equations, by position, one of whose operands changed."""
    inner = getattr(closed, "jaxpr", closed)
    first, second = _values(inner, closed.consts, before), _values(inner, closed.consts, after)
    return [
        position
        for position, equation in enumerate(inner.eqns)
        if any(
            not hasattr(atom, "val") and not np.array_equal(first[atom], second[atom])
            for atom in equation.invars
        )
    ]


def _values(inner: Any, constants: Any, arguments: list[np.ndarray]) -> dict[Any, Any]:
    values = dict(zip(inner.constvars, constants, strict=True))
    values.update(zip(inner.invars, arguments, strict=True))
    for equation in inner.eqns:
        ins = [a.val if hasattr(a, "val") else values[a] for a in equation.invars]
        params = equation.primitive.get_bind_params(equation.params)
        # Functions among the parameters come apart on the oldest JAX.
        functions, params = params if isinstance(params, tuple) else ((), params)
        outs = equation.primitive.bind(*functions, *ins, **params)
        outs = outs if equation.primitive.multiple_results else [outs]
        values.update(zip(equation.outvars, outs, strict=True))
    return values


def _numbers(found: Read) -> list[int]:
    """The ids of the outermost equations."""
    return [equation.id for equation in found.equations if equation.parent is None]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(straight, stacks)
def test_every_equation_of_a_gradient_is_batched_exactly_where_jax_batches_it(
    chosen, stack
) -> None:
    function = program(chosen)

    def loss(*arguments: jax.Array) -> jax.Array:
        return jnp.stack(function(*arguments)).sum()

    batched, arguments = stacked(jax.grad(loss), stack)
    seen: list[tuple[str, int, bool]] = []
    with jax_seen(seen):
        found = read(batched, *arguments)
    assert by_us(found) == by_jax(seen, len(stack))
