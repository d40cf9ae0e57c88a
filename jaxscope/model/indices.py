"""Indices of a record that was read from a file: each must point into the table that it names."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, cast

from jaxscope.model.compile_log import Log
from jaxscope.model.finding import Finding
from jaxscope.model.gradient import Checkpoint, Residual
from jaxscope.model.profile import CellLine, LiveArrays, SourceLine
from jaxscope.model.program import Program
from jaxscope.model.record import Record
from jaxscope.model.sharding import Collective, ProgramSharding, ShardedValue, Sharding
from jaxscope.model.source import Frame
from jaxscope.model.stage import Anchor, Equation
from jaxscope.model.vmap import BatchAxis, BatchedEquation, Batching
from jaxscope.model.wire import SchemaError

_POINTS: dict[type, dict[str, str]] = {
    Anchor: {"equations": "equations"},
    BatchAxis: {"source": "sources"},
    BatchedEquation: {"equation": "equations", "under": "axes", "over": "axes"},
    CellLine: {"source": "sources"},
    Checkpoint: {"source": "sources"},
    Collective: {
        "device_groups": "device_groups",
        "equation": "equations",
        "consumer_equation": "equations",
    },
    Equation: {"parent": "equations"},
    Finding: {"source": "sources"},
    Frame: {"source": "sources"},
    LiveArrays: {"source": "sources"},
    Program: {"compiles": "compiles"},
    Residual: {"equation": "equations", "used_by": "equations", "parent": "equations"},
    ShardedValue: {"sharding": "shardings"},
    Sharding: {"mesh": "meshes"},
    SourceLine: {"source": "sources"},
}
"""Fields that are an index, or several, with the field that holds the table."""
_TABLES: dict[type, tuple[str, ...]] = {
    Log: ("sources",),
    Record: ("sources", "compiles"),
    Program: ("equations",),
    ProgramSharding: ("meshes", "shardings", "device_groups"),
    Batching: ("axes",),
}
_LINES = ("line", "end_line")


def check_indices(record: Any) -> None:
    """Raise SchemaError, which names the field, for the first index that points nowhere.

    Also for a negative line, and for equations whose ids are not their positions. A table that this
    kind of record does not hold is not checked: a diff has no sources of its findings.
    """
    _check(record, type(record).__name__, {})


def _check(value: Any, path: str, sizes: Mapping[str, int]) -> None:
    kind = cast("type[Any]", type(value))
    if kind is tuple:
        for index, item in enumerate(value):
            if type(item) is tuple or _fields(type(item)):
                _check(item, f"{path}[{index}]", sizes)
        return
    points = _POINTS.get(kind, {})
    if kind in _TABLES:
        sizes = {**sizes, **{name: len(getattr(value, name)) for name in _TABLES[kind]}}
    if kind is Program:
        for index, equation in enumerate(value.equations):
            if equation.id != index:
                raise SchemaError(f"{path}.equations[{index}].id is {equation.id}, not {index}.")
    for name in _fields(kind):
        item = getattr(value, name)
        if isinstance(item, str | float | None):
            continue
        if kind is Finding and name == "source" and value.line is None:
            continue  # of the whole program, which may have no source
        if name in points and (size := sizes.get(points[name])) is not None:
            for index in (item,) if isinstance(item, int) else item:
                if not 0 <= index < size:
                    table = points[name].replace("_", " ")
                    raise SchemaError(f"{path}.{name} is {index}, but there are {size} {table}.")
        elif name in _LINES and item < 0:
            raise SchemaError(f"{path}.{name} is {item}, and lines begin at 1.")
        elif type(item) is tuple or _fields(cast("type[Any]", type(item))):
            _check(item, f"{path}.{name}", sizes)


@functools.cache
def _fields(kind: type[Any]) -> tuple[str, ...]:
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind))
    named: Any = getattr(kind, "_fields", ())
    return tuple(named)
