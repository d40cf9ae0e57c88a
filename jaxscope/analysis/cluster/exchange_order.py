"""The order of the collectives of each group of devices, which must be equal on all processes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from jaxscope.model.cluster import CollectiveRun, ExchangeOrder, ProcessRun

_FIRST = 100
"""Collectives that are sent by name, so that the first difference can be named."""


def exchange_orders(
    runs: Iterable[CollectiveRun],
    groups: Mapping[tuple[str, str], tuple[tuple[int, ...], ...]],
    own: Iterable[int],
) -> tuple[ExchangeOrder, ...]:
    """The order by group, of groups that reach beyond a process's `own` devices."""
    mine = frozenset(own)
    found: dict[tuple[int, ...], dict[int, list[tuple[str, str]]]] = defaultdict(dict)
    for run in sorted(runs, key=lambda run: run.start):
        for group in groups.get((run.module, run.name), ()):
            if run.device in group and not mine.issuperset(group):
                devices = found[tuple(sorted(group))]
                devices.setdefault(run.device, []).append((run.module, run.name))
    return tuple(
        _order(group, by_device[min(by_device)]) for group, by_device in sorted(found.items())
    )


def call_orders(
    calls: Iterable[tuple[str, str]],
    groups: Mapping[tuple[str, str], tuple[tuple[int, ...], ...]],
    own: Iterable[int],
) -> tuple[ExchangeOrder, ...]:
    """The calls, as module and types of arguments, by group that reaches beyond `own` devices."""
    mine = frozenset(own)
    joins: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    for (module, _), found in groups.items():
        joins[module] |= {
            tuple(sorted(group))
            for group in found
            if not mine.isdisjoint(group) and not mine.issuperset(group)
        }
    orders: dict[tuple[int, ...], list[tuple[str, str]]] = defaultdict(list)
    for call in calls:
        for group in joins.get(call[0], ()):
            orders[group].append(call)
    return tuple(
        _order(group, sequence)._replace(calls=True) for group, sequence in sorted(orders.items())
    )


def _order(group: tuple[int, ...], sequence: Sequence[tuple[str, str]]) -> ExchangeOrder:
    digest = hashlib.sha256(repr(sequence).encode()).hexdigest()[:16]
    return ExchangeOrder(group, digest, tuple(sequence[:_FIRST]))


def order_mismatch(runs: Sequence[ProcessRun]) -> str:
    """The first collective that is not the same on two processes; empty where all are."""
    firsts: dict[tuple[int, ...], tuple[int, ExchangeOrder]] = {}
    for run in runs:
        for one in run.exchanges:
            process, first = firsts.setdefault(one.devices, (run.process, one))
            if first.digest != one.digest:
                return order_difference(
                    process, first.first, run.process, one.first, calls=one.calls
                )
    return ""


def order_difference(
    one: int,
    first: Sequence[tuple[str, str]],
    two: int,
    other: Sequence[tuple[str, str]],
    *,
    calls: bool = False,
) -> str:
    """The sentence on the first difference of two orders."""
    unit = "call" if calls else "collective"
    pairs = enumerate(zip([*first, None], [*other, None], strict=False))
    number = next((i for i, (a, b) in pairs if a != b), None)
    if number is None:
        return (
            f"After {len(first)} equal {unit}s, those of processes {one} and {two} differ: the "
            "order of calls differs, so results may be wrong."
        )

    def named(sequence: Sequence[tuple[str, str]]) -> str:
        if number >= len(sequence):
            return "no more"
        module, name = sequence[number]
        function = module.removeprefix("jit_")
        return f"`{function}({name})`" if calls else f"`{name}` of `{function}`"

    return (
        f"{unit.capitalize()} {number + 1} is {named(first)} on process {one} and {named(other)} "
        f"on process {two}: the order of calls differs, so results may be wrong."
    )
