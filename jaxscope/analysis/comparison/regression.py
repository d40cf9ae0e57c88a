"""A comparison against a stored one: rows that became faster or slower since."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from jaxscope.analysis.comparison import stats
from jaxscope.analysis.comparison.sweep import Size
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow, Ratio, RatioVerdict


@dataclass(frozen=True, slots=True)
class Regression:
    """One row against the same row of the stored comparison."""

    label: str
    device: str
    size: Size
    ratio: Ratio | None
    """The time now over the time then, unpaired; None where there is nothing to compare."""
    why: str = ""
    """The reason for a missing ratio; empty where there is one."""
    _: KW_ONLY
    title: str = ""
    """Its name on the screen; empty: the label."""

    @property
    def is_regression(self) -> bool:
        """Slower than then, by more than 5 %."""
        return self.ratio is not None and self.ratio.verdict is RatioVerdict.SLOWER


def regressions(now: ComparisonRecord, then: ComparisonRecord) -> tuple[Regression, ...]:
    """Compare every row with the stored row of the same label, device and size."""
    stored = {(row.label, row.device, row.size): row for row in then.rows}
    return tuple(
        [_one(row, stored.get((row.label, row.device, row.size)), now, then) for row in now.rows]
    )


def _one(
    row: ComparisonRow, old: ComparisonRow | None, now: ComparisonRecord, then: ComparisonRecord
) -> Regression:
    why = ""
    if not row.measured:
        why = "it was not measured now"
    elif old is None:
        why = "the baseline has no row for it"
    elif not old.measured:
        why = "it was not measured then"
    elif now.mode is not then.mode:
        why = f"the mode is {now.mode} now and was {then.mode} then"
    elif row.dtype != old.dtype:
        why = f"the results are {row.dtype} now and were {old.dtype} then"
    ratio = stats.ratio_to_stored(row, old) if old is not None and not why else None
    return Regression(row.label, row.device, row.size, ratio, why, title=row.title)


def differences(now: ComparisonRecord, then: ComparisonRecord) -> tuple[str, ...]:
    """Other changes between the two: `jax: 0.10.2 now, 0.8.1 then`."""
    pairs: list[tuple[str, str, str]] = [
        ("jax", now.environment.jax, then.environment.jax),
        ("jaxlib", now.environment.jaxlib, then.environment.jaxlib),
        ("Python", now.environment.python, then.environment.python),
        ("the platform", now.environment.platform, then.environment.platform),
        ("the devices", _list(now.environment.devices), _list(then.environment.devices)),
        ("64-bit types", _on(now.environment.x64), _on(then.environment.x64)),
        ("the cores", str(now.machine.cores or "?"), str(then.machine.cores or "?")),
    ]
    versions, old = dict(now.versions), dict(then.versions)
    names = [name for name in versions if name in old]
    pairs += [(name, versions[name], old[name]) for name in names]
    flags, were = dict(now.environment.flags), dict(then.environment.flags)
    for name in sorted({*flags, *were}):
        pairs.append((name, flags.get(name, "not set"), were.get(name, "not set")))
    return tuple(
        [f"{name}: {here} now, {there} then" for name, here, there in pairs if here != there]
    )


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def _on(x64: bool) -> str:
    return "enabled" if x64 else "disabled"
