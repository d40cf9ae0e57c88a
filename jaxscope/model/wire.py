"""Records to and from JSON, driven by the dataclasses' own annotations."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, TypeVar

T = TypeVar("T")
_LARGEST = (1 << 63) - 1


class SchemaError(ValueError):
    """The JSON is not a jaxscope report of a schema that this version supports."""


def to_json(value: Any) -> Any:
    """Convert a record: dataclasses to objects, tuples to arrays.

    Fields at their default are left out, which keeps saved notebooks small; `schema` is always
    written. A non-finite float becomes null, because JSON cannot represent it.
    """
    kind: type[Any] = type(value)
    if kind in _UNCHANGED:
        return value
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is tuple or kind is list:
        # Most values are texts and numbers of equations: a call for each would take twice as long.
        return [item if type(item) in _UNCHANGED else to_json(item) for item in value]
    if (fields := _written(kind)) is not None:
        out: dict[str, Any] = {}
        for name, default in fields:
            item = getattr(value, name)
            if item != default:
                out[name] = item if type(item) in _UNCHANGED else to_json(item)
        return out
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, (tuple, list)):  # a named tuple, such as Span
        return [to_json(item) for item in typing.cast("Iterable[Any]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


_UNCHANGED = frozenset({str, int, bool, type(None)})


@functools.cache
def _written(kind: type[Any]) -> tuple[tuple[str, Any], ...] | None:
    """Names and defaults of a dataclass's fields; None for other types."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(
        (field.name, dataclasses.MISSING if field.name == "schema" else field.default)
        for field in dataclasses.fields(kind)
    )


def from_json(cls: type[T], data: Any) -> T:
    """Rebuild the dataclass that `to_json` wrote.

    Raises SchemaError, naming the field, for a missing value or a wrong type. Ignores unknown
    fields, so that a newer minor version can be read.
    """
    return _reader(cls)(data, cls.__name__)


@functools.cache
def _reader(annotation: Any) -> typing.Callable[[Any, str], Any]:
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if origin is tuple:
        return _tuple(arguments)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return _dataclass(annotation)
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return functools.partial(_enum, annotation)
    if isinstance(annotation, type) and issubclass(annotation, tuple):
        return _named_tuple(annotation)
    return functools.partial(_plain, annotation)


def _array(data: Any, path: str) -> list[Any]:
    if not isinstance(data, list):
        raise SchemaError(f"{path} must be an array, not {type(data).__name__}.")
    return typing.cast("list[Any]", data)


def _tuple(arguments: tuple[Any, ...]) -> typing.Callable[[Any, str], Any]:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        read = _reader(arguments[0])
        return lambda data, path: tuple(
            [read(item, f"{path}[{i}]") for i, item in enumerate(_array(data, path))]
        )
    readers = [_reader(argument) for argument in arguments]

    def fixed(data: Any, path: str) -> Any:
        items = _array(data, path)
        if len(items) != len(readers):
            raise SchemaError(f"{path} must have {len(readers)} entries, not {len(items)}.")
        pairs = zip(readers, items, strict=True)
        return tuple([read(item, f"{path}[{i}]") for i, (read, item) in enumerate(pairs)])

    return fixed


def _named_tuple(cls: Any) -> typing.Callable[[Any, str], Any]:
    hints = typing.get_type_hints(cls)
    members = _tuple(tuple(hints[name] for name in cls._fields))
    return lambda data, path: cls(*members(data, path))


def _union(arguments: tuple[Any, ...]) -> typing.Callable[[Any, str], Any]:
    readers = [(a, _reader(a)) for a in arguments if a is not type(None)]
    optional = len(readers) < len(arguments)

    def read(data: Any, path: str) -> Any:
        if data is None and optional:
            return None
        for argument, reader in readers:
            if dataclasses.is_dataclass(argument):
                if not _fits(argument, data):
                    continue
            elif isinstance(data, dict):
                continue
            return reader(data, path)
        raise SchemaError(f"{path} must be one of {', '.join(a.__name__ for a, _ in readers)}.")

    return read


def _fits(cls: Any, data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    required = {
        f.name
        for f in dataclasses.fields(cls)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    }
    return required <= typing.cast("dict[str, Any]", data).keys()


def _dataclass(cls: Any) -> typing.Callable[[Any, str], Any]:
    hints = typing.get_type_hints(cls)
    readers = {f.name: _reader(hints[f.name]) for f in dataclasses.fields(cls)}

    def read(data: Any, path: str) -> Any:
        if not isinstance(data, dict):
            raise SchemaError(f"{path} must be an object, not {type(data).__name__}.")
        entries = typing.cast("dict[str, Any]", data)
        values = {
            name: reader(entries[name], f"{path}.{name}")
            for name, reader in readers.items()
            if name in entries
        }
        try:
            return cls(**values)
        except TypeError as error:
            raise SchemaError(f"{path} is incomplete: {error}.") from None

    return read


def _enum(cls: type[StrEnum], data: Any, path: str) -> Any:
    try:
        return cls(data)
    except ValueError:
        known = ", ".join(cls)
        raise SchemaError(f"{path} is {data!r}; it must be one of {known}.") from None


def _plain(annotation: Any, data: Any, path: str) -> Any:
    if annotation is float:
        if data is None:
            return float("nan")
        if isinstance(data, int) and not isinstance(data, bool):
            return float(data)
    if annotation is int and isinstance(data, int) and not -_LARGEST <= data <= _LARGEST:
        raise SchemaError(f"{path} is {data}, more than 64 bits hold.")
    if annotation is Any or isinstance(data, annotation):
        return data
    raise SchemaError(f"{path} must be {annotation.__name__}, not {type(data).__name__}.")
