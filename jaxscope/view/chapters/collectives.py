"""Collectives as tables: what they exchange, and why they are there."""

from __future__ import annotations

from collections import Counter

from jaxscope import words
from jaxscope.analysis.links.line_figures import defining_lines
from jaxscope.model import Collective, CollectiveKind, Group, Need, Origin, Partition, Program
from jaxscope.view.base.table import Table
from jaxscope.view.chapters import layouts

_KINDS = 4
"""Kinds of collectives that a sentence lists; the table has them all."""
_GROUPS = 4
"""Sets of devices that are written out."""

_NAMES = {
    "psum_invariant": "psum",
    "psum2": "psum",
    "all_gather_invariant": "all_gather",
    "reduce_scatter": "psum_scatter",
}
"""What the user writes, where JAX calls the operation otherwise."""


def listed(known: Partition) -> str:
    """A sentence of what they are: kind, axis and sets of devices; empty where there are none."""
    found = Counter(_in_words(collective, known) for collective in known.collectives)
    text = [text if n == 1 else f"{n} × {text}" for text, n in found.most_common(_KINDS)]
    if (more := len(found) - _KINDS) > 0:
        text.append(f"{words.count(more, 'other kind')}")
    if not found:
        return ""
    begin = "They are" if len(known.collectives) > 1 else "It is"
    return f"{begin} {'; '.join(text)}."


def _in_words(collective: Collective, known: Partition) -> str:
    group = known.groups[collective.group]
    text = _what(collective)
    if group.axes:
        text += f" along {_along(group)}"
    if not group.members:
        return text
    if collective.kind is CollectiveKind.COLLECTIVE_PERMUTE:
        return f"{text}, {_cut(_moved_between(group.members), _GROUPS)}"
    return f"{text}, devices {_sets(group.members, pairs=False)}"


def table(program: Program, known: Partition) -> Table:
    """What each collective exchanges, along which axis, and how often."""
    home = defining_lines(program)
    return Table(
        ("line", "what", "along", "puts in", "gets out", "sends", "times", "sends a run",
         "sets of devices"),
        tuple(_collective(collective, known, home) for collective in known.collectives),
        right=(3, 4, 5, 6, 7),
        lines=(0,),
    )  # fmt: skip


def _collective(collective: Collective, known: Partition, home: dict[int, int]) -> tuple[str, ...]:
    group = known.groups[collective.group]
    return (
        _line(collective.equation, home, exact=collective.exact),
        _what(collective) + (", asynchronous" if collective.asynchronous else ""),
        _along(group),
        words.size(collective.operand_bytes),
        words.size(collective.result_bytes),
        words.size(collective.wire_bytes),
        ("" if collective.times_known else "≈") + words.significant(collective.times),
        words.size(collective.sent),
        _sets(group.members, pairs=collective.kind is CollectiveKind.COLLECTIVE_PERMUTE),
    )


def _what(collective: Collective) -> str:
    combines = f" ({collective.combines})" if collective.combines else ""
    return f"{collective.kind}{combines}"


def _along(group: Group) -> str:
    along = " × ".join(group.axes) if group.axes else words.UNKNOWN
    return f"part of {along}" if group.partial else along


def _line(equation: int | None, home: dict[int, int], *, exact: bool = True) -> str:
    line = None if equation is None else home.get(equation)
    if line is None:
        return words.UNKNOWN
    return str(line) if exact else f"≈{line}"


def _by(collective: Collective) -> str:
    name = _operation(collective.primitive)
    match collective.origin:
        case Origin.WRITTEN:
            return name
        case Origin.ASKED:
            return f"{name}, asked for"
        case Origin.SUMMED:
            return f"XLA, for {name}" if name else "XLA"
        case _:
            wanted = _operation(collective.wanted_by)
            return f"XLA, for {wanted}" if wanted else "XLA"


def _operation(primitive: str) -> str:
    """The name that the user writes."""
    return _NAMES.get(primitive, primitive)


def _sets(members: tuple[tuple[int, ...], ...], *, pairs: bool) -> str:
    if not members:
        return words.UNKNOWN
    if pairs:
        return _cut(_moved_between(members), 2 * _GROUPS)
    return _cut([layouts.numbers(group) for group in members], _GROUPS)


def _moved_between(pairs: tuple[tuple[int, ...], ...]) -> list[str]:
    return [f"{a}→{b}" for a, b in pairs]


def _cut(text: list[str], most: int) -> str:
    more = len(text) - most
    return " ".join(text[:most]) + (f" and {more} more" if more > 0 else "")


def reasons(program: Program, known: Partition) -> Table:
    """Where each collective comes from, as a sentence."""
    home = defining_lines(program)
    return Table(
        ("line", "instruction", "HLO line", "by", "why"),
        tuple(
            (
                _line(collective.equation, home, exact=collective.exact),
                collective.name,
                str(collective.line),
                _by(collective),
                _reason(collective, known),
            )
            for collective in known.collectives
        ),
        right=(2,),
        lines=(0,),
    )


def _reason(collective: Collective, known: Partition) -> str:
    """Why a collective is in the program, as a sentence."""
    name = _operation(collective.primitive)
    axes = known.groups[collective.group].axes
    along = f" over {' × '.join(f'`{axis}`' for axis in axes)}" if axes else ""
    match collective.origin:
        case Origin.WRITTEN:
            return f"The code calls `{name}`{along}, or differentiates code that does."
        case Origin.ASKED:
            return f"The code asks for another layout (`{name}`)."
        case Origin.SUMMED if not name:
            return f"XLA adds up partial results of the devices{along}."
        case Origin.SUMMED:
            return (
                f"The dimension that `{name}` sums over is spread{along}: each device has a "
                "partial result, and they are added up."
            )
        case Origin.MOVED:
            return f"{_moved(collective, along)}{_lies(collective, known)}"


def _moved(collective: Collective, along: str) -> str:
    value = f"`{collective.value}`" if collective.value else "a value"
    wanted = f"`{_operation(collective.wanted_by)}`"
    match collective.need:
        case Need.OPERANDS:
            beside = ", ".join(f"`{name}`" for name in collective.beside) or "what stands"
            return f"XLA moves {value}, which lies otherwise than {beside} beside it in {wanted}."
        case Need.DIMENSION:
            return f"{wanted} works along a dimension that is cut{along}, so XLA moves {value}."
        case Need.PRODUCT:
            return f"{wanted} needs more of {value} than a device holds, so XLA fetches it{along}."
        case Need.MANUAL:
            return f"`shard_map` takes {value} in another layout than it has."
        case Need.RESULT:
            return f"The result {value} is to lie otherwise than it was computed."
        case _:
            where = f" for {wanted}" if collective.wanted_by else ""
            return f"XLA moves {value}{where} to another layout."


def _lies(collective: Collective, known: Partition) -> str:
    """Where the values that are named lie."""
    specs = {
        p.name: known.layouts[p.layout].spec for p in known.placements if p.direction == "input"
    }
    named = [n for n in (collective.value, *collective.beside) if n in specs]
    text = ", ".join(f"`{name}` lies `{specs[name]}`" for name in named[:3])
    return f" {text}." if text else ""
