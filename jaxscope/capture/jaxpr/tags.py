"""Tags in the name stacks of a program, so that what is compiled from it can be traced back."""

from __future__ import annotations

import hashlib
import weakref
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from jaxscope.analysis.links.locator import STALE
from jaxscope.analysis.links.tags import TAG, TagPaths
from jaxscope.analysis.links.tags import tag as spell_tag
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.equations import entries_of, expand
from jaxscope.capture.jaxpr.reader import JaxprBody, JaxprReader, open_jaxpr
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Equation, Frame

ALREADY_LOWERED = (
    "the program was already lowered when jaxscope saw it, so its lines are matched by primitive, "
    "name and position"
)
NO_JAXPR = "JAX does not keep the jaxpr of a lowered program, so its lines cannot be linked"


@dataclass(frozen=True, slots=True)
class Tagged:
    """A program's equations, with the tags that lead to them."""

    equations: tuple[Equation, ...]
    hash: str
    """The end of the tags of the outermost equations; empty when the program is not tagged."""
    why: str
    """The reason that it is not tagged; empty when it is."""
    tag_paths: TagPaths
    places: dict[tuple[int, int], tuple[int, ...]] = field(repr=False)
    """See `equations.Expansion`."""
    jaxpr: Any = field(repr=False)
    """The jaxpr, kept alive because `places` goes by identity."""
    body: JaxprBody | None = field(default=None, repr=False)
    other: str = STALE
    """The reason that the compiled text can have tags of a different program."""


_LOWERED: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
"""By the jaxpr as it was traced, the one that was tagged when JAX lowered it."""


def tag(traced: Any, sources: SourceFiles, site: tuple[Frame, ...] = ()) -> Tagged:
    """Tag a `Traced`, called at `site`, in place before it is lowered. Never raises: `why` has the
    reason.

    In place, because JAX keys its caches on the jaxpr object: the lowering that follows is the one
    the user's own call will find, with donation, static arguments and shardings untouched.
    """
    try:
        closed_jaxpr = traced.jaxpr
    except Exception as error:
        return _nothing(f"this JAX gives no jaxpr of a traced function ({error!r})")
    return tag_jaxpr(_as_lowered(closed_jaxpr), sources, site=site)


def tag_lowering(sources: SourceFiles, around: tuple[Frame, ...] = ()) -> Tagged | None:
    """Tag the jaxpr that JAX is lowering, called from `around`; None where it cannot be seen.

    JAX has left out by then what no result depends on. The copies that it made of some equations
    bear these tags alone.
    """
    jaxpr = _jax.lowering_jaxpr()
    if jaxpr is None:
        return None
    with suppress(TypeError):
        _LOWERED[_jax.traced_jaxpr()] = jaxpr
    return tag_jaxpr(jaxpr, sources, around)


def tag_jaxpr(
    closed_jaxpr: Any,
    sources: SourceFiles,
    around: tuple[Frame, ...] = (),
    site: tuple[Frame, ...] = (),
) -> Tagged:
    """Tag a jaxpr that JAX is about to lower, in place; see `tag`."""
    try:
        body = JaxprReader(sources).body(closed_jaxpr)
    except Exception as error:
        return _nothing(f"the equations of the program could not be read ({error!r})")
    before = _paths_before(body)
    try:
        _push(body)
    except Exception as error:
        why = f"this JAX does not let equations be tagged ({error!r})"
        return _tagged(closed_jaxpr, body, sources, why=why, around=around, site=site)
    tagged = _tagged(closed_jaxpr, body, sources, body.digest, around=around, site=site)
    return replace(tagged, tag_paths=tagged.tag_paths.joined(before).joined(_paths_since(body)))


def _as_lowered(closed_jaxpr: Any) -> Any:
    """The jaxpr as JAX lowered it, where that was observed."""
    try:
        return _LOWERED.get(closed_jaxpr, closed_jaxpr)
    except TypeError:  # not weakly referable
        return closed_jaxpr


def has_tags(traced: Any) -> bool:
    """Whether some equation of a `Traced` is tagged, or it has none."""
    equations = open_jaxpr(_as_lowered(traced.jaxpr)).eqns
    scopes = (name for one in equations for _, name in _jax.name_scopes(one))
    return not equations or any(TAG.fullmatch(name) for name in scopes)


