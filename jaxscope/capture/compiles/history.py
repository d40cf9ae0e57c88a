"""The compilations that a listener observed, and the causes of each.

While JAX compiles, a signature is stored and nothing is compared. The causes are computed at the
first request, from what is still kept.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakSet

from jaxscope import words
from jaxscope.analysis.compiles.causes.explain import NEAREST_OF, EarlierCompile, Explained, explain
from jaxscope.analysis.compiles.causes.no_difference import (
    eager_op,
    first_call,
    linked_again,
    sharded_for_devices,
    unknown,
)
from jaxscope.analysis.compiles.causes.signature import CallSignature, JittedFunction
from jaxscope.capture import _jax
from jaxscope.capture.compiles.raw_compile import RawCompile
from jaxscope.capture.compiles.signature.earlier_traces import comparable
from jaxscope.capture.source.frames import located
from jaxscope.model.compiles import Cause, CauseKind, Compile, CompileKind
from jaxscope.model.source import Frame, Source, Span

_KEPT = 10_000  # compilations: some 20 MB
Key = tuple[object, ...]
Known = list[EarlierCompile]


class History:
    """The latest compilations of all threads, in the order they began, and an index by function."""

    def __init__(self, kept: int = _KEPT) -> None:
        self.records: deque[RawCompile] = deque(maxlen=kept)
        self._by_number: dict[int, RawCompile] = {}
        self._families: dict[Key, deque[int]] = {}
        self._lock = threading.RLock()
        self.count = 0
        self.listening_since = 0.0
        """Seconds since the epoch."""
        self.from_start = False
        """Nothing can have been compiled before: what is not here was not compiled."""

    def begin(self, *, from_start: bool) -> None:
        """The listener begins, or begins again after a gap."""
        self.from_start = from_start
        self.listening_since = time.time()

    @property
    def _since(self) -> str:
        """The time from which on compilations are known; empty where all are."""
        if self.from_start:
            return ""
        return time.strftime("%H:%M:%S", time.localtime(self.listening_since))

    def add(self, raw: RawCompile) -> None:
        """Number a compilation that begins."""
        with self._lock:
            self.count += 1
            raw.number = self.count
            if len(self.records) == self.records.maxlen:
                self._forget(self.records.popleft())
            self.records.append(raw)
            self._by_number[raw.number] = raw

    def finished(self, raw: RawCompile) -> None:
        """From now on later compilations may be compared with this one."""
        if raw.call is None or raw.error or not raw.number:
            return
        with self._lock:
            if raw.number in self._by_number:
                for key in _families(raw):
                    self._families.setdefault(key, deque()).append(raw.number)

    def get(self, number: int) -> RawCompile | None:
        """The compilation of this number, as long as it is kept."""
        return self._by_number.get(number)

    def latest(self, raw: RawCompile) -> RawCompile | None:
        """The latest compilation of the same code, by any function object."""
        with self._lock:
            for key in _families(raw):
                for number in reversed(self._families.get(key, ())):
                    if number != raw.number:
                        return self._by_number.get(number)
        return None

    def compile_of(self, raw: RawCompile, sources: Sequence[Source] = ()) -> Compile:
        """A compilation as data, with its causes; frames refer to `sources`."""
        explained, call = self.explained(raw), raw.call
        stack = located(raw.frames, sources)
        return Compile(
            fun_name=raw.fun_name,
            kind=raw.kind,
            site=stack[0] if stack else None,
            trace_s=raw.trace_s,
            lower_s=raw.lower_s,
            compile_s=raw.compile_s,
            signature=call.texts() if call is not None else (),
            causes=explained.causes,
            persistent=raw.persistent,
            persistent_why=raw.persistent_why,
            serial=raw.number,
            nearest=explained.nearest,
            parent=raw.parent,
            inside_s=raw.inside_s,
            started=raw.started,
            thread=raw.thread_name,
            stack=stack,
            defined=_defined(call, sources),
            transform=call.transform if call is not None else "",
            error=raw.error,
        )

    def explained(self, raw: RawCompile) -> Explained:
        """The causes of a compilation, computed once; none for one that is no longer kept."""
        if raw.explained is None:
            if self._by_number.get(raw.number) is not raw:
                return Explained(())
            try:
                raw.explained = self.explain(raw)
            except Exception as error:  # a report is more than its causes
                why = f"jaxscope could not determine it ({type(error).__name__}: {error})"
                raw.explained = Explained((unknown(raw.fun_name, why),))
        return raw.explained

    def explain(self, raw: RawCompile) -> Explained:
        """Compute the causes of a compilation, as far as the kept ones allow."""
        signature = raw.call
        if signature is None:
            return Explained((self._without_call(raw),))
        if signature.function.internal and _jax.splits_for_devices(signature.function.name):
            return Explained((self._sharded(raw, signature),))
        if (forward := self._forward(raw, signature)) is not None:
            return self.explained(forward)
        for key in _families(raw):
            earlier = self._earlier(key, raw)
            if earlier:
                return self._nearer(raw, explain(signature, earlier), earlier)
        if raw.kind is CompileKind.EAGER or signature.eager:
            return Explained((eager_op(signature.function.name, since=self._since),))
        if raw.before:
            return self._with_before(raw, signature)
        return Explained((self._first(raw, signature),))

    def _forward(self, raw: RawCompile, signature: CallSignature) -> RawCompile | None:
        """The forward pass that was compiled just before this backward pass, for the same reason.

        JAX does not show the function of a backward pass.
        """
        if signature.function.object_id or not signature.transform:
            return None
        for one in reversed(self._snapshot()):
            same = (one.fun_name, one.place, one.thread_name)
            if one.number >= raw.number or same != (raw.fun_name, raw.place, raw.thread_name):
                continue
            known = one.call
            if known is not None and known.transform and known.function.object_id:
                return one
            return None
        return None

    def _sharded(self, raw: RawCompile, signature: CallSignature) -> Cause:
        """The cause of JAX's own sharding of an input, which is about its array."""
        key = next(iter(_families(raw)), ())
        earlier = self._earlier(key, raw)
        before = _first_argument(earlier[-1].signature) if earlier else ""
        return sharded_for_devices(signature.function.name, _first_argument(signature), before)

    def _earlier(self, key: Key, raw: RawCompile) -> list[EarlierCompile]:
        with self._lock:
            found: list[EarlierCompile] = []
            for number in reversed(self._families.get(key, ())):
                one = self._by_number.get(number) if number < raw.number else None
                if one is not None and one.call is not None:
                    elsewhere = one.place != raw.place
                    found.append(EarlierCompile(number, one.call, elsewhere, raw.orphaned))
                    if len(found) >= NEAREST_OF:
                        break
        return found[::-1]

    def _without_call(self, raw: RawCompile) -> Cause:
        before = any(
            one.number < raw.number and one.compiled and one.fun_name == raw.fun_name
            for one in self._snapshot()
        )
        if before or raw.kind not in (CompileKind.JIT, CompileKind.NESTED, CompileKind.AOT):
            shown = "this version of JAX" if raw.traced else "an earlier trace, which it reused,"
            return unknown(raw.fun_name, f"{shown} does not show the call's arguments")
        return first_call(raw.fun_name, since=self._since)

    def _first(self, raw: RawCompile, signature: CallSignature) -> Cause:
        if signature.function.called and self._ran_before(raw, signature.function):
            return linked_again(signature.function.name)
        note = ""
        for one in self._same_function(raw, signature):
            if one.error:
                note = f"Compilation {one.number} of the same function failed with {one.error}."
            elif one.traced and not one.compiled:
                note = "It was traced before, but not compiled."
        name = signature.function.name
        return first_call(name, since=self._since, under=signature.transform, note=note)

    def _same_function(self, raw: RawCompile, signature: CallSignature) -> Iterator[RawCompile]:
        known = signature.function
        for one in self._snapshot():
            if one.number >= raw.number or one.call is None:
                continue
            other = one.call.function
            # `make_jaxpr` wraps the function again: then only the code is the same.
            same_code = known.code_id and other.code_id == known.code_id
            if other.object_id == known.object_id or same_code:
                yield one

    def _ran_before(self, raw: RawCompile, program: JittedFunction) -> bool:
        """Whether the user's own jit had compiled the function of this program."""
        place = program.file, program.line, program.code_hash
        return any(
            one.compiled and (known.file, known.line, known.transformed_hash) == place
            for one in self._snapshot()
            if one.number < raw.number and one.call is not None
            for known in (one.call.function,)
            if not known.cell_id
        )

    def _with_before(self, raw: RawCompile, signature: CallSignature) -> Explained:
        """Compare with traces from before the listener began."""
        before = [EarlierCompile(0, one) for one in raw.before]
        found = explain(comparable(signature), before, ordered=False)
        causes = [c for c in found.causes if c.kind is not CauseKind.CACHE_CLEARED]
        if not causes and any(one.traced for one in self._same_function(raw, signature)):
            return Explained((self._first(raw, signature),))
        if not causes:
            since = f"before jaxscope started listening at {self._since}" if self._since else ""
            why = (
                f"JAX had traced the same call {since}, but does not show its placement, its jit "
                "options or whether its program was dropped"
            )
            causes = [unknown(raw.fun_name, why + _candidates(signature))]
        return Explained(tuple(causes))

    def _nearer(self, raw: RawCompile, found: Explained, earlier: Known) -> Explained:
        """The causes beside a call from before the listener began, where that one is nearer."""
        call, known = raw.call, [self._by_number.get(one.serial) for one in earlier]
        before = [EarlierCompile(0, one) for each in known if each for one in each.before]
        if call is None or raw.orphaned or not before or " is committed to " in _candidates(call):
            return found
        if not any(one.signature.options == call.options for one in earlier):
            return found  # JAX does not show those of the call from before
        nearer = explain(comparable(call), before, ordered=False)
        return nearer if 0 < nearer.distance < found.distance else found

    def _snapshot(self) -> tuple[RawCompile, ...]:
        with self._lock:
            return tuple(self.records)

    def _forget(self, raw: RawCompile) -> None:
        self._by_number.pop(raw.number, None)
        for key in _families(raw):
            numbers = self._families.get(key)
            if numbers is None:
                continue
            with suppress(ValueError):
                numbers.remove(raw.number)
            if not numbers:
                del self._families[key]


