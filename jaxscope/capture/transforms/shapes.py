"""The arguments of a program as one transform of its composition sees them, without mapped axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from jaxscope import words
from jaxscope.capture.forms.trial import TracedForm
from jaxscope.capture.inputs.arguments import Arguments
from jaxscope.capture.inputs.inputs import Inputs
from jaxscope.capture.options.composition import Axes, root
from jaxscope.capture.options.settings import NoInputError, TransformError


@dataclass(frozen=True, slots=True)
class Level:
    """Arguments and shapes at one level of the composition."""

    form: TracedForm
    shapes: tuple[tuple[int, ...], ...]
    """By leaf."""

    @classmethod
    def outermost(cls, form: TracedForm) -> Level:
        shapes = [tuple(jax.typeof(leaf.value).shape) for leaf in form.inputs.arguments.leaves]
        return cls(form, tuple(shapes))

    @property
    def inputs(self) -> Inputs:
        return self.form.inputs

    @property
    def where(self) -> str:
        """`Line 1: ` where the options are on a cell's first line, else empty."""
        return self.form.where

    @property
    def arguments(self) -> Arguments:
        return self.inputs.arguments

    @property
    def statics(self) -> dict[str, str]:
        """Names of the static inputs that are data, each with the reason."""
        traced = set(self.names())
        return {
            root(value.name): value.reason
            for value in self.inputs.static_values()
            if root(value.name) not in traced
        }

    def names(self) -> tuple[str, ...]:
        """The traced inputs by name, in order."""
        return tuple(dict.fromkeys(root(slot.path) for slot in self.arguments.leaves))

    def slots_of(self, name: str) -> list[int]:
        """Indices of the leaves at or below a name or a path."""
        spelled = name.replace('"', "'")
        below = (f"{spelled}[", f"{spelled}.")
        paths = [leaf.path for leaf in self.arguments.leaves]
        return [i for i, p in enumerate(paths) if p == spelled or p.startswith(below)]

    def dtype(self, slot: int) -> Any:
        """The dtype that JAX computes with."""
        return jax.typeof(self.arguments.leaves[slot].value).dtype

    def packed_shapes(self) -> tuple[Any, ...]:
        """The arguments of the function below, as shapes and types."""
        avals = [jax.typeof(slot.value) for slot in self.arguments.leaves]
        shapes = [
            jax.ShapeDtypeStruct(shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))
            for shape, aval in zip(self.shapes, avals, strict=True)
        ]
        return self.arguments.pack(shapes)

    def has_explicit_sharding(self) -> bool:
        """Whether the type of some input includes its sharding."""
        found = [getattr(jax.typeof(s.value), "sharding", None) for s in self.arguments.leaves]
        kinds = [getattr(getattr(sharding, "mesh", None), "axis_types", ()) for sharding in found]
        return any(jax.sharding.AxisType.Explicit in kind for kind in kinds)

    def mapped(self, axes: Sequence[int | None]) -> Level:
        """The level of the function inside a map along these axes."""
        shapes = [
            shape if axis is None else shape[:axis] + shape[axis + 1 :]
            for shape, axis in zip(self.shapes, axes, strict=True)
        ]
        return replace(self, shapes=tuple(shapes))

    def axes(self, given: Axes, magic: str) -> tuple[int | None, ...]:
        """The mapped axis of each leaf, counted from the front.

        An input that is not named stays whole if some other input is mapped by name; else its first
        axis is mapped, unless it is a scalar. Raises TransformError where that is impossible.
        """
        default = None if any(axis is not None for _, axis in given) else 0
        asked: list[int | None] = [default if shape else None for shape in self.shapes]
        # A path below a name is more specific than the name.
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
                "its batch axis: `-i x=0`."
            )
        return tuple(chosen)

    def packed_axes(self, given: Axes, magic: str) -> tuple[Any, ...]:
        """The mapped axes in the containers of the arguments."""
        return self.arguments.pack(self.axes(given, magic))

    def size(self, axes: Sequence[int | None]) -> int:
        """The batch size: the length of the mapped axes."""
        return next(
            shape[axis] for shape, axis in zip(self.shapes, axes, strict=True) if axis is not None
        )

    def _axis(self, slot: int, axis: int | None) -> int | None:
        if axis is None:
            return None
        shape, path = self.shapes[slot], self.arguments.leaves[slot].path
        if -len(shape) <= axis < len(shape):
            return axis % len(shape)
        if not shape:
            raise TransformError(
                f"{self.where}-i maps axis {axis} of `{path}`, but it is a scalar here. "
                f"Leave it whole with `-i {path}=None`."
            )
        has = "only axis 0" if len(shape) == 1 else f"axes 0 to {len(shape) - 1}"
        raise TransformError(
            f"{self.where}-i maps axis {axis} of `{path}`, but its shape here is {shape}: it has "
            f"{has}."
        )

    def _disagree(self, sizes: Mapping[int, int], axes: Sequence[int | None]) -> TransformError:
        parts = [
            f"`{self.arguments.leaves[slot].path}` has {size} along axis {axes[slot]}"
            for size, slot in sizes.items()
        ]
        return TransformError(
            f"{self.where}the batch sizes differ: {words.listed(parts)}. Mapped axes must have "
            "equal sizes; leave an input whole with `-i name=None`, or map a different axis."
        )

    def unknown(self, option: str, name: str) -> TransformError:
        """The error for a name that is not an input, or not traced."""
        if root(name) in self.statics:
            return TransformError(
                f"{self.where}{option} names `{name}`, which is {self.statics[root(name)]}."
            )
        return TransformError(
            f"{self.where}{option} names `{name}`, which {self.form.absent(root(name))}. "
            f"{self._listing()}."
        )

    def _listing(self) -> str:
        known = [f"`{name}`" for name in self.names()]
        return (
            f"The traced inputs are {words.listed(known)}" if known else "There is no traced input"
        )
