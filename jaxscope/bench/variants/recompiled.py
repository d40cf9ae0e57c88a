"""Trials of fixes that save compilations: a cell, run as if nothing of it had been compiled."""

from __future__ import annotations

import ast
import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jax

from jaxscope.analysis.variants import verdicts
from jaxscope.analysis.variants.recompilations import Recompilation
from jaxscope.bench.rounds.watchdog import Alarm
from jaxscope.bench.variants import rounds
from jaxscope.bench.variants.built_program import BuiltProgram
from jaxscope.bench.variants.isolation import TrialRefused
from jaxscope.bench.variants.programs import Builder
from jaxscope.model import CauseKind, CompileKind
from jaxscope.model.variants import Change, PlanFigures, TrialVerdict, VariantTrial

_PADDING = "The padding enters the result: mask it in the function."
Build = Callable[[Builder, Change, Alarm], BuiltProgram]


def tried_cell(
    builder: Builder, found: Recompilation, change: Change, build: Build, alarm: Alarm
) -> VariantTrial:
    """A cell with its functions created anew, before and after the change."""
    builder = dataclasses.replace(builder, afresh=True)
    before = build(builder, Change(""), alarm)
    name = found.again.fun_name
    if found.again.kind is CompileKind.EAGER and before.compiled.count(name) < 2:
        raise TrialRefused(
            f"JAX holds the programs of `{name}` by now, so its compilations do not come again."
        )
    if (before.plan.compilations or 0) < 2:
        raise TrialRefused(
            f"`{name}` cannot be created anew here, so its compilations do not come again."
        )
    after = build(builder, change, alarm)
    trial = _judged(change, before, after, builder.limit_s, alarm)
    if trial.verdict is TrialVerdict.RESULTS_DIFFER and found.kind is CauseKind.SHAPE:
        return dataclasses.replace(trial, why=f"{trial.why} {_PADDING}")
    return trial


def tried_traced(
    builder: Builder, found: Recompilation, change: Change, build: Build, alarm: Alarm
) -> VariantTrial:
    """The program of a cell for two values of a static input, and one program for both."""
    earlier = tuple([(one, _value(found, one)) for one in change.traced])
    other = dataclasses.replace(builder, values=earlier)
    static = [build(one, Change(""), alarm) for one in (builder, other)]
    traced = [build(one, change, alarm) for one in (builder, other)]
    check = rounds.compared(static[1], traced[1])
    if not check.agrees:
        why = f"With {_shown(earlier)}: {check.text}"
        return VariantTrial(change.title, TrialVerdict.RESULTS_DIFFER, why, error=check.error)
    number = 1 if traced[0].same_program(traced[1]) else 2
    before = _with_compilations(static, 2)
    return _judged(
        change, before, _with_compilations(traced[:number], number), builder.limit_s, alarm
    )


def _with_compilations(programs: list[BuiltProgram], number: int) -> BuiltProgram:
    """The first program, with the compile time of all."""
    first = programs[0]
    seconds = sum(one.plan.compile_s or 0.0 for one in programs)
    plan = dataclasses.replace(first.plan, compile_s=seconds, compilations=number)
    return dataclasses.replace(first, plan=plan)


def _value(found: Recompilation, name: str) -> Any:
    """The value that an input had before."""
    causes = [one for one in found.again.causes if one.kind is CauseKind.STATIC_VALUE]
    text = next(one.before for one in causes if one.path == name)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise TrialRefused(f"The earlier value of `{name}` is not a number.") from None


def _shown(values: tuple[tuple[str, Any], ...]) -> str:
    return ", ".join(f"`{name} = {value!r}`" for name, value in values)


def _judged(
    change: Change, before: BuiltProgram, after: BuiltProgram, limit_s: float, alarm: Alarm
) -> VariantTrial:
    """Compare the results, count the compilations, and time further runs where they matter."""
    check = rounds.compared(before, after)
    trial = VariantTrial(
        change.title,
        TrialVerdict.RESULTS_DIFFER,
        check.text,
        error=check.error,
        before=before.plan,
        after=after.plan,
    )
    if not check.agrees:
        return trial
    ratio = None
    if _fewer(before.plan, after.plan) and not before.repeats:
        ratio = rounds.ratio(before, after, time.perf_counter() + limit_s, alarm)
    again_s = before.again_s or _call_s(before)
    verdict, why = verdicts.judge_compilations(before.plan, after.plan, ratio, again_s)
    if not rounds.compares(before, after):
        trial = dataclasses.replace(trial, error=None)
        if verdict is TrialVerdict.BETTER:
            verdict, why = TrialVerdict.UNCLEAR, rounds.UNCHECKED
    return dataclasses.replace(trial, verdict=verdict, why=why, ratio=ratio)


def _fewer(before: PlanFigures, after: PlanFigures) -> bool:
    return (after.compilations or 0) < (before.compilations or 0)


def _call_s(program: BuiltProgram) -> float:
    began = time.perf_counter()
    jax.block_until_ready(program.call(*program.fresh()))
    return time.perf_counter() - began