@dataclass(slots=True, eq=False)
class BlockCompiles:
    """The compilations of one block, on its thread and on those that start inside of it."""

    history: History
    on_start: Mapping[int, Callable[[str], None] | None]
    """Hooks by the stage that begins, each called with the function's name."""
    on_compiled: Callable[[RawCompile], None] | None
    thread: int = field(default_factory=threading.get_ident)
    others: WeakSet[threading.Thread] = field(
        default_factory=lambda: WeakSet(threading.enumerate())
    )
    """The threads that run when it begins: not by number, which a new one may inherit."""
    raw: list[RawCompile] = field(default_factory=list[RawCompile])
    """Everything that was traced, lowered or compiled, in the order it began."""

    def compiles(self, sources: Sequence[Source] = ()) -> tuple[Compile, ...]:
        """The compilations with a call of XLA. Sites refer to `sources`."""
        return tuple([self.history.compile_of(raw, sources) for raw in self.raw if raw.compiled])

    def passes(self, sources: Sequence[Source] = ()) -> tuple[Compile, ...]:
        """Also what was only traced or lowered; without calls that hit every cache."""
        return tuple([self.history.compile_of(raw, sources) for raw in self.raw if raw.happened])


def _families(raw: RawCompile) -> Sequence[Key]:
    """Groups of compilations that may be compared, the closest first."""
    call = raw.call
    if call is None:
        return ()
    known, under = call.function, call.transform
    if known.cell_id:
        return (("cell", known.cell_id, known.wrappers),)
    if call.eager and known.internal and not known.file:
        return (("operation", known.name, under),)
    way = "pmap" if raw.kind is CompileKind.PMAP else under
    keys: list[Key] = []
    if known.object_id:
        keys.append(("object", known.object_id, way))
    if known.code_id:
        keys.append(("code", known.code_id, known.wrappers, way))
    if known.is_lambda and known.code_id:
        keys.append(("text", known.code_hash, known.wrappers, known.file, known.line, way))
        keys.append(("text", known.code_hash, known.wrappers, known.module, way))
    elif known.object_id or known.code_id:
        keys.append(("name", known.module, known.qualname, known.wrappers, way))
    elif not keys:
        # A gradient has several programs of one function, which JAX does not show.
        program = known.code_hash, len(call.arguments)
        keys.append(("bare name", known.name, raw.place, way, *program))
    return keys


def _candidates(signature: CallSignature) -> str:
    """Parts of a call that JAX does not show of the earlier one, where they are not the default."""
    committed = [
        f"`{argument.name}{path}` is committed to {leaf.place}"
        + (f" with the memory layout {leaf.layout}" if leaf.layout else "")
        for argument in signature.arguments
        for path, leaf in zip(argument.structure.paths, argument.leaves, strict=False)
        if leaf.committed
    ]
    committed.sort(key=lambda text: " with " not in text)  # a layout is rarer
    options = [f"`{name}` is {text}" for name, text in signature.options]
    found = [*committed[:1], *options]
    return f"; now {words.listed(found)}" if found else ""


def _first_argument(signature: CallSignature) -> str:
    """`f32[3,4]` of `self: f32[3,4]`; empty where there is none."""
    return next(iter(signature.texts()), "").rpartition(": ")[2]


def _defined(call: CallSignature | None, sources: Sequence[Source]) -> Frame | None:
    """The definition of the function, if it is the user's."""
    known = call.function if call is not None else None
    if known is None or not known.file or known.internal:
        return None
    index = next((i for i, source in enumerate(sources) if source.file == known.file), None)
    return Frame(index, known.file, known.name, Span(known.line, 0, known.line, 0))
