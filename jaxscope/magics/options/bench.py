"""The options of `%%jaxbench`, and the parser of its line."""

from __future__ import annotations

import argparse
import math
import re
from typing import Any

from jaxscope.magics.options.parser import ENGINES, Parser, number, usage_error
from jaxscope.magics.options.transforms import check_name, is_name

# `jaxscope.bench` is imported where a line is read, so that the extension loads fast.
DTYPES = ("float16", "bfloat16", "float32", "float64", "keep")
PLOTS = ("time", "ratio", "break_even", "rounds", "roofline")
_COUNT = number(int, lambda n: 1 <= n <= 100, "a number of processes from 1 to 100")
_POSITIVE = number(float, lambda x: 0 < x < math.inf, "a number above 0")
_OPTIONAL_VALUE = ("--grad", "--vmap")
_UNKNOWN = re.compile(r"--[A-Za-z][\w-]*")
_UNKNOWN_IN_CELL = re.compile(r"--?[A-Za-z][\w-]*")
"""No expression is on the line of a cell, so that `-n` is an option too."""


def parser() -> Parser:
    """The parser of both forms."""
    made = Parser(
        "jaxbench",
        "Compare NumPy, PyTorch, JAX and others side by side.",
        ("%%jaxbench [options] [x=normal(n,n) ...]", "%jaxbench [options] f(x) vs g(x)"),
    )
    # `--size n=4` must not be read as `--sizes` without its value.
    made.allow_abbrev = False
    many: dict[str, Any] = {"action": "append", "default": []}
    add = made.add_argument
    add("--vs", **many, metavar="NAMES", help="Implementations; the first is the baseline.")
    add("--sizes", **many, metavar="N=…", help="n=2^6..2^12, n=10..10_000*10, n=1,5,9.")
    add("--devices", **many, metavar="DEVS", help="Only on these devices: cpu, gpu:0.")
    optional: dict[str, Any] = {"nargs": "?", "const": ""}
    text = "Compare gradients with respect to these inputs (default: the first)."
    add("--grad", **optional, metavar="NAMES", help=text)
    text = "Batch over these axes (default: axis 0 of every input)."
    add("--vmap", **optional, metavar="X=0,W=NONE", help=text)
    add("--dtype", choices=DTYPES, help="Dtype of floating-point inputs.")
    add("--x64", action="store_true", help="Enable JAX's 64-bit types.")
    text = "Wait for each call, or for all calls of a round together."
    add("--mode", choices=("latency", "throughput"), default="latency", help=text)
    add("--processes", type=_COUNT, default=1, metavar="N", help="Repeat in N fresh processes.")
    add("--time-limit", type=_POSITIVE, metavar="S", help="Seconds of the whole comparison.")
    add("--tolerance", type=_POSITIVE, metavar="T", help="Allowed relative error.")
    add("--no-check", action="store_true", help="Do not compare the results.")
    text = "Seed of random inputs and of the order of the rounds."
    add("--seed", type=int, default=0, metavar="N", help=text)
    add("--save", metavar="NAME", help="Store as a baseline.")
    add("--against", metavar="NAME", help="Compare with a stored baseline.")
    add("--plot", **many, choices=PLOTS, help="Also show a plotly figure.")
    add("--engines", choices=("all",), help=ENGINES)
    text = "With --engines all: run each `# jax` section on all of them at once, over one mesh."
    add("--global", dest="mesh", action="store_true", help=text)
    made.add_display("Comparison", views=("auto", "html", "text"))
    return made


