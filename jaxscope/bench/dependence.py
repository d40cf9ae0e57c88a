"""Whether each call computes its result: a new one, which follows a change of the inputs.

Two calls with the same inputs must not return the same object, unless a call with changed inputs
writes a different result into it: then it is a buffer that the function reuses. And where another
implementation or the reference changes with the inputs, a result that stays bit for bit the same
was not computed from them. Nothing is concluded from a call that raises or takes too long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from jaxscope.bench.cell.timed_code import describe_error
from jaxscope.bench.frameworks.implementation import Implementation, arrays_of
from jaxscope.bench.placement import place
from jaxscope.bench.prepare import Ready, Setting
from jaxscope.bench.rounds.watchdog import TimedOut, run_on_thread
from jaxscope.bench.warnings import results
from jaxscope.model.comparison import BenchWarning

Arrays = tuple[np.ndarray[Any, Any], ...]
Host = Mapping[str, np.ndarray[Any, Any]]

_LONG_S = 0.2
"""Longer calls are not repeated: a result that is not computed takes no time."""
_FEW = 4
_FLOATS = "fcV"
_SHRUNK = 0.75
"""Floats are multiplied by it: positive, ordered, symmetric and bounded inputs stay so."""
_CONSTANT = ("J102", "J103")
_INTERNED = (int, bool, str, bytes, np.bool_, type(None))
"""Types of which Python and NumPy reuse equal objects."""


@dataclass(slots=True)
class _Answer:
    """The results of one row, as copies: of the given inputs, and of changed ones."""

    ready: Ready
    given: Arrays
    _: KW_ONLY
    outputs: Any = None
    """Of the call that gave them; kept, so that their memory is not used again."""
    again: bool = False
    """Two calls with the same inputs returned the same objects."""
    changed: Arrays | None = None
    accused: bool = False

    def warn(self, warning: BenchWarning) -> None:
        if not self.accused:
            self.ready.warnings.append(warning)
        self.accused = True

    @property
    def stays(self) -> bool:
        """The changed inputs gave the same result, bit for bit."""
        return self.changed is not None and _equal(self.given, self.changed)


def check(
    readies: Sequence[Ready],
    setting: Setting,
    given: Arrays | None = None,
    expect: Callable[[Host], Arrays | None] = lambda host: None,
) -> None:
    """Warn of rows that return a result again, J204, or do not compute it from the inputs, J205.

    given: the reference's results; `expect` computes them for changed inputs.
    """
    free = [one for one in readies if not one.prepared.bound]
    asked = [one for one in free if _suspect(one)]
    answers = [one for ready in asked if (one := _answer(ready, setting)) is not None]
    others = [_Answer(one, _copies(one, one.outputs)) for one in free if one not in asked]
    terms = max([array.size for array in setting.host.values()], default=1)
    for names in _groups(setting):
        for change in (_one_element, _every_element):
            host = _changed(setting.host, names, change)
            if host is None:
                continue
            for one in answers:
                _ask(one, host, setting)
            stale = [one for one in answers if one.stays and not one.accused]
            if not stale:
                break
            evidence = [(one.given, one.changed) for one in answers if not one.stays]
            if not evidence:
                for one in others:
                    _ask(one, host, setting)
                evidence = [(one.given, one.changed) for one in others]
            if not evidence and given is not None:
                evidence = [(given, expect(host))]
            for one in stale:
                if any(_contradicts(one, before, after, terms) for before, after in evidence):
                    one.warn(results.stays_the_same(names))
    for one in answers:
        if one.again and one.changed is None and _immutable(one.ready.implementation, one.outputs):
            one.warn(results.same_object())


def repeated(ready: Ready, setting: Setting) -> Arrays | None:
    """The results of one more call with the same inputs; None if it raised."""
    found = _called(ready, setting, ready.call)
    return None if found is None else _copies(ready, found[0])


def _suspect(ready: Ready) -> bool:
    """Whether it may return what it has not computed: quick, and not compiled as a whole unless
    the program does without its inputs."""
    if ready.subject.estimate > _LONG_S:
        return False
    return not ready.row.compiles or any(one.code in _CONSTANT for one in ready.warnings)


def _answer(ready: Ready, setting: Setting) -> _Answer | None:
    """Two calls with the same inputs; None after a failure, which becomes the row's."""
    first = _called(ready, setting, ready.call)
    second = None if first is None else _called(ready, setting, ready.call)
    if first is None or second is None:
        return None
    given = _copies(ready, second[0])
    if any(array.dtype.kind == "O" for array in given):
        return None
    again = _returned_again(ready, setting, first[0], second[0])
    return _Answer(ready, given, outputs=second[0], again=again)


def _ask(one: _Answer, host: Host, setting: Setting) -> None:
    """The results of changed inputs; `changed` stays None where the call raises because of them."""
    ready = one.ready
    one.changed = None
    args, _ = place(ready.implementation, host, ready.row.device)
    found = _called(ready, setting, lambda: ready.call_with(args), tolerant=True)
    if found is None:
        return
    one.changed = _copies(ready, found[0])
    if one.again and not (one.stays or _returned_again(ready, setting, one.outputs, found[0])):
        one.warn(results.same_object())


