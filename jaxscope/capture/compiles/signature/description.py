"""Values as a short text, a token for equality, and the parts that they are made of, by path.

Keeps no value alive, and calls no `__repr__` that may be slow or read an array.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import inspect
import itertools
import re
import types
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np

from jaxscope.analysis.compiles.causes.signature import PartKind, StaticArgument, StaticPart
from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.values import (
    ObjectIds,
    code_text,
    compares_by_identity,
    short_dtype,
    shortened,
)
from jaxscope.capture.source.frames import is_user_file

_PLAIN = (bool, int, float, complex, str, bytes, type(None), types.EllipsisType)
_DEEP = 10
_PARTS = 600  # values inside one: about a millisecond
_LONGEST = 400  # characters of a part
_BRACKETS = {tuple: ("(", ")"), list: ("[", "]"), dict: ("{", "}")}
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class DescribedValue(NamedTuple):
    """`text` is for people; equal tokens mean equal values."""

    text: str
    token: int
    parts: tuple[StaticPart, ...]


def describe(value: Any, ids: ObjectIds, *, by_code: bool = False) -> DescribedValue:
    """`0.1`, `f32[3]` or `Config(depth=2)`, with the parts.

    `by_code`: two functions of the same code that close over equal values are equal, as for the
    values that a function captures; otherwise functions are compared by identity, as JAX does.
    """
    found = Description(ids, by_code=by_code)
    try:
        text, token = found.of(value, "")
    except Exception:  # an attribute of the user's
        text, token = f"{type(value).__name__} object", ids.of(value)
        found.parts = [StaticPart("", text, token)]
    return DescribedValue(shortened(text), token, tuple(found.parts))


def static_argument(
    name: str, value: Any, ids: ObjectIds, *, keyword: bool, position: int = 0
) -> StaticArgument:
    """A static argument as JAX's caches compare it."""
    text, token, parts = describe(value, ids)
    identity = compares_by_identity(value)
    return StaticArgument(
        name,
        text,
        ids.of(value) if identity else token,
        type(value).__name__,
        identity,
        parts=parts,
        keyword=keyword,
        position=position,
        own=_of_user(value if isinstance(value, types.FunctionType) else type(value)),
    )


def _of_user(made: type | types.FunctionType) -> bool:
    """Whether the user can change the class or the function."""
    try:
        return is_user_file(inspect.getfile(made))
    except (TypeError, OSError):  # built in, or of a notebook
        return made.__module__ == "__main__"


