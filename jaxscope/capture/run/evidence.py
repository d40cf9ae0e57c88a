"""What findings need to know besides the record, as plain data."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxscope.analysis.findings import (
    Evidence,
    NameFact,
    ObservedSideEffect,
    count_computing,
    findings,
)
from jaxscope.analysis.python.parse import parsed
from jaxscope.capture.forms.side_effects import Seen, Witness
from jaxscope.capture.inputs.traced_or_static import aval_text, choose
from jaxscope.capture.options import error_origin
from jaxscope.model import Cost, Form, Program, Record, SourceKind, StageKind, TextSource

_CONTAINERS = (list, dict, set)
_SHARED = (SourceKind.CELL, SourceKind.OTHER_CELL)
"""Sources whose names are those of the namespace."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a form saw that its record does not hold."""

    names: tuple[NameFact, ...] = ()
    """The names of the cell as they were before it ran."""
    witness: Witness | None = None
    trace_s: float | None = None
    """Seconds in which JAX traced the cell."""


def advised(
    record: Record, texts: Sequence[TextSource], namespace: Mapping[str, Any], known: Known
) -> Record:
    """The record with its findings, and a note on each rule that failed, or on all of them."""
    try:
        before = {fact.name for fact in known.names}
        trees = [
            tree
            for source in record.sources
            if source.kind in _SHARED and (tree := parsed(source)) is not None
        ]
        later = [fact for fact in name_facts(trees, namespace) if fact.name not in before]
        seen = evidence(record, texts, (*known.names, *later), known.witness, known.trace_s)
        if "open" in namespace:
            # IPython gives notebooks an `open` of their own, which the witness does not see.
            seen = replace(seen, written=None)
        notes: list[str] = []
        found = findings(seen, on_failure=notes.append)
        return replace(record, findings=found, notes=(*record.notes, *notes))
    except Exception as error:
        note = f"jaxscope could not look for advice ({error_origin.reason(error)})."
        return replace(record, notes=(*record.notes, note))


def evidence(
    record: Record,
    texts: Sequence[TextSource],
    names: Sequence[NameFact],
    witness: Witness | None = None,
    trace_s: float | None = None,
) -> Evidence:
    """All that a run showed. `names` are best taken before the run, by `name_facts`."""
    return Evidence(
        record,
        tuple(names),
        None if witness is None else _happened(witness.printed),
        None if witness is None else _happened(witness.written),
        trace_s if record.form is Form.BLOCK else None,
        computing=tuple([_computing(p, t) for p, t in zip(record.programs, texts, strict=True)]),
    )


def name_facts(trees: Iterable[ast.AST], namespace: Mapping[str, Any]) -> tuple[NameFact, ...]:
    """What the names that the texts read hold in the namespace."""
    read = {
        node.id
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in namespace
    }
    return tuple([_fact(name, namespace[name]) for name in sorted(read)])


def _fact(name: str, value: Any) -> NameFact:
    if isinstance(value, types.ModuleType):
        return NameFact(name, f"module:{value.__name__}")
    for kind in _CONTAINERS:
        if isinstance(value, kind):
            return NameFact(name, kind.__name__)
    cls = type(value)
    kind = cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"
    choice = choose(value)
    if choice.foreign:
        root = cls.__module__.partition(".")[0]
        return NameFact(name, f"{root}.{cls.__name__}", foreign=True)
    is_array = choice.traced and hasattr(value, "shape")
    return NameFact(name, kind, aval_text(value) if is_array else "")


def _happened(seen: Iterable[Seen]) -> tuple[ObservedSideEffect, ...]:
    return tuple([ObservedSideEffect(item.line, item.text) for item in seen])


def _computing(program: Program, texts: TextSource) -> int | None:
    """Instructions that compute; the text is only fetched where XLA counted no FLOPs."""
    cost = program.cost
    if not isinstance(cost, Cost) or cost.flops or cost.transcendentals:
        return None
    stage = texts.text(StageKind.OPTIMIZED_HLO)
    return None if stage.unavailable is not None else count_computing(stage.text)
