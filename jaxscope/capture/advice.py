"""One sentence beside JAX's own errors: which line of the cell, and what to do there.

The error itself stays as JAX raised it; the sentence is added with `add_note`.
"""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Collection, Mapping
from typing import Any

import jax
from jax.core import Tracer

from jaxscope.analysis.names import roots
from jaxscope.capture.refusal import RefusedError
from jaxscope.capture.settings import SettingsError


def explain(
    error: BaseException,
    file: str,
    tree: ast.Module,
    traced: Collection[str],
    values: Mapping[str, Any],
    *,
    wrote: bool = False,
    stack: str = "",
    pmap: bool = False,
    mapped: bool = False,
) -> str | None:
    """The note for an error of a cell, or None when there is nothing to add.

    `traced` holds the names of the cell's traced inputs, `values` its inputs by name. `wrote` says
    that the cell ran as Python does, and what it had bound by then is bound. `stack` spells the
    transforms that were being applied, after the cell itself was traced, or that decorate it;
    `pmap` says that one of all its transforms is a pmap, `mapped` that one is a map of some kind.
    """
    line = line_of(error, file)
    cure = of_meshes(error, pmap=pmap) or _cure(error, values)
    if wrote and "pmap" in stack and any(part in str(error) for part in _TOO_LONG):
        cure = (
            "A pmap gives each device one slice: the mapped axis may be no longer than there are "
            "devices. `%jaxdevices --cpu N` simulates some, before JAX starts."
        )
    if cure is None and stack and not wrote and not isinstance(error, RefusedError | SettingsError):
        where = "" if line is None else f"Line {line}: "
        return f"jaxscope: {where}{not_allowed(error, stack)} Nothing was written."
    if cure is None:
        if line is None:
            return None
        return f"jaxscope: Line {line} of the cell." + ("" if wrote else " Nothing was written.")
    where = "" if line is None else f"Line {line}: "
    if isinstance(
        error,
        (
            jax.errors.TracerIntegerConversionError,
            jax.errors.TracerBoolConversionError,
            jax.errors.ConcretizationTypeError,
            IndexError,
        ),
    ) or (isinstance(error, TypeError) and any(part in str(error) for part in _OF_A_VALUE)):
        fixable = _parameters(error, file, tree) if wrote else set(traced)
        on_line = _names_on(tree, line) & fixable
        names = sorted(_blamed(error) & fixable or on_line)
        if isinstance(error, (jax.errors.TracerIntegerConversionError, IndexError)):
            # An int was asked for: where a scalar stands on the line, it is the one that is meant.
            scalars = [name for name in names if getattr(values.get(name), "ndim", 0) == 0]
            names = scalars or names
        if names:
            which = " and ".join(f"`{name}`" for name in names)
            verb = "is" if len(names) == 1 else "are"
            options = " ".join(f"-s {name}" for name in names)
            cure = f"{which} {verb} traced. {cure}"
            if not mapped:  # an input that is mapped has a value for each example
                cure += f" If its value may be fixed, run with `{options}`."
    return f"jaxscope: {where}{cure}"


# What JAX 0.8 to 0.12 and Python say of a shape and of a text that depend on a traced value.
_SHAPE = "Shapes must be 1D sequences of concrete values"
_FORMAT = "Tracer.__format__"
_OF_A_VALUE = (_SHAPE, _FORMAT)

_BLAMED = re.compile(r"depends on the values? of the arguments? (.+)\.")


def _blamed(error: BaseException) -> set[str]:
    """The arguments that JAX names: `config` where it says that it depends on `config['lr']`."""
    found = _BLAMED.search(str(error))
    return set() if found is None else set(re.findall(r"(?:^|[ ,])([^\W\d]\w*)", found[1]))


def _parameters(error: BaseException, file: str, tree: ast.Module) -> set[str]:
    """Numbers among the parameters of the compiled function that failed: `-s` makes them static."""
    found: set[str] = set()
    compiled = roots(tree)
    for frame, _ in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if code.co_filename == file and code.co_name in compiled:
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            held = {name: frame.f_locals.get(name) for name in given}
            found = {n for n, v in held.items() if isinstance(v, Tracer) and v.ndim == 0}
    return found


