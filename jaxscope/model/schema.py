"""JSON Schema of the records, derived from the dataclasses themselves."""

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
from jaxscope.model.wire import to_json


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a report, as `to_json(record)` writes it.

    Unknown fields are allowed, as `from_json` ignores them. A float may be null: JSON has no number
    that is not finite.
    """
    about = f"A report of jaxscope, schema {SCHEMA}. Seconds and bytes throughout."
    return _schema(Record, "jaxscope report", about)


def log_schema() -> dict[str, Any]:
    """The JSON Schema of a compile log, as `CompileLog.to_json` writes it."""
    about = f"A compile log of jaxscope, schema {LOG_SCHEMA}. Seconds throughout."
    return _schema(Log, "jaxscope compile log", about)


def event_schema() -> dict[str, Any]:
    """The JSON Schema of one compilation in the live feed of a front end."""
    about = f"One compilation, sent when it has ended, schema {LOG_SCHEMA}. Seconds throughout."
    return _schema(CompileEvent, "jaxscope compile event", about)


def definitions(*classes: type) -> dict[str, Any]:
    """The `$defs` of dataclasses or TypedDicts and of everything that they hold, by class name."""
    found: dict[str, Any] = {}
    for cls in classes:
        _describe(cls, found)
    return found


def _schema(cls: type, title: str, about: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    root = _describe(cls, found)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": about,
        **root,
        "$defs": dict(sorted(found.items())),
    }


_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": ["number", "null"]},
}
_FINITE = _PLAIN | {float: {"type": "number"}}
"""Of a TypedDict, which says itself where a number may be null."""


def _describe(hint: Any, found: dict[str, Any], plain: dict[Any, Any] = _PLAIN) -> dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.NotRequired:
        return _describe(arguments[0], found, plain)
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        return {
            "anyOf": [
                {"type": "null"} if a is types.NoneType else _describe(a, found, plain)
                for a in arguments
            ]
        }
    if origin is list or (origin is tuple and arguments[1:] == (Ellipsis,)):
        return {"type": "array", "items": _describe(arguments[0], found, plain)}
    if origin is tuple:
        return _fixed([_describe(a, found, plain) for a in arguments])
    if origin is dict:
        key, value = (_describe(a, found, plain) for a in arguments)
        names = {} if key == plain[str] else {"propertyNames": key}
        return {"type": "object", **names, "additionalProperties": value}
    if hint in plain:
        return dict(plain[hint])
    name = hint.__name__
    if name not in found:
        found[name] = {}  # a placeholder, should a class ever hold its own kind
        found[name] = _define(hint, found)
    return {"$ref": f"#/$defs/{name}"}


def _define(cls: Any, found: dict[str, Any]) -> dict[str, Any]:
    about = {"description": inspect.getdoc(cls) or ""}
    if issubclass(cls, StrEnum):
        labels = {str(member): getattr(member, "label", None) for member in cls}
        named: dict[str, Any] = {} if None in labels.values() else {"x-labels": labels}
        for flag in ("on_request", "costs_compile"):
            if members := [str(member) for member in cls if getattr(member, flag, False)]:
                named["x-" + flag.replace("_", "-")] = members
        return {**about, "enum": list(labels), **named}
    hints = typing.get_type_hints(cls, include_extras=True)
    if typing.is_typeddict(cls):
        described = {name: _describe(hint, found, _FINITE) for name, hint in hints.items()}
        optional = {n for n, hint in hints.items() if typing.get_origin(hint) is typing.NotRequired}
    elif dataclasses.is_dataclass(cls):
        described, optional = {}, set[str]()
        for field in dataclasses.fields(cls):
            described[field.name] = _describe(hints[field.name], found)
            if field.default is not dataclasses.MISSING:
                described[field.name]["default"] = to_json(field.default)
                optional.add(field.name)
    else:  # a NamedTuple: written as an array
        members = [{**_describe(hints[name], found), "title": name} for name in cls._fields]
        return {**about, **_fixed(members)}
    notes = _field_notes(cls)
    for name in described.keys() & notes.keys():
        described[name]["description"] = notes[name]
    required = [name for name in described if name not in optional or name == "schema"]
    return {**about, "type": "object", "properties": described, "required": required}


def _fixed(members: list[dict[str, Any]]) -> dict[str, Any]:
    number = len(members)
    return {"type": "array", "prefixItems": members, "minItems": number, "maxItems": number}


@functools.cache
def _field_notes(cls: type) -> dict[str, str]:
    """The docstrings below the fields, by field; empty where the source is unavailable."""
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
