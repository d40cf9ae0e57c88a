"""The only room of jaxscope that touches JAX's private names.

Each function says on which versions it was seen and what happens when the name is gone: less
detail, never an exception that a user would see.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import enum
import functools
import hashlib
import inspect
import math
import os
import sys
import threading
import types
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from jaxscope.model.compiles import CompileKind

T = TypeVar("T")

# --- Compile events: JAX's own stack frames, read while one of its listeners is called ------------
#
# A monitoring event carries a name and a duration only. The rest is read, never written, from the
# frames of JAX that are on the stack when the event arrives. Frame and local names were seen on
# jax 0.8.1, 0.10.2 and 0.12.0.1.


@dataclass(frozen=True, slots=True)
class JaxCall:
    """What the frames of JAX say about the call that is being traced, lowered or compiled."""

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
    keys: tuple[tuple[int, int], ...] = ()
    """Identities of the calls on the stack, innermost first: stages of one call share one."""
    info: Any = None
    """JAX's own record of the jit's options."""
    primitive: Any = None
    """The operation that runs outside any jit, with its parameters."""
    params: dict[str, Any] | None = None
    transforms: tuple[str, ...] = ()
    """What a jitted function was called under, outermost first: `vmap`, `grad`."""
    given: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    """Arguments as the user passed them, where `args` are the flat ones that XLA gets."""

    @property
    def is_eager(self) -> bool:
        return self.kind is CompileKind.EAGER

    @property
    def signature(self) -> inspect.Signature | None:
        """The parameters that the function declares, where JAX has looked them up."""
        return getattr(self.info, "fun_signature", None)


@functools.cache
def jax_directory() -> str:
    """The directory of the jax package with a separator at its end. Public names only."""
    import jax

    return os.path.dirname(os.path.abspath(str(jax.__file__))) + os.sep


def _jax_frames() -> Iterator[tuple[types.FrameType, str]]:
    """The innermost run of JAX frames of this stack, innermost first, with their file names."""
    home = jax_directory()
    frame = inspect.currentframe()
    while frame is not None and not frame.f_code.co_filename.startswith(home):
        frame = frame.f_back
    while frame is not None and (file := frame.f_code.co_filename).startswith(home):
        yield frame, file[len(home) :].replace(os.sep, "/")
        frame = frame.f_back


def jax_call() -> JaxCall:
    """The call behind the event that is being reported on this thread.

    Reads `cache_miss`, `_pjit_call_impl`, `jit_trace`, `jit_lower` (pjit.py), `apply_primitive`
    (dispatch.py), `lower`, `compile` (stages.py) and `wrapped` (pmap.py). Without them: a call of
    kind `jit` that knows neither function nor arguments.
    """
    calls: list[tuple[str, types.FrameType]] = []
    for frame, file in _jax_frames():
        role = _ROLES.get((file, frame.f_code.co_name))
        if role is not None:
            calls.append((role, frame))
    if not calls:
        return JaxCall(CompileKind.JIT)
    keys = tuple([(id(f), id(f.f_locals.get("args"))) for _, f in calls])
    role, frame = calls[0]
    outer = calls[1][0] if len(calls) > 1 else ""
    if role == "cache_miss":
        call = _jitted(frame)
        if outer == "apply_primitive":
            return _primitive(calls[1][1], keys)
        if outer == "pmap":
            return _pmapped(calls[1][1], keys)
        return replace(call, keys=keys)
    if role == "call_impl":
        miss = next((f for r, f in calls if r == "cache_miss"), None)
        known = _jitted(miss) if miss is not None else JaxCall(CompileKind.TRANSFORMED)
        # The arguments as XLA gets them: those of the call itself are tracers of the transform.
        args = tuple(frame.f_locals.get("args", ()))
        eager = known.kind is CompileKind.EAGER
        kind = CompileKind.EAGER if eager else CompileKind.TRANSFORMED
        named = known.args is not None and len(known.args) == len(args)
        given = None if known.args is None else (tuple(known.args), dict(known.kwargs or {}))
        name = known.name or (str(frame.f_locals.get("name", "")) if known.fun is None else "")
        return replace(
            known,
            kind=kind,
            name=name,
            args=args,
            kwargs={},
            named=named,
            keys=keys,
            transforms=_transforms(),
            given=given,
        )
    if role == "jit_trace":
        values = frame.f_locals
        jitted = values.get("jit_func")
        info = getattr(jitted, "_jit_info", None)
        return JaxCall(
            CompileKind.AOT,
            getattr(jitted, "_fun", None),
            args=values.get("args"),
            kwargs=values.get("kwargs"),
            static_argnums=tuple(getattr(info, "static_argnums", ()) or ()),
            static_argnames=tuple(getattr(info, "static_argnames", ()) or ()),
            keys=keys,
            info=info,
        )
    if role == "apply_primitive":
        return _primitive(frame, keys)
    return JaxCall(CompileKind.AOT, keys=keys)


_ROLES = {
    ("_src/pjit.py", "cache_miss"): "cache_miss",
    ("_src/pjit.py", "_pjit_call_impl"): "call_impl",
    ("_src/pjit.py", "jit_trace"): "jit_trace",
    ("_src/pjit.py", "jit_lower"): "stages",
    ("_src/stages.py", "lower"): "stages",
    ("_src/stages.py", "compile"): "stages",
    ("_src/dispatch.py", "apply_primitive"): "apply_primitive",
    ("_src/pmap.py", "wrapped"): "pmap",
}


def _jitted(frame: types.FrameType) -> JaxCall:
    values = frame.f_locals
    fun, info = values.get("fun"), values.get("jit_info")
    # A plain function of JAX itself under a jit is a jnp function called outside any jit. What the
    # user jitted, `jax.jit(jnp.sin)`, is a jitted object, not a plain function.
    code = getattr(fun, "__code__", None) if isinstance(fun, types.FunctionType) else None
    file = code.co_filename if code is not None else ""
    internal = file.startswith(jax_directory()) and not file.endswith("traceback_util.py")
    return JaxCall(
        CompileKind.EAGER if internal else CompileKind.JIT,
        fun,
        args=values.get("args"),
        kwargs=values.get("kwargs"),
        static_argnums=tuple(getattr(info, "static_argnums", ()) or ()),
        static_argnames=tuple(getattr(info, "static_argnames", ()) or ()),
        info=info,
    )


def _primitive(frame: types.FrameType, keys: tuple[tuple[int, int], ...]) -> JaxCall:
    values = frame.f_locals
    primitive = values.get("prim")
    return JaxCall(
        CompileKind.EAGER,
        name=str(getattr(primitive, "name", "")),
        args=values.get("args"),
        kwargs={},
        keys=keys,
        primitive=primitive,
        params=values.get("params"),
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


def _pmapped(frame: types.FrameType, keys: tuple[tuple[int, int], ...]) -> JaxCall:
    """The function under a pmap is a free variable of `infer_params`, which `wrapped` closes over:
    `f` or `fun`, since jax 0.9 only as `wrapped_fun.f`."""
    values = frame.f_locals
    infer = values.get("infer_params")
    held: dict[str, Any] = {}
    if isinstance(infer, types.FunctionType):
        cells = zip(infer.__code__.co_freevars, infer.__closure__ or (), strict=True)
        held = {name: cell.cell_contents for name, cell in cells}
    wrapped = getattr(held.get("wrapped_fun"), "f", None)
    fun = held.get("fun") or held.get("f") or wrapped
    name = getattr(fun, "__name__", "")
    args, kwargs = values.get("args"), values.get("kwargs")
    return JaxCall(CompileKind.PMAP, fun, name=name, args=args, kwargs=kwargs, keys=keys)


# --- Calls that do not take C++'s fast path -----------------------------------------------------


def slow_codes() -> tuple[types.CodeType, ...]:
    """The code of what C++ calls when it does not run a jitted call by itself.

    `_cache_miss` of jitted functions, and `_nan_check_posthook` of api.py; seen on jax 0.8.1,
    0.10.2 and 0.12.0.1. What is gone is left out.
    """
    import jax
    from jax._src import api

    miss = getattr(jax.jit(lambda: None), "_cache_miss", None)
    found = [inspect.unwrap(f) for f in (miss, getattr(api, _CHECK, None)) if callable(f)]
    codes = [getattr(function, "__code__", None) for function in found]
    return tuple([c for c in codes if c is not None and c.co_name in ("cache_miss", _CHECK)])


_CHECK = "_nan_check_posthook"
_REFERENCES = ("RefEffect", "ReadEffect", "WriteEffect", "AccumEffect")


@dataclass(frozen=True, slots=True)
class SlowReason:
    """Why C++ may not run a program by itself."""

    checked: bool = False
    """Its results are looked through for NaN or infinity."""
    ordered: bool = False
    callbacks: bool = False
    references: bool = False
    refused: bool = False
    """JAX gave C++ nothing to run by itself, so that the next call is as slow."""


def slow_call(frame: types.FrameType, returned: Any) -> tuple[Any, SlowReason] | None:
    """The function of a frame of `slow_codes` that is returning, and why C++ had to ask.

    Locals `fun`, `executable` and `jaxpr` of `cache_miss`, and its second result, which is None
    where C++ may not run the program by itself. None for a call inside a trace.
    """
    values = frame.f_locals
    if frame.f_code.co_name == _CHECK:
        return values.get("fun"), SlowReason(checked=True)
    executable = values.get("executable")
    if executable is None:
        return None
    call = getattr(executable, "unsafe_call", None)
    effects = getattr(values.get("jaxpr"), "effects", ()) or ()
    return values.get("fun"), SlowReason(
        ordered=bool(getattr(call, "ordered_effects", False)),
        callbacks=bool(getattr(call, "has_unordered_effects", False)),
        references=any(type(effect).__name__ in _REFERENCES for effect in effects),
        refused=isinstance(returned, tuple) and len(returned) > 1 and returned[1] is None,
    )


# --- What decides which program a call needs ------------------------------------------------------


def transform_of(fun: Any) -> tuple[str, Any] | None:
    """`("jax.grad", f)` for what `jax.grad(f)` returned; None for a function of the user's.

    JAX wraps its transforms in `reraise_with_filtered_traceback`, whose free variable `fun` is the
    transform's own function, `grad.<locals>.grad_f`. Where these names are gone, None.
    """
    code = getattr(fun, "__code__", None)
    if code is None or code.co_name != "reraise_with_filtered_traceback":
        return None
    inner = getattr(fun, "__wrapped__", None)
    if inner is None:
        return None
    names = code.co_freevars
    cells = getattr(fun, "__closure__", None) or ()
    held = dict(zip(names, cells, strict=False)).get("fun")
    own = getattr(getattr(held, "cell_contents", None), "__code__", None)
    name = str(getattr(own, "co_qualname", "")).split(".", maxsplit=1)[0]
    # The transform's function wraps the user's.
    while getattr(inner, "__code__", None) is own and hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    return f"jax.{name or 'transform'}", inner


_OPTIONS = (
    ("static_argnums", "static_argnums"),
    ("static_argnames", "static_argnames"),
    ("donate_argnums", "donate_argnums"),
    ("donate_argnames", "donate_argnames"),
    ("in_shardings", "in_shardings_leaves"),
    ("out_shardings", "out_shardings_leaves"),
    ("in_layouts", "in_layouts_leaves"),
    ("out_layouts", "out_layouts_leaves"),
    ("device", "device"),
    ("backend", "backend"),
    ("keep_unused", "keep_unused"),
    ("inline", "inline"),
    ("compiler_options", "compiler_options_kvs"),
)
_UNSET = ("None", "()", "False", "UnspecifiedValue", "Inline.AUTO", "AUTO", "<Inline.AUTO: 'auto'>")


def jit_options(info: Any) -> tuple[tuple[str, str], ...]:
    """The options of a jit by the names that users give them, those left at JAX's default out.

    Fields of `PjitInfo`; a field that is gone is an option that nobody sees change.
    """
    found: list[tuple[str, str]] = []
    for name, field in _OPTIONS:
        value = getattr(info, field, None)
        if value is None or value is False or value == ():
            continue
        if isinstance(value, tuple) and name != "compiler_options":
            texts = [str(item) for item in value]
            if all(text in _UNSET for text in texts):
                continue
            text = texts[0] if len(texts) == 1 and "shard" in name else f"({', '.join(texts)})"
        elif name == "compiler_options":
            text = ", ".join(f"{key}={setting}" for key, setting in value)
        else:
            text = str(value)
        if text not in _UNSET:
            found.append((name, text[:120]))
    # JAX works the names out from the positions, and the other way round.
    by_position = {name.removesuffix("nums") for name, _ in found if name.endswith("argnums")}
    return tuple([(n, t) for n, t in found if n.removesuffix("names") not in by_position])


def stage_options() -> tuple[tuple[str, str], ...]:
    """What `lowered.compile(compiler_options=...)` was given; empty outside of it.

    Local `compiler_options` of `compile` in stages.py.
    """
    for frame, file in _jax_frames():
        if frame.f_code.co_name == "compile" and file == "_src/stages.py":
            given = frame.f_locals.get("compiler_options")
            if not given:
                return ()
            text = ", ".join(f"{key}={given[key]}" for key in sorted(given))
            return (("compiler_options", text[:120]),)
    return ()


def bodies(value: Any) -> list[tuple[Any, str]]:
    """The jaxprs in a parameter of an operation, each with the function it was traced from.

    `jaxpr.debug_info.func_src_info`; without it the text is "a function".
    """
    found: list[tuple[Any, str]] = []
    for item in value if isinstance(value, (tuple, list)) else (value,):
        if hasattr(item, "eqns") or hasattr(getattr(item, "jaxpr", None), "eqns"):
            information = getattr(getattr(item, "jaxpr", item), "debug_info", None)
            text = getattr(information, "func_src_info", None)
            found.append((item, str(text) if text else "a function"))
    return found


def trace_context() -> Any | None:
    """JAX's settings that belong to the key of every trace, as one comparable value.

    `config.trace_context`; None when it is gone, and then no change of a setting is seen.
    """
    from jax._src import config

    ask = getattr(config, "trace_context", None)
    return None if ask is None else ask()


# On jax 0.8, which does not name the entries of its context, these are asked for one by one.
_OLD_SETTINGS = (
    "enable_x64",
    "default_device",
    "default_matmul_precision",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "threefry_partitionable",
    "random_seed_offset",
    "softmax_custom_jvp",
    "disable_jit",
    "use_direct_linearize",
    "debug_key_reuse",
    "allow_f16_reductions",
    "use_shardy_partitioner",
    "enable_pgle",
)
_OLD_CONTEXTS = (
    "mesh_context_manager",
    "abstract_mesh_context_manager",
    "compute_on_context_manager",
    "xla_metadata_context_manager",
    "user_context",
)
_MESHES = ("mesh_context_manager", "abstract_mesh_context_manager", "device_context")


def named_settings(context: Any) -> tuple[tuple[str, str], ...]:
    """The entries of a `trace_context` by name.

    `config.trace_context_names`, jax 0.10 and later. Before, the settings that people change are
    asked for by name, and the rest are numbers.
    """
    from jax._src import config

    ask = getattr(config, "trace_context_names", None)
    try:
        names = tuple(ask()) if ask is not None else ()
    except NotImplementedError:
        names = ()
    if len(names) == len(context):
        pairs = list(zip(names, context, strict=True))
    else:
        pairs = [(f"jax_{name}", _setting(config, name)) for name in _OLD_SETTINGS]
        pairs += [(name, _setting(config, name)) for name in _OLD_CONTEXTS]
        if not any(text for _, text in pairs if text is not None):
            pairs = []
        pairs += [(f"setting {i} of JAX's context", value) for i, value in enumerate(context)]
    found: dict[str, str] = {}
    for name, value in pairs:
        text = _setting_text(value)
        if name not in _MESHES:
            found[name] = text
        elif text not in ("None", "()"):
            shape = getattr(value, "shape", None)
            axes = dict(shape) if shape is not None else {}
            named = ", ".join(f"{axis}={size}" for axis, size in axes.items())
            if named or shape is None:  # under a gradient the mesh is one without axes
                found["mesh"] = named or found.get("mesh") or text
    return tuple(found.items())


def _setting(config: Any, name: str) -> Any:
    return getattr(getattr(config, name, None), "value", None)


def _setting_text(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return str(value.value)
    if type(value).__repr__ is object.__repr__:
        try:
            return f"{type(value).__name__} {hash(value) & 0xFFFF:04x}"
        except TypeError:
            return type(value).__name__
    return repr(value)[:160] if not isinstance(value, str) else value


@dataclass(frozen=True, slots=True)
class EarlierTrace:
    """A trace that JAX holds of a function."""

    leaves: tuple[tuple[str, Any], ...]
    """Names of the flat arguments with their abstract values."""
    statics: tuple[tuple[int | str, Any], ...] = ()
    """Static arguments by position or keyword."""
    context: Any = None
    """The `trace_context` at that time."""


def earlier_traces(fun: Any) -> tuple[EarlierTrace, ...]:
    """Traces of a function that JAX holds, oldest first.

    Keys of the cache of `traced_before`, jax 0.9 and later; empty on older versions.
    """
    from jax._src.interpreters import partial_eval

    cache = getattr(partial_eval, "trace_to_jaxpr", None)
    found: list[EarlierTrace] = []
    for key in cache.cache_keys() if cache is not None else ():
        if key[0]() is not fun:
            continue
        inputs, information = key[2][0], key[2][1]
        avals = _flat_avals(inputs)
        names = getattr(information, "arg_names", None) or ()
        if len(names) == len(avals):
            leaves = tuple(zip(map(str, names), avals, strict=True))
            found.append(EarlierTrace(leaves, _static_inputs(inputs), key[1]))
    return tuple(found)


def _static_inputs(inputs: Any) -> tuple[tuple[int | str, Any], ...]:
    """`Static` wrappers among the arguments; jax 0.12 has them in `elts`, 0.10 in the tree."""
    import jax

    try:
        elements = getattr(inputs, "elts", None)
        args, kwargs = elements or jax.tree_util.tree_unflatten(inputs.tree, inputs.vals)
        keys = getattr(kwargs, "keys", ())
        pairs = kwargs.items() if callable(keys) else zip(keys, kwargs._vals, strict=True)
        named = [*enumerate(getattr(args, "elts", args)), *pairs]
    except (AttributeError, TypeError, ValueError):
        return ()
    return tuple([(name, v.val) for name, v in named if type(v).__name__ in _STATIC])


_STATIC = ("Static", "FTStatic")


def _flat_avals(value: Any) -> list[Any]:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return [value]
    if type(value).__name__ in _STATIC:
        return []
    if hasattr(value, "vals"):
        value = value.vals
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (tuple, list)):
        try:
            value = list(value)
        except TypeError:
            return []
    return [aval for item in value for aval in _flat_avals(item)]


@dataclass(frozen=True, slots=True)
class PmappedCall:
    """A call of a pmapped function, as the jitted function that JAX makes of it."""

    jitted: Any
    args: tuple[Any, ...]
    """The flat arguments."""
    restore: Callable[[Any], Any]
    """The value of the call, from what the jitted function returns."""


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
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
    infer = getattr(cells.get("infer_params"), "cell_contents", None)
    if infer is None or not code.co_filename.endswith("pmap.py"):
        return None
    import jax

    found = infer(*args, **kwargs)
    if hasattr(found[0], "trace"):
        out_tree = found[2].out_tree
        return PmappedCall(
            found[0],
            tuple(found[1]),
            lambda results: jax.tree_util.tree_unflatten(out_tree(), results),
        )
    return PmappedCall(found[1], tuple(found[2]), lambda results: results)


def calling_pmap() -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """`(fun, args, kwargs)` of the pmapped call that is being traced, lowered or compiled.

    For hooks of `capture.events`, as `calling_jit`.
    """
    call = jax_call()
    if call.kind is not CompileKind.PMAP or call.fun is None or call.args is None:
        return None
    return call.fun, tuple(call.args), dict(call.kwargs or {})


def calling_jit() -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """`(fun, args, kwargs)` of the jitted call being traced, lowered or compiled on this thread.

    For hooks of `capture.events`. None outside such a call, in an eager operation, and on a JAX
    whose frames have other names.
    """
    call = jax_call()
    if call.fun is None or call.args is None or call.kind is CompileKind.PMAP:
        return None
    return call.fun, tuple(call.args), dict(call.kwargs or {})


def lowering_jaxpr() -> Any | None:
    """The closed jaxpr that is about to be lowered, at the start of a lowering.

    Local `closed_jaxpr` of `_cached_lowering_to_hlo` (interpreters/pxla.py); on 0.12 its type is
    `Jaxpr`. None when the frame is not there.
    """
    for frame, file in _jax_frames():
        if frame.f_code.co_name == "_cached_lowering_to_hlo" and file.endswith("/pxla.py"):
            return frame.f_locals.get("closed_jaxpr")
    return None


def compiled_executable() -> tuple[Any, Any] | None:
    """`(StableHLO module, loaded executable)` at the end of an XLA compilation.

    Locals of `_cached_compilation` (interpreters/pxla.py), so it works for every compilation of
    the process. None when the frame is not there or the compilation failed.
    """
    for frame, file in _jax_frames():
        if frame.f_code.co_name == "_cached_compilation" and file.endswith("/pxla.py"):
            values = frame.f_locals
            executable = values.get("xla_executable")
            return None if executable is None else (values.get("computation"), executable)
    return None


def constant_bytes(jaxpr: Any) -> int:
    """Bytes of the arrays that the outermost level of a jaxpr holds.

    `consts` of a closed jaxpr, and `val` of the literals among an equation's inputs.
    """
    held = list(getattr(jaxpr, "consts", ()) or ())
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    for equation in getattr(inner, "eqns", ()):
        held += [v.val for v in equation.invars if hasattr(v, "val")]
    return sum(
        math.prod(value.shape) * int(getattr(value.dtype, "itemsize", 0) or 0)
        for value in held
        if hasattr(value, "shape") and hasattr(value, "dtype")
    )


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """What XLA has made, with what it was made from."""

    module: Any
    executable: Any
    computation: Any = None
    """JAX's own holder of both, which lives as long as the program can be called."""
    inputs: tuple[Any, ...] = ()
    outputs: tuple[Any, ...] = ()
    """Abstract values, flat; `inputs` are those that the program really takes."""
    callbacks: bool = False
    """The executable holds functions of the user's."""


