"""The chapter on `vmap`: batched and unbatched equations, and their batching results."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from jaxscope import words
from jaxscope.analysis.jaxpr.flops import uncounted
from jaxscope.analysis.links.line_figures import defining_lines
from jaxscope.analysis.vmap.lines import BatchedLine, LineResult, batched_lines, line_results
from jaxscope.model import (
    BatchAxis,
    Batching,
    BatchingResult,
    Program,
    Record,
    Unavailable,
)
from jaxscope.view.base.document import Chapter, Part
from jaxscope.view.base.places import code, label, linked
from jaxscope.view.base.table import Place, Table
from jaxscope.view.chapters.gradient import JACOBIANS, asked_mode

_CODE = 22
"""Characters of a source line in the table; the whole line is in the source."""
_RESULTS_OF_A_LINE = 4
_NAMES = 6
_BRIEF = 8
"""Most lines of a table in the short text report."""


def chapter(record: Record, program: Program) -> Chapter | None:
    """None for a program without vmap, and where those inside it are of one example: they batch
    nothing, as the one of `jax.jacrev` of a scalar."""
    batching = program.vmap
    if batching is None:
        return None
    if isinstance(batching, Unavailable):
        return Chapter("batching", "Batching", (f"Batching is unavailable: {batching.reason}.",))
    asked = any(applied.name in ("vmap", "pmap") for applied in program.stack)
    if not asked and all(axis.size == 1 for axis in batching.axes):
        return None
    lines = batched_lines(program, batching)
    kind = _kind(program, batching)
    # The batching of a Jacobian or a library function was not requested.
    inside = all(_is_inside(program, batching, index) for index in range(len(batching.axes)))
    brief = kind is _Kind.EXAMPLES and not inside and len(lines) <= _BRIEF
    parts = (
        Part("Axes" if len(batching.axes) > 1 else "", _axes(record, program, batching, kind)),
        Part("Line by line", _lines(record, program, batching, lines), brief=brief),
    )
    lead = [_what(program, batching, kind), _work(program, batching, kind)]
    return Chapter("batching", "Batching", tuple(filter(None, lead)), parts)


class _Kind(StrEnum):
    """The members of a batch."""

    EXAMPLES = "examples"
    JVPS = "JVPs"
    """`jax.jacfwd` is a `vmap` of JVPs over the rows of an identity, `jax.jacrev` one of VJPs."""
    VJPS = "VJPs"
    PRODUCTS = "JVPs and VJPs"
    """Of nested Jacobians."""


def _kind(program: Program, batching: Batching) -> _Kind:
    """JVPs or VJPs where every axis belongs to a Jacobian, else examples."""
    found = program.gradient
    maps = any(applied.name in ("vmap", "pmap") for applied in program.stack)
    if found is None or found.jacobian is None or maps or any(axis.name for axis in batching.axes):
        return _Kind.EXAMPLES
    # All axes are those of a magic's own Jacobian; elsewhere only a single axis is unambiguous.
    own = asked_mode(program) in JACOBIANS and all(axis.line is None for axis in batching.axes)
    if own and len(_sizes(batching)) > 1:
        return _Kind.PRODUCTS
    if own or _sizes(batching) == [found.jacobian.products]:
        return _Kind.VJPS if found.jacobian.reverse else _Kind.JVPS
    return _Kind.EXAMPLES


def _sizes(batching: Batching) -> list[int]:
    """The sizes of the axes; the Hessian of a scalar has one more, of its one value."""
    return [axis.size for axis in batching.axes if axis.size != 1]


def _what(program: Program, batching: Batching, kind: _Kind) -> str:
    total = len(batching.equations)
    unbatched = sum(1 for _ in batching.unbatched())
    partly = sum(0 < len(each.over) < len(each.under) for each in batching.equations)
    text = _over(program, batching, kind)
    if not total:
        return f"{text}, with no equation under it."
    batched = total - unbatched - partly
    if batched == total:
        every = "its one equation is" if total == 1 else f"all {total} equations are"
        return f"{text}: {every} batched."
    verb = "is" if batched == 1 else "are"
    text += f": {batched} of {words.count(total, 'equation')} {verb} batched"
    if partly:
        text += f", {partly} over some of its axes only"
    if unbatched:
        verb = "is" if unbatched == 1 else "are"
        text += f", {unbatched} {verb} unbatched and done once"
    return text + "."


def _over(program: Program, batching: Batching, kind: _Kind) -> str:
    if kind is not _Kind.EXAMPLES:
        sizes = _sizes(batching)
        numbers = " × ".join(map(str, sizes))
        maps = "one `vmap`" if len(sizes) == 1 else "nested `vmap`s"
        return f"The {numbers} {kind} of the Jacobian are {maps}"
    times = Counter(map(_examples, batching.axes))
    over = [
        text
        for one, number in times.items()
        for text in ([one] * number if number <= 2 else [f"{one} ({number} times)"])
    ]
    return f"`vmap` over {words.listed(over, 4)}"


def _is_inside(program: Program, batching: Batching, index: int) -> bool:
    """Whether a vmap, called by a library or by JAX's own transform, is not of all the program."""
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
    number = words.count(axis.size, "example")
    return f"{number} (`{axis.name}`)" if axis.name else number


