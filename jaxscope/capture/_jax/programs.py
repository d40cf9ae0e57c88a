"""Programs that are being lowered or have been compiled, and what decides whether one may be used
again."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import copy
import math
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxscope.capture._jax.frames import jax_frames, jax_locals
from jaxscope.capture._jax.vmaps import array_key


def lowering_jaxpr() -> Any | None:
    """The closed jaxpr that is about to be lowered, at the start of a lowering.

    Local `closed_jaxpr` of `_cached_lowering_to_hlo` (interpreters/pxla.py); on 0.12 its type is
    `Jaxpr`. None when the frame is not there.
    """
    return jax_locals("_cached_lowering_to_hlo", "/pxla.py").get("closed_jaxpr")


def traced_jaxpr() -> Any | None:
    """The closed jaxpr as it was traced, at the start of a lowering; JAX lowers what is used of it.

    Local `jaxpr` of `_resolve_and_lower` (pjit.py). None when the frame is not there.
    """
    return jax_locals("_resolve_and_lower", "/pjit.py").get("jaxpr")


def lowered_anew(traced: Any) -> Any | None:
    """A copy of a `Traced` that JAX lowers again, whatever it has lowered before.

    Fields `_params` of `jax.stages.Traced`, with the jaxpr by which JAX keeps the lowering, and
    `_lojax` (0.9 and later). None where these are gone.
    """
    try:
        made = copy.copy(traced)
        made._params = {**traced._params, "jaxpr": _copied(traced.jaxpr, {})}
        if hasattr(made, "_lojax"):
            made._lojax = None
    except Exception:
        return None
    return made


def _copied(value: Any, known: dict[int, Any]) -> Any:
    """A copy of a jaxpr or a tuple of jaxprs, with those inside; any other value as it is.

    JAX keeps what it derives of a jaxpr, such as one without unused results, also of inner ones.
    `known` has the copies by identity: a jaxpr that is used twice is lowered once.
    """
    if id(value) in known:
        return known[id(value)]
    if type(value) is tuple:
        items: list[Any] = [_copied(item, known) for item in value]
        changed = any(a is not b for a, b in zip(items, value, strict=True))
        made: Any = tuple(items) if changed else value
    elif getattr(value, "jaxpr", value) is not value and hasattr(value, "consts"):  # before 0.12
        made = value.replace(jaxpr=_copied(value.jaxpr, known))
    elif hasattr(value, "eqns"):
        made = value.replace(eqns=[_copied_equation(one, known) for one in value.eqns])
    else:
        return value
    known[id(value)] = made
    return made


def _copied_equation(equation: Any, known: dict[int, Any]) -> Any:
    params = {name: _copied(value, known) for name, value in equation.params.items()}
    if all(params[name] is value for name, value in equation.params.items()):
        return equation
    return equation.replace(params=params)


def constants_in(jaxpr: Any) -> list[Any]:
    """The arrays that a jaxpr and those inside it hold as constants, the outermost first, once."""
    found: dict[Hashable, Any] = {}
    for _, value in constant_pairs(jaxpr):
        found.setdefault(array_key(value), value)
    return [*found.values()]


def constant_pairs(jaxpr: Any) -> Iterator[tuple[Any, Any]]:
    """The variables of these constants in each of the jaxprs, with their arrays.

    `consts` of a closed jaxpr, and of those among the parameters of its equations.
    """
    for one in _with_inner(jaxpr):
        variables = getattr(getattr(one, "jaxpr", one), "constvars", ())
        yield from zip(variables, getattr(one, "consts", ()) or (), strict=False)


def _with_inner(jaxpr: Any) -> Iterator[Any]:
    """A jaxpr, and what the parameters of its equations hold, once each."""
    waiting, seen = [jaxpr], set[int]()
    for one in waiting:
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, (tuple, list)):
            waiting += one
        yield one
        for equation in getattr(getattr(one, "jaxpr", one), "eqns", ()):
            waiting += equation.params.values()


def renew_constants(jaxpr: Any) -> None:
    """Replace the NumPy constants of a jaxpr, and of those inside it, by views of their own.

    `canonicalize_value` (dtypes.py, cached on jax 0.10.2 and 0.12.0.1) converts an array once for
    as long as its `TypedNdArray` is alive: one that the code then changes in place has its old
    values in each later trace. Seen on jax 0.8.1, 0.10.2 and 0.12.0.1. Without lists of `consts`:
    changes nothing.
    """
    made: dict[int, tuple[Any, Any]] = {}
    for one in _with_inner(jaxpr):
        consts = getattr(one, "consts", None)
        if not isinstance(consts, list):
            continue
        for index, value in enumerate(consts):
            if is_numpy_constant(value):
                consts[index] = made.setdefault(id(value), (value, _own_view(value)))[1]


def _own_view(value: Any) -> Any:
    """On jax 0.8.1 the class holds the array, and later ones are arrays themselves."""
    if not isinstance(value, np.ndarray):
        return copy.copy(value)
    array: Any = value
    return type(array)(array.val, array.aval)


def is_numpy_constant(value: Any) -> bool:
    """Whether a constant of a jaxpr is an array of NumPy, of JAX's class `TypedNdArray`.

    Seen on jax 0.8.1, 0.10.2 and 0.12.0.1. Without this class: False.
    """
    return type(value).__name__ == "TypedNdArray"


def constant_bytes(jaxpr: Any) -> int:
    """Bytes of the arrays that a jaxpr and those inside it hold.

    `constants_in`, and on 0.8 `val` of the literals among an equation's inputs.
    """
    held = constants_in(jaxpr)
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    for equation in getattr(inner, "eqns", ()):
        held += [v.val for v in equation.invars if hasattr(v, "val")]
    return sum(
        math.prod(value.shape) * int(getattr(value.dtype, "itemsize", 0) or 0)
        for value in held  # on 0.8 these have no `nbytes`
        if hasattr(value, "shape") and hasattr(value, "dtype")
    )


@dataclass(frozen=True, slots=True)
class CompiledProgram:
    """An executable of XLA, with the module that it was compiled from."""

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

    Locals of `_cached_compilation` (interpreters/pxla.py), so it works for every compilation of
    the process, and `self` of `MeshComputation.compile` around it, whose `compile_args` say what
    goes in and out; seen on jax 0.8.1, 0.10.2 and 0.12.0.1.
    """
    found: tuple[Any, Any] | None = None
    for frame, file in jax_frames():
        if file != "_src/interpreters/pxla.py":
            continue
        if frame.f_code.co_name == "_cached_compilation":
            values = frame.f_locals
            if values.get("xla_executable") is None:
                return None
            found = values.get("computation"), values["xla_executable"]
        elif frame.f_code.co_name == "compile" and found is not None:
            computation = frame.f_locals.get("self")
            given = getattr(computation, "compile_args", None) or {}
            return CompiledProgram(
                *found,
                computation,
                tuple(given.get("global_in_avals") or ()),
                tuple(given.get("global_out_avals") or ()),
                bool(given.get("host_callbacks") or given.get("keepalive")),
            )
    return None if found is None else CompiledProgram(*found)


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


