"""The user's expression that failed, with the shapes of its operands or its form for tracers."""

from __future__ import annotations

import ast
import contextlib
import inspect
import linecache
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType, ModuleType, TracebackType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxscope.analysis.python import rewrites
from jaxscope.capture import _jax
from jaxscope.capture.run import jax_errors
from jaxscope.capture.source.frames import is_installed, is_user_file, position
from jaxscope.capture.source.packages import calling_packages
from jaxscope.capture.source.sources import is_edited

_OF_SHAPES = re.compile(r"shape|dimension|broadcast|\brank\b|\bsizes?\b", re.IGNORECASE)
_MAGIC = re.compile(r"^[ \t]*[%!].*$", re.MULTILINE)
_REVERSED = re.compile(r"(__|_operator_)r(?!shift|ound)\w+")
"""Methods of the right operand."""
_CALLS = 4
"""Calls below the user's line in which its arguments are looked for: JAX wraps its functions."""
_INDENT = "    "
_SIZES = ("size", "length", "total_repeat_length", "num_segments", "nse")
"""Parameters of JAX's functions for the size of a result that depends on values."""
_OF_CALLS = (jax.errors.ConcretizationTypeError, jax.errors.TracerBoolConversionError)


@dataclass(frozen=True, slots=True)
class ErrorSite:
    """An expression of the user's, in the innermost frame that is the user's."""

    frame: FrameType
    tree: ast.Module
    node: ast.expr
    text: str
    below: tuple[FrameType, ...]
    """The frames that it called, outermost first."""


class SitedFix(NamedTuple):
    """The fix of an error, or the shapes at its expression, and the place of the code it names."""

    text: str
    file: str = ""
    line: int = 0
    """Empty and 0 where the text names no code."""


def with_site(fix: str | None, error: BaseException) -> SitedFix | None:
    """The fix, with the code to write or the shapes at the expression that failed; None where
    nothing is known."""
    site, note = None, ""
    with contextlib.suppress(Exception):  # the error itself is what matters
        site = _site(error)
        if site is not None and isinstance(error, _OF_CALLS) and (whole := _of_call(site)):
            return SitedFix(whole, site.frame.f_code.co_filename, site.node.lineno)
        host = calling_packages(error)[1]
        if site is not None and host and rewrites.is_conversion(site.node):
            return SitedFix(jax_errors.of_library(host))
        note = "" if site is None else _note(error, site)
    if site is None or not note:
        return None if fix is None else SitedFix(fix)
    replaces = fix is not None and not note.startswith("\n")
    text = f"{fix.partition(':')[0]}: {note}" if fix and replaces else f"{fix or ''}{note}"
    return SitedFix(text, site.frame.f_code.co_filename, site.node.lineno)


def _note(error: BaseException, site: ErrorSite) -> str:
    """The expression and what tracing knows of it; empty where that is nothing new."""
    if isinstance(error, jax.errors.TracerBoolConversionError):
        return _rewrite(site)
    if isinstance(error, jax.errors.ConcretizationTypeError):
        written = rewrites.of_number(site.node, _known_names(site))
        return f"write `{written}`, and convert what the program returns." if written else ""
    if isinstance(error, jax.errors.TracerIntegerConversionError):
        return _for_index(site)
    if isinstance(error, jax.errors.TracerArrayConversionError):
        return _for_numpy(site) or _at_set(site, ", with a `jnp` array")
    if isinstance(error, TypeError) and jax_errors.IMMUTABLE in str(error):
        return _at_set(site)
    if jax_errors.fills_numpy(error):
        return _at_set(site, ", with a `jnp` array")
    if isinstance(error, TypeError | ValueError) and _OF_SHAPES.search(str(error)):
        return _shapes(site)
    return ""


def _site(error: BaseException) -> ErrorSite | None:
    walked = list(_walk(error.__traceback__))
    last = max((i for i, one in enumerate(walked) if _is_user(one)), default=None)
    if last is None:
        return None
    entry = walked[last]
    if is_edited(entry.tb_frame.f_code):
        return None
    tree = _tree(entry.tb_frame.f_code.co_filename)
    node = None
    if tree is not None:
        place = position(entry.tb_frame.f_code, entry.tb_lasti)
        node = rewrites.expression_at(tree[1], place)
    if tree is None or node is None:
        return None
    text = ast.get_source_segment(tree[0], node) or ""
    below = tuple([one.tb_frame for one in walked[last + 1 :]])
    return ErrorSite(entry.tb_frame, tree[1], node, text, below)


_TRACED = re.compile(r"while tracing the function (\S+) at ")


