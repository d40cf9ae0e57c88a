"""The chapter on `vmap`: what works on the whole batch, what is shared, and what became of it."""

from __future__ import annotations

from collections import Counter

from jaxscope.analysis.batching import BatchedLine, Became, Place, batched_lines, became
from jaxscope.model import BatchAxis, Batching, Program, Record, Turn, Unavailable
from jaxscope.view import units
from jaxscope.view.chapter import Chapter, Part
from jaxscope.view.rows import Table

_CODE = 22
"""Characters of a source line in the table; the line itself stands in the source."""
_NAMES = 6
_BRIEF = 8
"""Lines up to which the short text report has the table too."""

_GUESS = "≈ "


def chapter(record: Record, program: Program) -> Chapter | None:
    """None for a program without vmap."""
    batching = program.batching
    if batching is None:
        return None
    if isinstance(batching, Unavailable):
        return Chapter("batching", "Batching", (f"{batching.reason}.",))
    lines = batched_lines(program, batching)
    parts = (
        Part("Axes" if len(batching.axes) > 1 else "", _axes(record, batching)),
        Part("Line by line", _lines(record, program, batching, lines), brief=len(lines) <= _BRIEF),
    )
    return Chapter("batching", "Batching", tuple(_lead(batching)), parts)


def _lead(batching: Batching) -> list[str]:
    said = [_what(batching), _work(batching)]
    if not batching.exact:
        said.append(
            "Which values are batches is a guess from their shapes (≈) where JAX had traced a "
            "`vmap` before, or where it lies in a loop or a jitted function that is transformed "
            "once more."
        )
    return [sentence for sentence in said if sentence]


def _what(batching: Batching) -> str:
    total = len(batching.equations)
    shared = sum(1 for _ in batching.shared())
    partly = sum(0 < len(each.over) < len(each.under) for each in batching.equations)
    about = "" if batching.exact else _GUESS
    over = " and ".join(_examples(axis) for axis in batching.axes[:4])
    if (more := len(batching.axes) - 4) > 0:
        over += f" and {more} more"
    if not total:
        return f"`vmap` over {over}, and no equation under it."
    whole = total - shared - partly
    text = f"`vmap` over {over}: {about}"
    if whole == total:
        text += "its one equation works" if total == 1 else f"all {total} equations work"
        return f"{text} on the whole batch, none is shared between the examples."
    text += f"{whole} of {units.count(total, 'equation')} {'works' if whole == 1 else 'work'} "
    text += "on the whole batch"
    if partly:
        text += f", {about}{partly} along some of its axes only"
    if shared:
        verb, are = ("depends", "is") if shared == 1 else ("depend", "are")
        text += f", {about}{shared} {verb} on no example and {are} done once for all"
    return text + "."


def _examples(axis: BatchAxis) -> str:
    number = "an unknown number of examples"
    if axis.size is not None:
        number = units.count(axis.size, "example")
    return f"{number} (`{axis.name}`)" if axis.name else number


def _work(batching: Batching) -> str:
    batched, loop = batching.operations, batching.loop_operations
    if loop is None:
        return ""
    counted = "counted on the jaxpr, before XLA"
    doubts = {each.turn for each in batching.equations}
    if Turn.SLOWEST in doubts:
        counted += ", with a loop of unknown length counted once"
    if Turn.BOTH_BRANCHES in doubts:
        counted += "; the loop would run one branch of each `cond`, so it does less than that"
    if batched == 0:
        return ""
    if loop == batched:
        return (
            f"{units.flops(batched)}, as many as in a Python loop over the examples ({counted}): "
            "what the batch saves is the overhead of the calls."
        )
    return (
        f"{units.flops(batched)} for the batch, {units.flops(loop)} in a Python loop over the "
        f"examples, {units.significant(loop / batched)} times as many ({counted}): the loop does "
        "again for every example what the batch shares."
    )


def _axes(record: Record, batching: Batching) -> Table:
    rows: list[tuple[str, ...]] = []
    for index, axis in enumerate(batching.axes):
        under = [each for each in batching.equations if index in each.under]
        over = [each for each in under if index in each.over]
        about = "" if axis.exact else _GUESS
        place = None if axis.line is None else (axis.source, axis.line)
        rows.append(
            (
                _label(batching, index),
                units.UNKNOWN if axis.size is None else about + str(axis.size),
                _called_at(place, record),
                about + str(len(over)),
                about + str(len(under) - len(over)),
            )
        )
    heads = ("axis", "examples", "called at", "equations along it", "shared along it")
    return Table(heads, tuple(rows), right=(1, 3, 4))


