"""Implementations of one benchmark over one mesh: their rows, and whether they may be ranked."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxscope import words
from jaxscope.analysis.cluster.agreement import NORM_TOLERANCE, norms_apart
from jaxscope.analysis.cluster.runs import ProcessSpread, ranges, said, spread
from jaxscope.analysis.comparison.stats import quantile
from jaxscope.model.cluster import MeshCalls


@dataclass(frozen=True, slots=True)
class MeshRow:
    """One implementation over the devices of all processes."""

    label: str
    calls: tuple[MeshCalls, ...]
    """Its timed calls, by process."""

    @property
    def samples(self) -> tuple[float, ...]:
        """Seconds per call: until the last process had its result."""
        return tuple(max(one) for one in zip(*[c.samples for c in self.calls], strict=False))

    @property
    def seconds(self) -> tuple[float, float, float]:
        """The median and the 10 % and 90 % quantiles."""
        found = sorted(self.samples)
        return quantile(found, 0.5), quantile(found, 0.1), quantile(found, 0.9)

    @property
    def medians(self) -> ProcessSpread | None:
        """The median of each process."""
        return spread({c.process: statistics.median(c.samples) for c in self.calls if c.samples})

    @property
    def compile_s(self) -> ProcessSpread | None:
        return spread({c.process: c.compile_s for c in self.calls if c.compile_s is not None})


def mesh_unranked(rows: Sequence[MeshRow], norms: Mapping[str, tuple[float, ...]]) -> str:
    """The reason not to rank the implementations; empty where programs and results agree.

    `norms` are those of the results, by label.
    """
    for row in rows:
        programs = said((calls.process, calls.fingerprint or "none") for calls in row.calls)
        if len(programs) > 1:
            texts = [f"{print_} on {ranges(found)}" for print_, found in programs.items()]
            return f"The programs of `{row.label}` differ: {words.listed(texts, 3)}."
        if not row.samples:
            return f"`{row.label}` was not measured."
    first = rows[0].label
    if not all(norms.get(row.label) for row in rows):
        return "The results could not be compared."
    for row in rows[1:]:
        apart = norms_apart(norms[first], norms[row.label])
        if not apart <= NORM_TOLERANCE:
            return (
                f"The results of `{first}` and `{row.label}` differ by "
                f"{words.significant(100 * apart)} %."
            )
    return ""
