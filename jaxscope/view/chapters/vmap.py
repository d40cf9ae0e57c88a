"""The chapter on `vmap`: what works on the whole batch, what is shared, and what became of it."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from jaxscope import words
from jaxscope.analysis.links.line_figures import defining_lines
from jaxscope.analysis.vmap import BatchedLine, Became, Place, batched_lines, became
from jaxscope.model import BatchAxis, Batching, Program, Record, Turn, Unavailable
from jaxscope.view.base.chapter import Chapter, Part
from jaxscope.view.base.table import Table
from jaxscope.view.chapters.gradient import JACOBIANS, asked_mode

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
    kind = _kind(program, batching)
    # Of a Jacobian or a library function nobody asked how it is batched.
    asked = kind is _Kind.EXAMPLES and not _is_all_library(program, batching)
    brief = asked and len(lines) <= _BRIEF
    parts = (
        Part("Axes" if len(batching.axes) > 1 else "", _axes(record, program, batching, kind)),
        Part("Line by line", _lines(record, program, batching, lines), brief=brief),
    )
    return Chapter("batching", "Batching", tuple(_lead(program, batching, kind)), parts)


class _Kind(StrEnum):
    """What a batch is made of."""

    EXAMPLES = "examples"
    PASSES = "passes"
    """`jax.jacfwd` and `jax.jacrev` are a `vmap` of passes over the rows of an identity."""


def _kind(program: Program, batching: Batching) -> _Kind:
    """Passes where every axis is that of a Jacobian; a guess would be examples."""
    found = program.differentiation
    maps = any(applied.name in ("vmap", "pmap") for applied in program.stack)
    if found is None or found.jacobian is None or maps or any(axis.name for axis in batching.axes):
        return _Kind.EXAMPLES
    # Of a magic's own Jacobian, the Hessian's two, all axes are; else only a single one is clear.
    asked = asked_mode(program)
    if asked in JACOBIANS and all(axis.line is None for axis in batching.axes):
        return _Kind.PASSES
    many = _many(batching)
    return _Kind.PASSES if many == [found.jacobian.passes] else _Kind.EXAMPLES


def _many(batching: Batching) -> list[int | None]:
    """The sizes of the axes; the Hessian of a scalar has one more, of its one value."""
    return [axis.size for axis in batching.axes if axis.size != 1]


def _lead(program: Program, batching: Batching, kind: _Kind) -> list[str]:
    said = [_what(program, batching, kind), _work(batching, kind)]
    if not batching.exact:
        said.append(
            "Which values are batches is a guess from their shapes (≈) where JAX had traced a "
            "`vmap` before, or where it lies in a loop or a jitted function that is transformed "
            "once more."
        )
    return [sentence for sentence in said if sentence]


def _what(program: Program, batching: Batching, kind: _Kind) -> str:
    total = len(batching.equations)
    shared = sum(1 for _ in batching.shared())
    partly = sum(0 < len(each.over) < len(each.under) for each in batching.equations)
    about = "" if batching.exact else _GUESS
    text, one, batch = _over(program, batching, kind)
    if not total:
        return f"{text}, and no equation under it."
    whole = total - shared - partly
    text = f"{text}: {about}"
    if whole == total:
        text += "its one equation works" if total == 1 else f"all {total} equations work"
        return f"{text} on {batch}, none is shared between the {kind}."
    text += f"{whole} of {words.count(total, 'equation')} {'works' if whole == 1 else 'work'} "
    text += f"on {batch}"
    if partly:
        text += f", {about}{partly} along some of its axes only"
    if shared:
        verb, are = ("depends", "is") if shared == 1 else ("depend", "are")
        text += f", {about}{shared} {verb} on no {one} and {are} done once for all"
    return text + "."


def _over(program: Program, batching: Batching, kind: _Kind) -> tuple[str, str, str]:
    """What is batched, the word for one of the batch, and that for all of it."""
    if kind is _Kind.PASSES:
        sizes = _many(batching)
        passes = " × ".join(words.UNKNOWN if size is None else str(size) for size in sizes)
        maps = "one `vmap`" if len(sizes) == 1 else "nested `vmap`s"
        return f"The {passes} passes of the Jacobian are {maps}", "pass", "all passes at once"
    over = " and ".join(_examples(axis) for axis in batching.axes[:4])
    if (more := len(batching.axes) - 4) > 0:
        over += f" and {more} more"
    # Without a place in the user's code, and not around all of it: somebody else's.
    if _is_all_library(program, batching):
        return f"A library function calls `vmap` over {over}", "example", "the whole batch"
    return f"`vmap` over {over}", "example", "the whole batch"


def _is_all_library(program: Program, batching: Batching) -> bool:
    return all(_is_library(program, batching, index) for index in range(len(batching.axes)))


def _is_library(program: Program, batching: Batching, index: int) -> bool:
    """Whether a vmap that the user's code does not call lies inside the program."""
    if batching.axes[index].line is not None:
        return False
    if any(applied.name == "vmap" for applied in program.stack):
        return False
    under = {each.equation for each in batching.equations if index in each.under}
    parents = {equation.parent for equation in program.equations}
    return any(
        equation.id not in under and equation.id not in parents and equation.span is not None
        for equation in program.equations
    )