def compiled_program() -> CompiledProgram | None:
    """The program at the end of an XLA compilation; None when it failed or the frame is gone.

    As `compiled_executable`, and locals of `from_hlo` and `compile` of pxla.py around it.
    """
    found = compiled_executable()
    if found is None:
        return None
    known: dict[str, Any] = {}
    for frame, file in _jax_frames():
        if not file.endswith("/pxla.py"):
            continue
        values = frame.f_locals
        if frame.f_code.co_name == "from_hlo":
            known["inputs"] = tuple(values.get("global_in_avals") or ())
            known["outputs"] = tuple(values.get("global_out_avals") or ())
            known["callbacks"] = bool(values.get("host_callbacks") or values.get("keepalive"))
        elif frame.f_code.co_name == "compile":
            known["computation"] = values.get("self")
            break
    return CompiledProgram(*found, **known)


def held_program(computation: Any) -> tuple[Any, Any] | None:
    """Module and executable of a `CompiledProgram.computation` that is still alive.

    `MeshComputation._hlo` and `._executable.xla_executable`, seen on jax 0.8.1, 0.10.2 and
    0.12.0.1. None without these names.
    """
    module = getattr(computation, "_hlo", None)
    executable = getattr(getattr(computation, "_executable", None), "xla_executable", None)
    return None if module is None or executable is None else (module, executable)


