"""The collectives of an optimized HLO module: their order, and the devices of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import NamedTuple

from jaxscope.analysis.cluster.divergence import both_places
from jaxscope.analysis.hlo.attributes import closing_parenthesis, parse_attributes
from jaxscope.analysis.sharding.replica_groups import GroupTextError, read_groups
from jaxscope.model.cluster import CollectiveOp, CompiledPrint, DivergenceKind, ProgramDifference

_OPCODE = re.compile(
    r" ((?:all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|"
    r"collective-broadcast|ragged-all-to-all)(?:-start)?)\("
)
"""Searched in the whole text, of which it is a small part: line by line took ten times as long."""
_MODULE = re.compile(r"HloModule ([^\s,]+)")
_LAYOUT = re.compile(r"\{[^}]*\}")
_GROUPS = ("replica_groups", "device_ids", "source_target_pairs")


class _Collective(NamedTuple):
    name: str
    opcode: str
    shape: str
    attributes: dict[str, str]
    """Those that name devices."""


def _collectives(hlo: str) -> Iterator[_Collective]:
    for found in _OPCODE.finditer(hlo):
        line = hlo[hlo.rfind("\n", 0, found.start()) + 1 : found.start()]
        name, equals, shape = line.partition(" = ")
        if not equals or '"' in shape:  # a name in the metadata of an instruction
            continue
        end = hlo.find("\n", found.end())
        rest = hlo[found.end() : None if end < 0 else end]
        attributes = parse_attributes(rest[closing_parenthesis(rest, 0) + 1 :])
        yield _Collective(
            name.strip().removeprefix("ROOT ").lstrip("%"),
            found[1],
            _LAYOUT.sub("", shape),
            {key: attributes[key] for key in _GROUPS if key in attributes},
        )


def collectives(hlo: str) -> tuple[CollectiveOp, ...]:
    """The collectives of an optimized HLO module, in the order of its text."""
    return tuple(
        CollectiveOp(one.opcode, one.shape, " ".join(one.attributes.values()))
        for one in _collectives(hlo)
    )


def module_name(hlo: str) -> str:
    """The name of an optimized HLO's module; empty where it has none."""
    found = _MODULE.match(hlo)
    return "" if found is None else found[1]


def collective_groups(
    hlo: str, devices: Sequence[int]
) -> dict[tuple[str, str], tuple[tuple[int, ...], ...]]:
    """Devices that leave a collective together, by module and instruction of an optimized HLO.

    A permutation is left out: its devices leave one by one. So are unknown spellings of groups.
    """
    module = module_name(hlo)
    found: dict[tuple[str, str], tuple[tuple[int, ...], ...]] = {}
    for one in _collectives(hlo) if module else ():
        if "permute" in one.opcode:
            continue
        with suppress(GroupTextError, IndexError):
            groups = read_groups(one.attributes, len(devices))
            found[module, one.name] = tuple(tuple(devices[i] for i in group) for group in groups)
    return found


def schedule_difference(
    name: str, first: CompiledPrint, other: CompiledPrint
) -> ProgramDifference | None:
    """The first collective at which two compiled programs differ; None where all are equal."""
    pairs = enumerate(zip_longest(first.collectives, other.collectives))
    for number, (one, two) in pairs:
        if one != two:
            return ProgramDifference(
                DivergenceKind.COLLECTIVES,
                f"`{name}` exchanges data differently on processes {first.process} and "
                f"{other.process}: collective {number + 1} is {_op(one)} on {first.process} and "
                f"{_op(two)} on {other.process}. It would hang or give wrong values."
                f"{both_places(first, other)}",
            )
    return None


def _op(one: CollectiveOp | None) -> str:
    return "absent" if one is None else f"`{one.opcode} {one.shape}`"
