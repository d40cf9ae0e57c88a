"""The collectives of a record as a table of plain values, for data frames."""

from __future__ import annotations

from jaxscope.analysis.links.line_figures import defining_lines
from jaxscope.model import Record


def collective_rows(record: Record) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]:
    """A row for each collective of each program; bytes are per device and execution.

    `line` is a line of the first source; None where it is unknown or in a different source.
    """
    columns = (
        "program", "kind", "line", "axes", "origin", "primitive", "operand_bytes", "result_bytes",
        "wire_bytes", "times", "sent_bytes", "groups", "value", "reason", "consumer", "exact",
        "instruction",
    )  # fmt: skip
    rows: list[tuple[object, ...]] = []
    for program in record.programs:
        known = program.sharding
        if known is None:
            continue
        home = defining_lines(program)
        for one in known.collectives:
            groups = known.device_groups[one.device_groups]
            rows.append(
                (
                    program.title,
                    str(one.kind),
                    None if one.equation is None else home.get(one.equation),
                    groups.axes,
                    str(one.origin),
                    one.primitive,
                    one.operand_bytes,
                    one.result_bytes,
                    one.wire_bytes,
                    one.times,
                    one.sent,
                    groups.groups,
                    one.value,
                    "" if one.reason is None else str(one.reason),
                    one.consumer,
                    one.exact,
                    one.name,
                )
            )
    return columns, tuple(rows)
