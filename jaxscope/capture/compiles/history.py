"""The compiles that a listener saw, and what each of them is to be compared with.

While JAX compiles, a signature is stored and nothing is compared. Why it happened is worked out
when somebody asks, from what is still kept.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace

from jaxscope.analysis.compiles.causes import (
    NEAREST_OF,
    Earlier,
    Explained,
    Signature,
    cut_for_devices,
    eager_op,
    explain,
    first_call,
    unknown,
)
from jaxscope.capture import _jax
from jaxscope.capture.compiles.earlier_traces import flat_call
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.model.compiles import Cause, CauseKind, CompileKind

_KEPT = 10_000  # compiles a listener remembers: some 20 MB
_FUNCTIONS = 20_000
Key = tuple[object, ...]


class History:
    """The latest compiles of all threads, in the order they began, and an index by function."""

    def __init__(self, kept: int = _KEPT) -> None:
        self.records: deque[RawCompile] = deque(maxlen=kept)
        self._by_number: dict[int, RawCompile] = {}
        self._families: dict[Key, deque[int]] = {}
        self._lock = threading.RLock()
        self._known: dict[int, bool | None] = {}
        self.count = 0

    def add(self, raw: RawCompile) -> None:
        """Number a compile that begins."""
        with self._lock:
            self.count += 1
            raw.number = self.count
            raw.history = self
            if len(self.records) == self.records.maxlen:
                self._forget(self.records.popleft())
            self.records.append(raw)
            self._by_number[raw.number] = raw

    def finished(self, raw: RawCompile) -> None:
        """From now on later compiles may be compared with this one."""
        if raw.call is None or raw.error or not raw.number:
            return
        with self._lock:
            if raw.number not in self._by_number:
                return
            for key in families(raw):
                self._families.setdefault(key, deque()).append(raw.number)

    def met(self, raw: RawCompile, traced: bool | None) -> bool:
        """Whether this function was seen before. If not, `traced` is kept for it: whether JAX had
        traced it before the listening began."""
        serial = raw.call.function.serial if raw.call is not None else 0
        if serial <= 0:
            return False
        with self._lock:
            met = serial in self._known
            if not met and len(self._known) >= _FUNCTIONS:
                self._known.clear()
            raw.traced_before = self._known.setdefault(serial, traced)
        return met

    def get(self, number: int) -> RawCompile | None:
        """The compile of this number, as long as it is kept."""
        return self._by_number.get(number)

    def latest(self, raw: RawCompile) -> RawCompile | None:
        """The latest compile of the same code, finished or not by this object of it."""
        with self._lock:
            for key in families(raw):
                for number in reversed(self._families.get(key, ())):
                    if number != raw.number:
                        return self._by_number.get(number)
        return None

    def explain(self, raw: RawCompile) -> Explained:
        """Why a compile happened, as far as what is kept can tell."""
        signature = raw.call
        if signature is None:
            return Explained((self._without_call(raw),))
        if signature.function.internal and _jax.cuts_for_devices(signature.function.name):
            return Explained((self._cut(raw, signature),))
        for key in families(raw):
            earlier = self._earlier(key, raw)
            if earlier:
                return explain(signature, earlier)
        if raw.kind is CompileKind.EAGER or signature.eager:
            return Explained((eager_op(signature.function.name),))
        if raw.before:
            return self._with_before(raw, signature)
        return Explained((self._first(raw, signature),))

    def _cut(self, raw: RawCompile, signature: Signature) -> Cause:
        """JAX cuts an input for its devices: the array is what there is to tell."""
        key = next(iter(families(raw)), ())
        earlier = self._earlier(key, raw)
        before = _first_argument(earlier[-1].signature) if earlier else ""
        return cut_for_devices(signature.function.name, _first_argument(signature), before)

    def _earlier(self, key: Key, raw: RawCompile) -> list[Earlier]:
        with self._lock:
            numbers = self._families.get(key, ())
            found: list[RawCompile] = []
            for number in reversed(numbers):
                if number < raw.number and (one := self._by_number.get(number)) is not None:
                    found.append(one)
                    if len(found) >= NEAREST_OF:
                        break
        here = raw.place
        return [
            Earlier(one.number, one.call, one.place != here, raw.orphaned)
            for one in reversed(found)
            if one.call is not None
        ]

    def _without_call(self, raw: RawCompile) -> Cause:
        before = any(
            one.number < raw.number and one.compiled and one.fun_name == raw.fun_name
            for one in self._snapshot()
        )
        if before or raw.kind not in (CompileKind.JIT, CompileKind.NESTED):
            why = "this JAX does not show what it was called with"
            return unknown(raw.fun_name, why)
        return first_call(raw.fun_name, sure=False)

    def _first(self, raw: RawCompile, signature: Signature) -> Cause:
        note = ""
        for one in self._same_function(raw, signature):
            if one.error:
                note = f"Compile {one.number}, of the same function, ended with {one.error}."
            elif one.traced and not one.compiled:
                note = "It had been traced already, without being compiled."
        return first_call(
            raw.fun_name, sure=raw.traced_before is False, under=signature.transform, note=note
        )

    def _same_function(self, raw: RawCompile, signature: Signature) -> Iterator[RawCompile]:
        known = signature.function
        for one in self._snapshot():
            if one.number >= raw.number or one.call is None:
                continue
            other = one.call.function
            # `make_jaxpr` wraps the function anew: then only the code is the same.
            if other.serial == known.serial or (known.code and other.code == known.code):
                yield one

    def _with_before(self, raw: RawCompile, signature: Signature) -> Explained:
        """Compared with traces from before anybody listened: their shapes and types are known."""
        flat = flat_call(signature)
        if not any(one.statics for one in raw.before):  # this JAX does not show them
            flat = replace(flat, statics=())
        found = explain(flat, [Earlier(0, one) for one in raw.before])
        causes = [c for c in found.causes if c.kind is not CauseKind.CACHE_CLEARED]
        if not causes and any(one.traced for one in self._same_function(raw, signature)):
            return Explained((self._first(raw, signature),))
        if not causes:
            why = (
                "JAX had traced it before jaxscope listened, with equal shapes and types, so what "
                "differs is where its arguments lie, an option or a setting"
            )
            causes = [unknown(raw.fun_name, why)]
        return Explained(tuple(causes))

    def _snapshot(self) -> tuple[RawCompile, ...]:
        with self._lock:
            return tuple(self.records)

    def _forget(self, raw: RawCompile) -> None:
        self._by_number.pop(raw.number, None)
        raw.history = None
        for key in families(raw):
            numbers = self._families.get(key)
            if numbers is None:
                continue
            if numbers and numbers[0] == raw.number:
                numbers.popleft()
            elif raw.number in numbers:
                numbers.remove(raw.number)
            if not numbers:
                del self._families[key]


def families(raw: RawCompile) -> Iterable[Key]:
    """Groups of compiles that may be compared, the closest first."""
    call = raw.call
    if call is None:
        return ()
    known, under = call.function, call.transform
    if known.origin:
        return (("cell", known.origin, known.wrappers),)
    if call.eager and known.internal and not known.file:
        return (("operation", known.name, under),)
    way = "pmap" if raw.kind is CompileKind.PMAP else under
    keys: list[Key] = []
    if known.serial:
        keys.append(("object", known.serial, way))
    if known.code:
        keys.append(("code", known.code, known.wrappers, way))
    if known.is_lambda:
        keys.append(("text", known.text, known.wrappers, known.file, known.line, way))
        keys.append(("text", known.text, known.wrappers, known.module, way))
    elif known.serial or known.code:
        keys.append(("name", known.module, known.qualname, known.wrappers, way))
    elif not keys:
        keys.append(("bare name", known.name, raw.place, way))
    return keys


def _first_argument(signature: Signature) -> str:
    """`f32[3,4]` of `self: f32[3,4]`; empty where there is none."""
    return next(iter(signature.texts()), "").rpartition(": ")[2]
