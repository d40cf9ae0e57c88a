"""Fixes for JAX's errors, by their type and by the texts of JAX 0.8 to 0.12."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import jax
from jax.core import Tracer

from jaxscope import words
from jaxscope.capture.source.packages import calling_packages

SHAPE = "Shapes must be 1D sequences of concrete values"
IMMUTABLE = "immutable"
_FORMAT = "Tracer.__format__"
_AXIS = re.compile(r"unbound axis name: (\w+)")
OF_NO_INPUT = "became a tracer due to JAX operations"
"""JAX's text for a value that is traced, and depends on no argument."""
OF_A_VALUE = (SHAPE, _FORMAT)
"""Texts of JAX and Python for a shape and a string that depend on a traced value."""

_OTHER_MESH = "should match the mesh passed to shard_map"
_OTHER_TRACE = "from a different trace level"  # in an error of Flax's own
_PASS_OBJECT = (
    "It changes a Flax NNX object of an outer trace: pass it as an argument, or copy it with "
    "`nnx.merge(..., copy=True)`."
)
_DELETED = ("deleted or donated", "has been deleted")
_NONE_MAPPED = "No argument is mapped: give one its batch axis, `-i name=0`."
_NO_ARRAY = (
    "JAX takes arrays and numbers: convert this argument, or make it static if the function is "
    "yours."
)
_FUNCTION_INSIDE = re.compile(
    r"(function|custom_jvp|PjitFunction)'> and was passed .* path \w+(\.\w|\[)"
)
_FILTER = "`jax.jit` takes no object that holds a function: of Equinox, use `eqx.filter_jit`."
_RETURNS = (
    "A traced function returns arrays: return the arrays, and create the other object outside of "
    "it."
)
_ALONE = (
    "A function {} cannot be part of another program: call it in a cell without the magic, or run "
    "`%jaxjit` on the call alone."
)
_NUMPY = "NumPy needs the values of an array that is traced"
_SLICE = (
    "The bounds of a slice must be known ints while tracing: use `jax.lax.dynamic_slice` with a "
    "fixed size, or a mask."
)