def module_text(module: Any, dialect: str) -> str:
    """A StableHLO module as text with locations, or as HLO before any pass.

    `operation.get_asm` is MLIR's own; for HLO `mlir_module_to_xla_computation` of jaxlib. Raises
    when they are gone.
    """
    if dialect == "stablehlo":
        return str(module.operation.get_asm(enable_debug_info=True))
    from jax._src import lib
    from jax._src.interpreters import mlir

    library: Any = lib
    # jax 0.8 has its print options in another place.
    home = getattr(library, "hlo", None) or library.xla_client._xla
    made = library._jax.mlir.mlir_module_to_xla_computation(mlir.module_to_bytecode(module))
    options = home.HloPrintOptions.short_parsable()
    options.print_metadata = True
    return str(made.as_hlo_module().to_string(options))


@dataclass(frozen=True, slots=True)
class CacheRequest:
    """What the persistent cache is asked for."""

    module: str
    key: str
    components: tuple[tuple[str, str], ...]
    """Parts of the key besides the program itself, by name, short: texts or hashes."""


def cache_request() -> CacheRequest | None:
    """What the persistent cache is being asked for on this thread; None when it cannot be read.

    Locals of `compile_or_get_cached` (compiler.py), seen on jax 0.8.1, 0.10.2 and 0.12.0.1. The
    parts are those that JAX's cache_key.py hashes; the program is what is left when no other part
    differs, so it is not hashed a second time here.
    """
    for frame, file in _jax_frames():
        if frame.f_code.co_name == "compile_or_get_cached" and file.endswith("/compiler.py"):
            values = frame.f_locals
            break
    else:
        return None
    key, module = values.get("cache_key"), values.get("module_name")
    if not key or not module:
        return None
    parts: dict[str, Callable[[], str]] = {
        "jaxlib version": _jaxlib_version,
        "backend version": lambda: str(values["backend"].platform_version),
        "XLA flags": _xla_flags,
        "compile options": lambda: _digest(values["compile_options"].SerializeAsString()),
        "devices": lambda: ", ".join(str(d.device_kind) for d in values["devices"].flatten()),
    }
    found: list[tuple[str, str]] = []
    for name, read in parts.items():
        try:
            found.append((name, read()))
        except Exception:  # a part that this JAX names in another way is left out
            continue
    return CacheRequest(str(module), str(key), tuple(found))


