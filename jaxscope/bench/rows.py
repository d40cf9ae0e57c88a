"""The rows of one size before they are measured: each implementation on each of its devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from jaxscope.bench.cell.timed_code import describe_error
from jaxscope.bench.frameworks.implementation import Implementation
from jaxscope.bench.plan import Entry, Plan, Size
from jaxscope.bench.prepare import Ready
from jaxscope.model.comparison import ComparisonRow

_MANY = 1024
"""Devices of a kind; more are not counted."""


@dataclass(slots=True)
class PlannedRow:
    """A row to be measured, or with the reason why it is not."""

    entry: Entry
    implementation: Implementation
    row: ComparisonRow
    ready: Ready | None = None

    def finished(self, stopped: str) -> ComparisonRow:
        """The row with what was measured; `stopped` is why the run ended early."""
        if self.ready is None:
            why = f"Not measured: {stopped or 'the run ended early'}."
            return replace(self.row, failure=self.row.failure or why)
        row = self.ready.row
        failure = row.failure or ("" if row.measured else f"Not measured: {stopped}.")
        return replace(row, failure=failure, warnings=tuple(dict.fromkeys(self.ready.warnings)))


def planned_rows(plan: Plan, size: Size, find: Callable[[str], Implementation]) -> list[PlannedRow]:
    """A row for each implementation on each of its devices, or one with the reason for none."""
    found: list[PlannedRow] = []
    for entry in plan.entries:
        implementation = find(entry.implementation)
        name, colon, rest = entry.label.partition(":")
        ours = name == implementation.name and implementation.title
        row = ComparisonRow(
            entry.label,
            entry.implementation,
            size=tuple(size.items()),
            # `JAX jit: fused` for `jax: fused`; labels of the user's own have no title.
            title=f"{implementation.title}{colon}{rest}" if ours else "",
            framework=implementation.framework,
            compiles=implementation.compiles,
        )
        try:
            failure = implementation.missing()
            known = () if failure else implementation.devices()
            devices = () if failure else chosen(implementation, plan.devices)
        except Exception as error:
            failure, known, devices = f"It raised {describe_error(error)}.", (), ()
        if not failure and not devices:
            there = ", ".join(further(implementation, known))
            failure = f"It found only {there}, not {', '.join(plan.devices)}."
        if failure:
            found.append(PlannedRow(entry, implementation, replace(row, failure=failure)))
        found += [
            PlannedRow(entry, implementation, replace(row, device=device)) for device in devices
        ]
    return found


def unavailable_devices(plan: Plan, find: Callable[[str], Implementation]) -> str:
    """A sentence on the requested devices that no implementation has; empty without any.

    Where none of all is available, the rows say so.
    """
    if not plan.devices:
        return ""
    there: dict[str, None] = {}
    seen: set[str] = set()
    for name in dict.fromkeys([entry.implementation for entry in plan.entries]):
        implementation = find(name)
        try:
            if implementation.missing():
                continue
            there |= dict.fromkeys(further(implementation, implementation.devices()))
            seen |= {one for one in plan.devices if chosen(implementation, (one,))}
        except Exception:  # its row has the exception
            continue
    missing = [one for one in plan.devices if one not in seen]
    if not missing or not seen:
        return ""
    return f"No implementation has {' or '.join(missing)}. Available: {', '.join(there)}."


def further(implementation: Implementation, listed: Sequence[str]) -> tuple[str, ...]:
    """The devices listed, each with the others of its kind: `cpu:0 to cpu:3`."""
    found: list[str] = []
    for first in listed:
        kind, _, number = first.partition(":")
        last = int(number or 0)
        while last < _MANY and implementation.sees(f"{kind}:{last + 1}"):
            last += 1
        found.append(first if f"{kind}:{last}" == first else f"{first} to {kind}:{last}")
    return tuple(found)


def chosen(implementation: Implementation, requested: Sequence[str]) -> tuple[str, ...]:
    """The requested devices that it has: `cpu` means the first, `cuda:1` that one."""
    if not requested:
        return implementation.devices()
    names = [name.lower().replace("cuda", "gpu").replace("rocm", "gpu") for name in requested]
    exact = [name if ":" in name else f"{name}:0" for name in names]
    return tuple([name for name in dict.fromkeys(exact) if implementation.sees(name)])
