"""The call that is being traced, lowered or compiled, as the frames of JAX show it.

A monitoring event carries a name and a duration only. The rest is read, never written, from the
frames of JAX that are on the stack when the event arrives. Frame and local names were seen on
jax 0.8.1, 0.10.2 and 0.12.0.1.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from jaxscope.capture._jax.closures import closed_over, inside_boundary
from jaxscope.capture._jax.frames import jax_directory, jax_frames
from jaxscope.capture._jax.options import is_own, traced_from_own
from jaxscope.capture._jax.transformed import TransformedFunction, parameters
from jaxscope.model.compiles import CompileKind

Keys = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class JaxCall:
    """The call that is being traced, lowered or compiled, as read from JAX's frames."""

    kind: CompileKind
    fun: Any = None
    """The Python function under the jit, or None when no frame holds it."""
    name: str = ""
    """A better name than the event's, where JAX wraps the user's function; else empty."""
    args: tuple[Any, ...] | None = None
    kwargs: dict[str, Any] | None = None
    named: bool = True
    """The arguments are those that the function declares."""
    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    keys: Keys = ()
    """Identities of the calls on the stack, innermost first: stages of one call share one."""
    info: Any = None
    """JAX's own record of the jit's options."""
    options: tuple[tuple[str, str], ...] = ()
    """Options of a library's jit, which JAX sees as a structure of the arguments."""
    primitive: Any = None
    """The operation that runs outside any jit."""
    params: dict[str, Any] | None = None
    """The parameters of the operation, or of the jit that a transform calls."""
    jitted: Any = None
    """JAX's own jitted function that runs the operation."""
    transforms: tuple[str, ...] = ()
    """Transforms around the call of a jitted function, outermost first: `vmap`, `grad`."""
    complete: bool = True
    """All of it could be read. Else a difference to an earlier call may be in what is missing."""
    given: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    """Arguments as the user passed them, where `args` are the flat ones that XLA gets."""
    declared: inspect.Signature | None = None
    """The parameters of `fun`, where it is not the function that JAX jits."""
    request_id: int = 0
    """The request that jaxscope stages; 0 for a call of the user's."""

    @property
    def is_eager(self) -> bool:
        return self.kind is CompileKind.EAGER

    @property
    def signature(self) -> inspect.Signature | None:
        """The parameters that the function declares, where JAX has looked them up."""
        return self.declared or getattr(self.info, "fun_signature", None)


def jax_call() -> JaxCall:
    """The call behind the event that is being reported on this thread.

    Reads `cache_miss`, `_pjit_call_impl`, `jit_trace`, `jit_lower` (pjit.py), `apply_primitive`
    (dispatch.py), `lower`, `compile` (stages.py) and `wrapped` (pmap.py). Without them: a call of
    kind `jit` without function and arguments.
    """
    calls: list[tuple[str, dict[str, Any]]] = []
    keys: Keys = ()
    for frame, file in jax_frames():
        known = _ROLES.get(frame.f_code.co_name)
        if known is not None and (role := known.get(file)):
            # Before Python 3.13 each `f_locals` copies all of them.
            values = frame.f_locals
            calls.append((role, values))
            keys += ((id(frame), id(values.get("args"))),)
    if not calls:
        return JaxCall(CompileKind.JIT, complete=False)
    found = _call_of(calls, keys)
    return found if calls_shown() else replace(found, complete=False)


@functools.cache
def calls_shown() -> bool:
    """Whether the two functions of pjit.py that every call passes have the names looked for.

    Else a call under a transform would be taken for a plain one, or the other way round.
    """
    import jax
    from jax._src import pjit

    miss = inspect.unwrap(getattr(jax.jit(abs), "_cache_miss", abs))
    names = {getattr(getattr(miss, "__code__", None), "co_name", "")}
    names |= {name for name in _ROLES if callable(getattr(pjit, name, None))}
    return {"cache_miss", "_pjit_call_impl"} <= names & _ROLES.keys()


def _call_of(calls: list[tuple[str, dict[str, Any]]], keys: Keys) -> JaxCall:
    role, values = calls[0]
    outer, around = calls[1] if len(calls) > 1 else ("", {})
    match role:
        case "cache_miss" if outer == "apply_primitive":
            return _primitive(around, keys)
        case "cache_miss" if outer == "pmap":
            return _pmapped(around, keys)
        case "cache_miss":
            return _jitted(values, keys)
        case "call_impl":
            return _transformed(
                values, keys, next((v for r, v in calls if r == "cache_miss"), None)
            )
        case "jit_trace":
            return _staged(values, keys)
        case "apply_primitive":
            return _primitive(values, keys)
        case _:
            # `f.lower(x)` shows the call, `traced.lower()` and `lowered.compile()` do not.
            shown = next((v for _, v in calls if "jit_func" in v), None)
            return JaxCall(CompileKind.AOT, keys=keys) if shown is None else _staged(shown, keys)


