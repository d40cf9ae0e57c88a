"""The options of a jitted function, and what it holds."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from typing import Any

from jaxscope.capture._jax.closures import inside_boundary, is_boundary
from jaxscope.capture._jax.frames import jax_directory, jax_locals


def transform_of(fun: Any) -> tuple[str, Any] | None:
    """`("jax.grad", f)` for what `jax.grad(f)` returned; None for a function of the user's.

    JAX wraps most transforms in `reraise_with_filtered_traceback`, whose free variable `fun` is the
    transform's own function, `grad.<locals>.grad_f`; `jacfwd` and `jacrev` return theirs. Where
    these names are gone, None.
    """
    inner = getattr(fun, "__wrapped__", None)
    own = getattr(inside_boundary(fun), "__code__", None)
    name, _, local = str(getattr(own, "co_qualname", "")).partition(".<locals>.")
    whole = name and not local  # `lax.scan` is a function, and no transform of one
    if (
        inner is None
        or whole
        or not (
            is_boundary(fun) or (local and callable(getattr(sys.modules.get("jax"), name, None)))
        )
    ):
        return None
    # The transform's function wraps the user's.
    while getattr(inner, "__code__", None) is own and hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    return f"jax.{name.lstrip('_') or 'transform'}", inner


def is_own(fun: Any) -> bool:
    """Whether it is a function of JAX's own, and does not wrap one of the user's.

    `jax.jacfwd(f)` and `jnp.vectorize(f)` return a function of JAX's that has `f` as
    `__wrapped__`.
    """
    if transform_of(fun) is not None:
        return False
    files = [getattr(getattr(f, "__code__", None), "co_filename", "") for f in (fun, _inner(fun))]
    return all(file.startswith(jax_directory()) for file in files) and not files[0].endswith(
        "traceback_util.py"
    )


def traced_from_own(jaxpr: Any) -> bool:
    """Whether a jaxpr was traced from a function of JAX's own, such as `jnp.take_along_axis`.

    `jaxpr.debug_info.func_filename`, seen on jax 0.8.1 to 0.12.0. Without it: no.
    """
    information = getattr(getattr(jaxpr, "jaxpr", jaxpr), "debug_info", None)
    file = getattr(information, "func_filename", None)
    return isinstance(file, str) and file.startswith(jax_directory())


def _inner(fun: Any) -> Any:
    try:
        return inspect.unwrap(fun)
    except ValueError:  # a cycle
        return fun


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
    ("compiler_options", "compiler_options_kvs"),
)

_UNSET = ("None", "()", "False", "UnspecifiedValue", "AUTO")


def jit_options(info: Any) -> tuple[tuple[str, str], ...]:
    """The options of a jit by the names that users give them, those left at JAX's default out.

    `keep_unused` and `inline` are in no cache key of a call, seen on jax 0.8.1 to 0.12.0.1.
    Fields of `PjitInfo`; changes of an option whose field is gone go unnoticed.
    """
    found: list[tuple[str, str]] = []
    for name, field in _OPTIONS:
        value = getattr(info, field, None)
        if value is None or value is False or value == ():
            continue
        if isinstance(value, tuple) and name != "compiler_options":
            texts = [sharding_text(item) for item in value]
            if all(text in _UNSET for text in texts):
                continue
            text = texts[0] if len(texts) == 1 and "shard" in name else f"({', '.join(texts)})"
        elif name == "compiler_options":
            text = ", ".join(f"{key}={setting}" for key, setting in value)
        else:
            text = str(value)
        if text not in _UNSET:
            found.append((name, text))
    # JAX works the names out from the positions, and the other way round.
    by_position = {name.removesuffix("nums") for name, _ in found if name.endswith("argnums")}
    return tuple([(n, t) for n, t in found if n.removesuffix("names") not in by_position])


def sharding_text(value: Any) -> str:
    """`P('d') over mesh d=8`, which is `P('d', None)` too; the text of a value that is no
    `NamedSharding`."""
    from jax.sharding import NamedSharding

    if not isinstance(value, NamedSharding):
        return str(value)
    mesh = value.mesh
    axes = ", ".join(f"{name}={size}" for name, size in dict(mesh.shape).items())
    kinds = {str(kind).rsplit(".", 1)[-1] for kind in getattr(mesh, "axis_types", None) or ()}
    spec = spec_entries(value.spec)
    while spec and spec[-1] is None:
        spec.pop()
    memory = " in pinned_host" if value.memory_kind == "pinned_host" else ""
    explicit = " (explicit)" if "Explicit" in kinds else ""
    return f"{spec_text(value.spec, spec)} over mesh {axes}{explicit}{memory}"


def spec_entries(spec: Any) -> list[Any]:
    """The mesh axes by dimension of a `PartitionSpec`.

    `partitions` since 0.10, where one with unreduced axes refuses to be iterated.
    """
    return list(getattr(spec, "partitions", spec))


def spec_text(spec: Any, entries: Sequence[Any] | None = None) -> str:
    """`P('data', None)`, spelled the same on every version of JAX; with other entries if given."""
    parts = [repr(one) for one in (spec_entries(spec) if entries is None else entries)]
    if unreduced := sorted(getattr(spec, "unreduced", None) or ()):
        parts.append(f"unreduced={{{', '.join(map(repr, unreduced))}}}")
    return f"P({', '.join(parts)})"


def stage_options() -> tuple[tuple[str, str], ...]:
    """Options of the running `lowered.compile(compiler_options=...)`; empty outside of it.

    Local `compiler_options` of `compile` in stages.py.
    """
    given = jax_locals("compile", "_src/stages.py").get("compiler_options")
    if not given:
        return ()
    text = ", ".join(f"{key}={given[key]}" for key in sorted(given))
    return (("compiler_options", text),)


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


def body_functions(parameter: str) -> list[Any]:
    """The functions behind the `bodies` of this parameter of the operation that runs.

    Locals of `lax.scan`, `while_loop`, `cond` and `switch`, seen on jax 0.8.1, 0.10.2 and 0.12.0.1;
    nothing where they have other names.
    """
    for name, file, names in _BODY_LOCALS.get(parameter, ()):
        held = jax_locals(name, file)
        if all(one in held for one in names):
            found = [held[one] for one in names]
            return [*found[0]] if isinstance(found[0], tuple) else found
    return []


_LOOPS, _CONDITIONALS = "control_flow/loops.py", "control_flow/conditionals.py"
_BODY_LOCALS = {
    "jaxpr": [("scan", _LOOPS, ("f",))],
    "cond_jaxpr": [("while_loop", _LOOPS, ("cond_fun",))],
    "body_jaxpr": [("while_loop", _LOOPS, ("body_fun",))],
    "branches": [
        ("switch", _CONDITIONALS, ("branches",)),
        ("cond", _CONDITIONALS, ("false_fun", "true_fun")),
        ("_cond", _CONDITIONALS, ("false_fun", "true_fun")),
    ],
}
