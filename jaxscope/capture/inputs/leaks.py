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
import time
import types
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from jax.core import Tracer

from jaxscope import words
from jaxscope.capture.source.frames import is_user_file


class TracerNet:
    """Finds the tracers created inside a block that something keeps.

    The collector is off inside the block, so that the objects created there stay in its youngest
    generations: looking through them takes less than a millisecond.
    """

    def __init__(self) -> None:
        self._enabled = False
        self._collections = 0
        self._explained = set[int]()

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
        found = self._kept_now(outcome)
        for seconds in _WAITS_S:
            if not _in_frames(found):
                break
            found = []
            time.sleep(seconds)
            found = self._kept_now(outcome)
        return found

    def _kept_now(self, outcome: Sequence[Any]) -> list[Tracer]:
        if _full_collections() != self._collections:
            return []  # the user's code collected: nothing is known of the age of objects
        gc.collect(0)
        young = {id(one): one for level in (0, 1) for one in gc.get_objects(generation=level)}
        kinds = {kind for kind in set(map(type, young.values())) if issubclass(kind, Tracer)}
        if not kinds:
            return []
        tracers = [one for one in young.values() if type(one) in kinds]
        # A root is held by its attribute and by `outcome`.
        expected = collections.Counter({id(root): 2 for root in outcome})
        seen = self._explained = set[int]()
        level = {id(root): root for root in outcome}
        while level:
            seen.update(level)
            below = gc.get_referents(*level.values())
            expected.update(map(id, below))
            level = {}
            for one in below:  # a comprehension would keep `young` in a cell, which is young
                key = id(one)
                if key in young and key not in seen and not isinstance(one, _NOT_FOLLOWED):
                    level[key] = one
        one = below = None
        ours = _references_of_search()
        return [one for one in tracers if sys.getrefcount(one) - ours > expected[id(one)]]

    def released(self, tracers: Sequence[Tracer], earlier: Mapping[int, Any]) -> str:
        """Remove tracers from the containers that keep them; the place of the first, in words.

        Empty if only JAX and jaxscope keep them: the rule of `eigvals` does.

        `earlier` has the contents of modules, classes and closure cells before the trace, by their
        identity.
        """
        places: list[str] = []
        search = _Search(tracers, {*self._explained, id(tracers)})
        for tracer in tracers:
            holders = search.holders[id(tracer)]
            if not holders and id(tracer) not in search.referred:
                places.append("an object array, a jitted closure or an object in C")
            for item, holder in holders:
                owners = search.owners.get(id(holder), [])
                places.append(_place(holder, owners))
                # Since Python 3.13 an object can hold its attributes itself.
                held = holder if isinstance(holder, _CONTAINERS) else _members(holder)
                if isinstance(held, _CONTAINERS):
                    _remove(item, held, earlier, next((o for o in owners if _owns(o, held)), None))
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


_WAITS_S = (0.01, 0.05, 0.2)
"""A thread that looks at the frames of all others, as profilers and the watch of a cluster do, may
hold the trace's for a moment."""


def _in_frames(tracers: Sequence[Tracer]) -> bool:
    """Whether a frame that has ended refers to one of them."""
    found = gc.get_referrers(*tracers) if tracers else ()
    return any(isinstance(one, types.FrameType) for one in found)


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
_CACHE = type(functools.lru_cache(abs))
_FUNCTION = types.FunctionType
_CONTAINERS = (dict, list, set, collections.deque, types.CellType)


def _referrers(items: list[Any], known: set[int]) -> dict[int, list[Any]]:
    """By identity: the objects that refer to each item. One pass over all objects of Python."""
    found: dict[int, list[Any]] = {id(item): [] for item in items}
    given = tuple(items)  # Python 3.13 reports the tuple of its arguments
    for one in gc.get_referrers(*given) if given else ():
        if id(one) in known or one is items or one is given or isinstance(one, types.FrameType):
            continue
        for below in {id(below) for below in gc.get_referents(one)} & found.keys():
            found[below].append(one)
    return found


class _Search:
    """The user's objects that keep tracers, in few passes over all objects of the session."""

    def __init__(self, tracers: Sequence[Tracer], known: set[int]) -> None:
        self.holders: dict[int, list[tuple[Any, Any]]] = {id(one): [] for one in tracers}
        """By tracer: pairs of a kept value, the tracer or a tuple with it, and what keeps it."""
        self.referred: set[int] = set()
        """The tracers that an object refers to, which may be JAX's or jaxscope's."""
        inside = {id(one): [id(one)] for one in tracers}
        pairs: list[tuple[Any, Any]] = []
        level: list[Any] = list(tracers)
        for _ in range(_MOST_WRAPPERS):
            level = self._next_level(level, known | {id(pairs)}, inside, pairs)
        containers = {id(one): one for _, one in pairs if isinstance(one, _CONTAINERS)}
        self.owners = _referrers(list(containers.values()), set())
        """By container: what refers to it."""
        cached = _cached(list(containers.values()), self.owners)
        for item, holder in pairs:
            if id(holder) in cached:
                continue
            if not _is_jaxs(holder, self.owners.get(id(holder), [])):
                for tracer in inside[id(item)]:
                    self.holders[tracer].append((item, holder))

    def _next_level(
        self,
        level: list[Any],
        known: set[int],
        inside: dict[int, list[int]],
        pairs: list[tuple[Any, Any]],
    ) -> list[Any]:
        """Add what keeps these values to the pairs; the tuples and such among it are returned."""
        wrappers: dict[int, Any] = {}
        found = _referrers(level, known)
        for item in level:
            for holder in found[id(item)]:
                self.referred.update(inside[id(item)])
                if isinstance(holder, _WRAPPERS):
                    wrappers[id(holder)] = holder
                    inside.setdefault(id(holder), []).extend(inside[id(item)])
                elif not _is_own(holder):
                    pairs.append((item, holder))
        return list(wrappers.values())


