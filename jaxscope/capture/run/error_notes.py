"""One sentence beside JAX's own errors: the line of the cell, and the fix.

The error itself stays as JAX raised it; the sentence is added with `add_note`.
"""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Number
from types import FrameType
from typing import Any

import jax
from jax.core import Tracer

from jaxscope import words
from jaxscope.analysis.python.cell import CellText
from jaxscope.capture import _jax
from jaxscope.capture.forms.call import FunctionCall
from jaxscope.capture.inputs.mutation import find_tracer
from jaxscope.capture.options.composition import Composition
from jaxscope.capture.options.refusals import IN_THREAD, NOTHING_CHANGED, RefusedError
from jaxscope.capture.options.settings import SettingsError
from jaxscope.capture.program.request import CompileRequest
from jaxscope.capture.run import error_site, jax_errors
from jaxscope.capture.source.cell_names import Places


@dataclass(frozen=True, slots=True)
class CellErrors:
    """The notes for errors of one cell."""

    cell: CellText
    values: Mapping[str, Any]
    """The namespace."""
    composition: Composition
    traced: Collection[str] = ()
    """Names of its traced inputs."""
    wrote: bool = False
    """The cell runs as plain Python does, so the names that it has bound stay bound."""
    decorated: bool = False
    """Its entry points are bound as functions that the magic has jitted."""

    @contextmanager
    def explained(self, request: CompileRequest | None = None) -> Generator[None]:
        """Add the note to an error of the block; the error itself stays as it is.

        `request` is given while it is traced and compiled.
        """
        try:
            yield
        except Exception as error:
            # After the program inside the transforms is traced, a failure is a transform's.
            applying = self.wrote or (request is not None and request.untransformed is not None)
            note = self.note(error, applying=applying)
            if note is not None:
                error.add_note(note)
            if self.wrote and isinstance(error, RefusedError):
                error.args = (str(error).removesuffix(NOTHING_CHANGED).rstrip(),)
            raise

    def note(self, error: BaseException, *, applying: bool = False) -> str | None:
        """The note, or None where there is nothing to add.

        `applying` says that the cell is traced and its transforms are being applied, or that they
        decorate its functions.
        """
        if isinstance(error, RefusedError | SettingsError):
            return None
        line = line_of(error, self.cell.file)
        fix = self.fix(error)
        if fix is None and (wrapped := _wrapped(error)) is not None:
            fix = self.fix(wrapped, line)
        if fix is not None:
            return f"jaxscope: {fix}"
        if applying and not self.wrote:
            where = "" if line is None else f"Line {line}: "
            reason = re.split(r"(?<=[.!?])\s|\n", str(error).strip())[0].rstrip(".:")
            sentence = f"JAX cannot apply `{self.composition}` to this program: {reason}."
            return f"jaxscope: {where}{sentence} {NOTHING_CHANGED}"
        # The traceback has the line. Nothing else is known.
        return None if self.wrote or line is None else f"jaxscope: {NOTHING_CHANGED}"

    def fix(self, error: BaseException, line: int | None = None) -> str | None:
        """The line and the fix, or None where there is no fix; `line` is that of the cell where the
        traceback lacks it."""
        line = line_of(error, self.cell.file) or line
        if isinstance(error, jax.errors.UnexpectedTracerError) and error_site.in_thread(error):
            return _placed(IN_THREAD, "" if line is None else f"Line {line}")
        if isinstance(error, jax.errors.UnexpectedTracerError) and (kept := self._keeps_tracer()):
            line = self.cell.syntax.first_use(kept) if line is None else line
            where = "" if line is None else f"Line {line}: "
            return (
                f"{where}`{kept}` keeps a tracer of an earlier trace: let the function that was "
                "traced return that value instead."
            )
        advice = error_site.with_site(self._fix(error, line), error)
        if advice is None:
            return None
        fix = advice.text
        jitted = error_site.jitted_frame(error) if _needs_a_value(error) else None
        if self.decorated and jitted is not None:
            own = jitted.f_code.co_name in self.cell.syntax.entry_points
            jitted = None if own else jitted
        if jitted is not None:
            fix = _with_static_argnames(error, fix, jitted)
        elif _needs_a_value(error):
            fixable = self._parameters(error) if self.wrote else set(self.traced)
            found = _blamed(error) & fixable or self.cell.syntax.names_on(line) & fixable
            maps = self.composition.maps
            fix = _with_names(error, fix, found, self.values, fixable=not maps)
        return _placed(fix, _place(advice, self.cell.file, line))

    def _fix(self, error: BaseException, line: int | None) -> str | None:
        pmap = self.composition.has_pmap
        if isinstance(error, jax.errors.TracerBoolConversionError) and self._asserts(line):
            return (
                "`assert` needs the value of a traced array: check the result in a cell without "
                "the magic."
            )
        if self.wrote and pmap and any(part in str(error) for part in _TOO_LONG):
            return (
                "A pmap gives each device one slice: the mapped axis may not be longer than the "
                "number of devices. `%jaxdevices --cpu N` simulates more, before JAX starts."
            )
        mentioned = self.cell.syntax.mentioned
        values = {name: self.values[name] for name in mentioned if name in self.values}
        return _known(error, values, self.composition)

    def _keeps_tracer(self) -> str:
        """The first name that the cell reads and that holds a tracer; empty where none does."""
        names = self.cell.syntax.reads
        return next((n for n in names if n in self.values and find_tracer(self.values[n])), "")

    def _asserts(self, line: int | None) -> bool:
        return line is not None and any(
            isinstance(node, ast.Assert) and node.lineno <= line <= (node.end_lineno or line)
            for node in ast.walk(self.cell.syntax.tree)
        )

    def _parameters(self, error: BaseException) -> set[str]:
        """Scalar parameters of the compiled function that failed: `-s` makes them static."""
        found: set[str] = set()
        compiled = self.cell.syntax.entry_points
        for frame, _ in traceback.walk_tb(error.__traceback__):
            code = frame.f_code
            if code.co_filename == self.cell.file and code.co_name in compiled:
                given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
                held = {name: frame.f_locals.get(name) for name in given}
                found = {n for n, v in held.items() if isinstance(v, Tracer) and v.ndim == 0}
        return found


