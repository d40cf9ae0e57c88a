"""The sentence and the fix of each cause: one row per kind of difference.

A row is a `case`, so that the type checker names a missing row and an unknown field.
"""

import itertools
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import assert_never

from jaxscope import words
from jaxscope.analysis.compiles.causes.arguments import KEY, wider
from jaxscope.analysis.compiles.causes.difference import NUMBERS, Difference, root
from jaxscope.analysis.compiles.causes.settings import ABSENT, LEAKS, MESH
from jaxscope.analysis.compiles.causes.signature import CallSignature, PartKind
from jaxscope.model import Cause, CauseKind

TRANSFORMS = "the transforms"
"""Name of the constant of a cell that holds its composition of transforms."""
_IDENTITY = "JAX caches programs by function identity"
_TREEDEF = "The pytree structure (treedef)"
_FILL = "in place of `None`, one that changes nothing, such as zeros, ones or an all-true mask."
_SIZES = re.compile(r"[\[(]([\d, ]*)[\])]")
_DTYPES = {
    f"{short}{bits}": f"{long}{bits}"
    for short, long in (("f", "float"), ("i", "int"), ("u", "uint"), ("c", "complex"))
    for bits in (4, 8, 16, 32, 64, 128)
} | {"bf16": "bfloat16", "bool": "bool_"}


