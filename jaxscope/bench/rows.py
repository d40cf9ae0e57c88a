"""The rows that there will be at one size: each contestant on each of its devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from jaxscope.bench.frameworks.implementation import Contestant
from jaxscope.bench.plan import Entry, Plan, Size
from jaxscope.bench.prepare import Ready, said
from jaxscope.model.comparison import Doubt, Row

_MANY = 1024
"""Devices of a kind; more are not counted."""


@dataclass(slots=True)
class Slot:
    """The place of one row, whether or not there will be rounds."""

    entry: Entry
    contestant: Contestant
    row: Row
    ready: Ready | None = None

    def finished(self, stopped: str) -> Row:
        """The row as it stands."""
        if self.ready is None:
            why = f"Not measured: {stopped or 'the run ended early'}."
            return replace(self.row, failure=self.row.failure or why)
        row = self.ready.row
        failure = row.failure or ("" if row.measured else f"Not measured: {stopped}.")
        doubts: dict[Doubt, None] = dict.fromkeys(self.ready.doubts)
        return replace(row, failure=failure, warnings=tuple(doubts))


def slots(plan: Plan, size: Size, find: Callable[[str], Contestant]) -> list[Slot]:
    """A row for each contestant on each of its devices, with the reason where there is none."""
    found: list[Slot] = []
    key = tuple(size.items())
    for entry in plan.entries:
        row = Row(entry.label, entry.contestant, size=key)
        contestant = find(entry.contestant)
        try:
            missing = contestant.missing()
            known = () if missing else contestant.devices()
            here = () if missing else chosen(contestant, plan.devices)
        except Exception as error:
            missing, known, here = f"It raised {said(error)}.", (), ()
        if missing:
            found.append(Slot(entry, contestant, replace(row, failure=missing)))
            continue
        if not here:
            there = ", ".join(further(contestant, known))
            text = f"It saw only {there}, and not {', '.join(plan.devices)}."
            found.append(Slot(entry, contestant, replace(row, failure=text)))
        found += [Slot(entry, contestant, replace(row, device=device)) for device in here]
    return found


def unseen(plan: Plan, find: Callable[[str], Contestant]) -> str:
    """A sentence on the devices that were asked for and that none of the contestants sees.

    Where none of all is seen, the rows say so.
    """
    if not plan.devices:
        return ""
    there: dict[str, None] = {}
    seen: set[str] = set()
    for name in dict.fromkeys([entry.contestant for entry in plan.entries]):
        contestant = find(name)
        try:
            if contestant.missing():
                continue
            there |= dict.fromkeys(further(contestant, contestant.devices()))
            seen |= {one for one in plan.devices if chosen(contestant, (one,))}
        except Exception:  # its row says what it raised
            continue
    missing = [one for one in plan.devices if one not in seen]
    if not missing or not seen:
        return ""
    verb = "is" if len(there) == 1 and " to " not in next(iter(there)) else "are"
    return f"No contestant sees {' or '.join(missing)}: there {verb} {', '.join(there)}."


def further(contestant: Contestant, listed: Sequence[str]) -> tuple[str, ...]:
    """The devices listed, each with the others of its kind: `cpu:0 to cpu:3`."""
    found: list[str] = []
    for first in listed:
        kind, _, number = first.partition(":")
        last = int(number or 0)
        while last < _MANY and contestant.sees(f"{kind}:{last + 1}"):
            last += 1
        found.append(first if f"{kind}:{last}" == first else f"{first} to {kind}:{last}")
    return tuple(found)


def chosen(contestant: Contestant, wanted: Sequence[str]) -> tuple[str, ...]:
    """The devices that are wanted and that it sees: `cpu` means the first, `cuda:1` that one."""
    if not wanted:
        return contestant.devices()
    names = [name.lower().replace("cuda", "gpu").replace("rocm", "gpu") for name in wanted]
    exact = [name if ":" in name else f"{name}:0" for name in names]
    return tuple([name for name in dict.fromkeys(exact) if contestant.sees(name)])