def _jaxlib_version() -> str:
    import jaxlib.version

    return str(jaxlib.version.__version__)


def _xla_flags() -> str:
    """Flags that belong to the key; those that only dump are left out, as JAX does."""
    flags = os.environ.get("XLA_FLAGS", "").split()
    flags += os.environ.get("LIBTPU_INIT_ARGS", "").split()
    flags += [word for word in sys.argv if word.startswith("--xla")]
    return " ".join(sorted(flag for flag in flags if "dump" not in flag))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def event_error() -> str:
    """The exception type that ended the stage whose end is being reported, or an empty text.

    Local `exc_type` of `LogElapsedTimeContextManager.__exit__` (dispatch.py). Empty when the frame
    is not there, so that a failed stage then looks like a finished one.
    """
    for frame, file in _jax_frames():
        if frame.f_code.co_name == "__exit__" and file.endswith("/dispatch.py"):
            kind = frame.f_locals.get("exc_type")
            return "" if kind is None else str(kind.__name__)
    return ""


def trace_misses() -> int | None:
    """How many functions JAX has traced so far, to tell a trace from a hit in the trace cache.

    `partial_eval.trace_to_jaxpr.cache_info()`, jax 0.9 and later. None on older versions, which
    report a trace only when they really trace.
    """
    from jax._src.interpreters import partial_eval

    cache = getattr(partial_eval, "trace_to_jaxpr", None)
    return None if cache is None else int(cache.cache_info().misses)


