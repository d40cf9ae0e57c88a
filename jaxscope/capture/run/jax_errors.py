"""What to do about an error of JAX's, by its type and by what JAX 0.8 to 0.12 says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
from jax.core import Tracer

# What JAX 0.8 to 0.12 and Python say of a shape and of a text that depend on a traced value.
_SHAPE = "Shapes must be 1D sequences of concrete values"
_FORMAT = "Tracer.__format__"
OF_A_VALUE = (_SHAPE, _FORMAT)


def of_meshes(error: BaseException, *, pmap: bool) -> str | None:
    """What to do where a mesh in force is not that of a `shard_map`, which a pmap is as well."""
    if not isinstance(error, ValueError) or _OTHER_MESH not in str(error):
        return None
    if pmap:
        return (
            "A pmap runs on a mesh of its own, and `jax.set_mesh` has put another in force. Leave "
            "that one with `jax.set_mesh(jax.sharding.Mesh(np.empty((), object), ()))`, or keep "
            "it and write `jax.shard_map` under %%jaxjit."
        )
    return (
        "`jax.set_mesh` has put another mesh in force than this `shard_map` names: leave out its "
        "`mesh`, or put the same one in force."
    )


def cure(error: BaseException, values: Mapping[str, Any]) -> str | None:
    """What to do, by the type of the error. The names are public in `jax.errors`."""
    if isinstance(error, jax.errors.TracerBoolConversionError):
        return (
            "A compiled program has no value to branch on while it is traced: use `jnp.where` for "
            "values or `jax.lax.cond` for code."
        )
    if isinstance(error, jax.errors.TracerIntegerConversionError):
        return "An index, a shape or a `range` needs a known int while the code is traced."
    if isinstance(error, jax.errors.TracerArrayConversionError):
        return (
            "NumPy asked for the values of an array that has none while the code is traced: use "
            "the function of the same name in `jnp`. An array that the code fills in place is made "
            "with `jnp` too, and filled by `a = a.at[i].set(value)`."
        )
    if isinstance(error, jax.errors.NonConcreteBooleanIndexError):
        return (
            "The shape of the result would depend on values: use `jnp.where(mask, x, 0)`, or "
            "`jnp.nonzero(mask, size=...)` with a fixed size."
        )
    if isinstance(error, jax.errors.ConcretizationTypeError):
        return (
            "A Python number was asked for, and there is none while the code is traced: keep it "
            "an array, or give sizes that are known (`size=...`)."
        )
    if isinstance(error, jax.errors.UnexpectedTracerError):
        return (
            "A value made while tracing was used after the trace, most often through a list or an "
            "attribute that kept it: return it from the function instead."
        )
    if (isinstance(error, IndexError) and "must be static integers" in str(error)) or (
        isinstance(error, IndexError) and "must have static" in str(error)
    ):
        return "The bounds of a slice need known ints while the code is traced."
    if isinstance(error, TypeError) and "immutable" in str(error):
        return "Arrays do not change in place: write `x = x.at[i].set(value)`."
    if isinstance(error, ValueError) and "read-only" in str(error):
        return (
            "The code writes into a NumPy array in place, and a compiled program works on copies: "
            "write `x = x.at[i].set(value)` with a `jnp` array."
        )
    if isinstance(error, ValueError) and "unhashable" in str(error).lower():
        return "A static argument must be hashable: pass a tuple instead of a list or an array."
    if isinstance(error, TypeError) and _SHAPE in str(error):
        return "A shape needs known ints while the code is traced."
    if isinstance(error, TypeError) and _FORMAT in str(error):
        return (
            'A traced value has no digits yet: `jax.debug.print("{x:.3f}", x=x)` shows them when '
            "the program runs, or print the result in the next cell."
        )
    if isinstance(error, AttributeError) and "block_until_ready" in str(error):
        return (
            "The program has not begun while the code is traced. The magic waits for the results "
            "and times them itself: leave `block_until_ready` out."
        )
    if isinstance(error, NameError) and "unbound axis name" in str(error):
        return (
            "No transform around this code gives an axis that name: write the name that it has, or "
            "give it this one with `--axis-name`."
        )
    if isinstance(error, TypeError | ValueError):
        for part, words in _TRANSFORMS:
            if part in str(error):
                return words
    if isinstance(error, TypeError) and any(part in str(error) for part in _NO_ARRAY):
        return "JAX takes arrays and numbers: make this argument static, or convert it."
    if isinstance(error, RuntimeError) and any(part in str(error) for part in _DELETED):
        gone = [
            f"`{name}`"
            for name, value in values.items()
            if isinstance(value, jax.Array) and not isinstance(value, Tracer) and value.is_deleted()
        ]
        return (
            f"{' and '.join(gone) or 'An array'} was donated to an earlier run, and its memory is "
            "gone: make it again before this run."
        )
    return None


_NONE_MAPPED = "No argument is mapped: give one the axis of its examples, `-i name=0`."

# What JAX 0.8 to 0.12 says of a function that a transform does not fit, and what to do. In block
# form jaxscope says it first; these are for functions that are decorated.
_TRANSFORMS = (
    (
        "scalar-output functions",
        (
            "A gradient needs one scalar: reduce the result with `.mean()` or `.sum()`, return "
            "`(loss, aux)` with --has-aux, or take `--mode jacrev`."
        ),
    ),
    (
        "holomorphic",
        (
            "Complex numbers need a word: take the `.real` or `abs` of the result, or run with "
            "--holomorphic if all of it is complex."
        ),
    ),
    (
        "requires real- or complex-valued inputs",
        (
            "JAX differentiates by floats: choose other parameters with `-w`, or convert this one "
            "with `.astype(float)`."
        ),
    ),
    (
        "inconsistent sizes",
        (
            "Mapped axes must be equally long: leave an argument whole with `-i name=None`, or "
            "choose another of its axes."
        ),
    ),
    (
        "rank should be at least",
        (
            "An argument has no such axis: choose another with `-i name=axis`, or leave it whole "
            "with `-i name=None`."
        ),
    ),
    ("with a mapped axis", _NONE_MAPPED),
    ("at least one non-None value in in_axes", _NONE_MAPPED),
    (
        "in_axes",
        (
            "The axes do not fit the arguments: name parameters that are given by position, "
            "`-i name=axis`."
        ),
    ),
)

# What JAX 0.8 to 0.12 says where `jax.set_mesh` and a `shard_map` name two meshes.
_OTHER_MESH = "should match the mesh passed to shard_map"

# The texts of JAX 0.8 to 0.12 for what is no array, and for an array that is gone.
_NO_ARRAY = ("not a valid JAX type", "as an abstract array")
_DELETED = ("deleted or donated", "has been deleted")