@contextmanager
def explained_call(
    call: FunctionCall, composition: Composition, namespace: Mapping[str, Any], *, settable: bool
) -> Generator[None]:
    """Add the note to an error of one call, which has its line from the traceback already.

    `settable` says that the magic has `-s`.
    """
    try:
        yield
    except Exception as error:
        fixable = settable and not call.is_jitted and not composition.maps
        note = _note_of_call(error, call, composition, namespace, fixable=fixable)
        if note is not None:
            error.add_note(f"jaxscope: {note}".replace(": \n", ":\n", 1))
        raise


def _note_of_call(
    error: BaseException,
    call: FunctionCall,
    composition: Composition,
    namespace: Mapping[str, Any],
    *,
    fixable: bool,
) -> str | None:
    if isinstance(error, RefusedError | SettingsError):
        return None
    advice = error_site.with_site(_known(error, namespace, composition), error)
    if advice is None and (wrapped := _wrapped(error)) is not None:
        return _note_of_call(wrapped, call, composition, namespace, fixable=fixable)
    fix = None if advice is None else advice.text
    if fix is None or not _needs_a_value(error):
        return fix
    jitted = error_site.jitted_frame(error, called=call.is_jitted)
    if jitted is not None:
        return _with_static_argnames(error, fix, jitted)
    if f"while tracing the function {call.name} at " not in str(error):
        return fix  # a function that this one calls may have a parameter of the same name
    given = call.arguments()
    return _with_names(error, fix, _blamed(error) & given.keys(), given, fixable=fixable)


_IN_CODE = (
    ("name positional parameters with `-i name=axis`", "give `in_axes` one for each argument"),
    ("with `-i name=axis`", "with `in_axes`"),
    ("with `-i name=None`", "with `None` in `in_axes`"),
    ("`-i name=0`", "`in_axes=0`"),
    ("with `-w`", "with `argnums`"),
    ("with --has-aux", "with `has_aux=True`"),
    ("`--mode jacrev`", "`jax.jacrev`"),
    ("run with --holomorphic", "pass `holomorphic=True`"),
)


def _in_code(sentence: str) -> str:
    """The fix of a transform that the code applies, where the options of a magic are of no use."""
    for option, keyword in _IN_CODE:
        sentence = sentence.replace(option, keyword)
    return sentence


def _known(error: BaseException, values: Mapping[str, Any], composition: Composition) -> str | None:
    """The fix for a known error: by keywords of JAX where the magic applies no transform."""
    found = jax_errors.fix(error, values, pmap=composition.has_pmap)
    return _in_code(found) if found and composition.is_plain else found


def _wrapped(error: BaseException) -> BaseException | None:
    """JAX's error behind one that a library or the user's code has raised of it."""
    inner = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if inner is None or isinstance(inner, jax.errors.JAXTypeError | jax.errors.JAXIndexError):
        return inner
    return _wrapped(inner)


def _needs_a_value(error: BaseException) -> bool:
    """Whether a fixed value in place of a tracer would have avoided the error."""
    if jax_errors.of_number(error):
        return True
    if jax_errors.of_array(error):
        return False  # the result is asked in the next cell
    kinds = (
        jax.errors.TracerIntegerConversionError,
        jax.errors.TracerBoolConversionError,
        jax.errors.ConcretizationTypeError,
        IndexError,
    )
    text = str(error)
    of_a_value = "Trac" in text and any(part in text for part in jax_errors.OF_A_VALUE)
    return isinstance(error, kinds) or (isinstance(error, TypeError) and of_a_value)