def traced_before(fun: Any) -> bool | None:
    """Whether JAX still holds a trace of this function from before; None when it cannot say.

    Keys of the same cache as `trace_misses`, whose first entry is a weak reference to the function.
    """
    from jax._src.interpreters import partial_eval

    cache = getattr(partial_eval, "trace_to_jaxpr", None)
    if cache is None:
        return None
    return any(key[0]() is fun for key in cache.cache_keys())


def monitored_by(owner: Any) -> bool | None:
    """Whether all three kinds of our listeners are registered; None when JAX cannot say.

    `get_event_listeners` and its like of `jax._src.monitoring`, seen on jax 0.8.1 to 0.12.0.
    """
    found = _monitors()
    return None if found is None else sum(1 for one in found if one is owner) >= 3


def monitors(kind: type[T]) -> T | None:
    """The object of this type that JAX tells what it compiles, if there is one."""
    return next((one for one in _monitors() or () if isinstance(one, kind)), None)


def _monitors() -> list[Any] | None:
    from jax._src import monitoring

    names = ("get_event_listeners", "get_event_duration_listeners", "get_scalar_listeners")
    getters = [getattr(monitoring, name, None) for name in names]
    if None in getters:
        return None
    return [getattr(one, "__self__", None) for get in getters if get is not None for one in get()]


