"""Inputs of a program as shapes on a mesh of a target's devices, which are not there."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from jaxscope import words
from jaxscope.analysis.targets.mesh import MeshPlan, Spec
from jaxscope.capture.program.request import CompileRequest
from jaxscope.capture.targets.environment import TargetError
from jaxscope.capture.tree_paths import leaves_with_paths


def on_mesh(request: CompileRequest, plan: MeshPlan, *, one_of_many: bool) -> CompileRequest:
    """The request with its arrays as shapes on the mesh.

    An input keeps the spec of its NamedSharding; one with neither that nor a spec of the plan is
    replicated. Raises TargetError for a spec that does not fit. A program that is one of many need
    not have each input that a spec names.
    """
    mesh = abstract(plan)
    leaves, treedef = jax.tree_util.tree_flatten((tuple(request.args), dict(request.kwargs)))
    paths = request.paths if len(request.paths) == len(leaves) else _names(request)
    given = _given(plan, paths, one_of_many)
    placed = [
        _placed(leaf, path, mesh, plan, given.get(path))
        for leaf, path in zip(leaves, paths, strict=True)
    ]
    args, kwargs = jax.tree_util.tree_unflatten(treedef, placed)
    return replace(request, args=args, kwargs=kwargs)


def _names(request: CompileRequest) -> tuple[str, ...]:
    """By the parameters of the function, else by number."""
    try:
        bound = inspect.signature(request.jitted).bind(*request.args, **request.kwargs)
        arguments = bound.arguments
        flat = [(name, at) for name in arguments for at, _ in leaves_with_paths(arguments[name])]
        names = tuple([f"{name}{at}" for name, at in flat])
    except (TypeError, ValueError):
        return request.names()
    return names if len(names) == len(request.leaves()) else request.names()


def abstract(plan: MeshPlan) -> AbstractMesh:
    """The mesh of a plan; the compiler chooses what no spec says (newer JAX: explicit axes)."""
    names, sizes = zip(*plan.axes, strict=True)
    return AbstractMesh(sizes, names, axis_types=(AxisType.Auto,) * len(names))


def context(plan: MeshPlan | None) -> AbstractContextManager[Any]:
    """The mesh for a `with_sharding_constraint(x, PartitionSpec(…))` of the program."""
    return nullcontext() if plan is None else jax.sharding.use_abstract_mesh(abstract(plan))


def without_an_input(names: Iterable[str], paths: Sequence[str]) -> str:
    """The sentence about the first name of a spec that no input has; empty if there is none."""
    for name in names:
        if not _inputs(name, paths):
            known = words.listed([f"`{path}`" for path in paths], 8) or "none"
            return f"--spec names `{name}`, which is not an input. Its inputs: {known}."
    return ""


def _inputs(name: str, paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path == name or path.startswith((f"{name}[", f"{name}."))]


def _given(plan: MeshPlan, paths: Sequence[str], one_of_many: bool) -> Mapping[str, Spec]:
    """By path: the spec of the longest name that it begins with."""
    if not one_of_many and (said := without_an_input(plan.specs, paths)):
        raise TargetError(said)
    found: dict[str, Spec] = {}
    for name in sorted(plan.specs, key=len):
        found |= dict.fromkeys(_inputs(name, paths), plan.specs[name])
    return found


def _placed(leaf: Any, path: str, mesh: AbstractMesh, plan: MeshPlan, given: Spec | None) -> Any:
    if not isinstance(leaf, (jax.Array, np.ndarray, jax.ShapeDtypeStruct)):
        return leaf
    shape: tuple[int, ...] = tuple(leaf.shape)
    spec = _of_sharding(leaf, path, plan) if given is None else given
    sizes = dict(plan.axes)
    if len(spec) > len(shape) and given is not None:
        dimensions = words.count(len(shape), "dimension")
        raise TargetError(f"The spec of `{path}` has {len(spec)} entries for {dimensions}.")
    for dimension, (length, names) in enumerate(zip(shape, spec, strict=False)):
        shards = math.prod(sizes[name] for name in names)
        if length % shards:
            raise TargetError(
                f"Dimension {dimension} of `{path}` has {length} elements, which {shards} shards "
                f"of {words.listed(names)} do not divide."
            )
    parts = [names[0] if len(names) == 1 else (names or None) for names in spec]
    sharding = NamedSharding(mesh, PartitionSpec(*parts))
    dtype = jax.dtypes.canonicalize_dtype(leaf.dtype, allow_extended_dtype=True)
    weak = bool(getattr(leaf, "weak_type", False))
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding, weak_type=weak)


def _of_sharding(leaf: Any, path: str, plan: MeshPlan) -> Spec:
    """The spec that an array has, by the names of axes; raises TargetError for other axes."""
    spec = getattr(getattr(leaf, "sharding", None), "spec", None)
    if spec is None:
        return ()
    known = [name for name, _ in plan.axes]
    found = tuple(
        () if part is None else (part,) if isinstance(part, str) else tuple(part) for part in spec
    )
    if other := next((name for part in found for name in part if name not in known), ""):
        raise TargetError(
            f"`{path}` is sharded over `{other}`, but --mesh has {words.listed(known)}. "
            f"Give its spec: --spec {path}={known[0]}."
        )
    return found
