"""Freeze what a namespace holds, so that two sessions can be compared after they are gone.

A `Node` copies values (a later in-place change must not reach it) and keeps the identity of
whatever can be changed in place or told apart with ``is``: containers, objects, functions, arrays.
Tuples, strings, numbers and JAX arrays cannot be changed: which object holds them is not recorded.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import random
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

# `_`, `__`, `_7`, `_i`, `_i7`, `_ih` ... are IPython's history; `__doc__` differs between IPython,
# which compiles a cell statement by statement, and any whole-cell compile.
HISTORY = re.compile(r"_{1,3}|_\d+|_i{1,3}|_i\d+|_ih|_oh|_dh|__(?!annotations__)\w+__")
SCALARS = (
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    type(None),
    type(Ellipsis),
    range,
    slice,
    np.dtype,
)
PLAIN = (bool, int, float, complex, str, bytes, type(None))
"""Most of what there is; asked for by their exact type, these take no walk through the rest."""
ITERATORS = (
    types.GeneratorType,
    map,
    filter,
    zip,
    enumerate,
    reversed,
    type(iter([])),
    type(iter(())),
)


@dataclass(frozen=True, slots=True)
class Node:
    kind: str
    type: str
    value: Any = None
    children: tuple[tuple[str, Node], ...] = ()
    identity: int | None = None

    def walk(self) -> Iterable[Node]:
        yield self
        for _, child in self.children:
            yield from child.walk()


@dataclass(slots=True)
class Freezer:
    """One per session: it keeps every object alive, so that an identity is never used twice."""

    namespace: Mapping[str, Any]
    pins: dict[int, Any] = dataclasses.field(default_factory=dict)
    seen: set[int] = dataclasses.field(default_factory=set)

    def snapshot(self, hidden: Iterable[str] = ()) -> dict[str, Node]:
        self.seen = set()
        skip = set(hidden)
        names = sorted(n for n in self.namespace if n not in skip and not HISTORY.fullmatch(n))
        return {name: self.freeze(self.namespace[name]) for name in names}

    def freeze(self, obj: Any) -> Node:
        kind = type(obj).__name__
        if type(obj) in PLAIN:
            return Node("scalar", kind, obj)
        if isinstance(obj, jax.core.Tracer):
            return Node("tracer", kind, str(obj.aval))
        if isinstance(obj, jax.Array):
            return freeze_array(obj)
        if isinstance(obj, enum.Enum):
            return Node("scalar", kind, obj.name)
        if isinstance(obj, np.generic):
            return Node("numpy scalar", kind, obj)
        if isinstance(obj, SCALARS):
            return Node("scalar", kind, obj)
        if isinstance(obj, types.ModuleType):
            return Node("module", kind, obj.__name__)
        if isinstance(obj, (frozenset, tuple)) and not hasattr(obj, "__dict__"):
            return Node("tuple", kind, len(obj), self.items(obj))
        if isinstance(obj, (type, types.FunctionType)) and obj.__module__ != "__main__":
            return Node("library", kind, f"{obj.__module__}.{obj.__qualname__}")
        self.pins[id(obj)] = obj
        if isinstance(obj, np.ndarray) and obj.dtype != object:
            return Node("numpy", kind, obj.copy(), identity=id(obj))
        if id(obj) in self.seen:
            return Node("again", kind, identity=id(obj))
        self.seen.add(id(obj))
        value, children = self.contents(obj)
        return Node("object", kind, value, children, id(obj))

    def items(self, values: Iterable[Any]) -> tuple[tuple[str, Node], ...]:
        if isinstance(values, (set, frozenset)):
            values = sorted(values, key=repr)
        return tuple((f"[{i}]", self.freeze(v)) for i, v in enumerate(values))

    def attributes(self, values: Mapping[str, Any]) -> tuple[tuple[str, Node], ...]:
        # Sorted: flax itself rewrites the order of a module's attributes.
        return tuple((f".{k}", self.freeze(values[k])) for k in sorted(values))

    def contents(self, obj: Any) -> tuple[Any, tuple[tuple[str, Node], ...]]:
        """What there is to say of an object with an identity: a plain value, and its parts."""
        if isinstance(obj, Mapping) and hasattr(obj, "keys"):
            held = tuple((f"[{k!r}]", self.freeze(obj[k])) for k in obj)
            factory = obj.default_factory if isinstance(obj, collections.defaultdict) else None
            return factory and factory.__name__, held
        if isinstance(obj, (list, set, collections.deque, np.ndarray)):
            return len(obj), self.items(obj)
        if isinstance(obj, types.FunctionType):
            return self.function(obj)
        if isinstance(obj, type):
            return obj.__qualname__, ()
        if hasattr(obj, "__wrapped__") and hasattr(obj, "lower"):
            return "jitted", ((".__wrapped__", self.freeze(obj.__wrapped__)),)
        if isinstance(obj, functools.partial):
            parts = {"func": obj.func, "args": obj.args, "keywords": obj.keywords}
            return None, self.attributes(parts)
        if isinstance(obj, types.MethodType):
            return None, self.attributes({"self": obj.__self__, "func": obj.__func__})
        if isinstance(obj, BaseException):
            return None, self.attributes({"args": obj.args})
        if isinstance(obj, ITERATORS):
            return None, ()
        if isinstance(obj, np.random.Generator):
            return repr(obj.bit_generator.state), ()
        if isinstance(obj, random.Random):
            return obj.getstate(), ()
        libraries = {base.__module__.partition(".")[0] for base in type(obj).__mro__}
        if libraries & {"jax", "jaxlib"}:  # JAX's own objects: not ours to compare
            return None, ()
        if "pandas" in libraries:
            return obj.to_string(), ()
        if "flax" in libraries:
            return self.flax(obj)
        if dataclasses.is_dataclass(obj):
            fields = [f.name for f in dataclasses.fields(obj)]
            return None, self.attributes({n: getattr(obj, n) for n in fields if hasattr(obj, n)})
        held = dict(getattr(obj, "__dict__", {}))
        for cls in type(obj).__mro__:
            slots = getattr(cls, "__slots__", ())
            for slot in (slots,) if isinstance(slots, str) else slots:
                if hasattr(obj, slot) and not slot.startswith("__"):
                    held[slot] = getattr(obj, slot)
        return None if held or " at 0x" in repr(obj) else repr(obj), self.attributes(held)

    def function(self, obj: types.FunctionType) -> tuple[Any, tuple[tuple[str, Node], ...]]:
        parts: dict[str, Any] = {"defaults": obj.__defaults__, "kwdefaults": obj.__kwdefaults__}
        for name, cell in zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True):
            try:
                parts[name] = cell.cell_contents
            except ValueError:  # a free variable that is not bound yet
                parts[name] = "<unbound>"
        at_home = obj.__globals__ is self.namespace
        return (obj.__qualname__, obj.__code__.co_names, at_home), self.attributes(parts)

    def flax(self, obj: Any) -> tuple[Any, tuple[tuple[str, Node], ...]]:
        """Without the traces and node tables that flax keeps for itself."""
        if hasattr(obj, "get_metadata"):
            parts = {"value": obj.get_value(), **obj.get_metadata()}
            return None, self.attributes(parts)
        if dataclasses.is_dataclass(obj):  # a linen module
            names = [f.name for f in dataclasses.fields(obj) if f.name not in ("parent", "name")]
            return None, self.attributes({n: getattr(obj, n) for n in names})
        held = getattr(obj, "__dict__", {})
        return None, self.attributes({k: v for k, v in held.items() if "__" not in k})


def freeze_array(x: jax.Array) -> Node:
    if x.is_deleted():
        return Node("deleted", "Array")
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        data = np.array(jax.random.key_data(x))
        return Node("array", "Array", data, (("dtype", Node("scalar", "str", str(x.dtype))),))
    meta = {
        "dtype": str(x.dtype),
        "weak_type": bool(x.weak_type),
        "devices": sorted(d.id for d in x.devices()),
    }
    children = tuple((k, Node("scalar", type(v).__name__, v)) for k, v in meta.items())
    return Node("array", "Array", np.array(x), children)
