"""The first line of a report: program, device, time, compilations, cost; and program titles."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence

from jaxscope import words
from jaxscope.model import Compile, Cost, Form, Persistent, Program, Record, Roofline, Timing
from jaxscope.model.compiler.target import CompiledFor
from jaxscope.model.compiles import LINKED_AGAIN, CauseKind, unobserved
from jaxscope.model.profile import CellProfile
from jaxscope.model.program import ABSTRACT, TRANSFORM
from jaxscope.view.profile.hottest import hottest, hottest_of_cell

_MOST_ALSO = 4


def first_parts(record: Record) -> tuple[str, ...]:
    """The first line in its parts, the title first."""
    if record.profile is not None:
        return _profiled(record, record.profile)
    if not record.programs:
        return _without_program(record)
    parts = list(program_parts(record, 0))
    if others := len(record.programs) - 1:
        same = len({program.title for program in record.programs}) == 1
        same &= TRANSFORM not in record.programs[0].transforms
        # One function that was called in several ways, not several functions.
        parts.append(f"+{words.count(others, 'more signature' if same else 'more program')}")
    return tuple(parts)


def program_parts(record: Record, index: int) -> tuple[str, ...]:
    """The first line of one program in its parts, without the other programs."""
    program = record.programs[index]
    devices = ", ".join(program.devices) if program.target is None else program.target.target
    if program.target is None and len(program.devices) > 2:
        devices = f"{len(program.devices)} devices ({program.devices[0]} … {program.devices[-1]})"
    parts = [
        program.title,
        devices,
        _time(program, record.form) if program.target is None else target_fit(program.target),
        hottest(record, program),
        _compiled(record, program),
        _cost(program),
    ]
    if isinstance(program.roofline, Roofline):
        parts.append(program.roofline.verdict)
    return tuple(part for part in parts if part)


def also(record: Record) -> str:
    """The programs after the first, with what made JAX compile them again, as one sentence."""
    found = collections.Counter(
        program.title + _because(_compiles_of(record, program)) for program in record.programs[1:]
    )
    items = list(found.items())
    named = ", ".join(f"{title} × {n}" if n > 1 else title for title, n in items[:_MOST_ALSO])
    rest = sum(n for _, n in items[_MOST_ALSO:])
    return f"{named} and {rest} more" if rest else named


def _profiled(record: Record, found: CellProfile) -> tuple[str, ...]:
    """A cell that ran as plain Python under the profiler."""
    parts = [record.title, f"ran once in {words.seconds(found.wall_s)}"]
    if hot := hottest_of_cell(found, record.compiles):
        parts.append(hot)
    if found.wall_s:
        parts.append(f"{words.percent(found.covered_s / found.wall_s)} in instructions")
    parts.append(words.count(found.runs, "program run"))
    if found.compile_s:
        count = words.count(len(record.compiles), "compile")
        parts.append(f"{count} in {words.seconds(found.compile_s)}")
    return tuple(parts)


def _without_program(record: Record) -> tuple[str, ...]:
    plain = record.form in (Form.PLAIN, Form.PROFILED)
    parts = [record.title, "ran as plain Python" if plain else "nothing was compiled"]
    if record.compiles and not plain:
        parts[1:] = ["no program to show", words.count(len(record.compiles), "compile")]
    if record.wall_s is not None:
        parts.append(words.seconds(record.wall_s))
    return tuple(parts)


def _time(program: Program, form: Form) -> str:
    call = program.call
    if call is not None and call.samples:
        runs = words.count(len(call.samples), "round")
        if len(call.samples) == 1 and call.inner == 1:
            runs = "1 run"
        spread = words.spread(call.spread)
        return " ".join(
            p for p in (words.seconds(call.median_s), spread, f"per call ({runs})") if p
        )
    first = next((t for t in program.timings if t.label == "first call" and t.samples), None)
    if first is not None:
        return f"{words.seconds(first.median_s)} per call (1 run)"
    if form is Form.LOG:
        return ""
    if any(value.reason == ABSTRACT for value in program.inputs):
        return "not run (jax.ShapeDtypeStruct)"
    if form in (Form.DECORATOR, Form.FUNCTION):
        return "run by the cell, not timed"
    return "not run (runs=0)" if form is Form.CALL else "not run (-n 0)"


def _compiled(record: Record, program: Program) -> str:
    if program.target is not None:
        return f"by {program.target.compiler}"
    found = _compiles_of(record, program)
    if not found and any(note.startswith(LINKED_AGAIN) for note in record.notes):
        return "reused the compiled program"  # and the note has the compilation of its links
    return _compiles(found, sure=not unobserved(record.notes))


def target_fit(target: CompiledFor) -> str:
    """Whether a program fits its target, for the first line."""
    if target.fits is None:
        return "compiled, not run"
    of = "" if target.memory is None else f" of {words.size(target.memory)}"
    needs = "" if target.needs is None else f": needs {words.size(target.needs)}{of}"
    return f"compiled, not run, {'fits' if target.fits else 'does not fit'}{needs}"


def _compiles(compiles: tuple[Compile, ...], *, sure: bool) -> str:
    if not compiles:
        return "reused the compiled program (0 compiles)" if sure else "compilations unknown"
    hits = sum(c.persistent is Persistent.HIT for c in compiles)
    total = sum(c.total_s for c in compiles)
    trace, lower, xla = words.parts(
        total,
        sum(c.trace_s for c in compiles),
        sum(c.lower_s for c in compiles),
        sum(c.compile_s for c in compiles),
    )
    if hits == len(compiles):
        how, last = "read from the persistent cache", "retrieval"
    else:
        how = "compiled once" if len(compiles) == 1 else f"compiled {len(compiles)} times"
        how += f", {hits} of them from the persistent cache," if hits else ""
        last = "XLA"
    stages = f"(trace {trace}, lower {lower}, {last} {xla})"
    because = _because(compiles) if how == "compiled once" else ""
    linked = any(c.kind is CauseKind.LINKED_AGAIN for made in compiles for c in made.causes)
    how = "recompiled" if because else "compiled again to link lines" if linked else how
    return f"{how} in {words.seconds(total)} {stages}{because}"


def _because(compiles: tuple[Compile, ...]) -> str:
    again = [cause for made in compiles if made.differs for cause in made.causes[:1]]
    if again and again[0].kind is CauseKind.UNKNOWN:
        return ", cause unknown"
    return f" because {again[0].brief}" if again else ""


def _compiles_of(record: Record, program: Program) -> tuple[Compile, ...]:
    return tuple(record.compiles[i] for i in program.compiles if i < len(record.compiles))


def _cost(program: Program) -> str:
    cost = program.cost
    if not isinstance(cost, Cost):
        return "cost unknown"
    if cost.partial and not cost.flops:
        return "cost unknown"
    text = f"{words.flops(cost.flops)}, {words.size(cost.bytes_accessed)}"
    if cost.intensity is not None and not cost.partial:
        text += f" → {words.intensity(cost.intensity)}"
    if cost.warnings:
        text = f"at least {text}" if cost.partial else f"about {text}"
    return text if program.sharding is None else f"per device {text}"


def interval(timing: Timing) -> str:
    """`412 µs ± 1 % (51 rounds)`, or without an interval below 6 rounds."""
    runs = words.count(len(timing.samples), "round")
    if timing.inner > 1:
        runs += f" of {words.count(timing.inner, 'call')}"
    spread = words.spread(timing.spread)
    return " ".join(part for part in (words.seconds(timing.median_s), spread, f"({runs})") if part)


_MOST_INPUTS = 2
_LONGEST = 40
"""Characters of an input's type or value: a static one may be long."""


