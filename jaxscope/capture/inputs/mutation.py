"""Detect and undo in-place changes that a cell makes while it is traced.

Plain Python would keep such a change; here it would leave a tracer behind, or survive a cell that
failed. So the containers that the cell can reach are recorded in a snapshot before the trace,
compared after it, and restored.
"""

from __future__ import annotations

import argparse
import collections
import gc
import itertools
import queue
import sys
import threading
import types
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxscope.capture.source.frames import is_installed, is_user_file

MOST_OBJECTS = 50_000
"""Objects looked at before giving up: some 20 ms of walking."""

MOST_OF_LIBRARIES = 2_000
"""Objects of libraries looked at."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A container whose contents changed."""

    path: str
    container: Any


class Snapshot:
    """Shallow copies of mutable containers, taken at one moment."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[Any, Any, str]] = {}
        self._arrays: list[np.ndarray] = []
        self._of_libraries: dict[int, tuple[Any, Any]] = {}
        self.partial = False
        """Whether more than MOST_OBJECTS are reachable: changes of the rest go unnoticed."""

    def take(self, path: str, value: Any) -> None:
        """Remember every mutable container reachable from `value`, and lock its NumPy arrays."""
        queue = collections.deque([(path, value)])
        while queue and len(self._seen) < MOST_OBJECTS:
            where, item = queue.popleft()
            if id(item) in self._seen or isinstance(item, jax.Array):
                continue
            held = contents(item)
            if held is not None:
                self._seen[id(item)] = (item, held, where)
                queue.extend(_named(where, item, held))
            elif isinstance(item, tuple):
                queue.extend((f"{where}[{i}]", child) for i, child in enumerate(item))
            elif isinstance(item, np.ndarray) and item.flags.writeable:
                self._arrays.append(item)
            else:
                self._take_of_library(item)
        self.partial = self.partial or bool(queue)

    def keep(self, value: Any) -> None:
        """Remember a Flax NNX object and those below it, for the case that the cell fails."""
        queue = collections.deque([value])
        while queue and len(self._of_libraries) < MOST_OBJECTS:
            item = queue.popleft()
            if id(item) in self._of_libraries or isinstance(item, jax.Array | np.ndarray | type):
                continue
            of_library = _is_library_object(item)
            held = _attributes(item) if of_library else contents(item)
            if isinstance(item, tuple):
                queue.extend(item)
            elif held is not None:
                queue.extend(held.values() if isinstance(held, dict) else held)
                self._of_libraries[id(item)] = (item, held)

    def _take_of_library(self, value: Any) -> None:
        """Remember an object of a library, and what it holds, for the case that the cell fails.

        A library may cache what it computes, so such a change is no reason to refuse a cell.
        """
        queue = collections.deque([value])
        while queue and len(self._of_libraries) < MOST_OF_LIBRARIES:
            item = queue.popleft()
            if id(item) in self._seen or id(item) in self._of_libraries:
                continue
            if _is_library_object(item):
                held = _attributes(item)
                queue.extend(held.values())
            elif isinstance(item, tuple):
                queue.extend(item)
                continue
            elif item is value or isinstance(item, _CODE) or (held := contents(item)) is None:
                continue
            else:
                queue.extend(held.values() if isinstance(held, dict) else held)
            self._of_libraries[id(item)] = (item, held)

    def containers(self) -> list[tuple[Any, Any]]:
        """Each container with its contents at that moment."""
        return [(item, held) for item, held, _ in self._seen.values()]

    def arrays(self) -> list[np.ndarray]:
        """The NumPy arrays that could be written to."""
        return list(self._arrays)

    def changes(self) -> list[Mutation]:
        """The containers whose contents changed, in the order they were reached."""
        return [
            Mutation(path, item)
            for item, held, path in self._seen.values()
            if not same_contents(held, contents(item))
        ]

    def restore(self) -> None:
        """Restore the contents of the changed containers."""
        for item, held, _ in self._seen.values():
            if not same_contents(held, contents(item)):
                _restore(item, held)

    def restore_libraries(self) -> None:
        """Restore the changed objects of libraries."""
        for item, held in self._of_libraries.values():
            now = _attributes(item) if _is_library_object(item) else contents(item)
            if not same_contents(held, now):
                _restore(item, held)

    @contextmanager
    def arrays_locked(self) -> Generator[None]:
        """NumPy arrays refuse writes, so that none changes silently."""
        locked: list[np.ndarray] = []
        try:
            for array in self._arrays:
                if array.flags.writeable:
                    array.flags.writeable = False
                    locked.append(array)
            yield
        finally:
            for array in locked:
                _unlock(array)


def _unlock(array: np.ndarray) -> None:
    """Make an array writeable again, which NumPy allows for a view only while its base is."""
    base = array.base
    locked = base if isinstance(base, np.ndarray) and not base.flags.writeable else None
    if locked is not None:
        _unlock(locked)
    array.flags.writeable = True
    if locked is not None:  # it is unlocked in its turn, or was read-only before
        locked.flags.writeable = False


def contents(item: Any) -> Any:
    """A shallow copy of a mutable container's contents; None for anything else."""
    for kind in _CONTAINERS:
        if isinstance(item, kind):
            return kind(item)
    if isinstance(item, types.ModuleType):
        return dict(vars(item))
    if isinstance(item, (type, types.FunctionType)):
        if not is_users_module(item.__module__ or ""):
            return None
        if isinstance(item, type):
            return {n: v for n, v in vars(item).items() if not n.startswith("__")}
        # Its defaults may keep values between calls.
        return {**vars(item), "__defaults__": item.__defaults__}
    return _attributes(item) if is_users_object(item) or isinstance(item, queue.Queue) else None