def backends_started() -> bool:
    """Whether a backend is up, without starting one.

    `xla_bridge.backends_are_initialized`. When the name is gone: True once jax is imported, so that
    nobody is promised a setting that would come too late.
    """
    if "jax" not in sys.modules:
        return False
    from jax._src import xla_bridge

    ask = getattr(xla_bridge, "backends_are_initialized", None)
    return True if ask is None else bool(ask())


# --- Equations, tags and texts: what a jaxpr says about itself ------------------------------------
#
# Equations are `JaxprEqn` with a `source_info` of (traceback, name_stack); seen on jax 0.8.1,
# 0.10.2 and 0.12.0.1.


def traceback_of(equation: Any) -> Any:
    """The traceback of an equation, hashable; None when there is none.

    `source_info.traceback`, a jaxlib `Traceback` that compares by its frames.
    """
    return getattr(getattr(equation, "source_info", None), "traceback", None)


def code_positions(traceback: Any) -> tuple[list[types.CodeType], list[int]]:
    """The Python stack of a traceback, innermost first: code objects and their `f_lasti`.

    `raw_frames()`. JAX 0.9 and newer end it where the tracing of the jaxpr began; older ones go on
    to the outermost call. Empty when there is no traceback.
    """
    raw = getattr(traceback, "raw_frames", None)
    return ([], []) if raw is None else raw()


def begins_trace(code: types.CodeType) -> bool:
    """Whether the frames outside this one belong to the caller of a trace, not to the jaxpr.

    `trace_to_jaxpr*` of interpreters/partial_eval.py. Without it, frames of the first caller of a
    shared jaxpr would be taken for everybody's.
    """
    return code.co_name.startswith("trace_to_jaxpr") and code.co_filename.endswith(
        "partial_eval.py"
    )


def name_scopes(equation: Any) -> tuple[tuple[str, str], ...]:
    """The name stack of an equation, relative to its jaxpr: `(kind, name)`, outermost first.

    Kind is `Scope` or `Transform`, the class names in source_info_util. Empty when it is gone.
    """
    name_stack = getattr(getattr(equation, "source_info", None), "name_stack", None)
    stack = getattr(name_stack, "stack", ())
    return tuple([(type(entry).__name__, entry.name) for entry in stack]) if stack else ()


def push_scope(equation: Any, name: str) -> None:
    """Put a scope at the inner end of an equation's name stack, in place.

    A new SourceInfo, because several equations may share one. Raises AttributeError or TypeError
    when these objects have changed; the caller then leaves the program untagged.
    """
    info = equation.source_info
    equation.source_info = info.replace(name_stack=info.name_stack.extend(name))


def scan_constants(params: Any) -> int | None:
    """How many inputs of a `scan` are the same in every round.

    `num_consts` up to jax 0.10.2, the first part of `ft_in` on 0.12.0. None when both are gone.
    """
    known = params.get("num_consts")
    if known is not None:
        return int(known)
    try:
        return len(params["ft_in"].unpack()[0])
    except (AttributeError, KeyError, TypeError, IndexError):
        return None


def given_name(equation: Any) -> str:
    """The name that `checkpoint_name` gave a value, or that of the function under an inner `jit`.

    Parameter `name`; with JAX's newer primitives, since 0.10, the `name` of parameter `_prim`.
    Empty when there is none.
    """
    params = equation.params
    return str(params.get("name") or getattr(params.get("_prim"), "name", "") or "")


def short_aval(aval: Any) -> str:
    """`f32[4,8]`. `str_short` of abstract values; their repr when it is gone."""
    try:
        return aval.str_short(short_dtypes=True)
    except (AttributeError, TypeError):
        return str(aval)


class Mark:
    """Stands in a copied equation for its traceback, and so comes back from the pretty printer."""

    def __init__(self, number: int) -> None:
        self.number = number
        # jax 0.8 looks for a user's frame in the traceback and returns that frame.
        self._code = (lambda: 0).__code__.replace(co_filename=f"mark {number}")

    def raw_frames(self) -> tuple[list[types.CodeType], list[int]]:
        return [self._code], [0]


def print_jaxpr(jaxpr: Any) -> tuple[str, list[list[int]]]:
    """The text of a jaxpr whose equations carry `Mark`s, and the marks' numbers on each line.

    `Jaxpr.pretty_print(source_map=...)`. Raises when the printer has changed.
    """
    source_map: list[list[tuple[int, int, Any]]] = []
    text = jaxpr.pretty_print(source_map=source_map, use_color=False)
    lines: list[list[int]] = []
    for entries in source_map:
        numbers = [
            s.number if isinstance(s, Mark) else int(s.file_name.removeprefix("mark "))
            for *_, s in entries
        ]
        lines.append(list(dict.fromkeys(numbers)))
    return text, lines