def jitted_frame(error: BaseException, *, called: bool = False) -> FrameType | None:
    """The frame of the function that JAX was tracing, where code of the user's has jitted it.

    `called` says that jaxscope calls a function that the user has jitted.
    """
    traced = _TRACED.search(str(error))
    found, between = None, set[str]()
    for one in _walk(error.__traceback__):
        frame = one.tb_frame
        if not _is_user(one):
            between.add(str(frame.f_globals.get("__name__")).partition(".")[0])
            continue
        if traced is not None and frame.f_code.co_name == traced[1] and "jax" in between:
            found = None if "jaxscope" in between and not called else frame
        between = set()
    return found


def in_thread(error: BaseException) -> bool:
    """Whether it was raised in a thread that the code has started."""
    modules = [one.tb_frame.f_globals.get("__name__") for one in _walk(error.__traceback__)]
    return not {"threading", "concurrent.futures.thread"}.isdisjoint(modules)


def _walk(entry: TracebackType | None) -> Iterator[TracebackType]:
    while entry is not None:
        yield entry
        entry = entry.tb_next


def _is_user(entry: TracebackType) -> bool:
    file = entry.tb_frame.f_code.co_filename
    return is_user_file(file) and bool(linecache.getlines(file))


def _tree(file: str) -> tuple[str, ast.Module] | None:
    linecache.checkcache(file)  # a module that was edited and loaded again
    # A line of a magic is not Python, and must keep its number.
    text = _MAGIC.sub("", "".join(linecache.getlines(file)))
    try:
        return text, ast.parse(text)
    except SyntaxError:
        return None


def _known_names(site: ErrorSite) -> rewrites.Names:
    names = {**site.frame.f_globals, **site.frame.f_locals}
    lax = _name_of(jax.lax, names) or f"{_name_of(jax, names) or 'jax'}.lax"
    pytrees = frozenset(name for name, value in names.items() if _is_pytree(value))
    numbers = frozenset(name for name, value in names.items() if _is_number(value))
    return rewrites.Names(_name_of(jnp, names) or "jnp", lax, pytrees, numbers)


def _rewrite(site: ErrorSite) -> str:
    known = _known_names(site)
    written = rewrites.for_tracers(site.tree, site.node, known)
    if written:
        return f"write `{written}`."
    if rewrites.is_of_loop(site.tree, site.node):
        return f"use `{known.lax}.while_loop`, with the names that the loop changes as its state."
    return ""


def _for_index(site: ErrorSite) -> str:
    """An index of numbers that are no array yet, or the end of a `range`."""
    names = {**site.frame.f_globals, **site.frame.f_locals}
    known = _known_names(site)
    match site.node:
        case ast.Subscript(value=ast.Name(id=name), slice=index) if _are_numbers(names.get(name)):
            return f"write `{known.jnp}.asarray({name})[{ast.unparse(index)}]`."
        case ast.Call(func=ast.Name(id="range")):
            return f"use `{known.lax}.fori_loop`, whose bounds may be traced."
        case _:
            return ""


def _are_numbers(value: Any) -> bool:
    return isinstance(value, np.ndarray | list | tuple) and all(map(_is_number, value))


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return value.dtype != np.dtype(bool)
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _is_pytree(value: Any) -> bool:
    try:
        return not jax.tree_util.all_leaves([value])
    except Exception:  # keys that cannot be sorted
        return True


def _at_set(site: ErrorSite, more: str = "") -> str:
    written = rewrites.at_set(site.tree, site.node)
    return f"write `{written}`{more}." if written else ""


def _for_numpy(site: ErrorSite) -> str:
    """`jnp.mean(jnp.sin(x))` for `np.mean(np.sin(x))`, where JAX has all of these functions."""
    names = {**site.frame.f_globals, **site.frame.f_locals}
    numpy = _name_of(np, names)
    if not numpy or not isinstance(site.node, ast.Call) or _root(site.node.func) != numpy:
        return ""
    calls = [n for n in ast.walk(site.tree) if isinstance(n, ast.Call) and _root(n.func) == numpy]
    around = next(call for call in calls if any(n is site.node for n in ast.walk(call)))
    inside = set(ast.walk(around))  # the outermost comes first
    for call in calls:
        match call.func:
            case ast.Attribute(value=ast.Name(), attr=function) if hasattr(jnp, function):
                continue
            case _ if call in inside:  # such as `np.add.at`
                return ""
            case _:
                continue
    alias = _name_of(jnp, names) or "jnp"
    written = re.sub(rf"\b{numpy}(?=\.\w+\()", alias, ast.unparse(around))
    return f"write `{written}`."


