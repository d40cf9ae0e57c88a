"""The collectives of a report as a table of plain values, for data frames."""

from __future__ import annotations

from jaxscope.analysis.links.line_figures import defining_lines
from jaxscope.model import Record


def collective_rows(record: Record) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]:
    """A row for each collective of each program; bytes are those of one device, each time.

    `line` is that of the first source, None where it is not known or in another one.
    """
    columns = (
        "program",
        "kind",
        "line",
        "axes",
        "origin",
        "primitive",
        "operand_bytes",
        "result_bytes",
        "wire_bytes",
        "times",
        "sent_bytes",
        "groups",
        "value",
        "need",
        "wanted_by",
        "exact",
        "instruction",
    )
    rows: list[tuple[object, ...]] = []
    for program in record.programs:
        known = program.partition
        home = defining_lines(program) if known is not None else {}
        for one in () if known is None else known.collectives:
            group = known.groups[one.group] if known is not None else None
            rows.append(
                (
                    program.title,
                    str(one.kind),
                    None if one.equation is None else home.get(one.equation),
                    () if group is None else group.axes,
                    str(one.origin),
                    one.primitive,
                    one.operand_bytes,
                    one.result_bytes,
                    one.wire_bytes,
                    one.times,
                    one.sent,
                    () if group is None else group.members,
                    one.value,
                    "" if one.need is None else str(one.need),
                    one.wanted_by,
                    one.exact,
                    one.name,
                )
            )
    return columns, tuple(rows)
