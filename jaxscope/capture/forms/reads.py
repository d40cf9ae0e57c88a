"""The values that code can reach through names: what a trace may read, change or keep.

Names are followed through the user's functions and classes, and through the containers that hold
them. What is only reached while the code runs (`getattr` with a computed name, `exec`) is not seen.
"""

from __future__ import annotations

import builtins
import collections
import dis
import functools
import inspect
import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxscope.analysis.python.cell import REFLECTIVE
from jaxscope.analysis.python.marked_calls import all_codes
from jaxscope.capture._jax import closure
from jaxscope.capture.inputs import nnx
from jaxscope.capture.inputs.mutation import Snapshot, contents, is_users_module
from jaxscope.capture.source.frames import is_user_file

MISSING = object()
MOST_VALUES = 5_000
"""Values looked at below the names."""

_LRU_CACHE = type(functools.lru_cache(lambda: None))
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
_OUTSIDE = frozenset(
    "time datetime io _io _thread _contextvars os shutil subprocess uuid secrets logging "  # noqa: SIM905
    "threading queue socket urllib requests tqdm matplotlib IPython ipywidgets plotly wandb "
    "tempfile pathlib getpass".split()
)
"""Modules whose functions act on, or read, the world outside the program."""


class Reads:
    """Everything that some roots reach, found once."""

    def __init__(self) -> None:
        self.named: list[tuple[str, Any]] = []
        """Each value with the name that leads to it."""
        self.bindings: list[tuple[Mapping[str, Any], str, Any]] = []
        """Scope, name and value of each name that code reads; MISSING where it is unbound."""
        self.imported: list[tuple[Mapping[str, Any], str, Any]] = []
        """The same for the attributes of libraries' modules, which are not followed."""
        self.cells: list[tuple[str, Any, Any]] = []
        """Name, closure cell and value of the variables of closures."""
        self.scopes: dict[int, Any] = {}
        """The globals that the reached functions may assign."""
        self.iterators: list[tuple[str, Any]] = []
        self.generators: list[Any] = []
        """Random generators."""
        self.caches: list[tuple[str, Any]] = []
        self.outside = ""
        """The name of a function that acts outside of the program, or reads what does."""
        self.unknown = False
        """Whether code reads names that are not in its text."""
        self.truncated = False
        self.words: set[str] = set()
        """Names and attributes in the code of the functions."""
        self._classes: dict[int, tuple[str, type]] = {}
        self._modules: set[tuple[int, frozenset[str]]] = set()
        self._seen: dict[int, Any] = {}
        self._waiting: collections.deque[tuple[str, Any]] = collections.deque()

    def from_names(
        self, scope: Mapping[str, Any], names: Iterable[str], attributes: Iterable[str] = ()
    ) -> Reads:
        """Add these names of a scope, and these attributes of the modules among them."""
        for name in names:
            self._name(scope, name)
            if isinstance(scope.get(name), ModuleType):
                self._module(name, scope[name], attributes)
        self._walk()
        return self

    def from_values(self, values: Mapping[str, Any]) -> Reads:
        """Add these values by name."""
        for name, value in values.items():
            self._is_passed(value)
            self._add(name, value)
        self._walk()
        return self

    def reached(self) -> Iterable[Any]:
        """Every value that was followed, with and without a name."""
        return self._seen.values()

    def contents(self) -> dict[int, Any]:
        """The present contents of the user's modules, classes and closure cells, by identity."""
        found: dict[int, Any] = {id(cell): value for _, cell, value in self.cells}
        for _, value in self.named:
            if isinstance(value, ModuleType) and is_users_module(value.__name__):
                found[id(vars(value))] = dict(vars(value))
        for _, kind in self._classes.values():
            found[id(kind)] = dict(vars(kind))
        return found

    def snapshot(self, stored: Iterable[str] = ()) -> Snapshot:
        """The mutable containers among them; modules only where the text stores into them."""
        kept = set(stored)
        snapshot = Snapshot()
        for name, value in self.named:
            if isinstance(value, _LRU_CACHE) or nnx.is_nnx(value):
                continue
            if not isinstance(value, ModuleType) or name in kept:
                snapshot.take(name, value)
                for part in bound(value):
                    if not nnx.is_nnx(part):
                        snapshot.take(name, part)
        for name, kind in self._classes.values():
            snapshot.take(f"{name}.__class__", kind)
        for value in self._seen.values():
            if nnx.is_nnx(value):
                snapshot.keep(value)
            for part in bound(value):  # of a method in a container
                if not nnx.is_nnx(part):
                    snapshot.take(type(part).__name__, part)
        return snapshot

    def _name(self, scope: Mapping[str, Any], name: str) -> None:
        if name not in scope:
            self.bindings.append((scope, name, MISSING))
            value = getattr(builtins, name, None)
            if value in (open, input, breakpoint) or name in ("open", "input", "breakpoint"):
                self.outside = self.outside or name
            self.unknown = self.unknown or name in REFLECTIVE
            if value is not None:
                self.imported.append((vars(builtins), name, value))
            return
        value = scope[name]
        self.bindings.append((scope, name, value))
        self._add(name, value)

    def _add(self, name: str, value: Any) -> None:
        if id(value) not in self._seen:
            self._seen[id(value)] = value
            self.named.append((name, value))
            self._waiting.append((name, value))

    def _walk(self) -> None:
        while self._waiting:
            name, value = self._waiting.popleft()
            self._follow(name, value)

    def _follow(self, name: str, value: Any) -> None:
        if isinstance(value, _LRU_CACHE):
            self.caches.append((name, value))
        if is_outside(value) or is_outside(type(value)):
            self.outside = self.outside or name
        if isinstance(value, _GENERATORS):
            self.generators.append(value)
        elif hasattr(type(value), "__next__"):
            self.iterators.append((name, value))
        wrapped = inspect.getattr_static(value, "__wrapped__", None)
        if wrapped is not None and isinstance(wrapped, FunctionType):
            self._below(name, wrapped)
        if isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, MethodType):
            for owner in bound(value):
                self._below(name, value.__func__)
                self._below(name, owner)
        elif isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self._below(name, part)
        elif isinstance(value, type):
            if is_users_module(type(value).__module__):
                self._below(name, type(value))
            if is_users_module(value.__module__):
                for base in filter(lambda one: is_users_module(one.__module__), value.__mro__):
                    self._classes.setdefault(id(base), (name, base))
                    for member in vars(base).values():
                        self._below(name, getattr(member, "__func__", member))
                        self._below(name, getattr(member, "fget", None))
                        if isinstance(member, functools.cached_property):
                            self._below(name, member.func)
        elif not isinstance(value, ModuleType):
            if is_users_module(type(value).__module__):
                self._below(name, type(value))
            for child in _children(value):
                self._below(name, child)

    def _below(self, name: str, value: Any) -> None:
        """Follow a value that has no name of its own: only what may lead to code or state."""
        self._is_passed(value)
        if value is None or id(value) in self._seen or type(value) in _LEAVES:
            return
        if len(self._seen) >= MOST_VALUES:
            self.truncated = True
            return
        self._seen[id(value)] = value
        self._waiting.append((name, value))

    def _function(self, function: FunctionType) -> None:
        if not is_user_file(function.__code__.co_filename):
            return
        scope = function.__globals__
        self.scopes[id(scope)] = scope
        text = _text(function.__code__)
        self.words.update(text.names, text.attributes)
        for name in text.names:
            self._name(scope, name)
            value = scope.get(name)
            if isinstance(value, ModuleType):
                self._module(name, value, text.attributes)
        for free, cell, value in closure(function):
            self.cells.append((free, cell, value))
            self._add(free, value)
            if isinstance(value, ModuleType):
                self._module(free, value, text.attributes)
        free_values = {free: value for free, _, value in closure(function)}
        for name, *attributes in text.chains:
            self._is_passed(_end(free_values.get(name, scope.get(name)), attributes))
        reflects = "IMPORT_NAME" in text.operations or not _REFLECTIVE.isdisjoint(text.attributes)
        self.unknown = self.unknown or reflects
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._below(function.__name__, default)

    def _is_passed(self, value: Any) -> None:
        """Note a module of the user, or JAX's settings, whose attributes other code may read."""
        if value is jax.config or (isinstance(value, ModuleType) and made_by_user(value)):
            self.unknown = True

    def _module(self, name: str, module: ModuleType, used: Iterable[str]) -> None:
        used = frozenset(used)
        if (id(module), used) in self._modules:
            return
        self._modules.add((id(module), used))
        scope, of_user = vars(module), made_by_user(module)
        for attribute in used:
            if attribute not in scope:
                continue
            value = scope[attribute]
            (self.bindings if of_user else self.imported).append((scope, attribute, value))
            if of_user:
                self._add(f"{name}.{attribute}", value)
            if isinstance(value, ModuleType):
                self._module(f"{name}.{attribute}", value, used)