def worded(d: Difference, signature: CallSignature) -> Cause:
    """The cause with its sentence and its fix."""
    name = signature.function.name
    same = d.before == d.after
    change = f"now a different `{d.after}`" if same else f"{d.before} → {d.after}"
    shown = f"`{d.after}`" if same else change
    under = signature.transform
    others = f" (and {words.count(d.others, 'other')})" if d.others else ""
    path = f"`{d.path}`{others}"
    here = f" at {d.after}" if d.after else ""
    fix = ""
    match d.kind:
        case CauseKind.NEW_FUNCTION if made := _transformed(d.path, d.wrappers):
            text = f"`{made}` is a new function: each call of `{d.wrappers[0]}` returns one."
            fix = f"Create it once, outside the loop: `g = jax.jit({made})`."
        case CauseKind.NEW_FUNCTION if "bound method" in d.wrappers[:1] and d.owner:
            text = f"{path} is a method of a new `{d.owner}` object, and {_IDENTITY}."
            fix = f"Create the object once, and jit its `{d.path}` once."
        case CauseKind.NEW_FUNCTION if "bound method" in d.wrappers[:1]:
            text = f"{path} is a new bound method: Python creates one per attribute access."
            fix = (
                f"Jit it once: `{d.path} = jax.jit(model.{d.path})` outside the loop, or "
                f"`self.{d.path} = jax.jit(self.{d.path})` in `__init__`."
            )
        case CauseKind.NEW_FUNCTION if "callable object" in d.wrappers[:1]:
            text = f"The jitted callable is a new {path} object, and {_IDENTITY}."
            fix = "Create the object once and jit it once."
        case CauseKind.NEW_FUNCTION if "partial" in d.wrappers[:1]:
            text = f"{path} is wrapped in a new `functools.partial`{here}, and {_IDENTITY}."
            fix = (
                "Create the partial once, or pass its bound values as arguments of the jitted "
                "function."
            )
        case CauseKind.NEW_FUNCTION if d.elsewhere:
            text = f"{path}{here} has the code of an earlier function, but is a second one."
            fix = f"Define and jit it once, and call that in both places: {_IDENTITY}."
        case CauseKind.NEW_FUNCTION:
            text = (
                f"{path}{here} has the code of an earlier function, but is a new function object; "
                f"{_IDENTITY}."
            )
            fix = (
                "Define and jit it once, outside the loop or the enclosing function, and pass what "
                "varies as arguments."
            )
        case CauseKind.FUNCTION_COLLECTED:
            text = (
                "The earlier function was garbage-collected with its programs; "
                f"{path}{here} is a new object."
            )
            fix = "Keep a reference to the jitted function instead of creating it for each call."
        case CauseKind.REDEFINED if d.reads:
            names = words.listed([f"`{name}`" for name in d.reads], 3)
            text = f"{path} was redefined{here}, and {names}, which it reads, changed."
            if d.of_cell:
                called = signature.function.called
                text = f"{names} changed, which {f'`{called}`' if called else 'the cell'} reads."
        case CauseKind.REDEFINED if d.code == "edited":
            text = f"The code of {path if d.path else 'the cell'} changed."
        case CauseKind.REDEFINED if d.of_cell:
            called = signature.function.called
            same = f"`{called}` and its arguments" if called else "The cell and its inputs"
            text = f"{same} are unchanged, so something that it calls or reads changed."
            if not d.known:
                text = f"Something that {f'`{called}`' if called else 'the cell'} reads changed."
        case CauseKind.REDEFINED:
            text = f"{path} was redefined with the same code{here}, as a new function object."
            fix = "Keep the definition in its own cell, and rerun only the cell that calls it."
            if ".py:" in d.after:  # by `%run`, or a module that was loaded again
                fix = "Import it instead of running its file again, and repeat only the call."
        case CauseKind.CLOSURE:
            text = f"The captured value {path} changed: {change}."
            if same:  # an array, which is not read
                text = f"The captured value {path} is a different object: {shown}."
            fix = f"Pass `{d.path}` as an argument, so that every value uses the same program."
            if "." in d.path:  # of an object, such as an optimizer: no array
                name = root(d.path)
                fix = f"Create `{name}` inside the jitted function, from values that are arguments."
        case CauseKind.CONTEXT if d.path == MESH:
            text = f"The mesh in the trace context changed: {change}."
            fix = "Call `jax.set_mesh(mesh)` once at the top, not around some of the calls."
        case CauseKind.CONTEXT if d.path == LEAKS:
            text = f"JAX caches no traces while {path} is on."
            fix = f'Turn it off once the leak is found: `jax.config.update("{LEAKS}", False)`.'
        case CauseKind.CONTEXT if d.before == ABSENT:
            text = f"An import added the config setting {path} to the trace context."
            fix = "Import all modules before the first call."
        case CauseKind.CONTEXT:
            text = f"The config setting {path}, part of the trace context, changed: {change}."
            fix = (
                f'Set it once at the top, with `jax.config.update("{d.path}", …)`, not around some '
                "of the calls."
            )
        case CauseKind.CALL_STYLE:
            text = f"{path} was {d.before} and is now {d.after}, which is a different cache key."
            fix = (
                f"Pass `{d.path}` the same way in every call: by position, by keyword, or not at "
                "all."
            )
        case CauseKind.STATIC_IDENTITY if d.field:
            kind = "function " if d.type == PartKind.FUNCTION else ""
            text = f"The static part {path} is a different {kind}object: {shown}."
            fix = _once(d.field, d.path)
        case CauseKind.STATIC_IDENTITY if d.type == PartKind.FUNCTION:
            text = f"The static argument {path} is a different function object: {shown}."
            fix = "Define the function once, outside the call: JAX compares functions by identity."
            if not same:
                fix = "Keep to a few functions, each defined once: JAX compares them by identity."
            elif not d.own:
                fix = (
                    "Create the function once, and reuse it. Where a library creates it in each "
                    "call, do more work per call."
                )
        case CauseKind.STATIC_IDENTITY:
            text = (
                f"The static argument {path} is a different object: {shown}. `{d.type}` defines "
                "no `__eq__`, so each object is a new value."
            )
            fix = "Create the object once, and pass the same one in every call."
            if d.own:
                fix = (
                    f"Define `__eq__` and `__hash__` on `{d.type}`, as `@dataclass(frozen=True)` "
                    "does, or create the object once."
                )
        case CauseKind.STATIC_VALUE if d.of == "cell" and d.path == TRANSFORMS:
            text = (
                f"The transforms above the cell changed: {change}. Each composition is its own "
                "program."
            )
        case CauseKind.STATIC_VALUE if d.of == "cell" and d.traced:
            was, now = "traced", "a compile-time constant"
            if d.traced == "now":
                was, now = now, was
            text = f"{path} was {was} ({d.before}) and is now {now} ({d.after})."
            fix = f"Pass `{d.path}` as one type in every call."
            if not d.type:
                fix = f"Pass `{d.path}` in every call."
            traced, constant = (d.before, d.after) if d.traced == "before" else (d.after, d.before)
            if constant == "None":
                fix = f"Pass an array for `{d.path}` in every call: {_FILL}"
            elif d.type in NUMBERS and "float" in traced and d.type != "bool":
                number = constant.removeprefix(f"{d.type} ")
                fix = (
                    f"Write `{number}.0` for `{d.path}`: a float is traced, an int is not. Or "
                    f"trace ints too, with `-t {root(d.path)}`."
                )
        case CauseKind.STATIC_VALUE if d.of == "field" and d.field != d.path:
            text = f"The static part {path} changed: {change}."
            fix = f"Create `{d.field or root(d.path)}` once and reuse it, or keep to a few values."
            if d.renewed:
                fix = _once(d.field or root(d.path), d.renewed) + _as_argument(d.before, d.after)
        case CauseKind.STATIC_VALUE if d.of == "leaf":
            fix = _array(d.path, d.before, d.after)
            text = f"{path}, static because it is not an array, changed: {change}."
            if d.traced == "now":
                text = (
                    f"{path} was static, as it was not an array ({d.before}), and is now {d.after}."
                )
            elif d.traced:
                text = (
                    f"{path} was {d.before} and is now static, as it is not an array ({d.after})."
                )
        case CauseKind.STATIC_VALUE if d.of == "field":
            text = f"The static field {path} changed: {change}."
            fix = (
                f"Make `{d.path}` a data field, unless a shape or a Python branch depends on it; "
                "otherwise keep to a few values."
            )
            if same:
                fix = f"Create `{d.path}` once and reuse it, or keep to a few values."
            elif not _can_be_traced(d.after) or _number(d.after) == "bool":
                fix = _few(d.path)
        case CauseKind.STATIC_VALUE if d.of == "cell":
            text = f"{path}, a compile-time constant of the cell, changed: {change}."
            if d.type in NUMBERS:
                fix = (
                    f"Trace it with `-t {root(d.path)}`, unless a shape or a Python branch "
                    "depends on it."
                )
        case CauseKind.STATIC_VALUE:
            text = f"The static argument {path} changed: {change}."
            fix = (
                f"Trace `{d.path}`, unless a shape or a Python branch depends on it; otherwise "
                "keep to a few values."
            )
            if d.renewed:
                fix = _once(root(d.path), d.renewed) + _as_argument(d.before, d.after)
            elif not _can_be_traced(d.after):
                fix = _few(d.path)
        case CauseKind.STRUCTURE:
            text = {
                "added": f"{_TREEDEF} changed: {path} was added.",
                "removed": f"{_TREEDEF} changed: {path} was removed.",
                "argument": f"{_TREEDEF} of the arguments changed: {path} {change}.",
                "container": f"{_TREEDEF} of {path} changed: {change}.",
                "class": f"{_TREEDEF} changed: {path} has a new class, also named `{d.after}`.",
                "length": f"{_TREEDEF} changed: the length of {path} is {change}.",
            }[d.change]
            fix = (
                "Keep the treedef fixed: the same containers, keys, lengths and static fields, and "
                "no `None` in place of an array."
            )
            if d.change == "class":
                fix = f"Define the class `{d.after}` once, outside the function that uses it."
            elif "None" in (d.before, d.after):
                fix = f"Pass an array for `{d.path}` in every call: {_FILL}"
        case CauseKind.EAGER_BODY if not d.after:
            text = (
                f"`{name}` ran eagerly (outside any jit) with a new function, which JAX creates in "
                "each call."
            )
            fix = "Put the call into a function under `jax.jit`."
        case CauseKind.EAGER_BODY:
            text = f"`{name}` ran eagerly (outside any jit) with a new function: {d.after}."
            fix = (
                f"Call {'it' if name[:1] == '_' else f'`{name}`'} inside a function under "
                "`jax.jit`, or define its body once and pass values as operands."
            )
        case CauseKind.EAGER_SHAPE:
            what = f"{', '.join(d.names)} {change}".lstrip()
            text = f"The arguments of the eager operation `{name}` changed: {what}."
            fix = "Put the surrounding code into a function under `jax.jit`."
            of_shape = any(name.startswith("shape") for name in d.names)
            if of_shape or _SIZES.findall(d.before) != _SIZES.findall(d.after):
                fix = (
                    "Use one size: pad and mask, as with `jnp.where(mask, x, 0)` for `x[mask]`; or "
                    "use NumPy for this line. Then `jax.jit` can compile it with its surroundings."
                )
        case CauseKind.VMAP_SIZE:
            text = f"The batch size of `{name}` under {under} changed: {path} {change}."
            fix = "Use one batch size: pad the last batch, or drop it."
        case CauseKind.RANK:
            text = f"The rank of {path} changed: {change}."
            before, after = d.shapes
            fix = f"Pass `{d.path}` with the same dimensions and sizes in every call."
            if math.prod(before) == math.prod(after):
                sizes = ", ".join(map(str, before))
                fix = (
                    f"Pass `{d.path}` with the same dimensions in every call, for example as "
                    f"`{root(d.path)}.reshape({sizes or '()'})`."
                )
        case CauseKind.SHAPE if d.order:
            axes = ", ".join(map(str, d.axes))
            text = (
                f"The shape of {path} changed: {change} (axes {axes}: the same sizes, reordered)."
            )
            order = ", ".join(map(str, d.order))
            fix = (
                f"Pass the axes of `{d.path}` in one order: `jnp.transpose(x, ({order}))` has the "
                "earlier sizes."
            )
        case CauseKind.SHAPE:
            axes = f"{'axis' if len(d.axes) == 1 else 'axes'} {', '.join(map(str, d.axes))}"
            text = f"The shape of {path} changed: {change} ({axes})."
            fix = (
                f"Pad `{d.path}` to a few fixed sizes and mask the padding, or drop the incomplete "
                "last batch."
            )
            if d.apart:
                fix = (
                    f"Keep to a few sizes of `{root(d.path)}`, each a program of its own; pad and "
                    "mask data."
                )
        case CauseKind.VALUE_KIND:
            types = change.replace("Python ", "")
            text = f"The Python scalar type of {path} changed: {types} ({' → '.join(d.dtypes)})."
            cast = wider(*d.dtypes)
            fix = (
                f"Pass one scalar type in every call, such as `{_scalar(cast)}({d.path})`, or "
                f"{_cast(cast)}."
            )
        case CauseKind.DTYPE if not d.cast:
            text = f"The type of the random key {path} changed: {change}."
            fix = "Make every key with `jax.random.key(seed)`, none with `jax.random.PRNGKey`."
            if KEY in d.before and KEY in d.after:
                fix = (
                    "Make every key with one implementation, such as "
                    '`jax.random.key(seed, impl="threefry2x32")`.'
                )
        case CauseKind.DTYPE:
            text = f"The dtype of {path} changed: {change}."
            fix = f"Convert `{d.path}` once, where it is created: {_cast(d.cast)}."
            if d.weak:
                fix = f"Pass one dtype for `{d.path}` in every call: {_cast(d.cast)}."
        case CauseKind.WEAK_TYPE:
            text = f"{path} changed between a weakly and a strongly typed {d.dtype}: {change}."
            scalar = ", or a Python scalar" if d.scalar else ""
            fix = f"Pass the same kind in every call: {_cast(d.dtype)}{scalar}."
        case CauseKind.SHARDING:
            text = f"The sharding of {path} changed: {change}."
            again = "in the function" if signature.filtered else "`out_shardings=`"
            fix = (
                f"Use one sharding: {_put(d.path, 'sharding', signature)} before the loop, and "
                f"{again} for results that are passed in again."
            )
        case CauseKind.DEVICE:
            text = f"The device of {path} changed: {change}."
            fix = (
                "Keep the inputs on one device, or shard them over a mesh for one program on all "
                "devices."
            )
        case CauseKind.COMMITTED:
            text = f"{path} was {d.before} and is now {d.after}, which is a different cache key."
            where = "sharding" if d.spread else "device"
            fix = (
                f"Commit all inputs before the first call, with {_put(d.path, where, signature)}: "
                "results of committed inputs are committed."
            )
        case CauseKind.LAYOUT:
            text = f"The memory layout of {path} changed: {change}."
            fix = (
                f"Convert `{d.path}` to one layout before the first call, with `jax.device_put(x, "
                "format)`, or leave the layout to JAX."
            )
        case CauseKind.DONATION:
            text = f"The donated arguments of the jit changed: {path} {change}."
            fix = "Jit the function once, with the intended donation, and reuse that object."
        case CauseKind.JIT_OPTION if d.of_argument:
            text = f"{path} was a {d.before} argument and is now {d.after}."
            fix = "Jit the function once and reuse that object everywhere."
        case CauseKind.JIT_OPTION:
            text = f"A `jax.jit` option changed: {path} {change}."
            fix = "Jit the function once and reuse that object everywhere."
        case CauseKind.COMPILER_OPTION:
            text = f"The compiler options changed: {change}."
            fix = "Set the compiler options once: each set of options is a separate program."
        case CauseKind.CACHE_CLEARED:
            text = "Nothing changed: JAX had dropped the earlier program."
            fix = (
                "Look for `jax.clear_caches()` and `.clear_cache()`; JAX also drops what was not "
                "used for thousands of other programs."
            )
        case _:
            assert_never(d.kind)
    return Cause(d.kind, d.path, d.before, d.after, text, fix=fix)


