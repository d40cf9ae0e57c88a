"""Equality of programs: what JAX has traced, and what XLA would get."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from typing import Any

import jax
import numpy as np

from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.callbacks import callback_marks
from jaxscope.capture.jaxpr.computation import Itself, computation
from jaxscope.capture.program.request import CompileRequest, Key, Programs, TracedProgram


def traced_key(program: TracedProgram) -> Hashable:
    """The identity of a traced program, before it is lowered; None where it is unknown."""
    request = program.request
    try:
        places = tuple([_placement(leaf) for leaf in request.leaves()])
        names = (request.names(), places, _jax.trace_context())
        found = (computation(program.traced.jaxpr), *names)
        hash(found)
        return found
    except Exception:
        return None


def stores(
    request: CompileRequest, traced: Any, lowered: Any, target: str = ""
) -> Sequence[tuple[Programs, Key]]:
    """The programs of the cell or the line, and those of the function that it calls, with the key
    of this one; empty where nothing is reused."""
    if request.programs is None or (found := key(request, traced, lowered, target)) is None:
        return ()
    known = (request.programs, Programs.of(request.called))
    return [(one, found) for one in dict.fromkeys(known) if one is not None]


def key(request: CompileRequest, traced: Any, lowered: Any, target: str = "") -> Key | None:
    """The program's identity; None where it is unknown, so that nothing is reused.

    JAX's settings belong to it: with other settings JAX would trace the earlier function again,
    even if the program is the same. So does each captured `Ref`: the program changes that one.
    """
    try:
        refs = [Itself(one) for one in traced.jaxpr.consts if isinstance(one, jax.Ref)]
        found = (target + _digest(request, traced, lowered), (_jax.trace_context(), *refs))
        hash(found)
        return found
    except Exception:
        return None


def _digest(request: CompileRequest, traced: Any, lowered: Any) -> str:
    """A hash of everything that determines XLA's input and the results' Python types."""
    kept = _jax.kept_arguments(lowered)
    digest = hashlib.sha256(lowered.as_text().encode())
    for position, (path, leaf) in enumerate(zip(request.names(), request.leaves(), strict=True)):
        if kept is None or position in kept:
            digest.update(f"{path}:{_placement(leaf)};".encode())
    taken = [a for i, a in enumerate(traced.jaxpr.in_avals) if kept is None or i in kept]
    for aval in (*taken, *traced.jaxpr.out_avals):
        digest.update(f"{aval.str_short()}{getattr(aval, 'weak_type', '')};".encode())
    digest.update(repr(callback_marks(traced.jaxpr)).encode())
    for constant in _jax.constant_arguments(lowered):
        digest.update(np.asarray(constant).tobytes())
    return digest.hexdigest()


def _placement(leaf: Any) -> str:
    """The sharding and layout of a committed array; empty for other values."""
    if not isinstance(leaf, jax.Array) or not leaf.committed:
        return ""
    return f"{leaf.sharding}/{getattr(getattr(leaf, 'format', None), 'layout', None)}"