def is_users_object(item: Any) -> bool:
    """An instance of a class that the user wrote, or one of `NAMESPACES`."""
    kind = type(item)
    if kind in NAMESPACES:
        return True
    if isinstance(item, _CODE) or kind.__module__ == "builtins":
        return False
    return is_users_module(kind.__module__)


def _is_library_object(item: Any) -> bool:
    """An instance of an installed library's class, other than of those that draw and compute."""
    module = type(item).__module__
    if module.partition(".")[0] in _NOT_RESTORED or isinstance(item, _CODE):
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and is_installed(file)


def find_tracer(value: Any, skip: Iterable[int] = ()) -> bool:
    """Whether a tracer is anywhere below `value`: in a closure, a generator, an object."""
    return any(isinstance(item, Tracer) for item in below(value, skip))


def below(value: Any, skip: Iterable[int] = ()) -> Iterator[Any]:
    """A value, and everything that it holds, up to `MOST_OBJECTS`.

    Walks the references that the garbage collector sees; modules, classes and the globals of
    functions are not followed.
    """
    # A thread keeps the hook for its errors: through IPython's, everything can be reached.
    hooks = {id(getattr(hook, "__self__", None)) for hook in (sys.excepthook, threading.excepthook)}
    seen: set[int] = {*skip, *(hooks - {id(None)})}
    queue: collections.deque[Any] = collections.deque([value])
    while queue and len(seen) < MOST_OBJECTS:
        item = queue.popleft()
        if id(item) in seen or isinstance(item, _NOT_FOLLOWED) or _is_ours(item):
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, types.FunctionType):
            # Not its globals and builtins: from there everything can be reached.
            queue.extend((item.__closure__, item.__defaults__, item.__kwdefaults__, item.__dict__))
            continue
        if isinstance(item, types.GeneratorType) and item.gi_frame is not None:
            seen.add(id(item.gi_frame.f_globals))
            queue.extend(item.gi_frame.f_locals.values())
            continue
        queue.extend(gc.get_referents(item))


def _is_ours(item: Any) -> bool:
    """Whether jaxscope made it: a compile log reaches the session, and so everything."""
    return type(item).__module__.partition(".")[0] == "jaxscope"


NAMESPACES = (types.SimpleNamespace, argparse.Namespace)
"""Classes of Python whose objects hold what the user assigns to them."""

_CODE = (types.FunctionType, types.MethodType, types.ModuleType, type)
_NOT_FOLLOWED = (types.ModuleType, type, types.CodeType, str, bytes, int, float)
_CONTAINERS: tuple[Any, ...] = (dict, list, set, collections.deque, bytearray)


def _attributes(item: Any) -> dict[str, Any]:
    known: Any = None
    with suppress(AttributeError):  # some invent attributes, and `nnx.Variable` has its value's
        known = object.__getattribute__(item, "__dict__")
    held: dict[str, Any] = dict(known) if isinstance(known, dict) else {}
    for kind in type(item).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(item, name):
                held[name] = getattr(item, name)
    return held


def is_users_module(name: str) -> bool:
    if name == "__main__":
        return True
    if name.partition(".")[0] == "jaxscope":
        return False
    file = getattr(sys.modules.get(name), "__file__", None)
    return file is not None and is_user_file(file)


_NOT_RESTORED = frozenset(
    (
        *("jax", "jaxlib", "numpy", "numba", "llvmlite", "torch"),
        *("pandas", "matplotlib", "IPython", "ipywidgets", "plotly"),
    )
)


def _named(where: str, item: Any, held: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(item, dict):
        values = ((f"{where}[{key!r}]", child) for key, child in held.items())
        return itertools.chain(values, ((where, key) for key in held if is_users_object(key)))
    if isinstance(held, dict) and not isinstance(item, types.ModuleType):
        return ((f"{where}.{key}", child) for key, child in held.items())
    if isinstance(item, (list, collections.deque)):
        return ((f"{where}[{i}]", child) for i, child in enumerate(held))
    if isinstance(item, set):
        return ((where, child) for child in held)
    return iter(())


def same_contents(before: Any, now: Any) -> bool:
    """Whether two snapshots of a container hold the same objects."""
    if isinstance(before, dict):
        return before.keys() == now.keys() and all(before[k] is now[k] for k in before)
    if isinstance(before, (list, collections.deque)):
        return len(before) == len(now) and all(a is b for a, b in zip(before, now, strict=True))
    return bool(before == now)


def _restore(item: Any, held: Any) -> None:
    if isinstance(item, (list, bytearray)):
        item[:] = held
        return
    if isinstance(item, (dict, set)):
        item.clear()
        item.update(held)
    elif isinstance(item, collections.deque):
        item.clear()
        item.extend(held)
    else:
        plain = isinstance(item, (type, types.ModuleType, types.FunctionType))
        remove = delattr if plain else object.__delattr__
        store = setattr if plain else object.__setattr__
        now = _attributes(item) if _is_library_object(item) else contents(item)
        for name in now.keys() - held.keys():
            remove(item, name)
        for name, value in held.items():
            if now.get(name, item) is not value:
                store(item, name, value)