def _work(program: Program, batching: Batching, kind: _Kind) -> str:
    batched, loop = batching.flops, batching.loop_flops
    unknown = _uncounted(program, batching)
    if not batched:
        text = f"On the jaxpr, the FLOPs of {words.names(unknown)} are unknown."
        return text if unknown else ""
    results = {each.result for each in batching.equations}
    if unknown:
        text = (
            f"At least {words.flops(batched)} batched, counted on the jaxpr: the FLOPs of "
            f"{words.names(unknown)} are unknown."
        )
    elif not _DATA_DEPENDENT.isdisjoint(results):
        text = f"{words.flops(batched)} batched, counted on the jaxpr."
    elif (times := words.significant(loop / batched)) == "1":
        about = "" if loop == batched else "about "
        text = (
            f"{words.flops(batched)}, {about}as many as in a Python loop over the {kind}, counted "
            "on the jaxpr: the batch saves the overhead of the calls."
        )
    else:
        text = (
            f"{words.flops(batched)} batched and {words.flops(loop)} in a Python loop over the "
            f"{kind} ({times} times), counted on the jaxpr: the loop repeats unbatched work."
        )
    if BatchingResult.WHILE_UNTIL_ALL_DONE in results:
        text += " A loop of unknown length counts once."
    if BatchingResult.SELECT_ALL_BRANCHES in results:
        text += (
            " All branches of each `cond` are executed, in a Python loop one per "
            f"{'example' if kind is _Kind.EXAMPLES else 'product'}."
        )
    return text


_DATA_DEPENDENT = frozenset(
    (BatchingResult.SELECT_ALL_BRANCHES, BatchingResult.WHILE_UNTIL_ALL_DONE)
)
"""Results of operations whose work, in a Python loop over the examples, depends on the example."""


def _uncounted(program: Program, batching: Batching) -> tuple[str, ...]:
    under = {each.equation for each in batching.equations}
    return uncounted(program.equations, lambda one: one.id in under)


def _axes(record: Record, program: Program, batching: Batching, kind: _Kind) -> Table:
    rows: list[tuple[str, ...]] = []
    home = defining_lines(program)
    for index, axis in enumerate(batching.axes):
        under = [each for each in batching.equations if index in each.under]
        over = [each for each in under if index in each.over]
        place = None if axis.line is None else (axis.source, axis.line)
        called = label(record, place, "line ") or "the whole program"
        if kind is not _Kind.EXAMPLES:
            called = "the Jacobian"
        elif _is_inside(program, batching, index):
            lines = {home[each.equation] for each in under if each.equation in home}
            called = f"inside line {min(lines)}" if len(lines) == 1 else words.UNKNOWN
        rows.append(
            (
                _label(batching, index),
                str(axis.size),
                called,
                str(len(over)),
                str(len(under) - len(over)),
            )
        )
    heads = ("axis", str(kind), "called at", "batched over it", "unbatched over it")
    return Table(heads, tuple(rows), right=(1, 3, 4))


def _label(batching: Batching, index: int) -> str:
    axis = batching.axes[index]
    if axis.name:
        return axis.name
    return "vmap" if len(batching.axes) == 1 else f"vmap {index + 1}"


