"""Distinct titles for the programs of one record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jaxscope.model import Program

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
    written = [{value.name: _short(value.aval) for value in p.inputs} for p in group]
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


def _short(aval: str) -> str:
    return aval if len(aval) <= _LONGEST else aval[: _LONGEST - 1] + "…"
