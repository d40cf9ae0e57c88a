"""The arguments of a program as one transform of its stack sees them: shapes lose mapped axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from jaxscope.capture.inputs.arguments import Arguments
from jaxscope.capture.inputs.inputs import Inputs
from jaxscope.capture.options.stack import Axes, NoInputError, TransformError


@dataclass(frozen=True, slots=True)
class Level:
    """Arguments and shapes at one place of the stack."""

    inputs: Inputs
    shapes: tuple[tuple[int, ...], ...]
    """By slot."""
    where: str
    """`Line 1: ` where the options stand on a cell's first line, else empty."""
    noun: str
    """`this cell` or `this call`."""
    absent: Callable[[str], str]
    """Of a name that is no input: what it is then, after `which`."""

    @classmethod
    def outermost(
        cls,
        inputs: Inputs,
        where: str,
        noun: str,
        absent: Callable[[str], str],
    ) -> Level:
        shapes = [tuple(jax.typeof(slot.value).shape) for slot in inputs.arguments.slots]
        return cls(inputs, tuple(shapes), where, noun, absent)

    @property
    def arguments(self) -> Arguments:
        return self.inputs.arguments

    @property
    def statics(self) -> dict[str, str]:
        """Names of inputs that are data and not traced, each with the reason."""
        traced = set(self.names())
        return {
            root(value.name): value.reason
            for value in self.inputs.static_values()
            if root(value.name) not in traced
        }

    def names(self) -> tuple[str, ...]:
        """The traced inputs by name, in order."""
        return tuple(dict.fromkeys(root(slot.path) for slot in self.arguments.slots))

    def slots_of(self, name: str) -> list[int]:
        """The slots at or below a name or a path."""
        return [i for i, slot in enumerate(self.arguments.slots) if _below(slot.path, name)]

    def dtype(self, slot: int) -> Any:
        """The type that JAX computes with."""
        return jax.typeof(self.arguments.slots[slot].value).dtype

    def packed_shapes(self) -> tuple[Any, ...]:
        """The arguments of the function below, as shapes and types."""
        avals = [jax.typeof(slot.value) for slot in self.arguments.slots]
        shapes = [
            jax.ShapeDtypeStruct(shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))
            for shape, aval in zip(self.shapes, avals, strict=True)
        ]
        return self.arguments.pack(shapes)

    def has_explicit_sharding(self) -> bool:
        """Whether some input carries its sharding in its type."""
        found = [getattr(jax.typeof(s.value), "sharding", None) for s in self.arguments.slots]
        kinds = [getattr(getattr(sharding, "mesh", None), "axis_types", ()) for sharding in found]
        return any(jax.sharding.AxisType.Explicit in kind for kind in kinds)

    def mapped(self, axes: Sequence[int | None]) -> Level:
        """What the function below a map along these axes sees."""
        shapes = [
            shape if axis is None else shape[:axis] + shape[axis + 1 :]
            for shape, axis in zip(self.shapes, axes, strict=True)
        ]
        return replace(self, shapes=tuple(shapes))

    def axes(self, given: Axes, magic: str) -> tuple[int | None, ...]:
        """The mapped axis of each slot, counted from the front.

        What is not named is left whole if some other input is mapped by name; else its first axis
        is mapped, unless it is a scalar. Raises TransformError where that cannot be.
        """
        default = None if any(axis is not None for _, axis in given) else 0
        asked: list[int | None] = [default if shape else None for shape in self.shapes]
        # A path below a name says more than the name.
        for name, axis in sorted(given, key=lambda pair: len(pair[0])):
            slots = self.slots_of(name)
            if not slots and not (axis is None and root(name) in self.statics):
                raise self.unknown("-i", name)
            for slot in slots:
                asked[slot] = axis
        chosen = [self._axis(slot, axis) for slot, axis in enumerate(asked)]
        sizes: dict[int, int] = {}
        for slot, axis in enumerate(chosen):
            if axis is not None:
                sizes.setdefault(self.shapes[slot][axis], slot)
        if len(sizes) > 1:
            raise self._disagree(sizes, chosen)
        if not sizes:
            raise NoInputError(
                f"{self.where}`{magic}` has no axis to map. {self._listing()}. Name an input and "
                "the axis of its examples: `-i x=0`."
            )
        return tuple(chosen)

    def size(self, axes: Sequence[int | None]) -> int:
        """How many examples there are along the mapped axes."""
        return next(
            shape[axis] for shape, axis in zip(self.shapes, axes, strict=True) if axis is not None
        )

    def _axis(self, slot: int, axis: int | None) -> int | None:
        if axis is None:
            return None
        shape, path = self.shapes[slot], self.arguments.slots[slot].path
        if -len(shape) <= axis < len(shape):
            return axis % len(shape)
        if not shape:
            raise TransformError(
                f"{self.where}-i maps axis {axis} of `{path}`, which is a scalar here and has no "
                f"axes. Leave it whole with `-i {path}=None`."
            )
        has = "only axis 0" if len(shape) == 1 else f"axes 0 to {len(shape) - 1}"
        raise TransformError(
            f"{self.where}-i maps axis {axis} of `{path}`, which has shape {shape} here: it has "
            f"{has}."
        )

    def _disagree(self, sizes: Mapping[int, int], axes: Sequence[int | None]) -> TransformError:
        parts = [
            f"`{self.arguments.slots[slot].path}` has {size} along axis {axes[slot]}"
            for size, slot in sizes.items()
        ]
        return TransformError(
            f"{self.where}the batch sizes disagree: {_joined(parts)}. Mapped axes must be equally "
            "long; leave an input whole with `-i name=None`, or choose another of its axes."
        )

    def unknown(self, option: str, name: str) -> TransformError:
        """The error for a name that is no input, or that is not traced."""
        if root(name) in self.statics:
            return TransformError(
                f"{self.where}{option} names `{name}`, which is {self.statics[root(name)]}."
            )
        return TransformError(
            f"{self.where}{option} names `{name}`, which {self.absent(root(name))}. "
            f"{self._listing()}."
        )

    def _listing(self) -> str:
        known = [f"`{name}`" for name in self.names()]
        return f"Its traced inputs are {_joined(known)}" if known else "It has no traced inputs"


def root(path: str) -> str:
    """`params['w']` → `params`."""
    return path.partition("[")[0].partition(".")[0]


def _below(path: str, name: str) -> bool:
    spelled = name.replace('"', "'")
    return path == spelled or path.startswith((f"{spelled}[", f"{spelled}."))


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
