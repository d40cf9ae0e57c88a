"""Differences as sentences: what changed, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable

from jaxscope.analysis.causes.difference import Difference
from jaxscope.analysis.causes.signature import Signature
from jaxscope.model import Cause, CauseKind

Words = tuple[str, str]


def worded(found: Difference, signature: Signature, nearest: int) -> Cause:
    """The cause with its sentence and its fix; `nearest` is the compile it compares with."""
    text, fix = _WORDS[found.kind](found, signature, nearest)
    return Cause(found.kind, found.path, found.before, found.after, text, fix)


def _others(found: Difference) -> str:
    if not found.others:
        return ""
    return f" (and {found.others} more like it)"


def _change(found: Difference) -> str:
    return f"{found.before} → {found.after}"


def _shape(found: Difference, signature: Signature, nearest: int) -> Words:
    axes = found.detail.split(",")
    which = f"axis {axes[0]}" if len(axes) == 1 else f"axes {', '.join(axes)}"
    return (
        f"`{found.path}` has another shape: {_change(found)}{_others(found)}, in {which}.",
        (
            f"Pad `{found.path}` to a few fixed sizes and mask the rest, or drop what does not fill "
            "the last batch."
        ),
    )


def _rank(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}` has another number of dimensions: {_change(found)}{_others(found)}.",
        (
            f"Give `{found.path}` the same number of dimensions on every call, for example by "
            "`x[None]` where it is called."
        ),
    )


def _dtype(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}` has another dtype: {_change(found)}{_others(found)}.",
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


def _weak(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        (
            f"`{found.path}` was a {found.before} and is now a {found.after}{_others(found)}: a Python "
            f"scalar is weakly typed, and to JAX that is another type than {found.detail}."
        ),
        f"Pass the same kind each time: {_cast(found.detail)} always, or a Python scalar always.",
    )


def _value_kind(found: Difference, signature: Signature, nearest: int) -> Words:
    before, _, after = found.detail.partition(" ")
    return (
        (
            f"`{found.path}` was a {found.before} and is now a {found.after} ({before} → {after})"
            f"{_others(found)}."
        ),
        (f"Pass one kind of number, `float({found.path})` where it is called, or {_cast(before)}."),
    )


def _static(found: Difference, signature: Signature, nearest: int) -> Words:
    if found.detail == "held":
        return (
            f"`{found.path}`, which the program holds as a constant, changed: {_change(found)}.",
            f"Trace it if it sets no shape and no Python branch: `-t {found.path}`.",
        )
    return (
        f"The static argument `{found.path}` changed: {_change(found)}.",
        (
            f"Every value of `{found.path}` is a program of its own. Pass it as a traced argument if "
            "it sets no shape and no Python branch; else keep to a few values."
        ),
    )


def _identity(found: Difference, signature: Signature, nearest: int) -> Words:
    kind = found.detail or "its type"
    return (
        (
            f"The static argument `{found.path}` is another object: {_change(found)}. `{kind}` has no "
            "`__eq__` of its own, so every object counts as a new value."
        ),
        (
            f"Give `{kind}` `__eq__` and `__hash__`, as `@dataclass(frozen=True)` does, or make the "
            "object once."
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
        "argument": f"`{found.path}` went from {_change(found)}.",
    }.get(found.detail, f"`{found.path}` is another kind of container: {_change(found)}.")
    return (
        text,
        (
            "Keep the structure fixed: the same keys, lengths and kinds of container, no `None` in "
            "place of an array, and equal static fields."
        ),
    )


def _committed(found: Difference, signature: Signature, nearest: int) -> Words:
    name = found.path
    return (
        (
            f"`{name}` was {found.before} and is now {found.after}{_others(found)}: shape and type are "
            "the same, but JAX compiles for where its arguments are bound to."
        ),
        (
            f"Put all inputs in place before the first call: `jax.device_put({_root(name)}, device)`. "
            "Results of committed inputs are committed too."
        ),
    )


def _root(path: str) -> str:
    return path.split("[", maxsplit=1)[0].split(".", maxsplit=1)[0]


def _device(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}` lies on another device: {_change(found)}{_others(found)}.",
        (
            "Each device has a program of its own. Keep the inputs on one device, or shard them over a "
            "mesh for one program on all."
        ),
    )


def _sharding(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}` is sharded in another way: {_change(found)}{_others(found)}.",
        (
            f"Use one sharding: `jax.device_put({_root(found.path)}, sharding)` before the loop, and "
            "`out_shardings=` so that what comes out can go in again."
        ),
    )


def _layout(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}` has another layout in memory: {_change(found)}{_others(found)}.",
        (
            f"Bring `{found.path}` into one layout before the first call, by `jax.device_put(x, "
            "format)`, or leave the layout to JAX."
        ),
    )


def _donation(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"It was jitted again with another donation: `{found.path}` {_change(found)}.",
        "Jit the function once, with the donation that it should have, and use that object.",
    )


def _option(found: Difference, signature: Signature, nearest: int) -> Words:
    if found.detail == "role":
        text = f"`{found.path}` was a {found.before} argument and is now a {found.after} one."
    else:
        text = f"It was jitted again with another option: `{found.path}` {_change(found)}."
    return text, "Jit the function once and use that object everywhere."


def _compiler(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"It was compiled with other compiler options: {_change(found)}.",
        "Each set of options is a program of its own; set them once.",
    )


def _context(found: Difference, signature: Signature, nearest: int) -> Words:
    if found.path == "mesh":
        return (
            f"The mesh in use is another one: {_change(found)}.",
            "Call `jax.set_mesh(mesh)` once at the top, not around some of the calls.",
        )
    return (
        f"The setting `{found.path}` changed: {_change(found)}.",
        (
            "It belongs to the key of every program. Set it once at the top, by "
            f'`jax.config.update("{found.path}", …)`, not around some of the calls.'
        ),
    )


def _place(found: Difference) -> str:
    return f" at {found.after}" if found.after else ""


def _new_function(found: Difference, signature: Signature, nearest: int) -> Words:
    name, wrappers = found.path, found.detail
    if "bound method" in wrappers:
        return (
            (
                f"`{name}` is a new bound method: Python makes one each time an attribute is read, "
                "and to JAX each is a new function."
            ),
            (
                f"Jit it once, for example in `__init__`: `self.{name} = jax.jit(self.{name})`, or jit "
                "a plain function of the parameters."
            ),
        )
    if "partial" in wrappers:
        return (
            (
                f"`{name}` is wrapped in a new `functools.partial`{_place(found)}: to JAX each is a "
                "new function."
            ),
            "Make the partial once, or pass what it binds as arguments of the jitted function.",
        )
    transforms = [word for word in wrappers.split() if word.startswith("jax.")]
    if transforms:
        return (
            (
                f"`{transforms[0]}({name})` was made anew: each call of `{transforms[0]}` returns a new "
                "function."
            ),
            f"Make it once, outside the loop: `g = jax.jit({transforms[0]}({name}))`.",
        )
    what = "a lambda" if signature.function.is_lambda else f"`{name}`"
    return (
        (
            f"{what[:1].upper()}{what[1:]}{_place(found)} was made anew: the same code as in compile "
            f"{nearest}, but a new function object, and JAX keeps programs by object."
        ),
        (
            "Define and jit it once, outside the loop or the function that makes it, and pass what "
            "varies as arguments."
        ),
    )


def _collected(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        (
            f"The function of compile {nearest} was collected by Python, and its programs with it; "
            f"this is a new object of `{found.path}`{_place(found)}."
        ),
        (
            "Keep the jitted function: bind it to a name that lives as long as it is needed, instead "
            "of making it where it is called."
        ),
    )


def _redefined(found: Difference, signature: Signature, nearest: int) -> Words:
    if found.detail == "cell":
        return "The text of the cell changed.", ""
    if found.detail == "edited":
        return (
            f"The code of `{found.path}` changed since compile {nearest}.",
            "",
        )
    return (
        (
            f"`{found.path}` was defined again with the same code{_place(found)}: running a `def` "
            "again makes a new function."
        ),
        "Keep the definition in a cell of its own, and run only the cell that calls it.",
    )


def _closure(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"`{found.path}`, which the function carries along, changed: {_change(found)}.",
        f"Pass `{found.path}` as an argument; then every value of it uses the same program.",
    )


def _cleared(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        f"Nothing changed since compile {nearest}: JAX had dropped the program from its caches.",
        (
            "Look for `jax.clear_caches()` and `.clear_cache()`; JAX also drops what has not been used "
            "for thousands of other programs."
        ),
    )


def _eager_shape(found: Difference, signature: Signature, nearest: int) -> Words:
    return (
        (
            f"The operation `{found.path}` runs outside any jit, and was given something else: "
            f"{_change(found)}."
        ),
        (
            "Put the code around it into a function under `jax.jit`. For sizes that grow, use a fixed "
            "size with `jax.lax.dynamic_slice` or a mask, or NumPy."
        ),
    )


def _eager_body(found: Difference, signature: Signature, nearest: int) -> Words:
    name = signature.function.name
    return (
        f"`{name}` runs outside any jit and was given a new function: {found.after}.",
        (
            f"Put the call of `{name}` into a function under `jax.jit`, or define the function that "
            "it is given once, and pass values in as operands."
        ),
    )


def _vmap_size(found: Difference, signature: Signature, nearest: int) -> Words:
    name = signature.function.name
    return (
        f"`{name}` under {signature.transform} has another size: `{found.path}` {_change(found)}.",
        "Use batches of one size: pad the last one, or drop it.",
    )


_WORDS: dict[CauseKind, Callable[[Difference, Signature, int], Words]] = {
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
    CauseKind.DONATION: _donation,
    CauseKind.JIT_OPTION: _option,
    CauseKind.COMPILER_OPTION: _compiler,
    CauseKind.CONTEXT: _context,
    CauseKind.NEW_FUNCTION: _new_function,
    CauseKind.FUNCTION_COLLECTED: _collected,
    CauseKind.REDEFINED: _redefined,
    CauseKind.CLOSURE: _closure,
    CauseKind.CACHE_CLEARED: _cleared,
    CauseKind.EAGER_SHAPE: _eager_shape,
    CauseKind.EAGER_BODY: _eager_body,
    CauseKind.VMAP_SIZE: _vmap_size,
}