def _called(
    ready: Ready, setting: Setting, call: Callable[[], Any], tolerant: bool = False
) -> tuple[Any] | None:
    """The outputs of a call; None if it raised. The row fails unless changed inputs can be why."""
    limit_s = setting.at_most(setting.plan.limits.call_s)
    what = f"{ready.row.label}: a repeated call"
    try:
        if ready.implementation.releases_gil:  # native code cannot be interrupted
            return (run_on_thread(ready.implementation.bind_context(call), limit_s, what),)
        with setting.alarm.within(limit_s, what):
            return (call(),)
    except TimedOut:
        return None
    except Exception as error:
        if tolerant and _called(ready, setting, ready.call) is not None:
            return None
        if not ready.subject.failure:
            number = ready.subject.failed_call
            ready.subject.failure = f"It raised {describe_error(error)} in call {number}."
        return None


def _copies(ready: Ready, outputs: Any) -> Arrays:
    return tuple(map(np.array, arrays_of(ready.implementation, outputs)))


def _returned_again(ready: Ready, setting: Setting, first: Any, second: Any) -> bool:
    """Whether all objects of a result are those of the one before, apart from the inputs."""
    implementation = ready.implementation
    inputs = [np.asarray(implementation.to_numpy(arg)) for arg in ready.subject.args]
    # Arrays of containers, which are constants of the code.
    given = implementation.leaves(list(setting.inputs.values()))
    inputs += [leaf for leaf in given if isinstance(leaf, np.ndarray)]
    before, after = implementation.leaves(first), implementation.leaves(second)
    if len(before) != len(after):
        return False
    pairs = zip(before, after, strict=True)
    found = [_same(implementation, old, new, inputs) for old, new in pairs]
    known = [same for same in found if same is not None]
    return bool(known) and all(known)


def _same(implementation: Implementation, old: Any, new: Any, inputs: list[Any]) -> bool | None:
    """Whether two leaves are one object or one memory; None where this means nothing."""
    if isinstance(new, _INTERNED):
        return None
    if isinstance(new, (float, complex, np.generic)):
        return old is new
    arrays = [np.asarray(implementation.to_numpy(leaf)) for leaf in (old, new)]
    if not arrays[1].size or any(np.may_share_memory(arrays[1], one) for one in inputs):
        return None
    if old is new:
        return True
    first, second = [(array.__array_interface__["data"][0], array.nbytes) for array in arrays]
    return first == second


def _immutable(implementation: Implementation, outputs: Any) -> bool:
    """Whether no call can have written into these outputs."""
    leaves = implementation.leaves(outputs)
    if implementation.framework == "jax":
        return not any(isinstance(leaf, np.ndarray) for leaf in leaves)
    numbers = (float, complex, np.generic)
    return all(
        isinstance(leaf, numbers) or (isinstance(leaf, np.ndarray) and not leaf.flags.writeable)
        for leaf in leaves
    )


def _contradicts(one: _Answer, before: Arrays, after: Arrays | None, terms: int) -> bool:
    """Whether another's result agreed before the change, and moved by more than rounding can."""
    if after is None or not results.check(one.given, before, terms).agrees:
        return False
    return not results.check(after, before, terms).agrees


def _equal(first: Arrays, second: Arrays) -> bool:
    return len(first) == len(second) and all(
        np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc")
        for a, b in zip(first, second, strict=True)
    )


def _groups(setting: Setting) -> list[tuple[str, ...]]:
    """Inputs that are changed together: each with its copies, or all where there are many.

    `x`, `jnp.asarray(x)` and `torch.from_numpy(x.T)` are one input: each framework reads its own.
    """
    host = setting.host
    groups = list[tuple[str, ...]]()
    for name in host:
        found = next((i for i, one in enumerate(groups) if _is_copy(setting, one[0], name)), None)
        if found is None:
            groups.append((name,))
        else:
            groups[found] += (name,)
    return groups if len(groups) <= _FEW else [tuple(host)]


def _is_copy(setting: Setting, first: str, second: str) -> bool:
    """Whether two inputs have the same data, and not by chance, as two arrays of ones have."""
    a, b = setting.host[first], setting.host[second]
    if a.dtype.kind != b.dtype.kind:
        return False
    alike = type(setting.inputs[first]) is type(setting.inputs[second]) and a.dtype == b.dtype
    narrow = min(a.dtype, b.dtype, key=lambda dtype: dtype.itemsize)
    a, b = a.astype(narrow), b.astype(narrow)
    by_chance = alike and not (a != a.flat[:1]).any()
    return not by_chance and (_equal((a,), (b,)) or _equal((a,), (b.T,)))


def _one_element(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """One element changed, within the range of the values."""
    flat = np.array(array).reshape(-1)
    middle = flat[flat.size // 2 :][:1]
    if flat.dtype.kind in _FLOATS:
        middle[...] = middle * flat.dtype.type(_SHRUNK)
    elif flat.size:
        middle[...] = ~middle if flat.dtype.kind == "b" else flat[:1]
    return flat.reshape(array.shape)


def _every_element(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements in reverse order, floats also smaller."""
    flat = np.array(array).reshape(-1)[::-1]
    if flat.dtype.kind in _FLOATS:
        flat = flat * flat.dtype.type(_SHRUNK)
    return np.ascontiguousarray(flat).reshape(array.shape)


def _changed(host: Host, names: tuple[str, ...], change: Callable[[Any], Any]) -> Host | None:
    """The changed inputs; None where nothing differs."""
    try:
        made = {**host, **{name: change(host[name]) for name in names}}
    except (TypeError, ValueError):  # a dtype without arithmetic
        return None
    return None if all(np.array_equal(made[name], host[name]) for name in names) else made