def _end(value: Any, attributes: Iterable[str]) -> Any:
    """The last value that these attributes of modules lead to."""
    for attribute in attributes:
        if not isinstance(value, ModuleType) or attribute not in vars(value):
            return value
        value = vars(value)[attribute]
    return value


def made_by_user(module: ModuleType) -> bool:
    return is_users_module(module.__name__) or vars(module).get("__spec__") is None


def is_outside(value: Any) -> bool:
    """Whether a value is a function, class or module that acts outside of the program."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] in _OUTSIDE
    if not callable(value):
        return False
    module = getattr(value, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in _OUTSIDE


_LEAVES = frozenset({bool, int, float, complex, str, bytes, type(None), np.ndarray})


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, (tuple, frozenset)):
        return value
    held = contents(value)
    if isinstance(held, dict):
        return [*held, *held.values()]
    return () if held is None or isinstance(held, bytearray) else list(held)


def bound(value: Any) -> Iterable[Any]:
    """The object of a user's bound method, and the arguments of a partial: a call may change them.

    Not that of a library's method: through `get_ipython` everything can be reached.
    """
    if isinstance(value, MethodType):
        inner = value.__func__
        if isinstance(inner, FunctionType) and is_user_file(inner.__code__.co_filename):
            yield value.__self__
    elif isinstance(value, functools.partial):
        yield from (*value.args, value.keywords, *value.keywords.values(), *bound(value.func))


class _Text(NamedTuple):
    """The names in a function's code, and in that of the functions inside it."""

    names: tuple[str, ...]
    """Names of the globals."""
    attributes: frozenset[str]
    operations: frozenset[str]
    chains: frozenset[tuple[str, ...]]
    """Names of globals and free variables, each with the attributes that are read from it."""


@functools.lru_cache(maxsize=1024)
def _text(code: CodeType) -> _Text:
    found = [i for one in (code, *all_codes(code)) for i in dis.get_instructions(one)]
    found = [i for i in found if i.opname != "EXTENDED_ARG"]
    return _Text(
        tuple(dict.fromkeys(str(i.argval) for i in found if i.opname in _OF_GLOBALS)),
        frozenset(str(i.argval) for i in found if i.opname in _OF_ATTRIBUTES),
        frozenset(i.opname for i in found),
        frozenset(_chain(found, at) for at, i in enumerate(found) if i.opname in _OF_VARIABLES),
    )


def _chain(found: Sequence[dis.Instruction], at: int) -> tuple[str, ...]:
    following = itertools.takewhile(lambda i: i.opname in _OF_ATTRIBUTES, found[at + 1 :])
    return (str(found[at].argval), *(str(i.argval) for i in following))


_OF_ATTRIBUTES = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_REFLECTIVE = frozenset(("__subclasses__", "__globals__", "__closure__", "f_globals", "user_ns"))
"""Attributes that reach values without naming them."""

_OF_GLOBALS = frozenset(
    ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL")
)
_OF_VARIABLES = _OF_GLOBALS | {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