def titles(programs: Sequence[Program]) -> tuple[str, ...]:
    """`jit(f)`; where several share it, with the inputs in which they differ: `v: float32[3]`.

    One function called with arrays of six shapes is six programs, which need distinct names.
    """
    groups: dict[str, list[Program]] = {}
    for program in programs:
        groups.setdefault(program.title, []).append(program)
    found = {title: iter(_distinct(group)) for title, group in groups.items()}
    return tuple([next(found[program.title]) for program in programs])


def _distinct(group: Sequence[Program]) -> Iterable[str]:
    if len(group) == 1:
        return [group[0].title]
    written = [{value.name: words.cut(value.aval, _LONGEST) for value in p.inputs} for p in group]
    names = dict.fromkeys(name for inputs in written for name in inputs)
    differ = [name for name in names if len({inputs.get(name) for inputs in written}) > 1]
    found: list[str] = []
    for program, inputs in zip(group, written, strict=True):
        said = [f"{name}: {inputs[name]}" for name in differ if name in inputs]
        found.append(" · ".join([program.title, *said[:_MOST_INPUTS]]))
    # They may differ in something that is not an input, such as an option.
    if len(set(found)) < len(found):
        return [f"{title} · {number} of {len(found)}" for number, title in enumerate(found, 1)]
    return found