def parse(line: str, using: Parser, is_cell: bool, default_view: str) -> argparse.Namespace:
    """The options of the line, its `request`, and as `rest` the expressions of the line magic.
    Raises UsageError for a line that cannot be read.

    In a cell, inputs such as `x=normal(n,n)` may be anywhere on the line; in the line form the
    expressions begin at the first word that is neither an option nor an input.
    """
    from jaxscope.bench.cell.inputs import BenchRequest, spec
    from jaxscope.bench.cell.line import sizes
    from jaxscope.bench.cell.sections import CellError
    from jaxscope.model.comparison import TimingMode

    try:
        flags, inputs, rest = _split(line, using, is_cell)
        found = using.parse_args(flags)
        found.request = BenchRequest(
            vs=_listed(found.vs),
            inputs=tuple([spec(name, text) for name, text in inputs]),
            sizes=sizes(found.sizes),
            devices=_listed(found.devices),
            grad=None if found.grad is None else _listed([found.grad]),
            vmap=None if found.vmap is None else _axes(found.vmap),
            dtype=found.dtype,
            x64=found.x64,
            mode=TimingMode(found.mode),
            processes=found.processes,
            time_limit=found.time_limit,
            tolerance=found.tolerance,
            check=not found.no_check,
            seed=found.seed,
        )
    except CellError as error:
        raise usage_error(str(error)) from None
    check_name(found.report, "comparison")
    found.view = found.view or default_view
    found.rest = rest
    return found


def _split(line: str, using: Parser, is_cell: bool) -> tuple[list[str], list[tuple[str, str]], str]:
    """Options, inputs, and the rest of a line magic."""
    from jaxscope.bench.cell.line import split_input, tokens

    takes_value = using.takes_value
    flags: list[str] = []
    inputs: list[tuple[str, str]] = []
    pieces = tokens(line)
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        name, equals, _ = piece.partition("=")
        following = pieces[at + 1] if at + 1 < len(pieces) else ""
        if piece == "--":
            at += 1
            break
        looks = _UNKNOWN_IN_CELL if is_cell else _UNKNOWN
        if looks.fullmatch(name) and takes_value.keys().isdisjoint((name, name[:2])):
            escape = "Write `--` before an expression that begins with two minus signs."
            raise usage_error(using.unknown(name) + ("" if is_cell else f" {escape}"))
        if piece.startswith("-") and (name in takes_value or is_cell):
            flags.append(_unquoted(piece))
            if takes_value.get(name) and not equals and following:
                bare = name in _OPTIONAL_VALUE and not _names_inputs(name, following)
                if not bare:
                    flags.append(_unquoted(following))
                    at += 1
        elif (pair := split_input(piece)) is not None:
            inputs.append(pair)
        elif is_cell:
            raise usage_error(
                f"{piece!r} is neither an option nor an input such as `x=normal(n,n)`. To compare "
                "expressions, write %jaxbench f(x) vs g(x)."
            )
        else:
            break
        at += 1
    return flags, inputs, " ".join(pieces[at:])


def _names_inputs(option: str, text: str) -> bool:
    """Whether the next word is the value of `--grad` or `--vmap`, not an input or an option."""
    if text.startswith("-") or "(" in text:
        return False
    for part in text.split(","):
        name, _, axis = (part, "", "") if option == "--grad" else part.partition("=")
        number = axis.strip().lstrip("-").isdigit() or axis.strip().lower() in ("", "none")
        if not (is_name(name.strip()) and number):
            return False
    return True


def _unquoted(text: str) -> str:
    if text[:1] in "'\"" and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    name, equals, value = text.partition("=")
    return f"{name}={_unquoted(value)}" if equals and value[:1] in ("'", '"') else text


def _listed(given: list[str]) -> tuple[str, ...]:
    found = [name.strip() for text in given for name in text.split(",")]
    return tuple(dict.fromkeys([name for name in found if name]))


def _axes(text: str) -> tuple[tuple[str, int | None], ...]:
    """`x=0,w=none` → ((x, 0), (w, None)); a name alone is batched along axis 0."""
    made: list[tuple[str, int | None]] = []
    for part in _listed([text]):
        name, equals, axis = (piece.strip() for piece in part.partition("="))
        if not is_name(name):
            raise usage_error(
                f"--vmap takes names of inputs, as in --vmap x=0,w=none; got {part!r}."
            )
        if equals and axis.lower() != "none" and not axis.lstrip("-").isdigit():
            raise usage_error(f"--vmap {part}: {axis!r} is not an axis. Give an integer or none.")
        made.append((name, None if axis.lower() == "none" else int(axis or 0)))
    return tuple(made)
