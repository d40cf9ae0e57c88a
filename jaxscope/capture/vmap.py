"""The batched equations of a program, followed from the values that entered its `vmap`s.

A jaxpr does not say which of its values are batched. The arguments of each `vmap`, and the axes
that it maps, are observed while JAX traces (`_jax.watching_vmaps`); the `vmap` around an equation
is in its name stack and its traceback. From there `analysis.vmap` follows the batch through the
equations and the jaxprs inside them.

Without an observation, because JAX had traced that part before, they are unknown: shapes do not
tell, since an unbatched value may have the size of the batch.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jaxscope.analysis.jaxpr.dataflow import distinct_regions
from jaxscope.analysis.vmap.axes import VMAP, VmapAxis, VmapCall
from jaxscope.analysis.vmap.propagate import KnownAxes, propagate
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.dataflow import RegionReader
from jaxscope.capture.jaxpr.equations import entries_of
from jaxscope.capture.jaxpr.reader import JaxprBody, JaxprReader
from jaxscope.capture.source.frames import is_user_file, position
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import BatchAxis, Batching, Frame, Unavailable
from jaxscope.version import HOME

if TYPE_CHECKING:
    from jaxscope.capture.program.compile import Captured


def batching_of(
    captured: Captured, sources: SourceFiles, regions: RegionReader
) -> Batching | Unavailable | None:
    """The batched equations of a captured program; None without a vmap, and where unknown."""
    body, jaxpr = captured.handles.tagged.body, captured.handles.tagged.jaxpr
    try:
        if body is None or not _has_vmap(body):
            return None
        one = captured.request.untransformed
        base = None if one is None else (JaxprReader(sources).body(one.jaxpr), one.jaxpr)
        entries = captured.vmaps or _OBSERVED.get(jaxpr) or _leading_entries(captured, body)
        program = (body, jaxpr)
        found = read_batching(program, entries, sources, base, regions)
        if entries and found is not None:
            _OBSERVED[jaxpr] = without_arrays(entries)
        # A rule of JAX's own can leave the name of a vmap behind that leads to no call of one.
        return found if found is not None and found.axes else None
    except Exception as error:  # an equation of an unknown form
        reason = f"the batched equations could not be read ({type(error).__name__}: {error})"
        return Unavailable(reason)


_OBSERVED: weakref.WeakKeyDictionary[Any, Sequence[_jax.VmapEntry]] = weakref.WeakKeyDictionary()
"""By jaxpr, what entered its vmaps: JAX traces a function once, and it can have several reports."""

JaxprPair = tuple[JaxprBody, Any]
"""A jaxpr as it was read, and as JAX has it."""


def read_batching(
    program: JaxprPair,
    entries: Sequence[_jax.VmapEntry],
    sources: SourceFiles,
    base: JaxprPair | None = None,
    regions: RegionReader | None = None,
) -> Batching | None:
    """The batched equations of a program that has a vmap.

    Without those of a library's own, as in `jnp.linalg.solve`, which neither is called by the
    user's code nor maps any. None where the values that entered another one were not observed.
    `base` is the untransformed program where it was traced first and transformed then: the values
    that entered a `vmap` inside it are values of that one.
    """
    regions = regions or RegionReader()
    tracebacks = _Tracebacks()
    known: KnownAxes = {}
    if base is not None and _has_vmap(base[0]):
        region = regions.region(base[0])
        # What is inside was traced first, and is under what was applied to it.
        own = {variable for one in distinct_regions(region) for variable in one.variables}
        entries = sorted(entries, key=lambda entry: any(id(v) in own for v in entry.values))
        calls = tracebacks.calls(entries, base[1])
        propagate(region, calls, tracebacks, learned=known)
    calls = tracebacks.calls(entries, program[1])
    axes, equations = propagate(regions.region(program[0]), calls, tracebacks, known)
    under = sorted({axis for each in equations for axis in each.under})
    used = [axis for axis in under if tracebacks.is_users(axes.all[axis])]
    if not all(axes.all[axis].known for axis in used):
        return None
    if len(used) < len(axes.all):
        numbers = {axis: number for number, axis in enumerate(used)}
        equations = [
            replace(
                each,
                under=tuple([numbers[axis] for axis in each.under if axis in numbers]),
                over=tuple([numbers[axis] for axis in each.over if axis in numbers]),
            )
            for each in equations
            if not numbers.keys().isdisjoint(each.under)
        ]
    described = [tracebacks.described(axes.all[axis], sources) for axis in used]
    return Batching(tuple(described), tuple(equations))


class _Tracebacks:
    """Reads JAX's tracebacks; call sites are keys by identity, and kept alive."""

    def __init__(self) -> None:
        self._sites: dict[Hashable, tuple[Hashable, ...]] = {}
        self._by_key: dict[Hashable, _jax.Site] = {}
        self._of_rules: set[Hashable] = set()
        """Calls by a rule of JAX."""

    def vmap_sites(self, traceback: Hashable) -> tuple[Hashable, ...]:
        known = self._sites.get(traceback)
        if known is None:
            found = _jax.vmap_sites(traceback)
            known = self._sites[traceback] = tuple([self._key(site) for site in found])
        return known

    def jax_calls(self, traceback: Hashable) -> tuple[tuple[str, str], ...]:
        return _jax.jax_calls(traceback)

    def calls(self, entries: Sequence[_jax.VmapEntry], jaxpr: Any) -> list[VmapCall]:
        """The observed calls of vmapped functions; captured arrays are variables of jaxprs."""
        variables: dict[Hashable, list[int]] = {}
        captured = any(hasattr(value, "nbytes") for entry in entries for value in entry.values)
        for variable, array in _jax.constant_pairs(jaxpr) if captured else ():
            variables.setdefault(_jax.array_key(array), []).append(id(variable))
        self._of_rules |= {self._key(entry.site) for entry in entries if entry.of_rule}
        return [
            VmapCall(
                self._key(entry.site),
                entry.name,
                entry.size,
                tuple(
                    (axis, variable)
                    for axis, v in zip(entry.axes, entry.values, strict=True)
                    for variable in variables.get(_jax.array_key(v), [id(v)])
                ),
            )
            for entry in entries
        ]

    def described(self, axis: VmapAxis, sources: SourceFiles) -> BatchAxis:
        """The axis with the line of the user's code that calls the batched function."""
        frame = _user_frame(self._by_key[axis.key[0]], sources)
        line, source = (None, 0) if frame is None else (frame.span.line, frame.source or 0)
        assert axis.size is not None  # known with its arguments
        return BatchAxis(axis.name, axis.size, line, source)

    def is_users(self, axis: VmapAxis) -> bool:
        """Whether the user's code calls it, itself or through a library's `vmap` as that of
        Equinox, or is mapped by it.

        Not where a library gives such a `vmap` a function of its own, as the activation of
        `eqx.nn.MLP`.
        """
        if axis.key[0] in self._of_rules:
            return False
        site = self._by_key[axis.key[0]]
        caller = _jax.vmap_caller(site)  # jaxscope calls it for the user
        if caller is None or caller.co_filename.startswith(HOME) or _is_own(caller):
            return True
        inside = [_jax.vmapped_code(t, site) for t in axis.tracebacks]
        if any(any(map(_is_own, codes)) for codes in inside):
            return True
        if "vmap" not in caller.co_qualname.lower():
            return False
        calling = _first_file((code for code, _ in site), caller)
        mapped = (_first_file(reversed(codes), caller) for codes in inside)
        return calling is None or calling not in mapped

    def _key(self, site: _jax.Site) -> Hashable:
        # By identity, since hashing a code object compares its constants.
        key = tuple([(id(code), offset) for code, offset in site])
        self._by_key[key] = site
        return key