class Description:
    """Describes values part by part, reading a bounded number of them."""

    def __init__(self, ids: ObjectIds, *, by_code: bool = False) -> None:
        self._ids = ids
        self._by_code = by_code
        self._left = _PARTS
        self._field = ""
        self._owner = 0
        self.parts: list[StaticPart] = []

    def field(self, value: Any, path: str) -> int:
        """Describe a static field of a treedef at this path, and return its token."""
        self._field = path
        try:
            return self.of(value, path)[1]
        except Exception:  # an attribute of the user's
            token = self._ids.of(value)
            self._add(path, f"{type(value).__name__} object", token)
            return token
        finally:
            self._field = ""

    def leaf(self, value: Any, path: str) -> None:
        """Describe a leaf that is static, though not a field, at this path."""
        start = len(self.parts)
        self.field(value, path)
        if self.parts[start].kind is PartKind.VALUE:
            self.parts[start] = dataclasses.replace(self.parts[start], kind=PartKind.LEAF)

    def node(self, kind: type, path: str) -> int:
        """A container of this class at this path."""
        token = self._ids.of(kind)
        name = "None" if kind is type(None) else kind.__name__
        self._add(path, name, token, PartKind.CLASS)
        return token

    def container(self, tree: Any, path: str) -> None:
        """A container at this path, of which only its treedef is known."""
        text, token = self._with_eq(tree, type(tree))
        self._add(path, text, token, PartKind.CLASS)

    def unread(self, path: str) -> None:
        """There may be more at this path."""
        self._add(path, "…", 0, PartKind.UNREAD)

    def _add(self, path: str, text: str, token: int, kind: PartKind = PartKind.VALUE) -> None:
        self.parts.append(
            StaticPart(path, text[:_LONGEST], token, kind, field=self._field, owner=self._owner)
        )

    @contextmanager
    def _inside(self, token: int) -> Generator[None]:
        """Parts of a value that JAX compares by identity: they may change unseen by its caches."""
        outer = self._owner
        self._owner = outer or (0 if self._by_code else token)
        try:
            yield
        finally:
            self._owner = outer

    def of(self, value: Any, path: str, depth: int = _DEEP) -> tuple[str, int]:
        """The text and token of a value; adds its parts."""
        self._left -= 1
        if depth <= 0 or self._left <= 0:
            self.unread(path)
            return "…", 0
        kind = type(value)
        if isinstance(value, (list, tuple, set, frozenset, Mapping)):
            return self._container(value, path, depth - 1)
        if isinstance(value, functools.partial):
            return self._partial(value, path, depth - 1)
        code = getattr(value, "__code__", None)
        inner = getattr(value, "__wrapped__", None) if code is None and self._by_code else None
        if inspect.isfunction(inner):  # a jitted function
            value, code = inner, inner.__code__
        if callable(value) and isinstance(code, types.CodeType):
            return self._function(value, code, path, depth - 1)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(value, path, depth - 1)
        text, token = self._single(value, kind)
        how = PartKind.VALUE
        if compares_by_identity(value) and not isinstance(value, (type, types.ModuleType)):
            how = PartKind.FUNCTION if _is_function(value) else PartKind.OBJECT
        self._add(path, text, token, how)
        return text, token

    def _single(self, value: Any, kind: type) -> tuple[str, int]:
        ids = self._ids
        if isinstance(value, enum.Enum):
            return str(value), hash((ids.of(kind), value.name))
        if isinstance(value, _PLAIN):
            text = repr(value)
            # A value that is not equal to itself, NaN, is never found in a cache.
            return text, hash((kind.__qualname__, text)) if value == value else -id(value)
        if isinstance(value, (type, types.ModuleType)):
            return getattr(value, "__name__", str(value)), ids.of(value)
        if isinstance(value, np.dtype):
            return str(value), hash(str(value))
        if isinstance(value, np.generic):
            return f"np.{kind.__name__}({value})", hash((kind.__qualname__, str(value)))
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            dims = ",".join(map(str, value.shape))
            return f"{short_dtype(value.dtype)}[{dims}]", ids.of(value)
        if compares_by_identity(value):
            name, number = _name(value), ids.of(value)
            shown = f"{name} object {number}" if number > 0 else f"{name} object"
            return name if _is_function(value) else shown, number
        return self._with_eq(value, kind)

    def _with_eq(self, value: Any, kind: type) -> tuple[str, int]:
        """The `repr` and hash of a value whose type defines `__eq__`, where they do not raise."""
        text = f"{kind.__name__} object"
        with suppress(Exception):  # the user's own
            shown = repr(value)
            text = text if shown == object.__repr__(value) else _ADDRESS.sub("", shown)
        try:
            return text, hash((self._ids.of(kind), hash(value), shortened(text, 200)))
        except Exception:
            return text, self._ids.of(value)

    def _function(self, value: Any, code: types.CodeType, path: str, depth: int) -> tuple[str, int]:
        bound = getattr(value, "__self__", None)
        inner = getattr(value, "__func__", value)
        if self._by_code:
            own = hash(code_text(code))
        else:
            own = hash((self._ids.of(inner), 0 if bound is None else self._ids.of(bound)))
        name = _name(value)
        self._add(path, name, own, PartKind.FUNCTION)
        held = [(f"{path}.{name}", value) for name, _, value in _jax.closure(inner)]
        if bound is not None and not isinstance(bound, type):
            held.append((path, bound))
        with self._inside(own):
            tokens = [self.of(one, at, depth)[1] for at, one in held if one is not value]
        return name, hash((own, *tokens)) if self._by_code else own

    def _partial(self, value: functools.partial[Any], path: str, depth: int) -> tuple[str, int]:
        own = 0 if self._by_code else self._ids.of(value)
        self._add(path, "partial", own, PartKind.OBJECT)
        given = [(f"{path}.args[{i}]", one) for i, one in enumerate(value.args)]
        given += [(f"{path}.{name}", one) for name, one in value.keywords.items()]
        with self._inside(own):
            text, token = self.of(value.func, path and f"{path}.func", depth)
            found = [self.of(one, at, depth) for at, one in given]
        inner = ", ".join([text, *[one for one, _ in found]])
        tokens = hash((token, *[one for _, one in found]))
        return f"partial({inner})", tokens if self._by_code else own

    def _container(self, value: Any, path: str, depth: int) -> tuple[str, int]:
        kind = type(value)
        token = self.node(kind, path)
        names = getattr(kind, "_fields", ())
        if isinstance(value, Mapping):
            items = [(f"{path}[{_key(key)}]", one) for key, one in _some(value.items())]
        elif isinstance(value, (set, frozenset)):
            return self._set(value, token, path)
        elif len(names) == len(value):
            items = [(f"{path}.{name}", one) for name, one in zip(names, _some(value), strict=True)]
        else:
            items = [(f"{path}[{i}]", one) for i, one in enumerate(_some(value))]
        self._add(path, str(len(value)), len(value), PartKind.LENGTH)
        found: list[tuple[str, int]] = []
        for at, one in items:
            found.append(self.of(one, at, depth))
            if self._left <= 0:
                break
        tokens = [one for _, one in found]
        texts = [text for text, _ in found]
        if isinstance(value, Mapping):
            keys = [at.removeprefix(path) for at, _ in items]
            tokens = sorted(hash(pair) for pair in zip(keys, tokens, strict=False))
            texts = [f"{key[1:-1]}: {text}" for key, text in zip(keys, texts, strict=False)]
        left, right = _BRACKETS.get(kind, (f"{kind.__name__}(", ")"))
        comma = "," if kind is tuple and len(texts) == 1 else ""
        return f"{left}{', '.join(texts)}{comma}{right}", hash((token, len(value), *tokens))

    def _set(self, value: Any, token: int, path: str) -> tuple[str, int]:
        inside = Description(self._ids, by_code=self._by_code)
        found = sorted(inside.of(one, "") for one in _some(value))
        text = f"{type(value).__name__}({', '.join(text for text, _ in found)})"
        whole = hash((token, len(value), *sorted(one for _, one in found)))
        self._add(path, text, whole)
        return text, whole

    def _dataclass(self, value: Any, path: str, depth: int) -> tuple[str, int]:
        kind = type(value)
        if identity := compares_by_identity(value):
            token = self._ids.of(value)
            self._add(path, kind.__name__, token, PartKind.OBJECT)
        else:
            token = self.node(kind, path)
        fields = [one for one in dataclasses.fields(value) if one.compare]
        with self._inside(token if identity else 0):
            found = [
                (one, *self.of(getattr(value, one.name, None), f"{path}.{one.name}", depth))
                for one in fields
            ]
        inner = ", ".join(f"{one.name}={text}" for one, text, _ in found if one.repr)
        tokens = hash((token, *[token for *_, token in found]))
        return f"{kind.__name__}({inner})", token if identity else tokens


def _is_function(value: Any) -> bool:
    """Whether it is a function to its reader, such as a jitted one: a callable with a name."""
    return callable(value) and isinstance(getattr(value, "__name__", None), str)


def _some(items: Iterable[Any]) -> list[Any]:
    return list(itertools.islice(items, _PARTS))


def _key(key: Any) -> str:
    return shortened(repr(key) if isinstance(key, _PLAIN) else _name(key), 30)


def _name(value: Any) -> str:
    return str(getattr(value, "__qualname__", "") or type(value).__name__).rsplit(".", 1)[-1]
