"""One sentence beside JAX's own errors: which line of the cell, and what to do there.

The error itself stays as JAX raised it; the sentence is added with `add_note`.
"""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from jax.core import Tracer

from jaxscope.analysis.python.names import roots
from jaxscope.capture.forms.call import parameter_names
from jaxscope.capture.options.refusals import RefusedError
from jaxscope.capture.options.settings import SettingsError
from jaxscope.capture.options.stack import Stack, maps
from jaxscope.capture.run import jax_errors


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
    cure = jax_errors.of_meshes(error, pmap=pmap) or jax_errors.cure(error, values)
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
    if _asks_for_a_value(error):
        fixable = _parameters(error, file, tree) if wrote else set(traced)
        names = _blamed(error) & fixable or _names_on(tree, line) & fixable
        cure = _with_names(error, cure, names, values, fixable=not mapped)
    return f"jaxscope: {where}{cure}"


@contextmanager
def of_call(
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    values: Mapping[str, Any],
    stack: Stack,
    *,
    settable: bool,
) -> Generator[None]:
    """Adds the note to an error of one call, which has its line from the traceback already.

    `values` is the namespace; `settable` says that the magic has `-s`.
    """
    try:
        yield
    except Exception as error:
        note = _note_of_call(error, function, args, kwargs, values, stack, settable=settable)
        if note is not None:
            error.add_note(f"jaxscope: {note}")
        raise


def _note_of_call(
    error: BaseException,
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    values: Mapping[str, Any],
    stack: Stack,
    *,
    settable: bool,
) -> str | None:
    if isinstance(error, RefusedError | SettingsError):
        return None
    pmap = any(segment.name == "pmap" for segment in stack)
    cure = jax_errors.of_meshes(error, pmap=pmap) or jax_errors.cure(error, values)
    if cure is None or not _asks_for_a_value(error):
        return cure
    name = getattr(function, "__name__", type(function).__name__)
    if f"while tracing the function {name} at " not in str(error):
        return cure  # a function that this one calls may have a parameter of the same name
    jitted = hasattr(function, "trace") and hasattr(function, "lower")  # it has options of its own
    given = {**dict(zip(parameter_names(function, args, kwargs)[0], args, strict=True)), **kwargs}
    fixable = settable and not jitted and not maps(stack)
    return _with_names(error, cure, _blamed(error) & given.keys(), given, fixable=fixable)


def _asks_for_a_value(error: BaseException) -> bool:
    """Whether a fixed value in place of a tracer would have served."""
    kinds = (
        jax.errors.TracerIntegerConversionError,
        jax.errors.TracerBoolConversionError,
        jax.errors.ConcretizationTypeError,
        IndexError,
    )
    of_a_value = any(part in str(error) for part in jax_errors.OF_A_VALUE)
    return isinstance(error, kinds) or (isinstance(error, TypeError) and of_a_value)


def _with_names(
    error: BaseException,
    cure: str,
    found: Collection[str],
    values: Mapping[str, Any],
    *,
    fixable: bool,
) -> str:
    """The cure after the names of the inputs that are to blame."""
    names = sorted(found)
    if isinstance(error, (jax.errors.TracerIntegerConversionError, IndexError)):
        # An int was asked for: where a scalar stands there, it is the one that is meant.
        names = [n for n in names if getattr(values.get(n), "ndim", 0) == 0] or names
    if not names:
        return cure
    which = " and ".join(f"`{name}`" for name in names)
    cure = f"{which} {'is' if len(names) == 1 else 'are'} traced. {cure}"
    if fixable:  # an input that is mapped has a value for each example
        cure += f" If its value may be fixed, run with `{' '.join(f'-s {n}' for n in names)}`."
    return cure


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


# A pmap is a shard_map since JAX 0.8: these are what it says of an axis longer than the devices.
_TOO_LONG = ("evenly divi", "axis to squeeze out")


def _names_on(tree: ast.Module, line: int | None) -> set[str]:
    names: set[str] = set()
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Name) and statement.lineno == line:
            names.add(statement.id)
    return names