def with_mark(equation: Any, mark: Mark, params: dict[str, Any]) -> Any:
    """A copy of an equation with other parameters, and a mark where its traceback was."""
    info = equation.source_info
    return equation.replace(params=params, source_info=info.replace(traceback=mark))


def kept_arguments(lowered: Any) -> frozenset[int] | None:
    """The flat arguments that the program really takes; JAX drops those no result depends on.

    `_lowering.compile_args["kept_var_idx"]`. None when it is gone: then all count as kept.
    """
    arguments = getattr(getattr(lowered, "_lowering", None), "compile_args", None)
    kept = arguments.get("kept_var_idx") if isinstance(arguments, dict) else None
    return None if kept is None else frozenset(int(index) for index in kept)


# --- Compiled programs: what decides whether one may be used again --------------------------------


def constant_arguments(lowered: Any) -> tuple[Any, ...]:
    """Arrays that the program takes as hidden arguments instead of holding them as constants.

    `Lowered._lowering.const_args`, seen on jax 0.8.1 to 0.12.0 (empty unless the user turns
    simplified jaxpr constants on). Without the name: no such arrays.
    """
    return tuple(getattr(getattr(lowered, "_lowering", None), "const_args", ()) or ())


def donates(jitted: Any) -> bool | None:
    """Whether a jitted function donates any argument; None when it cannot be told.

    `_jit_info.donate_argnums` and `donate_argnames`, seen on jax 0.8.1 to 0.12.0.
    """
    info = getattr(jitted, "_jit_info", None)
    if info is None or not hasattr(info, "donate_argnums"):
        return None
    return bool(info.donate_argnums or info.donate_argnames)


def argument_names(traced: Any) -> tuple[str, ...]:
    """The flat arguments as the user writes them: `x`, `params['w']`.

    `jaxpr.debug_info.arg_names`, seen on jax 0.8.1 to 0.12.0. Without it: no names.
    """
    jaxpr = getattr(traced, "jaxpr", None)
    information = getattr(getattr(jaxpr, "jaxpr", jaxpr), "debug_info", None)
    names = getattr(information, "arg_names", None)
    return tuple([str(name) for name in names]) if names else ()


# --- The profiler in memory ----------------------------------------------------------------------


def profiler_session(options: Any) -> Any | None:
    """A started profiler session whose `stop()` gives the trace as bytes.

    jax 0.8.1, 0.10.2, 0.12.0.1. None when it is gone: then the public way writes a directory.
    """
    try:
        from jax._src.lib import _profiler  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:
        return None
    make = getattr(_profiler, "ProfilerSession", None)
    return None if make is None else make(options)


# --- vmap: which values entered it, and where its equations come from -----------------------------
#
# A jaxpr does not say which of its values are batches. The names below were seen on jax 0.8.1,
# 0.10.2 and 0.12.0.1.

Site = tuple[tuple[types.CodeType, int], ...]
"""The Python stack around a call of a vmapped function, from its caller outwards, as far as the
trace goes: code objects and their `f_lasti`."""


@dataclass(frozen=True, slots=True)
class VmapEntry:
    """One call of a vmapped function while JAX traced it."""

    site: Site
    name: str
    """`axis_name`; empty when it has none."""
    size: int
    axes: tuple[int | None, ...]
    """By flat argument."""
    values: tuple[Any, ...]
    """By flat argument: the jaxpr's variable behind it, or a constant array."""