def staged_call(
    jitted: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], request_id: int
) -> JaxCall:
    """The call of a jitted function that jaxscope traces, lowers and compiles."""
    values = {"jit_func": jitted, "args": args, "kwargs": dict(kwargs)}
    return replace(_staged(values, ()), request_id=request_id)


def still_called(key: tuple[int, int]) -> bool:
    """Whether the call of this key (of `JaxCall.keys`) is on the stack; cheaper than `jax_call`."""
    for frame, _ in jax_frames():
        if id(frame) == key[0]:
            return id(frame.f_locals.get("args")) == key[1]
    return False


def splits_for_devices(function: str) -> bool:
    """Whether this jitted function of JAX splits an input into shards.

    `_multi_slice` (numpy/array_methods.py), called by `pmap` and `device_put` for an array on one
    device. Under a new name it counts as an eager operation.
    """
    return function == "_multi_slice"


PMAPPED = ("_fun", "call_wrapped")
"""JAX's names for the program of a pmap: 0.9 and later, 0.8. Under a new name it counts as an eager
operation."""

_ROLES = {
    "cache_miss": {"_src/pjit.py": "cache_miss"},
    "_pjit_call_impl": {"_src/pjit.py": "call_impl"},
    "jit_trace": {"_src/pjit.py": "jit_trace"},
    "jit_lower": {"_src/pjit.py": "stages"},
    "lower": {"_src/stages.py": "stages"},
    "compile": {"_src/stages.py": "stages"},
    "apply_primitive": {"_src/dispatch.py": "apply_primitive"},
    "wrapped": {"_src/pmap.py": "pmap"},
}


def _jitted(values: dict[str, Any], keys: Keys) -> JaxCall:
    fun, info = values.get("fun"), values.get("jit_info")
    # A plain function of JAX itself under a jit is a jnp function called outside any jit. What the
    # user jitted, `jax.jit(jnp.sin)`, is a jitted object, not a plain function.
    internal = isinstance(fun, types.FunctionType) and is_own(fun)
    return _with_options(
        CompileKind.EAGER if internal else CompileKind.JIT, fun, info, values, keys
    )


def _with_options(
    kind: CompileKind, fun: Any, info: Any, values: dict[str, Any], keys: Keys
) -> JaxCall:
    """A call of a jitted function whose options JAX has in `info`."""
    known = hasattr(info, "static_argnums") and hasattr(info, "static_argnames")
    return JaxCall(
        kind,
        fun,
        args=values.get("args"),
        kwargs=values.get("kwargs"),
        static_argnums=tuple(getattr(info, "static_argnums", ()) or ()),
        static_argnames=tuple(getattr(info, "static_argnames", ()) or ()),
        keys=keys,
        info=info,
        complete=known and fun is not None and values.get("args") is not None,
    )


def _transformed(values: dict[str, Any], keys: Keys, miss: dict[str, Any] | None) -> JaxCall:
    """A jitted function that a transform calls; `miss` is the call as the user made it."""
    known = _jitted(miss, keys) if miss is not None else JaxCall(CompileKind.TRANSFORMED)
    name = known.name or (str(values.get("name", "")) if known.fun is None else "")
    if known.fun is None and not name:  # nothing tells it from the next unknown function
        return JaxCall(CompileKind.TRANSFORMED, keys=keys, complete=False)
    internal = known.is_eager or (known.fun is None and traced_from_own(values.get("jaxpr")))
    # The arguments as XLA gets them: those of the call itself are tracers of the transform.
    args = tuple(values.get("args", ()))
    return replace(
        known,
        kind=CompileKind.EAGER if internal else CompileKind.TRANSFORMED,
        name=name,
        args=args,
        kwargs={},
        named=known.args is not None and len(known.args) == len(args),
        keys=keys,
        transforms=_transforms(),
        params=None if internal else parameters(values),
        complete=known.complete and transforms_shown(),
        given=None if known.args is None else (tuple(known.args), dict(known.kwargs or {})),
    )


def _staged(values: dict[str, Any], keys: Keys) -> JaxCall:
    jitted = values.get("jit_func")
    info = getattr(jitted, "_jit_info", None)
    return _with_options(CompileKind.AOT, getattr(jitted, "_fun", None), info, values, keys)


def _primitive(values: dict[str, Any], keys: Keys) -> JaxCall:
    primitive = values.get("prim")
    return JaxCall(
        CompileKind.EAGER,
        name=str(getattr(primitive, "name", "")),
        args=values.get("args"),
        kwargs={},
        keys=keys,
        primitive=primitive,
        params=values.get("params"),
        jitted=values.get("fun"),
        complete=primitive is not None and values.get("params") is not None,
    )


