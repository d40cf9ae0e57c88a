"""What is said of arguments that changed, and what to do."""

from __future__ import annotations

from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import Signature
from jaxscope.analysis.compiles.causes.text_parts import Words, Writer, change, others
from jaxscope.model import CauseKind


def _shape(found: Difference, signature: Signature, nearest: int) -> Words:
    axes = found.detail.split(",")
    which = f"axis {axes[0]}" if len(axes) == 1 else f"axes {', '.join(axes)}"
    return (
        f"`{found.path}` has another shape: {change(found)}{others(found)}, in {which}.",
        (
            f"Pad `{found.path}` to a few fixed sizes and mask the rest, or drop what does not "
            "fill the last batch."
        ),
    )


def _rank(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}` has another number of dimensions: {change(found)}{others(found)}.",
        (
            f"Give `{found.path}` the same number of dimensions on every call, for example by "
            "`x[None]` where it is called."
        ),
    )


def _dtype(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}` has another dtype: {change(found)}{others(found)}.",
        f"Convert `{found.path}` once, where it comes from: {_cast(found.detail)}.",
    )


def _cast(dtype: str) -> str:
    name = _NUMPY.get(dtype)
    return f"`jnp.asarray(value, jnp.{name})`" if name else "`jnp.asarray(value, dtype)`"


_NUMPY = {
    f"{short}{bits}": f"{long}{bits}"
    for short, long in (("f", "float"), ("i", "int"), ("u", "uint"), ("c", "complex"))
    for bits in (4, 8, 16, 32, 64, 128)
} | {"bf16": "bfloat16", "bool": "bool_"}


def a(kind: str) -> str:
    """`a Python float`, `an np.ndarray`."""
    return f"an {kind}" if kind.startswith(("np.", "a", "e", "i", "o")) else f"a {kind}"


def _weak(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        (
            f"`{found.path}` was {a(found.before)} and is now {a(found.after)}{others(found)}: a "
            f"Python scalar is weakly typed, and to JAX that is another type than {found.detail}."
        ),
        f"Pass the same kind each time: {_cast(found.detail)} always, or a Python scalar always.",
    )


def _value_kind(found: Difference, signature: Signature, nearest: int) -> Words:
    before, _, after = found.detail.partition(" ")
    return (
        (
            f"`{found.path}` was {a(found.before)} and is now {a(found.after)} ({before} → "
            f"{after}){others(found)}."
        ),
        (f"Pass one kind of number, `float({found.path})` where it is called, or {_cast(before)}."),
    )


def _static(found: Difference, signature: Signature, nearest: int) -> Words:
    if found.detail == "held" and found.path == "the transforms":
        return (
            f"The transforms above the cell changed: {change(found)}.",
            "Each stack of transforms is a program of its own, so this is as it should be.",
        )
    if found.detail == "held":
        return (
            f"`{found.path}`, which the program holds as a constant, changed: {change(found)}.",
            f"Trace it if it sets no shape and no Python branch: `-t {found.path}`.",
        )
    return (
        f"The static argument `{found.path}` changed: {change(found)}.",
        (
            f"Every value of `{found.path}` is a program of its own. Pass it as a traced argument "
            "if it sets no shape and no Python branch; else keep to a few values."
        ),
    )


def _identity(found: Difference, signature: Signature, nearest: int) -> Words:
    kind = found.detail or "its type"
    if kind in ("function", "builtin_function_or_method", "method"):
        return (
            f"The static argument `{found.path}` is another function object: {change(found)}.",
            (
                "Define the function once, outside of the call, and pass that: to JAX every new "
                f"object for `{found.path}` is a new value."
            ),
        )
    return (
        (
            f"The static argument `{found.path}` is another object: {change(found)}. `{kind}` "
            "has no `__eq__` of its own, so every object counts as a new value."
        ),
        (
            f"Give `{kind}` `__eq__` and `__hash__`, as `@dataclass(frozen=True)` does, or make "
            "the object once."
        ),
    )


def _style(found: Difference, signature: Signature, nearest: int) -> Words:
    if found.detail == "default":
        came = found.before == "left out"
        text = (
            f"`{found.path}` was left out before and is now passed ({found.after})."
            if came
            else f"`{found.path}` was passed before ({found.before}) and is now left out."
        )
    else:
        text = f"`{found.path}` was passed {found.before} and is now passed {found.after}."
    name = signature.function.name
    example = f"`{name}(…, {found.path})`" if name.isidentifier() else "One call"
    return (
        f"{text} To JAX these are different programs, even with equal values.",
        (
            f"Call it the same way everywhere. {example}, with `{found.path}=` and without it are "
            "three programs."
        ),
    )


def _structure(found: Difference, signature: Signature, nearest: int) -> Words:
    more = f", with {found.others} more" if found.others else ""
    text = {
        "new": f"`{found.path}` is new{more}: the container had no such entry before.",
        "gone": f"`{found.path}` is gone{more}: the container had such an entry before.",
        "argument": f"`{found.path}` was {found.before} and is now {found.after}.",
    }.get(found.detail, f"`{found.path}` is another kind of container: {change(found)}.")
    return (
        text,
        (
            "Keep the structure fixed: the same keys, lengths and kinds of container, no `None` "
            "in place of an array, and equal static fields."
        ),
    )


def _committed(found: Difference, signature: Signature, nearest: int) -> Words:
    name = found.path
    return (
        (
            f"`{name}` was {found.before} and is now {found.after}{others(found)}: shape and "
            "type are the same, but JAX compiles for where its arguments are bound to."
        ),
        (
            f"Put all inputs in place before the first call: `jax.device_put({_root(name)}, "
            "device)`. Results of committed inputs are committed too."
        ),
    )


def _root(path: str) -> str:
    return path.split("[", maxsplit=1)[0].split(".", maxsplit=1)[0]


def _device(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}` lies on another device: {change(found)}{others(found)}.",
        (
            "Each device has a program of its own. Keep the inputs on one device, or shard them "
            "over a mesh for one program on all."
        ),
    )


def _sharding(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}` is sharded in another way: {change(found)}{others(found)}.",
        (
            f"Use one sharding: `jax.device_put({_root(found.path)}, sharding)` before the loop, "
            "and `out_shardings=` so that what comes out can go in again."
        ),
    )


def _layout(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}` has another layout in memory: {change(found)}{others(found)}.",
        (
            f"Bring `{found.path}` into one layout before the first call, by `jax.device_put(x, "
            "format)`, or leave the layout to JAX."
        ),
    )


def _vmap_size(found: Difference, signature: Signature, nearest: int) -> Words:
    name = signature.function.name
    return (
        f"`{name}` under {signature.transform} has another size: `{found.path}` {change(found)}.",
        "Use batches of one size: pad the last one, or drop it.",
    )


ARGUMENT_WORDS: dict[CauseKind, Writer] = {
    CauseKind.SHAPE: _shape,
    CauseKind.RANK: _rank,
    CauseKind.DTYPE: _dtype,
    CauseKind.WEAK_TYPE: _weak,
    CauseKind.VALUE_KIND: _value_kind,
    CauseKind.STATIC_VALUE: _static,
    CauseKind.STATIC_IDENTITY: _identity,
    CauseKind.CALL_STYLE: _style,
    CauseKind.STRUCTURE: _structure,
    CauseKind.COMMITTED: _committed,
    CauseKind.DEVICE: _device,
    CauseKind.SHARDING: _sharding,
    CauseKind.LAYOUT: _layout,
    CauseKind.VMAP_SIZE: _vmap_size,
}