def _examples(axis: BatchAxis) -> str:
    number = "an unknown number of examples"
    if axis.size is not None:
        number = words.count(axis.size, "example")
    return f"{number} (`{axis.name}`)" if axis.name else number


def _work(batching: Batching, kind: _Kind) -> str:
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
            f"{words.flops(batched)}, as many as in a Python loop over the {kind} ({counted}): "
            "what the batch saves is the overhead of the calls."
        )
    one = "pass" if kind is _Kind.PASSES else "example"
    return (
        f"{words.flops(batched)} for the batch, {words.flops(loop)} in a Python loop over the "
        f"{kind}, {words.significant(loop / batched)} times as many ({counted}): the loop does "
        f"again for every {one} what the batch shares."
    )


def _axes(record: Record, program: Program, batching: Batching, kind: _Kind) -> Table:
    rows: list[tuple[str, ...]] = []
    for index, axis in enumerate(batching.axes):
        under = [each for each in batching.equations if index in each.under]
        over = [each for each in under if index in each.over]
        about = "" if axis.exact else _GUESS
        place = None if axis.line is None else (axis.source, axis.line)
        called = _called_at(place, record)
        if kind is _Kind.PASSES:
            called = "the Jacobian"
        elif _is_library(program, batching, index):
            called = _inside_lines(program, [each.equation for each in under])
        rows.append(
            (
                _label(batching, index),
                words.UNKNOWN if axis.size is None else about + str(axis.size),
                called,
                about + str(len(over)),
                about + str(len(under) - len(over)),
            )
        )
    heads = ("axis", str(kind), "called at", "equations along it", "shared along it")
    return Table(heads, tuple(rows), right=(1, 3, 4))


def _inside_lines(program: Program, equations: list[int]) -> str:
    """Where a library function stands that maps, by the lines of what it does."""
    home = defining_lines(program)
    lines = sorted({home[equation] for equation in equations if equation in home})
    if len(lines) == 1:
        return f"a library function, line {lines[0]}"
    return "a library function"


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
            words.short(line.operations),
            words.short(line.loop_operations),
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
    return Table(heads, rows, right=(2, 3, 4, 5, 6), lines=(0,), places=tuple(lines))


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
        return words.UNKNOWN
    source, line = place
    if source == 0 or source >= len(record.sources):
        return str(line)
    return f"{record.sources[source].name}:{line}"


def _code(place: Place | None, record: Record) -> str:
    if place is None or place[0] >= len(record.sources):
        return ""
    lines = record.sources[place[0]].lines
    code = lines[place[1] - 1].strip() if 0 < place[1] <= len(lines) else ""
    if not code:
        return ""
    return f"`{code}`" if len(code) <= _CODE else f"`{code[: _CODE - 1]}…`"