def lowered_name(stage: Any) -> str:
    """The function of a `Lowered` or a `Compiled`; empty where it is not known.

    The module of a `Lowered` has it, and of a `Compiled` `_executable.unsafe_call.name`, `jit(f)`;
    seen on jax 0.8.1 to 0.12.0.
    """
    try:
        if hasattr(stage, "compiler_ir"):
            name = str(stage.compiler_ir().operation.attributes["sym_name"].value)
        else:
            name = str(stage._executable.unsafe_call.name)
    except Exception:
        return ""
    found = re.fullmatch(r"jit[_(](.+?)\)?", name)
    short = "" if found is None else found[1]
    return "<lambda>" if short.strip("_") == "lambda" else short


def kept_arguments(lowered: Any) -> frozenset[int] | None:
    """The flat arguments that the program really takes; JAX drops those no result depends on.

    `_lowering.compile_args["kept_var_idx"]`. None when it is gone: then all count as kept.
    """
    arguments = getattr(getattr(lowered, "_lowering", None), "compile_args", None)
    kept = arguments.get("kept_var_idx") if isinstance(arguments, dict) else None
    return None if kept is None else frozenset(int(index) for index in kept)


def constant_arguments(lowered: Any) -> tuple[Any, ...]:
    """Arrays that the program takes as hidden arguments instead of holding them as constants.

    `Lowered._lowering.const_args`, seen on jax 0.8.1 to 0.12.0 (empty unless the user turns
    simplified jaxpr constants on). Without the name: no such arrays.
    """
    return tuple(getattr(getattr(lowered, "_lowering", None), "const_args", ()) or ())


def donates(jitted: Any) -> bool | None:
    """Whether a jitted function donates any argument; None when unknown.

    `_jit_info.donate_argnums` and `donate_argnames`, seen on jax 0.8.1 to 0.12.0.
    """
    return info_donates(getattr(jitted, "_jit_info", None))


def info_donates(info: Any) -> bool | None:
    """Whether a jitted function with these options (`JaxCall.info`) donates any argument."""
    if info is None or not hasattr(info, "donate_argnums"):
        return None
    return bool(info.donate_argnums or info.donate_argnames)


def traced_arguments(
    jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call without those that are static.

    `_jit_info.static_argnums` and `static_argnames`, which JAX works out from each other; seen on
    jax 0.8.1 to 0.12.0. All of them where these names are gone.
    """
    info = getattr(jitted, "_jit_info", None)
    numbers = getattr(info, "static_argnums", None) or ()
    names = getattr(info, "static_argnames", None) or ()
    static = {number if number >= 0 else number + len(args) for number in numbers}
    return (
        tuple([arg for number, arg in enumerate(args) if number not in static]),
        {name: value for name, value in kwargs.items() if name not in names},
    )


def argument_names(traced: Any) -> tuple[str, ...]:
    """The flat arguments as the user writes them: `x`, `params['w']`.

    `jaxpr.debug_info.arg_names`, seen on jax 0.8.1 to 0.12.0. Without it: no names.
    """
    jaxpr = getattr(traced, "jaxpr", None)
    information = getattr(getattr(jaxpr, "jaxpr", jaxpr), "debug_info", None)
    names = getattr(information, "arg_names", None)
    return tuple([str(name) for name in names]) if names else ()


def primitive_names() -> frozenset[str]:
    """The names of JAX's primitives, after which it names the program of an eager operation.

    Keys of the tables of lowerings in mlir.py, seen on jax 0.8.1, 0.10.2 and 0.11.2; empty without
    them.
    """
    try:
        from jax._src.interpreters import mlir

        tables = (mlir._lowerings, *mlir._platform_specific_lowerings.values())
        return frozenset(primitive.name for table in tables for primitive in table)
    except (ImportError, AttributeError):
        return frozenset()


def live_modules(names: frozenset[str]) -> list[tuple[str, str]]:
    """Name and optimized HLO of the process's live programs of these module names.

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