@contextmanager
def watching_vmaps(seen: list[VmapEntry]) -> Generator[None]:
    """Notes every call of a vmapped function that this thread traces inside the block.

    `interpreters.batching.batch` is the one function that `vmap_f` (api.py) asks for a batched
    function, once a call; for the time of the block it notes its arguments before it answers as
    ever. It is off the stack again before any user code runs. Without these names: notes nothing.
    """
    try:
        from jax._src.interpreters import batching

        original = batching.batch
    except (ImportError, AttributeError):
        yield
        return
    thread = threading.get_ident()

    @functools.wraps(original)
    def batch(fun: Any, axis_data: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == thread:
            with suppress(Exception):  # then its equations are matched by their shapes
                caller = sys._getframe(1)
                if caller.f_code.co_name == "vmap_f":
                    seen.extend(_vmap_entry(axis_data, in_dims, caller))
        return original(fun, axis_data, in_dims, *args, **kwargs)

    batching.batch = batch
    try:
        yield
    finally:
        if batching.batch is batch:
            batching.batch = original


def _vmap_entry(axis_data: Any, in_dims: Any, frame: types.FrameType) -> list[VmapEntry]:
    """Nothing outside of any trace: such a call is part of no program, and its arrays are to be let
    go of."""
    stack: list[tuple[types.CodeType, int]] = []
    outer = frame.f_back
    while outer is not None and not begins_trace(outer.f_code):
        stack.append((outer.f_code, outer.f_lasti))
        outer = outer.f_back
    if outer is None:
        return []
    name = axis_data.name
    entry = VmapEntry(
        tuple(stack),
        name if isinstance(name, str) else "",
        int(axis_data.size),
        tuple([axis if isinstance(axis, int) else None for axis in in_dims]),
        tuple([_behind(value) for value in frame.f_locals["args_flat"]]),
    )
    return [entry]


def _behind(value: Any) -> Any:
    """The jaxpr's variable behind a tracer, through the tracers of other transforms."""
    while not isinstance(value, (int, float, complex)):
        if hasattr(value, "batch_dim"):
            value = value.val
        elif hasattr(value, "primal"):
            value = value.primal
        else:
            break
    return getattr(value, "val", value)


def vmap_sites(traceback: Any) -> tuple[Site, ...]:
    """The calls of vmapped functions around an equation, outermost first.

    Frames of `vmap_f` in api.py.
    """
    codes, offsets = code_positions(traceback)
    stack: list[tuple[types.CodeType, int]] = []
    for code, offset in zip(codes, offsets, strict=True):
        if begins_trace(code):
            break
        stack.append((code, offset))
    return tuple(
        [
            tuple(stack[index + 1 :])
            for index in range(len(stack) - 1, -1, -1)
            if stack[index][0].co_name == "vmap_f"
            and stack[index][0].co_filename.startswith(jax_directory())
        ]
    )


def jax_calls(traceback: Any) -> tuple[tuple[str, str], ...]:
    """JAX's own calls that made an equation, innermost first: file and function.

    They end at the first frame that is not JAX's, and where the trace began. Empty without frames.
    """
    home = jax_directory()
    calls: list[tuple[str, str]] = []
    for code in code_positions(traceback)[0]:
        if begins_trace(code) or not code.co_filename.startswith(home):
            break
        calls.append((os.path.basename(code.co_filename), code.co_name))
    return tuple(calls)


def live_modules(names: frozenset[str]) -> list[tuple[str, str]]:
    """Name and optimised HLO of the process's live programs of these module names.

    `Client.live_executables`, seen on jax 0.8.1, 0.10.2, 0.12.0.1. Without it: none.
    """
    import jax

    found: list[tuple[str, str]] = []
    clients = {id(c): c for device in jax.local_devices() if (c := getattr(device, "client", None))}
    for client in clients.values():
        for executable in getattr(client, "live_executables", list)():
            mine = [m for m in executable.hlo_modules() if m.name in names]
            found += [(module.name, module.to_string()) for module in mine]
    return found


def leading_vmaps(
    function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[tuple[str, int, tuple[int | None, ...]]]:
    """The vmaps that a jitted function begins with, outermost first: name, size, flat axes.

    What `jax.vmap` closes over in `vmap_f`: `fun`, `in_axes`, `axis_name`. Empty when there is
    none, and when the names are gone.
    """
    import jax

    leaves = jax.tree_util.tree_leaves((args, kwargs))
    shapes: list[tuple[int, ...]] = [tuple(getattr(leaf, "shape", ())) for leaf in leaves]
    found: list[tuple[str, int, tuple[int | None, ...]]] = []
    function = _inside_boundary(getattr(function, "__wrapped__", None))
    while isinstance(function, types.FunctionType) and function.__code__.co_name == "vmap_f":
        held = _closed_over(function)
        if not {"fun", "in_axes", "axis_name"} <= held.keys():
            break
        taken = _flat_axes(held["in_axes"], args, kwargs)
        pairs = list(zip(shapes, taken, strict=True))
        sizes = {shape[axis] for shape, axis in pairs if axis is not None}
        if len(sizes) != 1:
            break
        name = held["axis_name"]
        found.append((name if isinstance(name, str) else "", sizes.pop(), taken))
        shapes = [
            shape if axis is None else shape[:axis] + shape[axis % len(shape) + 1 :]
            for shape, axis in pairs
        ]
        function = _inside_boundary(held["fun"])
    return found


def _inside_boundary(function: Any) -> Any:
    """The function inside the wrapper that keeps JAX's frames out of tracebacks."""
    while getattr(getattr(function, "__code__", None), "co_name", "") == _BOUNDARY:
        inner = _closed_over(function).get("fun")
        if inner is None:
            break
        function = inner
    return function


_BOUNDARY = "reraise_with_filtered_traceback"


def _closed_over(function: types.FunctionType) -> dict[str, Any]:
    names = function.__code__.co_freevars
    cells = zip(names, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}


def _is_filled(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _flat_axes(
    in_axes: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[int | None, ...]:
    """`in_axes`, a prefix of the arguments' tree, for every leaf; keywords are mapped along 0."""
    import jax

    def is_axis(value: Any) -> bool:
        return value is None

    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    flat: list[int | None] = []
    jax.tree_util.tree_map(
        lambda axis, part: flat.extend([axis] * len(jax.tree_util.tree_leaves(part))),
        axes,
        args,
        is_leaf=is_axis,
    )
    return (*flat, *[0 for _ in jax.tree_util.tree_leaves(kwargs)])


# --- Replaying equations -------------------------------------------------------------------------


def replay(equation: Any, inputs: list[Any], params: dict[str, Any], dropped: Any) -> list[Any]:
    """Apply an equation's primitive to new inputs, under its own traceback and name stack.

    `dropped(name)` says which scopes of the stack to leave out. Names in `source_info_util`, seen
    on jax 0.8.1, 0.10.2, 0.12.0.1. Raises what JAX raises, and AttributeError or ImportError when
    they are gone: the caller then has no line mode.
    """
    from jax._src import source_info_util

    info = equation.source_info
    scopes = tuple(scope for scope in info.name_stack.stack if not dropped(scope.name))
    stack = source_info_util.current_name_stack() + source_info_util.NameStack(scopes)
    primitive = equation.primitive
    bound = primitive.get_bind_params(params)
    functions, bound = bound if isinstance(bound, tuple) else ((), bound)
    with source_info_util.user_context(info.traceback, name_stack=stack):
        found = primitive.bind(*functions, *inputs, **bound)
    return list(found) if primitive.multiple_results else [found]
