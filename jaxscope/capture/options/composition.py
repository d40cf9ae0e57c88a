"""A composition of transforms as the user asked for it: names and options, outermost first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxscope.model import Applied


Axes = tuple[tuple[str, int | None], ...]
"""`-i x=0 -i w=None`: names, or paths such as `p['w']`, with the mapped axis."""


class GradMode(StrEnum):
    """The derivative to compute, by JAX's own names."""

    GRAD = "grad"
    JVP = "jvp"
    VJP = "vjp"
    JACFWD = "jacfwd"
    JACREV = "jacrev"
    HESSIAN = "hessian"


@dataclass(frozen=True, slots=True)
class JitOptions:
    """No options: those of a jit are shared by all transforms."""


@dataclass(frozen=True, slots=True)
class GradOptions:
    """Inputs to differentiate by, the mode, and the values to return."""

    wrt: tuple[str, ...] = ()
    """Names to differentiate by; empty: every traced float input."""
    mode: GradMode = GradMode.GRAD
    order: int = 1
    value: bool = False
    """Return `(value, derivative)`."""
    has_aux: bool = False
    """The value is `(loss, aux)`, and `aux` is passed through."""
    tangents: tuple[str, ...] = ()
    """jvp: names of the tangents, one for each of `wrt`; empty: ones."""
    cotangent: str = ""
    """vjp: name of the cotangent; empty: ones."""
    holomorphic: bool = False
    """The function is complex-differentiable (decorator form, where JAX cannot see it)."""


@dataclass(frozen=True, slots=True)
class VmapOptions:
    """The mapped axes."""

    axes: Axes = ()
    out_axes: int | None = 0
    axis_name: str = ""


@dataclass(frozen=True, slots=True)
class PmapOptions:
    """The axes that are mapped over devices."""

    axes: Axes = ()
    out_axes: int | None = 0
    axis_name: str = ""
    devices: int | None = None
    """Number of devices; None: the length of the mapped axis."""


Options = JitOptions | GradOptions | VmapOptions | PmapOptions


@dataclass(frozen=True, slots=True)
class Segment:
    """One transform of a composition: one segment of a `%%jaxcompose` line."""

    name: str
    """`jit`, `grad`, `vmap` or `pmap`: a key of `TRANSFORMS`."""
    options: Options


@dataclass(frozen=True, slots=True)
class Composition:
    """Transforms around a program, outermost first."""

    segments: tuple[Segment, ...] = (Segment("jit", JitOptions()),)

    @classmethod
    def compiled(cls, segments: Sequence[Segment]) -> Composition:
        """The transforms inside a `jit`, unless the outermost one compiles by itself."""
        if segments and segments[0].name in ("jit", "pmap"):
            return cls(tuple(segments))
        return cls((*JIT.segments, *segments))

    @property
    def titles(self) -> tuple[str, ...]:
        """Names of JAX's functions: `('jit', 'vmap', 'value_and_grad')`."""
        names: list[str] = []
        for segment in self.segments:
            match segment.options:
                case GradOptions(mode=GradMode.GRAD, order=order, value=value):
                    first = ("value_and_grad",) if value and order == 1 else ("grad",)
                    names += [*first, *["grad"] * (order - 1)]
                case GradOptions(mode=mode, order=order):
                    names += [str(mode)] * order
                case _:
                    names.append(segment.name)
        return tuple(names)

    @property
    def applied(self) -> tuple[Applied, ...]:
        """The composition as data for the record."""
        from jaxscope.model import Applied  # the magics need this file before there is a run

        return tuple([Applied(s.name, _spelled(s.options)) for s in self.segments])

    def __str__(self) -> str:
        """As `%%jaxcompose` takes it: `jit | vmap -i x=0 | grad -w w`."""
        return " | ".join(
            " ".join([a.name, *(f"{name} {value}".rstrip() for name, value in a.options)])
            for a in self.applied
        )

    @property
    def is_plain(self) -> bool:
        """Whether it is nothing but `jit`."""
        return all(segment.name == "jit" for segment in self.segments)

    @property
    def differentiates(self) -> bool:
        return any(isinstance(segment.options, GradOptions) for segment in self.segments)

    @property
    def maps(self) -> bool:
        """Whether some transform adds an axis to the results."""
        kinds = VmapOptions | PmapOptions
        return any(isinstance(segment.options, kinds) for segment in self.segments)

    @property
    def has_pmap(self) -> bool:
        return any(segment.name == "pmap" for segment in self.segments)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Variables to differentiate by or to map over; of a path, its root."""
        paths: list[str] = []
        for segment in self.segments:
            match segment.options:
                case GradOptions(wrt=wrt):
                    paths += wrt
                case VmapOptions(axes=axes) | PmapOptions(axes=axes):
                    paths += [path for path, _ in axes]
                case _:
                    pass
        return tuple(dict.fromkeys(map(root, paths)))

    @property
    def extra_names(self) -> tuple[str, ...]:
        """Names that the options read from the namespace: tangents and cotangents."""
        found = [s.options for s in self.segments if isinstance(s.options, GradOptions)]
        names = [n for options in found for n in (*options.tangents, options.cotangent) if n]
        return tuple(dict.fromkeys(names))


def root(path: str) -> str:
    """`params['w']` → `params`."""
    return path.partition("[")[0].partition(".")[0]


JIT = Composition()
PMAP = Composition((Segment("pmap", PmapOptions()),))


def _spelled(options: Options) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    match options:
        case JitOptions():
            pass
        case GradOptions():
            if options.wrt:
                found.append(("-w", ",".join(options.wrt)))
            if options.mode is not GradMode.GRAD:
                found.append(("--mode", options.mode))
            if options.order != 1:
                found.append(("--order", str(options.order)))
            if options.tangents:
                found.append(("--tangents", ",".join(options.tangents)))
            if options.cotangent:
                found.append(("--cotangent", options.cotangent))
            flags = {
                "--value": options.value,
                "--has-aux": options.has_aux,
                "--holomorphic": options.holomorphic,
            }
            found += [(flag, "") for flag, given in flags.items() if given]
        case VmapOptions() | PmapOptions():
            found += [("-i", f"{name}={axis}") for name, axis in options.axes]
            if options.out_axes != 0:
                found.append(("--out-axes", str(options.out_axes)))
            if options.axis_name:
                found.append(("--axis-name", options.axis_name))
            if isinstance(options, PmapOptions) and options.devices is not None:
                found.append(("--devices", str(options.devices)))
    return tuple(found)