_FIXES: tuple[tuple[type[Exception], str, str], ...] = (
    (
        TypeError,
        OF_NO_INPUT,
        (
            "The value depends on no traced input, but JAX traces all that its functions compute: "
            "compute it with NumPy, or in an earlier cell."
        ),
    ),
    (
        ValueError,
        _OTHER_MESH,
        (
            "`jax.set_mesh` has set a different mesh than that of this `shard_map`: leave out its "
            "`mesh`, or set the same one."
        ),
    ),
    (
        ValueError,
        "`set_mesh` can only be used outside",
        "A program has the mesh that is set when it is traced: set it in an earlier cell.",
    ),
    (
        ValueError,
        "device_put inside jit",
        "A program runs on one set of devices: move the data in a cell without the magic.",
    ),
    (
        ValueError,
        "Received incompatible devices",
        "A program runs on one set of devices: put its inputs there with `jax.device_put` before.",
    ),
    *(
        (
            AttributeError,
            f"has no attribute '{rule}'",
            (
                f"A jitted function has no `{rule}`: call it before the function is jitted, or "
                "leave out `--decorate`."
            ),
        )
        for rule in ("defvjp", "defjvp", "defjvps", "def_vmap")
    ),
    (
        jax.errors.TracerBoolConversionError,
        "",
        (
            "A traced value has no truth value: use `jnp.where` for values, `jax.lax.cond` for "
            "code, or a cell without the magic."
        ),
    ),
    (
        jax.errors.TracerIntegerConversionError,
        "",
        (
            "An index, a shape or a `range` needs a known int while tracing: index an array "
            "instead of a list, or compute the int before, from values that are not traced."
        ),
    ),
    (
        jax.errors.TracerArrayConversionError,
        "",
        (
            f"{_NUMPY}: use the `jnp` function of the same name, or move this line to a cell "
            "without the magic. To fill an array, create it with `jnp` and write "
            "`a = a.at[i].set(value)`."
        ),
    ),
    (
        jax.errors.NonConcreteBooleanIndexError,
        "",
        (
            "The shape of the result would depend on values: use `jnp.where(mask, x, 0)`, or "
            "`jnp.nonzero(mask, size=...)` with a fixed size."
        ),
    ),
    (
        jax.errors.ConcretizationTypeError,
        "",
        (
            "The code needs a Python number, but the value is traced: keep it an array, and "
            "convert what the program returns."
        ),
    ),
    (
        jax.errors.UnexpectedTracerError,
        "",
        (
            "A tracer was used after its trace, usually through a list or an attribute that kept "
            "it: return it from the function instead."
        ),
    ),
    (IndexError, "must be static integers", _SLICE),
    (IndexError, "must have static", _SLICE),
    (TypeError, IMMUTABLE, "JAX arrays are immutable: write `x = x.at[i].set(value)`."),
    (
        ValueError,
        "read-only",
        (
            "The code writes into a NumPy array in place, but a compiled program works on copies: "
            "write `x = x.at[i].set(value)` with a `jnp` array."
        ),
    ),
    (
        ValueError,
        "mutable array reference",
        "A Ref cannot leave a compiled program: create it in a cell without the magic.",
    ),
    (ValueError, "can only be passed to top-level", _ALONE.format("with compiler options")),
    (TypeError, "lowered and compiled for a particular", _ALONE.format("that is compiled")),
    (
        ValueError,
        "requires a list of concrete arrays",
        (
            "An array of pieces on devices, such as a restored checkpoint, is not made while "
            "tracing: move this line to a cell without the magic."
        ),
    ),
    (
        ValueError,
        "unhashable",
        "A static argument must be hashable: pass a tuple instead of a list or an array.",
    ),
    (
        TypeError,
        SHAPE,
        (
            "A shape needs known ints while tracing: compute them before, from values that are not "
            "traced."
        ),
    ),
    (
        TypeError,
        _FORMAT,
        (
            'A traced value cannot be formatted: use `jax.debug.print("{x:.3f}", x=x)`, '
            "or print the result in a cell without the magic."
        ),
    ),
    (
        AttributeError,
        "block_until_ready",
        (
            "A tracer has nothing to wait for. The magic waits for the results and times them: "
            "leave `block_until_ready` out."
        ),
    ),
    (
        NameError,
        "unbound axis name",
        (
            "No transform around this code has an axis `{axis}`: use the name of its axis, or set "
            "it with `--axis-name {axis}` of `%%jaxvmap` or `%%jaxpmap`."
        ),
    ),
    # Functions that a transform does not fit. In block form jaxscope checks these itself; the rows
    # are for decorated functions.
    (
        Exception,
        "scalar-output functions",
        (
            "A gradient needs one scalar: reduce the result with `.mean()` or `.sum()`, return "
            "`(loss, aux)` with --has-aux, or use `--mode jacrev`."
        ),
    ),
    (
        Exception,
        "holomorphic",
        (
            "The result is complex: take its `.real` or `abs`, or run with --holomorphic if all of "
            "it is complex."
        ),
    ),
    (
        Exception,
        "requires real- or complex-valued inputs",
        (
            "JAX differentiates by floats: choose different parameters with `-w`, or convert this "
            "one with `.astype(float)`."
        ),
    ),
    (
        Exception,
        "inconsistent sizes",
        (
            "Mapped axes must have equal sizes: leave an argument whole with `-i name=None`, or "
            "map a different axis."
        ),
    ),
    (
        Exception,
        "rank should be at least",
        (
            "An argument has no such axis: map a different one with `-i name=axis`, or leave it "
            "whole with `-i name=None`."
        ),
    ),
    (Exception, "with a mapped axis", _NONE_MAPPED),
    (Exception, "at least one non-None value in in_axes", _NONE_MAPPED),
    (
        Exception,
        "in_axes",
        "The axes do not fit the arguments: name positional parameters with `-i name=axis`.",
    ),
    (TypeError, "returned a value of type", _RETURNS),
    (TypeError, "output from batched function", _RETURNS),
    (TypeError, "not a valid JAX type", _NO_ARRAY),
    (TypeError, "as an abstract array", _NO_ARRAY),
)
"""Type of the error, a part of its text in lower or mixed case, and the fix; the first row wins."""


OF_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
"""Errors of code that asks a tracer for its values."""
_MISSING = re.compile(
    r"'(\w+)' (?:attribute|method) is not available on traced|"
    r"The (\w+)\(\) method was called on traced|Tracer'? (?:object )?has no attribute '?(\w+)"
)
"""An attribute that arrays have and tracers have not, in JAX's texts."""
_CONVERSIONS = ("item", "block_until_ready")
"""Methods with fixes of their own."""
_SAVES = (
    "in the __reduce__ method",
    "is not JSON serializable",
    "TypeHandler lookup failed",
    "a bytes-like object is required",
)


