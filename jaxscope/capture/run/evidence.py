"""Evidence for the findings besides the record, as plain data."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxscope.analysis.findings import Evidence, NameFact, count_computing, findings
from jaxscope.analysis.findings.memory import DONATE_BYTES
from jaxscope.analysis.jaxpr.flow import Flow
from jaxscope.analysis.python.cell import CellSyntax
from jaxscope.analysis.python.parse import nodes_of, parsed
from jaxscope.capture.forms.side_effects import SideEffectRecorder
from jaxscope.capture.inputs.donation import is_shared
from jaxscope.capture.inputs.traced_or_static import aval_text, choose
from jaxscope.capture.options import error_origin
from jaxscope.capture.program.stages import Handles
from jaxscope.model import Cost, Form, Program, Record, SourceKind, StageKind, TextSource

_MOST = 20_000
"""Equations up to which the dataflow is read: half a second with the calls inlined."""
_CONTAINERS = (list, dict, set)
_SHARED = (SourceKind.CELL, SourceKind.OTHER_CELL)
"""Sources whose names are those of the namespace."""


@dataclass(frozen=True, slots=True)
class Known:
    """Facts of a run that its record does not have."""

    names: tuple[NameFact, ...] = ()
    """The names of the cell before it ran."""
    side_effects: SideEffectRecorder | None = None
    trace_s: float | None = None
    """Seconds in which JAX traced the cell."""


def advised(
    record: Record, texts: Sequence[TextSource], namespace: Mapping[str, Any], known: Known
) -> Record:
    """The record with its findings, and a note on each rule that failed, or on all of them."""
    try:
        before = {fact.name for fact in known.names}
        names = [
            node.id
            for source in record.sources
            if source.kind in _SHARED and (tree := parsed(source)) is not None
            for node in nodes_of(tree)
            if isinstance(node, ast.Name)
        ]
        later = [
            replace(fact, after=True)
            for fact in name_facts(names, namespace)
            if fact.name not in before
        ]
        seen = evidence(record, texts, replace(known, names=(*known.names, *later)))
        if "open" in namespace:
            # IPython gives notebooks their own `open`, which the recorder does not see.
            seen = replace(seen, written=None)
        notes: list[str] = []
        found = findings(seen, on_failure=notes.append)
        return replace(record, findings=found, notes=(*record.notes, *notes))
    except Exception as error:
        note = f"jaxscope could not compute findings ({error_origin.reason(error)})."
        return replace(record, notes=(*record.notes, note))


def evidence(record: Record, texts: Sequence[TextSource], known: Known) -> Evidence:
    """Everything that a run showed."""
    effects = known.side_effects
    return Evidence(
        record,
        known.names,
        None if effects is None else tuple(effects.printed),
        None if effects is None else tuple(effects.written),
        known.trace_s if record.form is Form.BLOCK else None,
        computing=tuple([_computing(p, t) for p, t in zip(record.programs, texts, strict=True)]),
        flows=tuple([_flow(p, t) for p, t in zip(record.programs, texts, strict=True)]),
    )


def facts_before(syntax: CellSyntax, namespace: Mapping[str, Any]) -> tuple[NameFact, ...]:
    """The values of the names of a cell that is about to run, as facts."""
    shared = {
        name
        for name in {*syntax.bound} & {*syntax.mentioned} & namespace.keys()
        if is_shared(name, namespace, DONATE_BYTES)
    }
    facts = name_facts(syntax.mentioned, namespace)
    return tuple([replace(one, shared=True) if one.name in shared else one for one in facts])


def name_facts(names: Iterable[str], namespace: Mapping[str, Any]) -> tuple[NameFact, ...]:
    """The values of these names in the namespace, as facts."""
    return tuple([_fact(name, namespace[name]) for name in sorted({*names} & namespace.keys())])


def _fact(name: str, value: Any) -> NameFact:
    if isinstance(value, types.ModuleType):
        return NameFact(name, f"module:{value.__name__}")
    if isinstance(value, type | types.BuiltinFunctionType):
        # `from time import perf_counter` in an earlier cell.
        module: Any = getattr(value, "__module__", None)
        return NameFact(name, f"module:{module or 'builtins'}.{value.__qualname__}")
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


def _flow(program: Program, texts: TextSource) -> Flow | None:
    """The dataflow of a program; None where it is long, or cannot be read."""
    if not isinstance(texts, Handles) or texts.tagged.body is None:
        return None
    if len(program.equations) > _MOST:
        return None
    try:
        flow = texts.regions.flow(texts.tagged.body)
    except Exception:  # an equation of an unknown form
        return None
    return flow if flow.region.size == len(program.equations) else None


def _computing(program: Program, texts: TextSource) -> int | None:
    """Number of computing instructions; the text is fetched only where XLA counted no FLOPs."""
    cost = program.cost
    if not isinstance(cost, Cost) or cost.flops or cost.transcendentals:
        return None
    stage = texts.text(StageKind.OPTIMIZED_HLO)
    return None if stage.unavailable is not None else count_computing(stage.text)
