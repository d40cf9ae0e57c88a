"""The only room of jaxscope that touches JAX's private names.

Each function says on which versions it was seen and what happens when the name is gone: less
detail, never an exception that a user would see.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import types
from collections.abc import Generator, Iterator
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
        return replace(known, kind=kind, args=args, kwargs={}, named=named, keys=keys)
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
    )


def _primitive(frame: types.FrameType, keys: tuple[tuple[int, int], ...]) -> JaxCall:
    values = frame.f_locals
    name = str(getattr(values.get("prim"), "name", ""))
    return JaxCall(CompileKind.EAGER, name=name, args=values.get("args"), kwargs={}, keys=keys)


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
        from jax._src.lib import _profiler
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
                    seen.append(_vmap_entry(axis_data, in_dims, caller))
        return original(fun, axis_data, in_dims, *args, **kwargs)

    batching.batch = batch
    try:
        yield
    finally:
        if batching.batch is batch:
            batching.batch = original


def _vmap_entry(axis_data: Any, in_dims: Any, frame: types.FrameType) -> VmapEntry:
    stack: list[tuple[types.CodeType, int]] = []
    outer = frame.f_back
    while outer is not None and not begins_trace(outer.f_code):
        stack.append((outer.f_code, outer.f_lasti))
        outer = outer.f_back
    name = axis_data.name
    return VmapEntry(
        tuple(stack),
        name if isinstance(name, str) else "",
        int(axis_data.size),
        tuple([axis if isinstance(axis, int) else None for axis in in_dims]),
        tuple([_behind(value) for value in frame.f_locals["args_flat"]]),
    )


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
