"""A comparison against a stored one: rows that became faster or slower since."""

from dataclasses import KW_ONLY, dataclass

from jaxscope.analysis.comparison import stats, validity
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
    elif validity.unfit(row) or validity.unfit(old):
        why = validity.unfit(row) or validity.unfit(old)
    ratio = stats.ratio_to_stored(row, old) if old is not None and not why else None
    return Regression(row.label, row.device, row.size, ratio, why, title=row.title)


def differences(now: ComparisonRecord, then: ComparisonRecord) -> tuple[str, ...]:
    """Other changes between the two: `jax: 0.10.2 now, 0.8.1 then`."""
    shown = _settings(now), _settings(then)
    pairs = [(name, here, shown[1][name]) for name, here in shown[0].items() if name in shown[1]]
    flags, were = dict(now.environment.flags), dict(then.environment.flags)
    names = sorted({*flags, *were})
    pairs += [(name, flags.get(name, "not set"), were.get(name, "not set")) for name in names]
    return tuple(
        [f"{name}: {here} now, {there} then" for name, here, there in pairs if here != there]
    )


def _settings(record: ComparisonRecord) -> dict[str, str]:
    environment = record.environment
    return {
        "jax": environment.jax,
        "jaxlib": environment.jaxlib,
        "Python": environment.python,
        "the platform": environment.platform,
        "the devices": ", ".join(environment.devices) or "none",
        "64-bit types": "enabled" if environment.x64 else "disabled",
        "the cores": str(record.machine.cores or "?"),
        **dict(record.versions),
    }
