"""Notes on jitted functions whose globals changed since JAX traced them.

JAX traces a function once for the types of its arguments: a global that changes later, a helper
that was edited, or an attribute of a static `self` does not reach its program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jaxscope import words
from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.functions import reads_below
from jaxscope.capture.compiles.signature.reader import static_reads
from jaxscope.capture.compiles.traced_reads import TracedReads
from jaxscope.capture.forms.call import is_jitted
from jaxscope.capture.forms.library_jit import held_jit
from jaxscope.capture.program.compile import Captured


def outdated_traces(
    captured: Captured, namespace: Mapping[str, Any], traces: TracedReads
) -> list[str]:
    """A note on each, of the program itself and of the functions that the code calls by name."""
    traced = captured.handles.traced
    if traced is None:
        return []
    request = captured.request
    found = {request.name: (traced.jaxpr, request.jitted)}
    for equation in traced.jaxpr.eqns:
        name, inner = equation.params.get("name", ""), equation.params.get("jaxpr")
        called = namespace.get(name)
        _, jitted = held_jit(called) or ("", called)
        if inner is not None and is_jitted(jitted):
            found.setdefault(name, (inner, jitted))
    notes: list[str] = []
    for name, (jaxpr, jitted) in found.items():
        reads = reads_below(jitted)
        if name == request.name:
            call = _jax.staged_call(jitted, request.args, request.kwargs, 0)
            reads += static_reads(call)
        if changed := traces.changed(jaxpr, reads):
            of_object = any("." in one for one in changed)
            again = "Create the object again" if of_object else f"Define `{name}` again"
            notes.append(
                f"JAX traced `{name}` before {words.names(changed)} changed, and keeps that "
                f"program. {again}, or pass what changes as an argument."
            )
        traces.note(jaxpr, reads)
    return notes
