"""Options of each transform, and the composition of a `%%jaxcompose` line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any

from jaxscope.capture.options.composition import (
    Axes,
    GradMode,
    GradOptions,
    JitOptions,
    PmapOptions,
    Segment,
    VmapOptions,
)
from jaxscope.magics.options import transforms
from jaxscope.magics.options.parser import Parser, usage_error

_TRANSFORMS = ("jit", "grad", "vmap", "pmap")
_ALIASES = {
    **{str(mode): ("grad", f"--mode {mode}") for mode in GradMode if mode is not GradMode.GRAD},
    "value_and_grad": ("grad", "--value"),
}
"""JAX's other names, as segments of a composition."""


def add_own(parser: argparse.ArgumentParser, name: str) -> None:
    """Add the transform's own options to a parser."""
    add = parser.add_argument
    if name == "grad":
        text = "Differentiate by these; default: all traced float inputs."
        add("-w", "--wrt", **transforms.NAMES, help=text)
        add("--value", action="store_true", help="Return (value, gradient).")
        text = "The value is (loss, aux); aux is passed through."
        add("--has-aux", action="store_true", help=text)
        add("--order", default="1", metavar="N", help="Differentiate N times.")
        add("--mode", default="grad", metavar="MODE", help=f"One of {', '.join(GradMode)}.")
        text = "jvp: one tangent for each of -w; default: ones."
        add("--tangents", **transforms.NAMES, help=text)
        text = "vjp: cotangent of the value; default: ones."
        add("--cotangent", default="", metavar="NAME", help=text)
        text = "With --decorate: the function is holomorphic."
        add("--holomorphic", action="store_true", help=text)
    if name in ("vmap", "pmap"):
        text = (
            "The mapped axis of an input; None leaves it whole. Without any axis, all inputs but "
            "scalars are mapped along axis 0; else the others stay whole."
        )
        add("-i", "--in-axes", action="append", default=[], metavar="NAME=AXIS", help=text)
        add("--out-axes", default="0", metavar="AXIS", help="The mapped axis of the results.")
        text = "Axis name for collectives: lax.psum(x, NAME)."
        add("--axis-name", default="", metavar="NAME", help=text)
    if name == "pmap":
        add("--devices", metavar="N", help="Number of devices; default: axis length.")


def segment(name: str, found: argparse.Namespace) -> Segment:
    """The transform with its parsed options. Raises UsageError for invalid values."""
    match name:
        case "grad":
            try:
                mode = GradMode(found.mode)
            except ValueError:
                raise usage_error(
                    f"Line 1: --mode {found.mode!r} does not exist; it is one of "
                    f"{', '.join(GradMode)}."
                ) from None
            made = GradOptions(
                transforms.names(found.wrt),
                mode,
                _number(found.order, "--order"),
                found.value,
                found.has_aux,
                transforms.names(found.tangents),
                next(iter(transforms.names([found.cotangent])), "") if found.cotangent else "",
                found.holomorphic,
            )
        case "vmap":
            made = VmapOptions(_axes(found.in_axes), _axis(found.out_axes), found.axis_name)
        case "pmap":
            devices = None if found.devices is None else _number(found.devices, "--devices")
            axes = _axes(found.in_axes)
            made = PmapOptions(axes, _axis(found.out_axes), found.axis_name, devices)
        case _:
            made = JitOptions()
    return Segment(name, made)


def read_composition(text: str) -> tuple[list[Segment], str]:
    """`jit | vmap -i x=0 | grad -w w` → segments, and what follows the last one, verbatim.

    Raises UsageError for unknown transforms and options.
    """
    found: list[Segment] = []
    rest = _spaced(text).strip()
    while True:
        match = re.match(r"[A-Za-z_]\w*", rest)
        number = len(found) + 1
        if match is None or (match[0] not in _TRANSFORMS and match[0] not in _ALIASES):
            raise usage_error(_no_transform(rest, number))
        name, more = _ALIASES.get(match[0], (match[0], ""))
        parser = _SegmentParser(name, "")
        parser.place = f"segment {number}, `{match[0]}`"
        add_own(parser, name)
        tokens, rest = transforms.split(rest[match.end() :], parser)
        found.append(segment(name, parser.parse_args([*more.split(), *tokens])))
        if not rest.startswith("|"):
            return found, rest
        rest = rest[1:].strip()


def _spaced(text: str) -> str:
    """Blanks around each `|` that separates transforms: not in a call, a path or a string."""
    parts = re.split(r"(\"[^\"]*\"|'[^']*'|[()\[\]{}|])", text)
    depth = 0
    for place, part in enumerate(parts):
        if part in ("(", "[", "{"):
            depth += 1
        elif part in (")", "]", "}"):
            depth -= 1
        elif part == "|" and depth == 0:
            parts[place] = " | "
    return "".join(parts)


class _SegmentParser(Parser):
    """Names the segment of an option that its transform does not have."""

    place = ""

    def error(self, message: str) -> Any:
        has = f"Its options are {', '.join(self.flags)}" if self.flags else "It has no options"
        given = message.removeprefix("unrecognized arguments: ")
        what = f", has no option {given}."
        if given == message:
            what = f": {self.sentence(message)}"
        raise usage_error(
            f"Line 1: {self.place}{what} {has}; shared options go before the first transform."
        )


def _no_transform(rest: str, number: int) -> str:
    token = rest.split(None, 1)[0].split("|")[0] if rest else ""
    what = f"`{token}` is not a transform" if token else "a transform is missing"
    known = ", ".join([*_TRANSFORMS, *_ALIASES])
    return (
        f"Line 1: segment {number}: {what}. The transforms are {known}; write them outermost "
        "first, each with its options: `jit | vmap -i x=0 | grad -w w`."
    )


def _axes(given: Sequence[str]) -> Axes:
    """`x=0,p['a,b']=1` → (x, 0), (p['a,b'], 1): commas in brackets are part of a path."""
    found: list[tuple[str, int | None]] = []
    parts = [part.strip() for text in given for part in re.split(r",(?![^\[]*\])", text)]
    for part in filter(None, parts):
        name, _, axis = part.rpartition("=")
        if not name.strip():
            raise usage_error(
                f"Line 1: -i takes a name and an axis, but got {part!r}. Write `-i {part}=0`, or "
                "`=None` to leave an input whole."
            )
        found.append((name.strip(), _axis(axis.strip(), "-i")))
    return tuple(found)


def _axis(text: str, option: str = "--out-axes") -> int | None:
    if text == "None":
        return None
    try:
        return int(text)
    except ValueError:
        raise usage_error(
            f"Line 1: {option} needs an axis, a whole number or None, but got {text!r}."
        ) from None


def _number(text: str, option: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise usage_error(f"Line 1: {option} needs a whole number of 1 or more, but got {text!r}.")
    return int(text)
