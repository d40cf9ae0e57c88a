"""A plan measured, stored, and compared with a stored baseline."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from jaxscope.analysis.comparison.regression import differences, regressions
from jaxscope.bench import baselines
from jaxscope.results.comparison import Comparison

if TYPE_CHECKING:
    from jaxscope.bench.cell.functions import Given, Inputs
    from jaxscope.bench.plan import Plan, Progress
    from jaxscope.model.comparison import ComparisonRecord


def compare(
    implementations: Mapping[str, Given] | Callable[..., Any],
    /,
    *,
    inputs: Inputs = None,
    sizes: Mapping[str, Sequence[int]] | Sequence[Mapping[str, int]] | str | None = None,
    vs: str | Sequence[str] = (),
    devices: str | Sequence[str] = (),
    baseline: str = "",
    grad: str | Sequence[str] | bool = False,
    vmap: Mapping[str, int | None] | bool = False,
    dtype: str | None = None,
    x64: bool = False,
    mode: Literal["latency", "throughput"] = "latency",
    processes: int = 1,
    time_limit: float | None = None,
    tolerance: float | None = None,
    check: bool = True,
    reference: Callable[..., Any] | None = None,
    seed: int = 0,
    save: str | None = None,
    against: str | None = None,
    title: str = "",
    progress: Callable[[Progress], None] | None = None,
) -> Comparison:
    """Measure functions of NumPy, PyTorch, JAX and others side by side.

    implementations: functions by implementation, `{"numpy": f, "jax": g, "jax: by hand": h}`. Any
    other label needs a pair, `{"mine": ("jax", g)}`, unless the function's own code shows its
    framework. Each is called with the inputs in order, as its own framework's arrays. A function
    whose first parameter is `xp` gets the framework's array namespace; one such function alone is
    run by every implementation in `vs`.
    inputs: arrays or numbers by name, expressions such as `"normal(n, n)"`, or a function that
    makes them from a size. sizes: `{"n": (64, 512)}` or `"n=2^6..2^9"`.
    grad: names of inputs to differentiate for, True for the first. vmap: batch axes by name, True
    for axis 0 of all. dtype: of floating-point inputs; by default 64-bit inputs are converted to
    32 bits while JAX takes part with 64-bit types disabled, and a note says so. x64: enable these
    types, for this comparison.
    processes: fresh processes that repeat the whole. time_limit: seconds of the whole. tolerance:
    of the results, relative to the largest; check: whether they are compared at all. save and
    against: names of stored baselines.

    An implementation that is not installed or fails is a row with the reason; an interrupt keeps
    what was measured. Raises ValueError with a sentence for a comparison that cannot be measured.

    Example:
        >>> c = jaxscope.compare({"numpy": np.sort, "jax": jnp.sort}, inputs={"x": x})
        >>> c.ratio("jax", "numpy").verdict
    """
    from jaxscope.bench.cell.functions import functions_plan
    from jaxscope.bench.cell.inputs import BenchRequest
    from jaxscope.bench.frameworks import registry
    from jaxscope.model.comparison import TimingMode

    request = BenchRequest(
        vs=_names(vs),
        sizes=_sizes(sizes),
        devices=_names(devices),
        grad=None if grad is False else () if grad is True else _names(grad),
        vmap=None if vmap is False else () if vmap is True else tuple(vmap.items()),
        dtype=dtype,
        x64=x64,
        mode=TimingMode(mode),
        processes=processes,
        time_limit=time_limit,
        tolerance=tolerance,
        check=check,
        seed=seed,
    )
    with x64_enabled(x64):
        plan = functions_plan(
            implementations,
            inputs,
            request,
            registry.names(),
            registry.DEFAULT,
            title=title,
            baseline=baseline,
            reference=reference,
            progress=progress,
        )
        return measured(plan, save, against)


def x64_enabled(enabled: bool) -> AbstractContextManager[Any]:
    """JAX's 64-bit types for the block, if requested; else as they are."""
    if not enabled:
        return contextlib.nullcontext()
    import jax

    return jax.enable_x64(True)


def measured(plan: Plan, save: str | None = None, against: str | None = None) -> Comparison:
    """Measure a plan; compare it with the stored comparison `against`, and store it as `save`.

    The stored one is read before anything is measured. Raises BaselineError when there is none.
    """
    from jaxscope.bench import run

    stored = None if against is None else baselines.load(against)
    if save is not None:
        baselines.path_of(save)  # refuses an invalid name before anything is measured
    record = _with_a_baseline(run(plan))
    changes = ()
    if stored is not None:
        changes = regressions(record, stored.record)
        changed = differences(record, stored.record)
        if changed:
            record = _noted(record, f"Changed since the baseline was stored: {'; '.join(changed)}.")
    if save is not None:
        baselines.save(Comparison(record), save)
        record = _noted(record, f"Stored as the baseline `{save}`.")
    return Comparison(record, changes)


def _noted(record: ComparisonRecord, note: str) -> ComparisonRecord:
    return dataclasses.replace(record, notes=(*record.notes, note))


def _with_a_baseline(record: ComparisonRecord) -> ComparisonRecord:
    """Ratios against the first measured implementation, where the baseline was not measured."""
    measured = [row.label for row in record.rows if row.measured]
    if not measured or record.baseline in measured:
        return record
    note = f"`{record.baseline}` was not measured, so ratios are against `{measured[0]}`."
    return dataclasses.replace(record, baseline=measured[0], notes=(note, *record.notes))


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        return tuple([name.strip() for name in given.split(",") if name.strip()])
    return tuple(given)


def _sizes(
    given: Mapping[str, Sequence[int]] | Sequence[Mapping[str, int]] | str | None,
) -> tuple[Mapping[str, int], ...]:
    from jaxscope.bench.cell.line import sizes
    from jaxscope.bench.cell.sections import CellError

    if given is None:
        return ({},)
    if isinstance(given, str):
        return sizes([given])
    if not isinstance(given, Mapping):
        return tuple([dict(size) for size in given]) or ({},)
    if len(given) > 1:
        raise CellError(
            f"sizes has {len(given)} names. Give one, or a list of dictionaries: "
            'sizes=[{"n": 64, "m": 3}, {"n": 128, "m": 3}].'
        )
    return tuple([{name: value} for name, values in given.items() for value in values])
