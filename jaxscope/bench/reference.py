"""What the results should be: the same code in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxscope.bench.frameworks.implementation import Contestant, Task
from jaxscope.bench.placement import fixed, task_for
from jaxscope.bench.plan import Entry, Plan


@dataclass(frozen=True, slots=True)
class Reference:
    """Results as NumPy arrays, in order, and what they are called in a sentence."""

    leaves: tuple[Any, ...]
    name: str


def reference(
    plan: Plan,
    inputs: Mapping[str, Any],
    host: Mapping[str, Any],
    find: Callable[[str], Contestant],
) -> Reference | None:
    """The results in float64, or None when no code here can give them.

    The plan's own reference first; then the code for NumPy, or any that takes a namespace, with
    NumPy's; then that for JAX, in 64 bits on the CPU: for gradients the only one. Raises what the
    code raises.
    """
    args = [doubled(array) for array in host.values()]
    if plan.reference is not None:
        numpy = find("numpy")
        results = fixed(plan.reference, inputs)(*args)
        return Reference(_arrays(numpy, results), "the given reference")
    if not plan.grad:
        entry = _entry(plan.entries, "numpy")
        if entry is not None:
            return _by_numpy(plan, entry, inputs, args, find("numpy"))
    entry = _entry(plan.entries, "jax", "jax-eager")
    return None if entry is None else _by_jax(plan, entry, inputs, args)


def doubled(array: Any) -> Any:
    """A copy in float64 or complex128; integers and bools as they are."""
    kind = array.dtype.kind
    if kind in "fV":
        return np.array(array, dtype=np.float64)
    return np.array(array, dtype=np.complex128) if kind == "c" else np.array(array)


def _by_numpy(
    plan: Plan, entry: Entry, inputs: Mapping[str, Any], args: Sequence[Any], numpy: Contestant
) -> Reference:
    namespace = numpy.namespace() if entry.namespaced else None
    task = task_for(task_of(plan, entry), inputs, namespace)
    with np.errstate(all="ignore"):
        results = numpy.prepare(task, args, "cpu:0").call(*args)
    return Reference(_arrays(numpy, results), "float64 NumPy")


def _by_jax(plan: Plan, entry: Entry, inputs: Mapping[str, Any], args: Sequence[Any]) -> Reference:
    import jax

    from jaxscope.bench.frameworks.jax import Eager, transformed
    from jaxscope.capture.compiles.listener import own_work

    eager = Eager()
    with own_work(), jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        task = task_for(task_of(plan, entry), inputs, jax.numpy if entry.namespaced else None)
        results = transformed(task)(*[jax.numpy.asarray(array) for array in args])
        return Reference(_arrays(eager, results), "float64 JAX")


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


def _entry(entries: Sequence[Entry], *names: str) -> Entry | None:
    """One of these contestants' code, or any that runs on every namespace."""
    for entry in entries:
        if not isinstance(entry.function, str) and (entry.contestant in names or entry.namespaced):
            return entry
    return None


def _arrays(contestant: Contestant, results: Any) -> tuple[Any, ...]:
    return tuple([np.array(contestant.to_numpy(leaf)) for leaf in contestant.leaves(results)])