def line_of(error: BaseException, file: str) -> int | None:
    """The innermost line of the cell in the error's traceback.

    What fails while a transform is applied fails after the cell was traced: JAX then hangs the
    traceback of the equation on the error, as its cause.
    """
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == file:
            found = line
    if found is None and error.__cause__ is not None:
        return line_of(error.__cause__, file)
    return found


def not_allowed(error: BaseException, stack: str) -> str:
    """What to say when JAX could not apply the transforms to a program that it could trace."""
    reason = re.split(r"(?<=[.!?])\s|\n", str(error).strip())[0].rstrip(".:")
    return f"JAX cannot apply `{stack}` to this program: {reason}."


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


def _cure(error: BaseException, values: Mapping[str, Any]) -> str | None:
    """What to do, by the type of the error. The names are public in `jax.errors`."""
    if isinstance(error, jax.errors.TracerBoolConversionError):
        return (
            "A compiled program has no value to branch on while it is traced: use `jnp.where` for "
            "values or `jax.lax.cond` for code."
        )
    if isinstance(error, jax.errors.TracerIntegerConversionError):
        return "An index, a shape or a `range` needs a known int while the cell is traced."
    if isinstance(error, jax.errors.TracerArrayConversionError):
        return (
            "NumPy asked for the values of an array that has none while the cell is traced: use "
            "the function of the same name in `jnp`."
        )
    if isinstance(error, jax.errors.NonConcreteBooleanIndexError):
        return (
            "The shape of the result would depend on values: use `jnp.where(mask, x, 0)`, or "
            "`jnp.nonzero(mask, size=...)` with a fixed size."
        )
    if isinstance(error, jax.errors.ConcretizationTypeError):
        return (
            "A Python number was asked for, and there is none while the cell is traced: keep it "
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
        return "The bounds of a slice need known ints while the cell is traced."
    if isinstance(error, TypeError) and "immutable" in str(error):
        return "Arrays do not change in place: write `x = x.at[i].set(value)`."
    if isinstance(error, ValueError) and "read-only" in str(error):
        return (
            "The cell writes into a NumPy array in place, and a compiled program works on copies: "
            "write `x = x.at[i].set(value)` with a `jnp` array."
        )
    if isinstance(error, ValueError) and "unhashable" in str(error).lower():
        return "A static argument must be hashable: pass a tuple instead of a list or an array."
    if isinstance(error, TypeError) and _SHAPE in str(error):
        return "A shape needs known ints while the cell is traced."
    if isinstance(error, TypeError) and _FORMAT in str(error):
        return (
            'A traced value has no digits yet: `jax.debug.print("{x:.3f}", x=x)` shows them when '
            "the program runs, or print the result in the next cell."
        )
    if isinstance(error, AttributeError) and "block_until_ready" in str(error):
        return (
            "The program has not begun while the cell is traced. The magic waits for the results "
            "and times them itself: leave `block_until_ready` out."
        )
    if isinstance(error, TypeError | ValueError):
        for part, cure in _TRANSFORMS:
            if part in str(error):
                return cure
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
            "gone: make it again before this cell."
        )
    return None


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
    (
        "in_axes",
        (
            "The axes do not fit the arguments: name parameters that are given by position, "
            "`-i name=axis`."
        ),
    ),
)
# A pmap is a shard_map since JAX 0.8: these are what it says of an axis longer than the devices.
_TOO_LONG = ("evenly divi", "axis to squeeze out")

# What JAX 0.8 to 0.12 says where `jax.set_mesh` and a `shard_map` name two meshes.
_OTHER_MESH = "should match the mesh passed to shard_map"

# The texts of JAX 0.8 to 0.12 for what is no array, and for an array that is gone.
_NO_ARRAY = ("not a valid JAX type", "as an abstract array")
_DELETED = ("deleted or donated", "has been deleted")


def _names_on(tree: ast.Module, line: int | None) -> set[str]:
    names: set[str] = set()
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Name) and statement.lineno == line:
            names.add(statement.id)
    return names
