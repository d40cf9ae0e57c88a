"""Kernels, streams and copies of a GPU, as tables."""

from __future__ import annotations

import collections

from jaxscope import words
from jaxscope.model.profile import DeviceActivity, Kernel, Profile
from jaxscope.view.base.document import Part
from jaxscope.view.base.table import Table

_MOST = 40


def parts(profile: Profile) -> tuple[Part, ...]:
    """The tables; none for a device that writes no events."""
    found = profile.activity
    if found is None:
        return ()
    return (
        Part("Kernels of each instruction, the longest first", _kernels(found)),
        Part("Streams", _streams(found, profile.call_s)),
        *((Part("Copies", _transfers(found)),) if found.transfers else ()),
    )


def _kernels(found: DeviceActivity) -> Table:
    by_op: dict[str, list[Kernel]] = collections.defaultdict(list)
    for kernel in found.kernels:
        by_op[kernel.op].append(kernel)
    rows: list[tuple[str, ...]] = []
    for op, kernels in by_op.items():
        number = sum(kernel.times for kernel in kernels)
        for index, kernel in enumerate(kernels):
            occupancy = kernel.occupancy
            rows.append(
                (
                    (f"`{op}`" if op else "unknown instruction") if index == 0 else "",
                    words.significant(number) if index == 0 else "",
                    kernel.name,
                    words.significant(kernel.times),
                    words.seconds(kernel.seconds),
                    "" if occupancy is None else words.percent(occupancy),
                )
            )
    heads = (
        "instruction",
        "kernels per call",
        "kernel",
        "launches",
        "time",
        "theoretical occupancy",
    )
    return Table(heads, tuple(rows[:_MOST]), right=(1, 3, 4, 5))


def _streams(found: DeviceActivity, call_s: float) -> Table:
    several = len({stream.device for stream in found.streams}) > 1
    rows = tuple(
        (
            f"gpu:{stream.device} {stream.name}" if several else stream.name,
            words.seconds(stream.busy_s),
            words.percent(stream.busy_s / call_s) if call_s > 0 else "",
            words.significant(stream.events),
        )
        for stream in found.streams
    )
    return Table(("stream", "busy", "share of call", "kernels and copies"), rows, right=(1, 2, 3))


def _transfers(found: DeviceActivity) -> Table:
    rows = tuple(
        (
            row.kind,
            words.significant(row.times),
            words.seconds(row.seconds),
            words.size(round(row.bytes)) if row.bytes else "",
            words.byte_rate(row.bytes / row.seconds) if row.bytes and row.seconds else "",
        )
        for row in found.transfers
    )
    return Table(("copy", "times", "time", "bytes", "bytes/s"), rows, right=(1, 2, 3, 4))