def _of_call(site: ErrorSite) -> str:
    """The whole fix where a function of JAX needs a value of its arguments."""
    if not isinstance(site.node, ast.Call) or not site.below or not _from_library(site):
        return ""
    if rewrites.is_conversion(site.node):
        return ""
    names = {**site.frame.f_globals, **site.frame.f_locals}
    given = {keyword.arg for keyword in site.node.keywords}
    function = _called(site.node.func, names)
    if not str(getattr(function, "__module__", "")).startswith("jax."):
        return ""
    parameters = _parameters(function)
    for size in _SIZES:
        if size in parameters and size not in given and "\n" not in site.text:
            comma = ", " if site.node.args or site.node.keywords else ""
            written = f"{site.text[:-1].rstrip(', ')}{comma}{size}=...)"
            return f"The shape of the result would depend on values: write `{written}`."
    return f"`{ast.unparse(site.node.func)}` needs known sizes and options while tracing."


def _called(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of an expression such as `jnp.unique` or `x.nonzero`; None for any other."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=value, attr=attr):
            owner = _called(value, names)
            known = isinstance(owner, ModuleType | type | jax.Array)
            return getattr(owner, attr, None) if known else None
        case _:
            return None


def _parameters(function: Any) -> Collection[str]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # no function, or one in C
        return ()


def _root(node: ast.expr) -> str:
    """`np` of `np.add.at`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _name_of(module: ModuleType, names: Mapping[str, Any]) -> str:
    return next((name for name, value in names.items() if value is module), "")


def _shapes(site: ErrorSite) -> str:
    """The expression with the shape above each operand; empty unless two of them are arrays."""
    if "\n" in site.text or not _from_library(site):
        return ""
    found: list[rewrites.Operand] = []
    values = list(_values(site))
    for node, value in values:
        start = node.col_offset - site.node.col_offset
        end = (node.end_col_offset or 0) - site.node.col_offset
        if getattr(value, "shape", None) is not None:
            found.append(rewrites.Operand(start, end, _jax.short_aval(jax.typeof(value))))
    if len(found) < 2:
        return ""
    top, bottom = rewrites.above(site.text, found)
    return f"\n{_INDENT}{top}\n{_INDENT}{bottom}"


def _from_library(site: ErrorSite) -> bool:
    """Whether JAX or another library raised it, not the user's own check."""
    return bool(site.below) and is_installed(site.below[-1].f_code.co_filename)


def _values(site: ErrorSite) -> Iterator[tuple[ast.expr, Any]]:
    """The operands with their values: those of a call, and of both sides of an operator."""
    names = {**site.frame.f_globals, **site.frame.f_locals}
    operands = rewrites.operands_of(site.node)
    sides = _sides(site) if isinstance(site.node, ast.BinOp) else None
    if sides is not None:
        yield from zip(operands, sides, strict=True)
        return
    # The names of a cell may have their old values back by now: only those that were passed count.
    passed = [id(value) for frame in site.below[:_CALLS] for value in _arguments(frame)]
    given = {id(node): value for node, value in _given(site.node, site.below[:1])}
    for node in operands:
        if isinstance(node, ast.Name) and id(value := names.get(node.id)) in passed:
            yield node, value
        elif id(node) in given:
            yield node, given[id(node)]


def _given(node: ast.expr, below: Sequence[FrameType]) -> Iterator[tuple[ast.expr, Any]]:
    """The positional arguments of a call with their values, from the frame that it made."""
    if not isinstance(node, ast.Call):
        return
    for frame in below:
        code, held = frame.f_code, frame.f_locals
        end = code.co_argcount
        values = [held.get(name) for name in code.co_varnames[:end] if name != "self"]
        if code.co_flags & inspect.CO_VARARGS:
            more = held.get(code.co_varnames[end + code.co_kwonlyargcount], ())
            # `jnp.einsum` puts its first argument in front of the others.
            values += more[max(end + len(more) - len(node.args), 0) :] if more else ()
        for argument, value in zip(node.args, values, strict=False):
            match argument, value:
                case ast.Starred(), _:
                    return
                case ast.List(elts=parts) | ast.Tuple(elts=parts), list() | tuple():
                    yield from zip(parts, value, strict=False)
                case _:
                    yield argument, value


def _arguments(frame: FrameType) -> Iterator[Any]:
    for value in frame.f_locals.values():
        yield value
        if isinstance(value, list | tuple):
            yield from value


def _sides(site: ErrorSite) -> tuple[Any, Any] | None:
    """Both operands of `a @ b`, from JAX's own frame of the operator."""
    for frame in site.below:
        known = frame.f_locals
        if "self" in known and "other" in known:
            pair = known["self"], known["other"]
            reverse = known.get("swap", _REVERSED.fullmatch(frame.f_code.co_name))
            return pair[::-1] if reverse else pair
    return None