def _first_file(codes: Iterable[types.CodeType], wrapper: types.CodeType) -> str | None:
    """The file of the first code that is neither JAX's nor the wrapper's."""
    left_out = (_jax.jax_directory(), wrapper.co_filename)
    files = (code.co_filename for code in codes)
    return next((file for file in files if not file.startswith(left_out)), None)


def _is_own(code: types.CodeType) -> bool:
    return is_user_file(code.co_filename)


def _user_frame(site: _jax.Site, sources: SourceFiles) -> Frame | None:
    for code, offset in site:
        if sources.index_of(code) is not None:
            return sources.frame(code.co_filename, code.co_qualname, position(code, offset))
    return None


def _leading_entries(captured: Captured, body: JaxprBody) -> list[_jax.VmapEntry]:
    """The arguments of the vmaps that a function begins with, where JAX had traced it before."""
    request = captured.request
    if len(captured.leaves()) != len(body.jaxpr.invars):
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


def _has_vmap(body: JaxprBody) -> bool:
    return any(VMAP in entry.scopes for _, _, entry in entries_of(body))


def without_arrays(entries: Sequence[_jax.VmapEntry]) -> list[_jax.VmapEntry]:
    """The entries without captured arrays, which would stay in memory with them."""
    return [
        replace(entry, values=tuple([None if hasattr(v, "nbytes") else v for v in entry.values]))
        for entry in entries
    ]