_TRANSFORMS = {
    "vmap_f": "vmap",
    "grad_f": "grad",
    "value_and_grad_f": "grad",
    "jacfun": "jacobian",
    "jvp": "jvp",
    "vjp": "vjp",
    "linearize": "linearize",
}

_WITHIN = frozenset({"grad", "jacobian"})

_PARTS = ("jvp", "vjp", "linearize")  # what a gradient is made of


@functools.cache
def transforms_shown() -> bool:
    """Whether the functions of api.py that run transforms have the names that are looked for.

    Those of `jax.vmap`, `grad` and `jacfwd` are closed over by the wrapper that keeps JAX's frames
    out of tracebacks; `jvp`, `vjp` and `linearize` are public. Seen on jax 0.8.1 to 0.12.0.1.
    """
    import jax

    makers = (jax.vmap, jax.grad, jax.value_and_grad, jax.jacfwd, jax.jacrev)
    codes = [getattr(inside_boundary(make(abs)), "__code__", None) for make in makers]
    return all(code is not None and code.co_name in _TRANSFORMS for code in codes)


def _transforms() -> tuple[str, ...]:
    """Transforms on the stack, outermost first, by the functions of api.py that run them."""
    home = jax_directory()
    found: list[str] = []
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        name = _TRANSFORMS.get(code.co_name)
        if name is not None and code.co_filename.startswith(home) and name not in found[-1:]:
            found.append(name)
        frame = frame.f_back
    if not _WITHIN.isdisjoint(found):
        return tuple([name for name in found[::-1] if name not in _PARTS])
    return tuple(found[::-1])


def _pmapped(values: dict[str, Any], keys: Keys) -> JaxCall:
    """The function under a pmap is a free variable of `infer_params`, which `wrapped` closes over:
    `f` or `fun`, since jax 0.9 only as `wrapped_fun.f`."""
    held = closed_over(values.get("infer_params"))
    wrapped = getattr(held.get("wrapped_fun"), "f", None)
    fun = held.get("fun") or held.get("f") or wrapped
    name = getattr(fun, "__name__", "")
    args, kwargs = values.get("args"), values.get("kwargs")
    complete = fun is not None and args is not None
    static = tuple(held.get("static_broadcasted_tuple") or ())
    return JaxCall(
        CompileKind.PMAP,
        fun,
        name=name,
        args=args,
        kwargs=kwargs,
        static_argnums=static,
        keys=keys,
        complete=complete,
    )


@dataclass(frozen=True, slots=True)
class PmappedCall:
    """A call of a pmapped function, as the jitted function that JAX makes of it."""

    jitted: Any
    args: tuple[Any, ...]
    """The flat arguments."""
    restore: Callable[[Any], Any]
    """The value of the call, from what the jitted function returns."""
    call: JaxCall
    """The call as the user made it, to be staged."""


def pmapped_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> PmappedCall | None:
    """The jitted function behind a `jax.pmap`, for these arguments; None for anything else.

    `infer_params`, which the pmapped function closes over: it gives the jit of a `shard_map`, so
    that JAX's own caches answer. Seen on jax 0.8.1 (jitted, arguments, parameters …) and on 0.10.2
    and 0.12.0.1 (cached, jitted, arguments …). Without it: None, and the call is captured whole.
    """
    code = getattr(function, "__code__", None)
    if code is None or not code.co_filename.startswith(jax_directory()):
        return None
    infer = closed_over(function).get("infer_params")
    if infer is None or not code.co_filename.endswith("pmap.py"):
        return None
    import jax

    found = infer(*args, **kwargs)
    users = _pmapped({"infer_params": infer, "args": args, "kwargs": kwargs}, ())
    users = replace(users, kind=CompileKind.AOT, transforms=("pmap",))
    if hasattr(found[0], "trace"):
        out_tree = found[2].out_tree
        return PmappedCall(
            found[0],
            tuple(found[1]),
            lambda results: jax.tree_util.tree_unflatten(out_tree(), results),
            users,
        )
    return PmappedCall(found[1], tuple(found[2]), lambda results: results, users)


def calling() -> JaxCall | None:
    """The jitted or pmapped call that this thread is compiling, with function and arguments.

    For hooks of `collecting` (`capture.compiles.listener`). An eager operation is a call of the
    function by which JAX runs it; what a transform makes of a function is one of its own. None
    outside such a call, and on a JAX whose frames have other names.
    """
    call = jax_call()
    if call.jitted is not None:
        call = replace(call, fun=inspect.unwrap(call.jitted))
    elif call.kind is CompileKind.TRANSFORMED and call.params is not None:
        made = TransformedFunction(call.params)
        call = replace(call, fun=made, jitted=made)
    if call.fun is None or call.args is None:
        return None
    return call
