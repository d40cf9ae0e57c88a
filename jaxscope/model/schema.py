"""The JSON form described as JSON Schema, made from the dataclasses themselves."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import textwrap
import types
import typing
from enum import StrEnum
from typing import Any

from jaxscope.model.compile_log import LOG_SCHEMA, CompileEvent, Log
from jaxscope.model.record import SCHEMA, Record


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a report, as `to_json(record)` writes it.

    Fields that are unknown to it are allowed, as `from_json` ignores them. A float may be null:
    that is how a number that is not finite is written.
    """
    about = f"A report of jaxscope, schema {SCHEMA}. Seconds and bytes throughout."
    return _schema(Record, "jaxscope report", about)


def log_schema() -> dict[str, Any]:
    """The JSON Schema of a compile log, as `CompileLog.to_json` writes it."""
    about = f"A compile log of jaxscope, schema {LOG_SCHEMA}. Seconds throughout."
    return _schema(Log, "jaxscope compile log", about)


def event_schema() -> dict[str, Any]:
    """The JSON Schema of the event that front ends receive for one compilation."""
    about = f"One compilation, sent when it has ended, schema {LOG_SCHEMA}. Seconds throughout."
    return _schema(CompileEvent, "jaxscope compile event", about)


def _schema(cls: type, title: str, about: str) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    root = _describe(cls, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": about,
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": ["number", "null"]},
}


def _describe(annotation: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return {
            "anyOf": [
                {"type": "null"} if a is type(None) else _describe(a, definitions)
                for a in arguments
            ]
        }
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": _describe(arguments[0], definitions)}
        return _fixed([_describe(a, definitions) for a in arguments])
    if annotation in _PLAIN:
        return dict(_PLAIN[annotation])
    name = annotation.__name__
    if name not in definitions:
        definitions[name] = {}  # stands for itself should a class ever hold its own kind
        definitions[name] = _define(annotation, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _define(cls: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    about = {"description": inspect.getdoc(cls) or ""}
    if issubclass(cls, StrEnum):
        return {**about, "enum": [str(member) for member in cls]}
    hints = typing.get_type_hints(cls)
    if not dataclasses.is_dataclass(cls):  # a NamedTuple: written as an array
        members = [_describe(hints[name], definitions) for name in cls._fields]
        return {**about, **_fixed(members)}
    notes = _field_notes(cls)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for field in dataclasses.fields(cls):
        entry = _describe(hints[field.name], definitions)
        if note := notes.get(field.name):
            entry["description"] = note
        properties[field.name] = entry
        if field.default is dataclasses.MISSING or field.name == "schema":
            required.append(field.name)
    return {**about, "type": "object", "properties": properties, "required": required}


def _fixed(members: list[dict[str, Any]]) -> dict[str, Any]:
    number = len(members)
    return {"type": "array", "prefixItems": members, "minItems": number, "maxItems": number}


@functools.cache
def _field_notes(cls: type) -> dict[str, str]:
    """The docstrings that stand under the fields; empty when the source is not at hand."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        return {}
    body = typing.cast("ast.ClassDef", tree.body[0]).body
    notes: dict[str, str] = {}
    for field, after in itertools.pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            notes[field.target.id] = " ".join(after.value.value.split())
    return notes