def _lines(
    record: Record, program: Program, batching: Batching, lines: dict[Place, BatchedLine]
) -> Table:
    primitives = {e.equation: program.equations[e.equation].primitive for e in batching.equations}
    unknown = frozenset(_uncounted(program, batching))
    known = not unknown and all(each.result not in _DATA_DEPENDENT for each in batching.equations)

    def excerpt(place: Place) -> str:
        text = code(record, place, _CODE)
        return f"`{text}`" if text else ""

    def flops(line: BatchedLine) -> str:
        every = (*line.batched, *line.partly, *line.unbatched)
        if unknown.isdisjoint(primitives[each.equation] for each in every):
            return words.short(line.flops)
        return f"≥{words.short(line.flops)}" if line.flops else ""

    return Table.of(
        lines.items(),
        ("<", "line", lambda row: linked(record, row[0], words.UNKNOWN)),
        ("<", "code", lambda row: excerpt(row[0])),
        (">", "batched", lambda row: str(len(row[1].batched))),
        (">", "partly", lambda row: str(len(row[1].partly)) if row[1].partly else ""),
        (">", "unbatched", lambda row: str(len(row[1].unbatched))),
        (">", "FLOPs", lambda row: flops(row[1])),
        (">", "FLOPs in a loop", lambda row: words.short(row[1].loop_flops) if known else ""),
        ("<", "batching result", lambda row: _line(row[1], batching, primitives)),
    )


def _line(line: BatchedLine, batching: Batching, primitives: dict[int, str]) -> str:
    rows = line_results(line, primitives)
    found = [_result(row, batching) for row in rows if not row.is_plain()]
    if len(found) > _RESULTS_OF_A_LINE:  # a model called on one line has one of each layer
        left = words.count(len(found) - _RESULTS_OF_A_LINE + 1, "more result")
        found[_RESULTS_OF_A_LINE - 1 :] = [left]
    plain: dict[tuple[int, ...], Counter[str]] = {}
    for row in rows:
        if row.is_plain():
            plain.setdefault(row.over, Counter())[row.name] += row.number
    for over, counted in plain.items():
        found.append(f"extra dimension: {_names(counted)}{_along(over, batching)}")
    if line.unbatched:
        counted = Counter(primitives[each.equation] for each in line.unbatched)
        found.append(f"unbatched: {_names(counted)}")
    return "; ".join(found)


def _names(counted: Counter[str]) -> str:
    names = [name if number == 1 else f"{name} × {number}" for name, number in counted.items()]
    more = len(names) - _NAMES
    return ", ".join([*names[:_NAMES], f"{more} more"] if more > 0 else names)


def _along(over: tuple[int, ...], batching: Batching) -> str:
    if len(batching.axes) == 1:
        return ""
    return f" [{', '.join(_label(batching, axis) for axis in over)}]"


_RESULTS = {
    BatchingResult.DOT_GENERAL: "matrix product {detail}",
    BatchingResult.BATCHED_DOT_GENERAL: "batched matrix product {detail}",
    BatchingResult.GATHER: "gather",
    BatchingResult.SCATTER: "scatter",
    BatchingResult.GROUPED_CONVOLUTION: "convolution in {detail}",
    BatchingResult.SELECT_ALL_BRANCHES: "{detail}, then a select",
    BatchingResult.WHILE_UNTIL_ALL_DONE: "loop {detail}",
    BatchingResult.SEQUENTIAL_LOOP: "sequential loop, {detail}",
    BatchingResult.BATCHED_LIBRARY_CALL: "{detail}",
}


def _result(row: LineResult, batching: Batching) -> str:
    if row.result is BatchingResult.EXTRA_BATCH_DIMENSION:
        text = f"{row.name} {row.detail}"
    else:
        name = row.name
        if row.detail.startswith("from "):
            name = row.detail.removeprefix("from ")
        detail = "both branches" if row.detail == "2 branches" else row.detail
        shape = _RESULTS[row.result].format(detail=detail)
        text = f"{name} → {shape}" if shape != name else name
        text += f" ({row.number} times)" if row.number > 1 else ""
    return text + _along(row.over, batching)
