"""The checks before the rounds: the results against a reference, and against each other."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jaxscope.analysis.comparison import names, validity
from jaxscope.bench import dependence
from jaxscope.bench.cell.timed_code import describe_error
from jaxscope.bench.dependence import Arrays, Host
from jaxscope.bench.frameworks.implementation import Implementation, arrays_of, timed
from jaxscope.bench.plan import Plan
from jaxscope.bench.prepare import Ready, Setting
from jaxscope.bench.reference import BY_JAX, Reference, draws_otherwise, reference
from jaxscope.bench.rounds.watchdog import TimedOut
from jaxscope.bench.warnings import results, rounds
from jaxscope.capture.program import describe
from jaxscope.model import Unavailable

_QUICK_S = 2.0
"""A reference that takes longer is not computed again for changed inputs."""


def check_all(
    readies: Sequence[Ready], setting: Setting, find: Callable[[str], Implementation]
) -> None:
    """Results against the reference and each other, and whether each call computes its own."""
    expected: _Expected | str = ""
    if setting.plan.check:
        inputs = list(setting.host.values())
        expected = _expected(setting, readies, find)
        for ready in readies:
            if isinstance(expected, str):
                unchecked(ready, expected)
                continue
            found = check(ready, expected.given, setting.plan, inputs)
            if found is None or found.agrees:
                continue
            if (of := _random(ready, expected, setting)) is not None:
                unchecked(ready, validity.RANDOM)
                ready.warnings = [one for one in ready.warnings if one not in found.warnings]
                ready.warnings.append(results.random(of))
    # Without this evidence there are fewer warnings.
    with contextlib.suppress(Exception):
        if isinstance(expected, str) or expected.again is None:
            dependence.check(readies, setting)
        else:
            dependence.check(readies, setting, expected.given.leaves, expected.again)
    warning = results.dtypes_differ([ready.row for ready in readies], describe.environment().x64)
    if warning is not None:
        for ready in readies:
            ready.warnings.append(warning)
    # JAX's arrays are immutable, so its results are copies; what NumPy sees of them may not be.
    if any(ready.row.framework == "jax" for ready in readies):
        for ready in readies:
            if ready.is_view and ready.row.framework != "jax":
                ready.warnings.append(rounds.view())


@dataclass(frozen=True, slots=True)
class _Expected:
    given: Reference
    again: Callable[[Host], Arrays | None] | None = None
    """The reference of other inputs, where it is quick and independent of the rows."""


def _expected(
    setting: Setting, readies: Sequence[Ready], find: Callable[[str], Implementation]
) -> _Expected | str:
    """The expected results, or why they are unknown.

    Where no code computes them in float64, those of the first implementation.
    """
    labels = {ready.row.label for ready in readies}
    # Code that raised or hung already would do so again.
    well = tuple([e for e in setting.counted_plan().entries if e.label in labels])
    plan, why = replace(setting.plan, entries=well), ""

    def computed(host: Host) -> Reference | None:
        limit_s = setting.at_most(setting.plan.limits.call_s)
        try:
            with setting.alarm.within(limit_s, "the float64 reference"):
                return reference(plan, setting.inputs, host, find)
        finally:
            plan.restore()

    def again(host: Host) -> Arrays | None:
        try:
            found = computed(host)
        except Exception:  # changed inputs may be invalid
            return None
        return None if found is None else found.leaves

    try:
        found, seconds = timed(lambda: computed(setting.host))
        if found is not None and _draws_otherwise(found, readies, plan, setting, find):
            why = "the code draws random numbers, which are others in float64"
        elif found is not None:
            return _Expected(found, again if seconds < _QUICK_S else None)
    except TimedOut as stopped:
        why = str(stopped).rstrip(".")
    except Exception as error:
        why = f"the float64 reference raised {describe_error(error)}"
    if why and setting.plan.reference is not None:
        return why
    if len(readies) < 2:
        return why or "there is no second implementation to compare with"
    first = readies[0]
    arrays = arrays_of(first.implementation, first.outputs)
    return _Expected(Reference(tuple(map(np.array, arrays)), names.label(first.row)))


def _draws_otherwise(
    given: Reference,
    readies: Sequence[Ready],
    plan: Plan,
    setting: Setting,
    find: Callable[[str], Implementation],
) -> bool:
    """Whether a row differs from the reference only because that draws other random numbers."""
    if given.name != BY_JAX:
        return False
    inputs = list(setting.host.values())
    for ready in readies:
        arrays = arrays_of(ready.implementation, ready.outputs)
        if any(array.dtype.kind == "O" for array in (*arrays, *given.leaves)):
            return False
        if not _compared(arrays, (), given, setting.plan, inputs).agrees:
            try:
                return draws_otherwise(plan, setting.inputs, setting.host, find)
            except Exception:  # code that cannot be traced
                return False
            finally:
                plan.restore()
    return False


def _random(ready: Ready, expected: _Expected, setting: Setting) -> str | None:
    """The code whose result is another in each call: the row's, or that of the reference."""
    inputs = list(setting.host.values())
    with contextlib.suppress(Exception):
        again = dependence.repeated(ready, setting)
        mine = Reference(tuple(arrays_of(ready.implementation, ready.outputs)), "")
        if again is not None and not _compared(again, (), mine, setting.plan, inputs).agrees:
            return "it"
        known = expected.given
        other = None if expected.again is None else expected.again(setting.host)
        if other is not None and not _compared(other, (), known, setting.plan, inputs).agrees:
            return known.name
    return None


def check(
    ready: Ready, reference: Reference, plan: Plan, inputs: Sequence[np.ndarray[Any, Any]]
) -> results.Check | None:
    """Compare the results with the reference; fill in the row's error and its warnings.

    None where they cannot be compared.
    """
    leaves = ready.implementation.leaves(ready.outputs)
    arrays = arrays_of(ready.implementation, ready.outputs)
    if any(array.dtype.kind == "O" for array in (*arrays, *reference.leaves)):
        unchecked(ready, "the results are not arrays of numbers")
        return None
    if not arrays and not reference.leaves:
        unchecked(ready, "nothing is returned")
        return None
    result = _compared(arrays, leaves, reference, plan, inputs)
    ready.warnings += result.warnings
    ready.row = replace(ready.row, error=result.error, error_limit=result.limit)
    return result


def _compared(
    arrays: Sequence[Any],
    leaves: Sequence[Any],
    reference: Reference,
    plan: Plan,
    inputs: Sequence[np.ndarray[Any, Any]],
) -> results.Check:
    return results.check(
        arrays,
        reference.leaves,
        max([array.size for array in inputs], default=1),
        plan.tolerance,
        reference.name,
        coarsest=results.expected(leaves, inputs),
    )


def unchecked(ready: Ready, why: str) -> None:
    """Record why the results were not compared."""
    ready.row = replace(ready.row, error=Unavailable(why))
