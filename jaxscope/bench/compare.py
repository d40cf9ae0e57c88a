"""From a plan to a comparison: measured, stored, and held against a stored one."""

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
    from jaxscope.bench.cell.plan import Prepared
    from jaxscope.bench.plan import Progress
    from jaxscope.model.comparison import ComparisonRecord


def compare(
    contestants: Mapping[str, Given] | Callable[..., Any],
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
    sessions: int = 1,
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

    contestants: functions by contestant, `{"numpy": f, "jax": g, "jax: by hand": h}`; any other
    label needs a pair, `{"mine": ("jax", g)}`, unless the function's own code tells its framework.
    Each is called with the inputs in order, as its own framework's arrays. A function whose first
    parameter is `xp` gets the framework's array namespace; one such function alone is run by every
    contestant in `vs`.
    inputs: arrays or numbers by name, expressions such as `"normal(n, n)"`, or a function that
    makes them from a size. sizes: `{"n": (64, 512)}` or `"n=2^6..2^9"`.
    grad: names of inputs to differentiate for, True for the first. vmap: batch axes by name, True
    for axis 0 of all. dtype: of floating-point inputs; by default what is 64 bits wide goes in
    32 bits wide while JAX takes part with 64-bit types disabled, and a note says so. x64: with
    these types enabled, for this comparison.
    time_limit: seconds of the whole. tolerance: of the results, relative to the largest; check:
    whether they are compared at all. save and against: names of stored baselines.

    A contestant that is absent or fails is a row that says why; an interrupt keeps what was
    measured. Raises ValueError with a sentence when there is nothing sensible to measure.

    Example:
        >>> c = jaxscope.compare({"numpy": np.sort, "jax": jnp.sort}, inputs={"x": x})
        >>> c.ratio("jax", "numpy").verdict
    """
    from jaxscope.bench.cell.functions import functions_plan
    from jaxscope.bench.cell.request import Request
    from jaxscope.bench.frameworks import registry
    from jaxscope.model.comparison import Mode

    request = Request(
        vs=_names(vs),
        sizes=_sizes(sizes),
        devices=_names(devices),
        grad=None if grad is False else () if grad is True else _names(grad),
        vmap=None if vmap is False else () if vmap is True else tuple(vmap.items()),
        dtype=dtype,
        x64=x64,
        mode=Mode(mode),
        sessions=sessions,
        time_limit=time_limit,
        tolerance=tolerance,
        check=check,
        seed=seed,
    )
    with wide(x64):
        prepared = functions_plan(
            contestants,
            inputs,
            request,
            registry.names(),
            registry.ALWAYS,
            title=title,
            baseline=baseline,
            reference=reference,
            progress=progress,
        )
        return measured(prepared, save, against)


def wide(x64: bool) -> AbstractContextManager[Any]:
    """JAX's 64-bit types for the block, if they are wanted and not on anyway."""
    if not x64:
        return contextlib.nullcontext()
    import jax

    return jax.enable_x64(True)


def measured(prepared: Prepared, save: str | None = None, against: str | None = None) -> Comparison:
    """Measure a plan; hold it against a stored comparison, and store it, if asked to.

    The stored one is read before anything is measured. Raises BaselineError when there is none.
    """
    from jaxscope.bench import run

    stored = None if against is None else baselines.load(against)
    if save is not None:
        baselines.check_name(save)
    record = run(prepared.plan)
    record, fallen = _with_a_baseline(record)
    notes = (*fallen, *prepared.notes, *record.notes)
    changes = ()
    if stored is not None:
        changes = regressions(record, stored.record)
        changed = differences(record, stored.record)
        if changed:
            notes = (*notes, f"Since the baseline was stored, this changed: {'; '.join(changed)}.")
    if save is not None:
        name = f"Stored as the baseline `{save}`."
        baselines.save(Comparison(dataclasses.replace(record, notes=notes)), save)
        notes = (*notes, name)
    return Comparison(dataclasses.replace(record, notes=notes), changes)


def _with_a_baseline(record: ComparisonRecord) -> tuple[ComparisonRecord, tuple[str, ...]]:
    """Ratios against the first contestant that was measured, where the baseline itself was not."""
    measured = [row.label for row in record.rows if row.measured]
    if not measured or record.baseline in measured:
        return record, ()
    note = f"`{record.baseline}` was not measured, so ratios are against `{measured[0]}`."
    return dataclasses.replace(record, baseline=measured[0]), (note,)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        return tuple([name.strip() for name in given.split(",") if name.strip()])
    return tuple(given)


def _sizes(
    given: Mapping[str, Sequence[int]] | Sequence[Mapping[str, int]] | str | None,
) -> tuple[Mapping[str, int], ...]:
    from jaxscope.bench.cell.sections import CellError
    from jaxscope.bench.cell.sizes import sizes

    if given is None:
        return ({},)
    if isinstance(given, str):
        return sizes([given])
    if not isinstance(given, Mapping):
        return tuple([dict(size) for size in given]) or ({},)
    if len(given) > 1:
        raise CellError(
            f"sizes has {len(given)} names; give one, or a list of dictionaries: "
            'sizes=[{"n": 64, "m": 3}, {"n": 128, "m": 3}].'
        )
    return tuple([{name: value} for name, values in given.items() for value in values])
