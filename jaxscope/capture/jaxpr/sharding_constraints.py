"""Where the code itself asks for a layout: `with_sharding_constraint`, `reshard`, `device_put`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jax.sharding import NamedSharding

from jaxscope.capture.jaxpr.equations import entries_of
from jaxscope.capture.jaxpr.tags import Tagged

_ASKING = frozenset({"sharding_constraint", "reshard", "device_put"})
# XLA moves data before or after these, as it likes: the constraint reaches past them.
_PASSING = frozenset({
    "broadcast_in_dim", "convert_element_type", "copy", "copy_p", "pvary", "reshape", "squeeze",
    "transpose",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Constraint:
    """One place where the code says how a value is to lie."""

    equations: frozenset[int]
    """The constraint itself, and what makes the value that it constrains."""
    aval: Any
    sharding: Any
    """A NamedSharding on real devices, else None."""
    line: int | None


def constraints(tagged: Tagged) -> Iterator[Constraint]:
    """All constraints of a program; none when its equations are not at hand."""
    if tagged.body is None:
        return
    for body, index, entry in entries_of(tagged.body):
        if entry.primitive not in _ASKING:
            continue
        equations = body.jaxpr.eqns
        equation = equations[index]
        made = {out: number for number, e in enumerate(equations) for out in e.outvars}
        found = {index}
        source = equation.invars[0]
        while not hasattr(source, "val") and (number := made.get(source)) is not None:
            found.add(number)
            if equations[number].primitive.name not in _PASSING:
                break
            source = equations[number].invars[0]
        ids = frozenset(
            i for number in found for i in tagged.places.get((id(body.jaxpr), number), ())
        )
        sharding = equation.params.get("sharding")
        named = isinstance(sharding, NamedSharding) and hasattr(sharding.mesh, "devices")
        own = tagged.places.get((id(body.jaxpr), index), ())
        span = tagged.equations[own[0]].span if own else None
        yield Constraint(
            ids,
            equation.outvars[0].aval,
            sharding if named and not sharding.is_fully_replicated else None,  # type: ignore[union-attr]
            None if span is None else span.line,
        )


def meshes(tagged: Tagged) -> Iterator[Any]:
    """The meshes of the program's `shard_map`s, real or abstract."""
    for body, index, entry in () if tagged.body is None else entries_of(tagged.body):
        if entry.primitive == "shard_map":
            yield body.jaxpr.eqns[index].params.get("mesh")