def _transformed(name: str, wrappers: Sequence[str]) -> str:
    """`jax.vmap(jax.grad(loss))`; empty for a function that no transform returned."""
    made = list(itertools.takewhile(lambda wrapper: wrapper.startswith("jax."), wrappers))
    return f"{'('.join([*made, name])}{')' * len(made)}" if made else ""


def _can_be_traced(value: str) -> bool:
    """Whether it is the text of a number, or of a container that may hold some."""
    return bool(_number(value)) or value.startswith(("np.", "(", "[", "{"))


def _array(path: str, before: str, after: str) -> str:
    """The fix of a leaf that is static because it is not an array: one dtype in every call."""
    values = [text for text in (before, after) if _number(text)]
    arrays = [text.partition("[")[0] for text in (before, after) if "[" in text]
    if arrays and not (values and (before + after).count("[]")):
        return f"Pass an array for `{path}` in every call."
    if not values:
        return _few(path)
    kinds = {_number(text) for text in values}
    dtype = _DTYPES.get(arrays[0], "") if arrays else ""
    if len(kinds) > 1:
        dtype = "complex64" if "complex" in kinds else "float32"
    made = f"jnp.asarray({values[-1]}{f', jnp.{dtype}' if dtype else ''})"
    unless = "" if arrays else ", unless a shape or a Python branch depends on it"
    return f"Pass an array for `{path}` in every call, such as `{made}`{unless}."