def _called_at(place: Place | None, record: Record) -> str:
    if place is None:
        return "the whole program"
    return f"line {place[1]}" if place[0] == 0 else _place(place, record)


def _label(batching: Batching, index: int) -> str:
    axis = batching.axes[index]
    if axis.name:
        return axis.name
    return "vmap" if len(batching.axes) == 1 else f"vmap {index + 1}"


def _lines(
    record: Record,
    program: Program,
    batching: Batching,
    lines: dict[Place | None, BatchedLine],
) -> Table:
    primitives = {e.equation: program.equations[e.equation].primitive for e in batching.equations}
    about = "" if batching.exact else _GUESS
    rows = tuple(
        (
            _place(place, record),
            _code(place, record),
            about + str(len(line.batched)),
            about + str(len(line.partly)) if line.partly else "",
            about + str(len(line.shared)),
            units.short(line.operations),
            units.short(line.loop_operations),
            _words(line, batching, primitives),
        )
        for place, line in lines.items()
    )
    heads = (
        "line",
        "code",
        "batched",
        "in part",
        "shared",
        "FLOP",
        "FLOP in a loop",
        "what it became",
    )
    return Table(heads, rows, right=(2, 3, 4, 5, 6))


def _words(line: BatchedLine, batching: Batching, primitives: dict[int, str]) -> str:
    rows = became(line, primitives)
    said = [_became(row, batching) for row in rows if not row.merely_grew()]
    larger: dict[tuple[int, ...], Counter[str]] = {}
    for row in rows:
        if row.merely_grew():
            larger.setdefault(row.over, Counter())[row.name] += row.number
    for over, counted in larger.items():
        said.append(f"on larger arrays: {_names(counted)}{_along(over, batching)}")
    if line.shared:
        counted = Counter(primitives[each.equation] for each in line.shared)
        said.append(f"shared: {_names(counted)}")
    return "; ".join(said)


def _names(counted: Counter[str]) -> str:
    names = [name if number == 1 else f"{name} × {number}" for name, number in counted.items()]
    more = len(names) - _NAMES
    return ", ".join([*names[:_NAMES], f"{more} more"] if more > 0 else names)


def _along(over: tuple[int, ...], batching: Batching) -> str:
    if len(batching.axes) == 1:
        return ""
    return f" [{', '.join(_label(batching, axis) for axis in over)}]"


_TURNS = {
    Turn.ONE_PRODUCT: "one matrix product {detail}",
    Turn.MANY_PRODUCTS: "a product for each example, {detail}",
    Turn.GATHER: "gather",
    Turn.SCATTER: "scatter",
    Turn.GROUPED: "convolution in {detail}",
    Turn.BOTH_BRANCHES: "{detail}, then a select",
    Turn.SLOWEST: "loop {detail}",
    Turn.LOOP: "loop, {detail}",
    Turn.LIBRARY: "{detail}",
}


def _became(row: Became, batching: Batching) -> str:
    if row.turn is Turn.LARGER:
        text = f"{row.name} {row.detail}"
    else:
        name = row.name
        if row.detail.startswith("from "):
            name = row.detail.removeprefix("from ")
        both = row.turn is Turn.BOTH_BRANCHES and row.detail == "2 branches"
        detail = "both branches" if both else row.detail
        shape = _TURNS[row.turn].format(detail=detail)
        text = f"{name} → {shape}" if shape != name else name
        text += f" ({row.number} times)" if row.number > 1 else ""
    return text + _along(row.over, batching)


def _place(place: Place | None, record: Record) -> str:
    if place is None:
        return units.UNKNOWN
    source, line = place
    if source == 0 or source >= len(record.sources):
        return str(line)
    return f"{record.sources[source].name}:{line}"


def _code(place: Place | None, record: Record) -> str:
    if place is None or place[0] >= len(record.sources):
        return ""
    lines = record.sources[place[0]].lines
    code = lines[place[1] - 1].strip() if 0 < place[1] <= len(lines) else ""
    return code if len(code) <= _CODE else f"{code[: _CODE - 1]}…"