def of_number(error: BaseException) -> bool:
    """Whether a Python number in place of the tracer would have worked, but no array."""
    text = str(error)
    return "Tracer" in text and ("nhashable" in text or any(part in text for part in _SAVES))


def of_array(error: BaseException) -> bool:
    """Whether any array that is not traced would have worked."""
    return _missing(str(error)) is not None


def _missing(text: str) -> str | None:
    found = _MISSING.search(text)
    name = "" if found is None else next(filter(None, found.groups()))
    if found is None or (found[3] and not hasattr(jax.Array, name)):
        return None
    return None if name.startswith("__") or name in _CONVERSIONS else name


def _of_tracer(text: str) -> str | None:
    """The fix where a tracer is no value to look at, to save or to hash."""
    if "Tracer" not in text and "traced" not in text:
        return None
    if (missing := _missing(text)) is not None:
        where = "in a cell without the magic"
        return f"A traced value has no `{missing}`: ask the result for it, {where}."
    if any(part in text for part in _SAVES):
        return "A traced value has no data to write: write the result, in a cell without the magic."
    if "on-hashable static" in text and "Tracer" in text:
        return (
            "A static argument needs a known value: make it an ordinary argument, or pass a Python "
            "number."
        )
    if "unhashable" in text and "Tracer" in text:
        return "A traced value cannot be a key or in a set: use a Python number or a string."
    return None


def fix(error: BaseException, values: Mapping[str, Any], *, pmap: bool) -> str | None:
    """The fix, by the type and the text of the error; `values` are the user's arrays by name."""
    text = str(error)
    asking, host = calling_packages(error)
    library = asking if isinstance(error, jax.errors.TracerArrayConversionError) else host
    if asking and library and isinstance(error, OF_VALUES):
        return of_library(library)
    if fills_numpy(error):
        return f"{_NUMPY}: create it with `jnp` and write `a = a.at[i].set(value)`."
    if pmap and isinstance(error, ValueError) and _OTHER_MESH in text:
        return (
            "A pmap uses its own mesh, but `jax.set_mesh` has set a different one. Unset that with "
            "`jax.set_mesh(jax.sharding.Mesh(np.empty((), object), ()))`, or keep it and use "
            "`jax.shard_map` under %%jaxjit."
        )
    if SHAPE in text and "Trac" not in text:
        return "A shape needs ints: divide with `//`, or convert a number with `int`."
    if (found := _of_tracer(text)) is not None:
        return found
    if _OTHER_TRACE in text:
        return _PASS_OBJECT
    if isinstance(error, TypeError) and _FUNCTION_INSIDE.search(text):
        return _FILTER
    for kind, part, sentence in _FIXES:
        if kind is Exception and not isinstance(error, TypeError | ValueError):
            continue
        if isinstance(error, kind) and (part in text or part in text.lower()):
            return _with_axis(sentence, text)
    if isinstance(error, RuntimeError | ValueError) and any(part in text for part in _DELETED):
        gone = [f"`{name}`" for name, value in values.items() if _holds_deleted(value)]
        was, its, it = ("were", "their", "them") if len(gone) > 1 else ("was", "its", "it")
        return (
            f"{words.listed(gone) or 'An array'} {was} donated to an earlier run, so {its} memory "
            f"was reused: create {it} again before this run."
        )
    return None


def _holds_deleted(value: object) -> bool:
    """Whether an array in it, such as a model's parameter, was deleted."""
    arrays = [leaf for leaf in jax.tree_util.tree_leaves(value) if isinstance(leaf, jax.Array)]
    return any(not isinstance(one, Tracer) and one.is_deleted() for one in arrays)


def _with_axis(sentence: str, text: str) -> str:
    found = _AXIS.search(text)
    return sentence if found is None else sentence.replace("{axis}", found[1])


def fills_numpy(error: BaseException) -> bool:
    """Whether NumPy could not put a traced value into an array: JAX's error is the cause."""
    return "setting an array element" in str(error) and isinstance(error.__cause__, OF_VALUES)


def of_library(package: str) -> str:
    """The fix where a package that is not written for JAX gets traced arrays."""
    return (
        f"{package} needs the values of an array that is traced: move its call to a cell without "
        "the magic."
    )
