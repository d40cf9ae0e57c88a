"""A stack of transforms as the user asked for it: names and options, outermost first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from jaxscope.capture.options.settings import SettingsError
from jaxscope.model import Applied

Axes = tuple[tuple[str, int | None], ...]
"""`-i x=0 -i w=None`: names, or paths such as `p['w']`, with the axis that is mapped."""


class TransformError(SettingsError, TypeError):
    """A transform cannot do what was asked, in a sentence for the user."""


class NoInputError(TransformError):
    """There is nothing that a transform could work on: no float input, or no axis."""


class GradMode(StrEnum):
    """What of a derivative is computed; the names are JAX's."""

    GRAD = "grad"
    JVP = "jvp"
    VJP = "vjp"
    JACFWD = "jacfwd"
    JACREV = "jacrev"
    HESSIAN = "hessian"


@dataclass(frozen=True, slots=True)
class JitOptions:
    """A jit has no options of its own: those it has are shared by all transforms."""


@dataclass(frozen=True, slots=True)
class GradOptions:
    """What to differentiate, and what to return."""

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
    """Say that the function is complex-differentiable where it cannot be seen (decorator form)."""


@dataclass(frozen=True, slots=True)
class VmapOptions:
    """Which axes are mapped."""

    axes: Axes = ()
    out_axes: int | None = 0
    axis_name: str = ""


@dataclass(frozen=True, slots=True)
class PmapOptions:
    """Which axes are spread over devices."""

    axes: Axes = ()
    out_axes: int | None = 0
    axis_name: str = ""
    devices: int | None = None
    """How many; None: as many as the mapped axis is long."""


Options = JitOptions | GradOptions | VmapOptions | PmapOptions


@dataclass(frozen=True, slots=True)
class Segment:
    """One transform of a stack, as one segment of `%%jaxcompose` spells it."""

    name: str
    """`jit`, `grad`, `vmap` or `pmap`: a key of `TRANSFORMS`."""
    options: Options


Stack = tuple[Segment, ...]
JIT: Stack = (Segment("jit", JitOptions()),)
PMAP: Stack = (Segment("pmap", PmapOptions()),)


def compiled(segments: Sequence[Segment]) -> Stack:
    """The stack with a `jit` around it, unless its outermost transform compiles by itself."""
    if segments and segments[0].name in ("jit", "pmap"):
        return tuple(segments)
    return (*JIT, *segments)


def titles(stack: Stack) -> tuple[str, ...]:
    """The names of JAX's own functions: `('jit', 'vmap', 'value_and_grad')`."""
    names: list[str] = []
    for segment in stack:
        match segment.options:
            case GradOptions(mode=GradMode.GRAD, order=order, value=value):
                first = ("value_and_grad",) if value and order == 1 else ("grad",)
                names += [*first, *["grad"] * (order - 1)]
            case GradOptions(mode=mode, order=order):
                names += [str(mode)] * order
            case _:
                names.append(segment.name)
    return tuple(names)


def applied(stack: Stack) -> tuple[Applied, ...]:
    """The stack as data for the record."""
    return tuple([Applied(segment.name, _spelled(segment.options)) for segment in stack])


def written(stack: Stack) -> str:
    """The stack as `%%jaxcompose` takes it: `jit | vmap -i x=0 | grad -w w`."""
    return " | ".join(
        " ".join([a.name, *(f"{name} {value}".rstrip() for name, value in a.options)])
        for a in applied(stack)
    )


def is_plain(stack: Stack) -> bool:
    """Whether nothing but jit is applied."""
    return all(segment.name == "jit" for segment in stack)


def differentiates(stack: Stack) -> bool:
    return any(isinstance(segment.options, GradOptions) for segment in stack)


def extra_names(stack: Stack) -> tuple[str, ...]:
    """Names that the options read from the namespace: tangents and cotangents."""
    found = [s.options for s in stack if isinstance(s.options, GradOptions)]
    names = [n for options in found for n in (*options.tangents, options.cotangent) if n]
    return tuple(dict.fromkeys(names))


def maps(stack: Stack) -> bool:
    """Whether some transform adds an axis to the results."""
    return any(isinstance(segment.options, VmapOptions | PmapOptions) for segment in stack)


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