def untagged(traced: Any, sources: SourceFiles) -> Tagged:
    """The equations of a program that was lowered before, and so cannot be tagged any more.

    `traced` is a `Traced`, or a jaxpr; None when the user gave what was lowered already.
    """
    if traced is None:
        return _nothing(NO_JAXPR)
    try:
        closed_jaxpr = getattr(traced, "jaxpr", traced)
        body = JaxprReader(sources).body(closed_jaxpr)
        return _tagged(closed_jaxpr, body, sources, why=ALREADY_LOWERED)
    except Exception as error:
        return _nothing(f"the equations of the program could not be read ({error!r})")


def adopt(new: Tagged, old: Tagged) -> Tagged | None:
    """The new program's equations under the tags of an old one that was compiled; or None.

    For a cell that was edited in ways that do not reach the compiled program, which is then used
    again: it carries the old tags. The links stay exact if both have the same equations in the
    same order with the same data flow, so that the old program's equation n is the new one's n.
    """
    if not old.hash or new.body is None or old.body is None:
        return None
    if len(new.equations) != len(old.equations) or _structure(new.body) != _structure(old.body):
        return None
    return replace(new, hash=old.hash, why="", tag_paths=new.tag_paths.joined(old.tag_paths))


def _tagged(
    closed_jaxpr: Any,
    body: JaxprBody,
    sources: SourceFiles,
    digest: str = "",
    why: str = "",
    around: tuple[Frame, ...] = (),
    site: tuple[Frame, ...] = (),
) -> Tagged:
    expansion = expand(body, site or sources.whole_call(), around)
    tag_paths = TagPaths(expansion.tag_paths if digest else ())
    return Tagged(expansion.equations, digest, why, tag_paths, expansion.places, closed_jaxpr, body)


def _nothing(why: str) -> Tagged:
    return Tagged((), "", why, TagPaths(()), {}, None)


def _paths_before(body: JaxprBody) -> TagPaths:
    """The tag paths from before this program was tagged, where one equation has them.

    JAX drops what no result depends on into a jaxpr of its own before it lowers. If that one was
    tagged, in the listener, the equations that both jaxprs share bear its tags in what was lowered.
    """
    if not any(entry.tags for entry in body.entries):
        return TagPaths(())
    tag_paths = expand(body).tag_paths
    uses = Counter(tag_paths)
    return TagPaths([path if path and uses[path] == 1 else () for path in tag_paths])


def _paths_since(body: JaxprBody) -> TagPaths:
    """The tag paths from when this program was tagged, where another was tagged since.

    Both share equations, and what was lowered before bears the tags of that time.
    """
    entries = [(one, one.tags, spell_tag(i, owner.digest)) for owner, i, one in entries_of(body)]
    if all(tags[-1] == own for _, tags, own in entries):
        return TagPaths(())
    try:
        for entry, tags, own in entries:
            entry.tags = tags[: tags.index(own) + 1]
        return TagPaths(expand(body).tag_paths)
    finally:
        for entry, tags, _ in entries:
            entry.tags = tags


def _push(body: JaxprBody) -> None:
    """Push each equation's tag, unless it has it.

    A jaxpr that JAX shares among programs keeps the tags of the first. It may have a tag of another
    jaxpr too: differentiating a tagged jaxpr copies its name stacks.
    """
    for owner, index, entry in entries_of(body):
        name = spell_tag(index, owner.digest)
        if name not in entry.tags:
            _jax.push_scope(entry.equation, name)
            entry.tags = (*entry.tags, name)


def _structure(body: JaxprBody) -> str:
    """A hash of what a jaxpr computes: primitives, avals, simple parameters and data flow."""
    digest = hashlib.blake2b(digest_size=8)
    numbers: dict[int, int] = {}
    for owner, index, entry in entries_of(body):
        atoms = [*entry.equation.invars, "=", *entry.equation.outvars]
        parts = [str(index), entry.primitive, *entry.inputs, *entry.outputs]
        parts += [
            str(numbers.setdefault(id(atom), len(numbers))) if not hasattr(atom, "val") else "#"
            for atom in atoms
        ]
        parts += [str(len(inner.entries)) for inner in entry.bodies]
        parts += [
            f"{name}={value!r}"
            for name, value in entry.equation.params.items()
            if isinstance(value, (int, float, str, bool))
        ]
        digest.update("\t".join(parts).encode() + b"\n")
        if index == len(owner.entries) - 1:
            digest.update(repr([numbers.get(id(v), -1) for v in owner.jaxpr.outvars]).encode())
    return digest.hexdigest()
