"""Tracers that outlive their trace, wherever they are kept.

A snapshot sees the containers that names reach; a queue, a thread-local, an object array or the
closure of a jitted function it does not. So the tracers that are alive after a trace are counted:
a reference that does not come from the trace's own outcome is one that the user's code has kept.
"""

from __future__ import annotations

import collections
import functools
import gc
import sys
import types
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from jax.core import Tracer

from jaxscope.capture.inputs.pytrees import Branch


class TracerNet:
    """Finds the tracers created inside a block that something keeps.

    The collector is off inside the block, so that the objects created there stay in its youngest
    generations: looking through them takes less than a millisecond.
    """

    def __init__(self) -> None:
        self._enabled = False
        self._collections = 0
        self._explained: set[int] = set()

    def __enter__(self) -> Self:
        gc.collect(1)  # what is there already becomes old
        self._enabled = gc.isenabled()
        gc.disable()
        self._collections = _full_collections()
        return self

    def __exit__(self, *_: object) -> None:
        if self._enabled:
            gc.enable()

    def kept(self, outcome: Sequence[Any]) -> list[Tracer]:
        """Living tracers with references from outside the outcome of the trace.

        Each item of `outcome` is an attribute of one object.
        """
        if _full_collections() != self._collections:
            return []  # the user's code collected: nothing is known of the age of objects
        gc.collect(0)
        young = {id(one): one for level in (0, 1) for one in gc.get_objects(generation=level)}
        tracers = [one for one in young.values() if isinstance(one, Tracer)]
        if not tracers:
            return []
        # A root is held by its attribute and by `outcome`.
        expected = collections.Counter({id(root): 2 for root in outcome})
        seen = self._explained
        waiting = list(outcome)
        while waiting:
            item = waiting.pop()
            if id(item) in seen:
                continue
            seen.add(id(item))
            for below in gc.get_referents(item):
                expected[id(below)] += 1
                if id(below) in young and not isinstance(below, _NOT_FOLLOWED):
                    waiting.append(below)
        item = below = None
        ours = _references_of_search()
        return [one for one in tracers if sys.getrefcount(one) - ours > expected[id(one)]]

    def released(self, tracers: Sequence[Tracer], earlier: Mapping[int, Any]) -> str:
        """Remove tracers from the containers that keep them; the place of the first, in words.

        Empty if only JAX and jaxscope keep them: the rule of `eigvals` does.

        `earlier` has the contents of modules, classes and closure cells before the trace, by their
        identity.
        """
        places: list[str] = []
        known = {*self._explained, id(tracers)}
        for tracer in tracers:
            holders = _holders(tracer, known)
            if not holders and not _referrers(tracer, known):
                places.append("an object array, a jitted closure or an object in C")
            for item, holder in holders:
                places.append(_place(holder))
                if isinstance(holder, _CONTAINERS):
                    _remove(item, holder, earlier)
        return next(iter(places), "")


def weakly_kept(tracers: Iterable[Tracer]) -> bool:
    """Whether the user's code refers weakly to one of them.

    It is removed from weak dictionaries, and finalizers, which would be called at the end of the
    trace, are detached.
    """
    found = False
    for tracer in tracers:
        for reference in weakref.getweakrefs(tracer):
            finalizer: Any = reference.__callback__
            if not isinstance(finalizer, weakref.finalize):
                key = getattr(reference, "key", None)
                if isinstance(key, int):  # JAX keeps the tracers of constants by number
                    continue
                for holder in gc.get_referrers(reference):
                    if isinstance(holder, dict) and holder.get(key) is reference:
                        del holder[key]
                found = True
                continue
            alive = finalizer.peek()
            if alive is not None and not str(alive[1].__module__).startswith("jax."):
                finalizer.detach()
                found = True
    return found


def _references_of_search() -> int:
    """The references that `kept` itself holds to each tracer."""
    probe = object()
    young = {id(probe): probe}
    tracers = [one for one in young.values() if one is not None]
    del probe
    return next(iter([sys.getrefcount(one) for one in tracers]))


_NOT_FOLLOWED = (types.FrameType, types.ModuleType)
_WRAPPERS = (tuple, frozenset, functools.partial, types.MethodType)
_MOST_WRAPPERS = 4
_CONTAINERS = (dict, list, set, collections.deque, types.CellType)


def _referrers(item: Any, known: set[int]) -> list[Any]:
    return [
        one
        for one in gc.get_referrers(item)
        if id(one) not in known and not isinstance(one, types.FrameType)
    ]


def _holders(tracer: Tracer, known: set[int]) -> list[tuple[Any, Any]]:
    """Pairs of a kept value, the tracer or a tuple with it, and the user's object that keeps it."""
    found: list[tuple[Any, Any]] = []
    level: list[Any] = [tracer]
    for _ in range(_MOST_WRAPPERS):
        further: list[Any] = []
        for item in level:
            for holder in _referrers(item, known | {id(level), id(further)}):
                if isinstance(holder, _WRAPPERS):
                    further.append(holder)
                elif not _is_own(holder) and not _is_jaxs(holder):
                    found.append((item, holder))
        level = further
    return found


def _is_own(holder: Any) -> bool:
    """Whether it is an object of JAX or jaxscope."""
    return type(holder).__module__.partition(".")[0] in ("jax", "jaxlib", "jaxscope")


def _is_jaxs(holder: Any) -> bool:
    """Whether it is a container that JAX or, unless it is a dict, jaxscope holds."""
    if not isinstance(holder, _CONTAINERS):
        return False
    owners = [one for one in gc.get_referrers(holder) if not isinstance(one, types.FrameType)]
    if isinstance(holder, dict):  # jaxscope knows the user's namespace
        return any(type(one).__module__.startswith(("jax.", "jaxlib.")) for one in owners)
    # A branch of an input holds the user's own container.
    return any(_is_own(one) and not isinstance(one, Branch) for one in owners)


def _place(holder: Any) -> str:
    if isinstance(holder, dict) and isinstance(holder.get("__name__"), str):
        return f"the module {holder['__name__']}"
    if isinstance(holder, types.CellType):
        return "the closure of a function"
    return f"a {type(holder).__name__}"


def _remove(tracer: Any, holder: Any, earlier: Mapping[int, Any]) -> None:
    """Put back what the holder had in place of the tracer, as far as it is known."""
    if isinstance(holder, types.CellType):
        if id(holder) in earlier:
            holder.cell_contents = earlier[id(holder)]
    elif isinstance(holder, dict):
        owner = next((one for one in gc.get_referrers(holder) if _owns(one, holder)), None)
        known = earlier.get(id(holder if owner is None else owner), {})
        for key in [key for key, value in holder.items() if value is tracer]:
            if owner is not None:  # a class notes the changes of its members
                setattr(owner, key, known[key]) if key in known else delattr(owner, key)
            elif key in known:
                holder[key] = known[key]
            else:
                del holder[key]
    elif isinstance(holder, (list, collections.deque)):
        kept = [value for value in holder if value is not tracer]
        holder.clear()
        holder.extend(kept)
    elif isinstance(holder, set):
        holder.difference_update({value for value in holder if value is tracer})


def _owns(owner: Any, members: dict[str, Any]) -> bool:
    """Whether a class has this dict of members."""
    return isinstance(owner, type) and any(one is members for one in gc.get_referents(owner))


def _full_collections() -> int:
    return sum(level["collections"] for level in gc.get_stats()[1:])
