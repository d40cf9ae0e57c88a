"""Which equations of a program work on a batch: values followed from where `vmap` took them in.

A jaxpr does not say which of its values are batches. What entered each `vmap`, and along which
axis, is noted while JAX traces (`_jax.watching_vmaps`); which `vmap` an equation lies under stands
in its name stack and its traceback. From there the batch is followed through the equations and the
jaxprs inside them: an equation under a `vmap` depends on the batch exactly when one of its operands
does, which is the rule of JAX's own batching.

Where nothing was noted, because JAX had traced that part before, the batches are those values
whose first dimension has the size of the batch, and the axis is marked as a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.bodies import Reader
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.vmap.axes import VMAP, Program, has_vmap, variables_of
from jaxscope.capture.vmap.propagate import Told, Walk
from jaxscope.model import BatchedEquation, Batching, Unavailable

if TYPE_CHECKING:
    from jaxscope.capture.program.compile import Captured


def batching_of(captured: Captured, sources: SourceFiles) -> Batching | Unavailable | None:
    """What `vmap` made of a captured program; None when it has no vmap."""
    tagged = captured.handles.tagged
    try:
        if tagged.body is None or not has_vmap(tagged.body):
            return None
        one = captured.request.untransformed
        base = None if one is None else Program(Reader(sources).body(one.jaxpr), one.jaxpr)
        entries = captured.vmaps or _of_function(captured)
        found = read_batching(Program(tagged.body, tagged.jaxpr), entries, sources, base)
        # A rule of JAX's own can have left the name of a vmap behind that leads to no call of one.
        return found if found.axes else None
    except Exception as error:  # an equation of a form that nobody has seen
        reason = f"the batched equations could not be read ({type(error).__name__}: {error})"
        return Unavailable(reason)


def read_batching(
    program: Program,
    entries: Sequence[_jax.VmapEntry],
    sources: SourceFiles,
    base: Program | None = None,
) -> Batching:
    """What `vmap` made of a program that has it.

    `base` is the program of one example where it was traced first and transformed then: what a
    `vmap` inside it took in are values of that one.
    """
    told: Told = {}
    if base is not None and has_vmap(base.body):
        # What is inside was traced first, and stands under what was applied to it.
        own = variables_of(base.body)
        entries = sorted(entries, key=lambda entry: any(id(v) in own for v in entry.values))
        Walk(base, entries, {}, tell=told).follow()
    walk = Walk(program, entries, told)
    walk.follow()
    used = sorted({axis for each in walk.found for axis in each.under})
    numbers = {axis: number for number, axis in enumerate(used)}
    found = walk.found
    if len(used) < len(walk.axes.all):
        found = [_renumbered(each, numbers) for each in found]
    axes = [walk.axes.all[axis].described(sources) for axis in used]
    return Batching(tuple(axes), tuple(found))


def _renumbered(each: BatchedEquation, numbers: dict[int, int]) -> BatchedEquation:
    under, over = ([numbers[axis] for axis in axes] for axes in (each.under, each.over))
    return replace(each, under=tuple(under), over=tuple(over))


def _of_function(captured: Captured) -> list[_jax.VmapEntry]:
    """What enters the vmaps that a function begins with, where JAX had traced it before."""
    request, body = captured.request, captured.handles.tagged.body
    if body is None or len(captured.leaves()) != len(body.jaxpr.invars):
        return []
    leading = _jax.leading_vmaps(request.jitted, request.args, request.kwargs)
    under = (
        _jax.vmap_sites(_jax.traceback_of(e.equation)) for e in body.entries if VMAP in e.scopes
    )
    sites = next((found for found in under if len(found) >= len(leading)), ())
    values = tuple(body.jaxpr.invars)
    return [
        _jax.VmapEntry(site, name, size, axes, values)
        for site, (name, size, axes) in zip(sites, leading, strict=False)
    ]
