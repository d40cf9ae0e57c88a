"""Programs that were lowered or compiled before jaxscope saw them, compiled again to link lines.

JAX keeps the lowering of a function that has run, so the tags that are put into its jaxpr then
reach nothing; and its persistent cache gives a program as it was first compiled, without tags. A
copy of the jaxpr is lowered and compiled with them. What ran stays what is timed: the two programs
must be the same text, names of locations and of instructions apart.
"""

import re
import time
import weakref
from dataclasses import replace
from typing import Any

from jaxscope.analysis.links.tags import TAG, TAG_HEX, clean_hlo
from jaxscope.capture import _jax
from jaxscope.capture.compiles import persistent_cache
from jaxscope.capture.compiles.listener import own_work
from jaxscope.capture.program.compile import Captured, Say
from jaxscope.capture.program.stages import Handles
from jaxscope.capture.source.sources import SourceFiles

_KNOWN: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
"""By jaxpr, the copy that was lowered with tags."""
_TAGGED: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
"""By executable, the hash of the tags that were seen in its text."""

_NAME = re.compile(r"%[\w.\-]+")
_METADATA = re.compile(r', metadata=\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}')


def linked_again(
    captured: Captured, sources: SourceFiles, say: Say
) -> tuple[Captured, float] | None:
    """The program with exact links, and the seconds that compiling it took, 0 where it is known.

    None where its links are exact already, where it cannot be lowered again or is interrupted, and
    where XLA made another program of it.
    """
    handles = captured.handles
    tagged = handles.tagged
    if handles.foreign is not None:  # its links are exact, or nothing can be done
        return None
    if handles.traced is None or handles.lowered is None or tagged.why or not tagged.equations:
        return None
    try:
        made, seconds = _linked(handles, sources, say)
    except (Exception, KeyboardInterrupt):  # the links stay approximate
        return None
    return None if made is None else (replace(captured, handles=made), seconds)


def _linked(handles: Handles, sources: SourceFiles, say: Say) -> tuple[Handles | None, float]:
    if _TAGGED.get(handles.compiled) == handles.tagged.hash:
        return None, 0.0
    before, jaxpr = handles.raw(), handles.traced.jaxpr
    if handles.tagged.hash in before:
        _TAGGED[handles.compiled] = handles.tagged.hash
        return None, 0.0
    # Functions inside may have tags of other programs, which lead to no line of this one.
    outermost = {path[0][-TAG_HEX:] for path, _ in handles.tagged.tag_paths.items()}
    if not persistent_cache.directory() and any(
        digest in text
        for text in (before, handles.lowered.as_text("stablehlo", debug_info=True))
        for digest in outermost
    ):
        return None, 0.0  # lowered with tags, of which nothing may be left
    known = _KNOWN.get(jaxpr)
    traced = known or _jax.lowered_anew(handles.traced)
    if traced is None:
        return None, 0.0
    say("compiling again")
    began = time.perf_counter()
    with own_work(), _jax.metadata_in_cache_key():
        lowered = traced.lower()  # once: JAX keeps it, and what it compiles to
        compiled = lowered.compile()
    seconds = 0.0 if known else time.perf_counter() - began
    after = str(compiled.as_text())
    _KNOWN[jaxpr] = traced
    if not TAG.search(after):
        return None, seconds
    if _computed(before) == _computed(after):
        return Handles(traced, lowered, compiled, handles.tagged, sources), seconds
    text = _renamed(after, before)
    if text is None:
        return None, seconds
    return Handles(traced, lowered, handles.compiled, handles.tagged, sources, text=text), seconds


def _renamed(text: str, like: str) -> str | None:
    """The text with the names of the other, where the two are one program apart from names.

    XLA numbers its instructions anew where tags keep it from an intermediate step.
    """
    old, own = (
        dict.fromkeys(_NAME.findall(_METADATA.sub("", one))) for one in (like, text)
    )  # in order; a name may hold a tag
    names = dict(zip(own, old, strict=False))
    made = _NAME.sub(lambda found: names.get(found[0], found[0]), text)
    return made if _computed(made) == _computed(like) else None


def _computed(text: str) -> str:
    return _METADATA.sub("", clean_hlo(text).text)