def _number(text: str) -> str:
    """The Python type of a number's text; empty for anything else."""
    for kind in (int, float, complex):
        with suppress(ValueError):
            return type(kind(text)).__name__
    return "bool" if text in ("True", "False") else ""


def _once(whole: str, part: str) -> str:
    return f"Create `{whole}` once and reuse it: JAX compares `{part}` by identity."


def _as_argument(before: str, after: str) -> str:
    """A sentence for a number that a new object brings: the same object would fix it."""
    if not (_number(before) and _number(after)):
        return ""
    return " Pass a number that varies as an argument, as `optax.inject_hyperparams` does."


def _few(path: str) -> str:
    return f"Keep to a few values: each value of `{path}` is a program of its own."


def _put(path: str, where: str, signature: CallSignature) -> str:
    """The call that places an argument; `jax.device_put` takes only arrays."""
    function = "eqx.filter_shard" if signature.filtered else "jax.device_put"
    return f"`{function}({root(path)}, {where})`"


def _cast(dtype: str) -> str:
    name = _DTYPES.get(dtype)
    return f"`jnp.asarray(value, {f'jnp.{name}' if name else 'dtype'})`"


def _scalar(dtype: str) -> str:
    """The Python type whose dtype it is."""
    kinds = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
    return kinds.get(dtype[:1], "float")
