"""The expected results: the same code in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxscope.bench.frameworks.implementation import Implementation, Task, arrays_of
from jaxscope.bench.placement import fixed, task_for
from jaxscope.bench.plan import Entry, Plan

BY_JAX = "float64 JAX"
"""The name of a reference that JAX computed."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Results as NumPy arrays, in order, and their name in a sentence."""

    leaves: tuple[Any, ...]
    name: str


def reference(
    plan: Plan,
    inputs: Mapping[str, Any],
    host: Mapping[str, Any],
    find: Callable[[str], Implementation],
) -> Reference | None:
    """The results in float64, or None when no code of the plan can compute them.

    The plan's own reference takes precedence; then code for NumPy, or any that takes a namespace,
    with NumPy's; then code for JAX, in 64 bits on the CPU, the only one for gradients. Raises the
    exceptions of the code.
    """
    args = [doubled(array) for array in host.values()]
    if plan.reference is not None:
        numpy = find("numpy")
        results = fixed(plan.reference, inputs)(*args)
        return Reference(_arrays(numpy, results), "the given reference")
    if not plan.grad:
        entry = _entry(plan.entries, "numpy", find)
        if entry is not None:
            numpy = find("numpy")
            namespace = numpy.namespace() if entry.namespaced else None
            task = task_for(task_of(plan, entry), inputs, namespace)
            with np.errstate(all="ignore"):
                results = numpy.prepare(task, args, "cpu:0").call(*args)
            return Reference(_arrays(numpy, results), "float64 NumPy")
    entry = _entry(plan.entries, "jax", find)
    return None if entry is None else _by_jax(plan, entry, inputs, args)


def draws_otherwise(
    plan: Plan,
    inputs: Mapping[str, Any],
    host: Mapping[str, Any],
    find: Callable[[str], Implementation],
) -> bool:
    """Whether JAX's code draws random numbers of other widths in 64 bits, which are other numbers.

    Traces it twice. Raises the exceptions of the code.
    """
    entry = _entry(plan.entries, "jax", find)
    if entry is None:
        return False
    import jax

    from jaxscope.capture.compiles.listener import own_work

    def widths(args: Sequence[Any]) -> list[int]:
        task = task_for(task_of(plan, entry), inputs, jax.numpy if entry.namespaced else None)
        function = task.transformed(jax.grad, jax.vmap)
        return _random_widths(jax.make_jaxpr(function)(*map(jax.numpy.asarray, args)))

    with own_work():
        own = widths(list(host.values()))
        with jax.enable_x64(True):
            return own != widths([doubled(array) for array in host.values()])


def _random_widths(jaxpr: Any) -> list[int]:
    """The bits of each random number, by equation, also of jaxprs inside."""
    from jaxscope.capture.jaxpr.reader import jaxprs_in

    found: list[int] = []
    for equation in jaxpr.eqns:
        if equation.primitive.name == "random_bits":
            found.append(equation.params["bit_width"])
        for value in equation.params.values():
            for inner in jaxprs_in(value):
                found += _random_widths(inner)
    return found


def doubled(array: Any) -> Any:
    """A copy in float64 or complex128; integers and bools unchanged."""
    kind = array.dtype.kind
    if kind in "fV":
        return np.array(array, dtype=np.float64)
    return np.array(array, dtype=np.complex128) if kind == "c" else np.array(array)


def _by_jax(plan: Plan, entry: Entry, inputs: Mapping[str, Any], args: Sequence[Any]) -> Reference:
    import jax

    from jaxscope.bench.frameworks.jax import JaxEager
    from jaxscope.capture.compiles.listener import own_work

    eager = JaxEager()
    with own_work(), jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        task = task_for(task_of(plan, entry), inputs, jax.numpy if entry.namespaced else None)
        results = task.transformed(jax.grad, jax.vmap)(
            *[jax.numpy.asarray(array) for array in args]
        )
        return Reference(_arrays(eager, results), BY_JAX)


def task_of(plan: Plan, entry: Entry) -> Task:
    """The entry with the plan's transforms, before inputs are placed."""
    return Task(
        entry.label,
        entry.function,
        options=entry.options,
        grad=plan.grad,
        vmap=plan.vmap,
        compile_s=plan.limits.compile_s,
    )


def _entry(
    entries: Sequence[Entry], framework: str, find: Callable[[str], Implementation]
) -> Entry | None:
    """The first entry whose code runs on the framework, or on every namespace."""
    for entry in entries:
        if not isinstance(entry.function, str) and (
            entry.namespaced or find(entry.implementation).framework == framework
        ):
            return entry
    return None


def _arrays(implementation: Implementation, results: Any) -> tuple[Any, ...]:
    return tuple(map(np.array, arrays_of(implementation, results)))