def _is_own(holder: Any) -> bool:
    """Whether it is an object of JAX or jaxscope."""
    return type(holder).__module__.partition(".")[0] in ("jax", "jaxlib", "jaxscope")


def _is_jaxs(holder: Any, owners: Iterable[Any]) -> bool:
    """Whether it is a container that JAX or, unless it is a dict, jaxscope holds."""
    if not isinstance(holder, _CONTAINERS):
        return False
    if isinstance(holder, dict):  # jaxscope knows the user's namespace
        return any(type(one).__module__.startswith(("jax.", "jaxlib.")) for one in owners)
    return any(_is_trace(one) or (_is_own(one) and not _is_input(one, holder)) for one in owners)


def _cached(containers: list[Any], owners: Mapping[int, list[Any]]) -> set[int]:
    """Those that only a cache of JAX's functions holds, as `jax.closure_convert` has one by the
    function that it is given: a list in a result, or a variable of that function."""
    containers = [one for one in containers if not isinstance(one, dict)]
    above = dict(owners)

    def above_each(below: Iterable[Any], kind: type[Any]) -> list[Any]:
        """The objects of this kind that refer to these; what refers to them is added, at once."""
        found = {id(o): o for one in below for o in above[id(one)] if isinstance(o, kind)}
        above.update(_referrers([one for one in found.values() if id(one) not in above], set()))
        return list(found.values())

    def is_in_cache(value: Any) -> bool:
        held = above[id(value)]
        inside = [one for o in held if isinstance(o, tuple) for one in above[id(o)]]
        return any(map(_is_jaxs_cache, [*held, *inside]))

    def is_cached(container: Any) -> bool:
        if not isinstance(container, types.CellType):
            return is_in_cache(container)
        closures = [one for one in above[id(container)] if isinstance(one, tuple)]
        functions = [o for one in closures for o in above[id(one)] if isinstance(o, _FUNCTION)]
        return bool(functions) and all(_of_library(one) or is_in_cache(one) for one in functions)

    tuples = above_each(containers, tuple)
    above_each(above_each(tuples, _FUNCTION), tuple)
    return {id(one) for one in containers if is_cached(one)}


def _of_library(function: types.FunctionType) -> bool:
    return not is_user_file(function.__code__.co_filename)


def _is_jaxs_cache(holder: Any) -> bool:
    """Whether it is a cache of a function of JAX: Python's, or since jax 0.12 one of jaxlib."""
    kind = type(holder)
    if kind is _CACHE:
        return str(holder.__module__).startswith("jax.")
    return kind.__name__.endswith("LRUCache") and kind.__module__.startswith("jaxlib.")


def _is_trace(owner: Any) -> bool:
    """Whether it is a jaxpr with its constants, as the caches of jax 0.8 hold one for `scan`."""
    return isinstance(owner, tuple) and any(
        _is_own(one) and type(one).__name__ in ("Jaxpr", "ClosedJaxpr") for one in owner
    )


def _is_input(own: Any, holder: Any) -> bool:
    """Whether the object stands for an input that is the user's own container."""
    return any(getattr(own, name, None) is holder for name in ("original", "value"))


def _place(holder: Any, owners: Iterable[Any]) -> str:
    if isinstance(holder, dict) and isinstance(holder.get("__name__"), str):
        return f"the module {holder['__name__']}"
    if isinstance(holder, types.CellType):
        return "the closure of a function"
    named = next((one for one in owners if _members(one) is holder), holder)
    return words.a(type(named).__name__)


def _members(owner: Any) -> Any:
    """The dict of an object's attributes; None where it has none."""
    with suppress(AttributeError):
        return object.__getattribute__(owner, "__dict__")
    return None


def _remove(tracer: Any, holder: Any, earlier: Mapping[int, Any], owner: Any) -> None:
    """Put back what the holder, the members of `owner` if that is a class, had in place of the
    tracer, as far as it is known."""
    if isinstance(holder, types.CellType):
        if id(holder) in earlier:
            holder.cell_contents = earlier[id(holder)]
    elif isinstance(holder, dict):
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


def _owns(owner: Any, members: Any) -> bool:
    """Whether a class has this dict of members."""
    return isinstance(owner, type) and any(one is members for one in gc.get_referents(owner))


def _full_collections() -> int:
    return sum(level["collections"] for level in gc.get_stats()[1:])