def _with_names(
    error: BaseException,
    fix: str,
    found: Collection[str],
    values: Mapping[str, Any],
    *,
    fixable: bool,
) -> str:
    """The fix after the names of the inputs that caused the error."""
    names = sorted(found)
    if jax_errors.of_number(error):
        names = [name for name in names if isinstance(values.get(name), Number)]
    if isinstance(error, (jax.errors.TracerIntegerConversionError, IndexError)):
        # The code needs an int: a scalar among the names is the one.
        names = [n for n in names if getattr(values.get(n), "ndim", 0) == 0] or names
    if not names or jax_errors.OF_NO_INPUT in str(error):
        return fix
    which = words.listed([f"`{name}`" for name in names])
    fix = f"{which} {'is' if len(names) == 1 else 'are'} traced. {fix}"
    # A mapped input has a value for each example.
    if fixable and _static_helps(error, [values.get(name) for name in names]):
        fix += f" If its value may be fixed, run with `{' '.join(f'-s {n}' for n in names)}`."
    return fix


def _with_static_argnames(error: BaseException, fix: str, jitted: FrameType) -> str:
    """The fix for a function that the user has jitted: `-s` and plain Python leave its jit."""
    fix = fix.replace(", or a cell without the magic", "")
    held = {name: jitted.f_locals.get(name) for name in sorted(_blamed(error))}
    tracers = {name: value for name, value in held.items() if isinstance(value, Tracer)}
    if not tracers:
        return fix
    fix = _with_names(error, fix, tracers, tracers, fixable=False)
    # Python's own numbers are weakly typed; an array cannot be static.
    if all(v.ndim == 0 and (v.weak_type or v.dtype == bool) for v in tracers.values()):
        names = ", ".join(f'"{name}"' for name in tracers)
        static = names if len(tracers) == 1 else f"({names})"
        function = jitted.f_code.co_name
        fix += f" If its value may be fixed, jit `{function}` with `static_argnames={static}`."
    return fix


def _static_helps(error: BaseException, values: Sequence[Any]) -> bool:
    """Whether the code would see a number if these values were static.

    JAX traces what is computed of a static `jax.Array` too.
    """
    walked = [frame.f_locals for frame, _ in traceback.walk_tb(error.__traceback__)]
    found = [one["self"] for one in walked if isinstance(one.get("self"), Tracer)][-1:]
    if isinstance(error, IndexError):  # the index decides: `x[:k]` needs no value of `x`
        index = next((part for held in walked for part in _items(held.get("item", ()))), None)
        bounds = (index.start, index.stop, index.step) if isinstance(index, slice) else (index,)
        found = [one for one in bounds if isinstance(one, Tracer)]
    if not found and jax_errors.SHAPE in str(error):  # `jnp.zeros(n)`, no method of the tracer
        given = [one for held in walked[-1].values() for one in _items(held)]
        found = [one for one in given if isinstance(one, Tracer)]
    # `x.nonzero()` needs all values of `x`.
    if found and all(one.ndim == 0 and _jax.is_argument(one) for one in found):
        return True
    try:
        leaves = jax.tree_util.tree_leaves(values)
    except Exception:  # keys that cannot be sorted
        return False
    return not any(isinstance(leaf, jax.Array) for leaf in leaves)


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple | list) else (value,)


_BLAMED = re.compile(r"depends on the values? of the arguments? (.+)\.")


def _blamed(error: BaseException) -> set[str]:
    """The arguments that JAX names: `config` where it says that it depends on `config['lr']`."""
    found = _BLAMED.search(str(error))
    return set() if found is None else set(re.findall(r"(?:^|[ ,])([^\W\d]\w*)", found[1]))


def note_expression(error: BaseException, file: str) -> None:
    """Add what is known of the expression that failed, in a cell that runs as plain Python."""
    advice = error_site.with_site(None, error) if isinstance(error, Exception) else None
    if advice is not None:
        place = _place(advice, file, line_of(error, file))
        error.add_note(f"jaxscope: {_placed(advice.text, place)}")


def _place(advice: error_site.SitedFix, cell: str, line: int | None) -> str:
    """The place of the code that the advice names: `Line 3`, or `layers.py:5` in another file."""
    if advice.file not in ("", cell):
        return f"{Places().name(advice.file, 0)}:{advice.line}"
    return "" if line is None else f"Line {line}"


def _placed(text: str, place: str) -> str:
    return f"{place}: {text}".replace(": \n", ":\n", 1) if place else text


def line_of(error: BaseException, file: str) -> int | None:
    """The innermost line of the cell in the error's traceback.

    An error of a transform comes after the trace of the cell: JAX then attaches the traceback of
    the equation to it, as its cause.
    """
    found = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == file:
            found = line
    if found is None and error.__cause__ is not None:
        return line_of(error.__cause__, file)
    return found


# A pmap is a shard_map since JAX 0.8: its texts for an axis longer than the number of devices.
_TOO_LONG = ("evenly divi", "axis to squeeze out")
