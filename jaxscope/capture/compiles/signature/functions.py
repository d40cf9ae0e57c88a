"""The function under a jit: its wrappers, its captured values, its definition; or its cell.

Each run of a cell creates its function again, so its compilations are compared by the cell, not by
the function.
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import inspect
import types
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from jaxscope.analysis.compiles.causes.settings import OWNER
from jaxscope.analysis.compiles.causes.signature import CapturedValue, JittedFunction
from jaxscope.capture import _jax
from jaxscope.capture.compiles.signature.constants import Constant, described
from jaxscope.capture.compiles.signature.description import describe
from jaxscope.capture.compiles.signature.values import ObjectIds, code_text
from jaxscope.capture.source.cell_names import cell_name
from jaxscope.capture.source.frames import is_user_file

_MOST_WRAPPERS = 20
_MOST_CAPTURED = 24
_MOST_FOLLOWED = 100  # functions
_JIT = ("jax", "jaxlib", "flax", "equinox")
"""Packages whose jitted functions are objects of their own."""
_PLAIN = (bool, int, float, complex, str)
_READS_A_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
_READS_AN_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")


def function(fun: Any, ids: ObjectIds, name: str = "") -> JittedFunction:
    """Describe a function under a jit. Keeps nothing of it alive."""
    inner, wrappers, found = _unwrapped(fun, ids)
    code = getattr(inner, "__code__", None)
    if isinstance(code, types.CodeType):
        bound = {one.name for one in found}  # a `partial` has a value for it
        found += [one for one in _closure(inner, code, ids) if one.name not in bound]
    known = name or str(getattr(inner, "__name__", "") or type(inner).__name__)
    if wrappers[-1:] == ["callable object"]:
        known = str(inner.__qualname__).removesuffix(".__call__").rsplit(".", 1)[-1]
    file = getattr(code, "co_filename", "")
    return JittedFunction(
        ids.of(fun),
        known,
        str(getattr(inner, "__qualname__", known)),
        str(getattr(inner, "__module__", "") or ""),
        file,
        line=getattr(code, "co_firstlineno", 0),
        column=column_of(code) if isinstance(code, types.CodeType) else 0,
        code_id=ids.of(code) if isinstance(code, types.CodeType) else 0,
        code_hash=hash(code_text(code)) if isinstance(code, types.CodeType) else 0,
        wrappers=tuple(wrappers),
        owner=type(fun.__self__).__name__ if inspect.ismethod(fun) else "",
        owner_id=ids.of(fun.__self__) if inspect.ismethod(fun) else 0,
        captured=tuple(found[:_MOST_CAPTURED]),
        reads=reads_of({"": inner}),
        internal=file.startswith(_jax.jax_directory()),
        cell=cell_name(file) or "",
    )


def name_of(fun: Any, name: Any = "") -> str:
    """The name of a function, or the class of an object that is called, below a `partial`, too.

    `name` is JAX's, which has none for such an object. Equinox gives its wrapper no text.
    """
    if isinstance(name, str) and name and not name.startswith("<unnamed"):
        return name
    fun = inspect.unwrap(fun)
    while isinstance(fun, functools.partial):
        fun = fun.func
    return str(getattr(fun, "__name__", type(fun).__name__))


def column_of(code: types.CodeType) -> int:
    """The column of its first expression; 0 where Python was started without columns."""
    return next((column or 0 for _, _, column, end in code.co_positions() if end), 0)


def code_of(fun: Any, ids: ObjectIds) -> int:
    """The id of the code under the wrappers; 0 if there is none."""
    if not isinstance(fun, types.FunctionType) or hasattr(fun, "__wrapped__"):
        fun = _unwrapped(fun, ids)[0]
    code = getattr(fun, "__code__", None)
    return ids.of(code) if isinstance(code, types.CodeType) else 0


def _unwrapped(fun: Any, ids: ObjectIds) -> tuple[Any, list[str], list[CapturedValue]]:
    wrappers: list[str] = []
    found: list[CapturedValue] = []
    for _ in range(_MOST_WRAPPERS):
        if isinstance(fun, functools.partial):
            wrappers.append("partial")
            found += _partial(fun, ids)
            fun = fun.func
        elif inspect.ismethod(fun):
            wrappers.append("bound method")
            found.append(_captured(OWNER, fun.__self__, ids))
            fun = fun.__func__
        elif (wrapped := _jax.transform_of(fun)) is not None:
            wrappers.append(wrapped[0])
            fun = wrapped[1]
        elif hasattr(fun, "__wrapped__"):
            code = getattr(fun, "__code__", None)
            wrappers.append(str(getattr(code, "co_name", "") or type(fun).__name__))
            fun = fun.__wrapped__
        elif not hasattr(fun, "__code__") and hasattr(type(fun).__call__, "__code__"):
            # A callable object, such as a module of a neural network.
            wrappers.append("callable object")
            fun = type(fun).__call__
        else:
            break
    return fun, wrappers, found


def _partial(fun: functools.partial[Any], ids: ObjectIds) -> list[CapturedValue]:
    try:
        names = list(inspect.signature(fun.func).parameters)
    except (TypeError, ValueError):
        names = []
    names += [f"argument {i}" for i in range(len(names), len(fun.args))]
    bound = [*zip(names, fun.args, strict=False), *fun.keywords.items()]
    return [_captured(name, value, ids) for name, value in bound]


def _closure(fun: Any, code: types.CodeType, ids: ObjectIds) -> list[CapturedValue]:
    defaults = getattr(fun, "__defaults__", None) or ()
    names = code.co_varnames[: code.co_argcount][code.co_argcount - len(defaults) :]
    named = [(name, value) for name, _, value in _jax.closure(fun)]
    named += [*zip(names, defaults, strict=False)]
    named += (getattr(fun, "__kwdefaults__", None) or {}).items()
    return [_captured(name, value, ids) for name, value in named]


def reads_below(fun: Any) -> tuple[tuple[str, int], ...]:
    """The reads of the user's function under a jit and its wrappers, as they are now."""
    inner = _unwrapped(fun, ObjectIds())[0]
    code = getattr(inner, "__code__", None)
    return reads_of({"": inner}) if code is not None and _is_users(code.co_filename) else ()


def attributes_below(fun: Any, objects: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Hashes of the numbers and texts that a function reads from objects, by `self.rate`.

    `objects` are the static arguments, by their names in the function: JAX does not look into them.
    The object of a bound method is one, too. A method that it calls on an object is followed.
    """
    while isinstance(fun, functools.partial) or hasattr(fun, "__wrapped__"):
        fun = fun.func if isinstance(fun, functools.partial) else fun.__wrapped__
    code = getattr(fun, "__code__", None)
    if not isinstance(code, types.CodeType) or not _is_users(code.co_filename):
        return ()
    if inspect.ismethod(fun) and code.co_varnames:
        objects = {code.co_varnames[0]: fun.__self__}
    found: dict[str, int] = {}
    for name, value in objects.items():
        held = getattr(value, "__dict__", {})
        waiting, seen = [(code, name)], set[types.CodeType]()
        while waiting and len(seen) < _MOST_FOLLOWED:
            one, called = waiting.pop()
            if one in seen:
                continue
            seen.add(one)
            for attribute in _attributes_of(one, called):
                method = inspect.getattr_static(type(value), attribute, None)
                if isinstance(method, types.FunctionType) and method.__code__.co_varnames:
                    waiting.append((method.__code__, method.__code__.co_varnames[0]))
                elif (parts := _plain_parts(held.get(attribute))) is not None:
                    found[f"{name}.{attribute}"] = hash((type(parts), repr(parts)))
    return tuple(sorted(found.items()))


@functools.lru_cache(maxsize=1024)
def _attributes_of(code: types.CodeType, name: str) -> frozenset[str]:
    """The attributes that the code reads of the variable of that name."""
    found: set[str] = set()
    loaded: object = None
    for one in dis.get_instructions(code):
        if one.opname in _READS_AN_ATTRIBUTE and loaded == name:
            found.add(str(one.argval))
        # Python 3.13 loads two variables at once.
        loaded = one.argval[-1] if isinstance(one.argval, tuple) else one.argval
        loaded = loaded if one.opname.startswith(("LOAD_FAST", "LOAD_DEREF")) else None
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            found |= _attributes_of(one, name)
    return frozenset(found)


def reads_of(values: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Hashes of the user's functions among the values, and of the functions and numbers behind the
    global names that these read; sorted by name. The one without a name is left out."""
    found: dict[str, int] = {}
    functions = {name: _unjitted(value) for name, value in values.items()}
    for name, value in functions.items():
        if name and isinstance(value, types.FunctionType) and _is_users(value.__code__.co_filename):
            found[name] = hash(code_text(value.__code__))
    waiting, seen = list(functions.values()), set[types.CodeType]()
    while waiting and len(seen) < _MOST_FOLLOWED:
        one = waiting.pop()
        if not isinstance(one, types.FunctionType) or one.__code__ in seen:
            continue
        seen.add(one.__code__)
        for name, value in _globals(one):
            if isinstance(value, types.FunctionType):
                found[name] = hash(code_text(value.__code__))
                waiting.append(value)
            else:
                found[name] = hash((type(value), repr(value)))
    return tuple(sorted(found.items()))


def _globals(fun: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The user's functions and numbers among the globals that it names, and in its modules."""
    names, attributes = _names(fun.__code__)
    spaces = [(fun.__globals__, names)]
    for name in names:
        module = fun.__globals__.get(name)
        if isinstance(module, types.ModuleType) and _is_users(vars(module).get("__file__")):
            spaces.append((vars(module), attributes))
    for space, read in spaces:
        for name in read & space.keys():
            value = _unjitted(space[name])
            if (parts := _plain_parts(value)) is not None:
                yield name, parts
            elif isinstance(value, types.FunctionType) and _is_users(value.__code__.co_filename):
                yield name, value


def _plain_parts(value: Any) -> Any:
    """A number or text, and the parts of a tuple, dict or dataclass of such, as a configuration is;
    None for anything else."""
    if type(value) in _PLAIN:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, one.name, None) for one in dataclasses.fields(value)]
    elif isinstance(value, tuple | dict):
        parts = [*value, *value.values()] if isinstance(value, dict) else [*value]
    else:
        return None
    plain = len(parts) <= _MOST_CAPTURED and all(
        one is None or type(one) in _PLAIN or isinstance(one, type) for one in parts
    )
    return (type(value).__qualname__, *parts) if plain else None


@functools.lru_cache(maxsize=1024)
def _names(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The globals that the code and that of the functions inside it read, and all its names."""
    read = {str(i.argval) for i in dis.get_instructions(code) if i.opname in _READS_A_GLOBAL}
    names = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            inside = _names(one)
            read, names = read | inside[0], names | inside[1]
    return frozenset(read), frozenset(names)


def _is_users(file: str | None) -> bool:
    return file is not None and is_user_file(file)


def _unjitted(value: Any) -> Any:
    """The function under a jit, of a library too, or a wrapper of `functools.wraps`."""
    for _ in range(_MOST_WRAPPERS):
        jits = str(type(value).__module__).partition(".")[0] in _JIT
        if not (jits or isinstance(value, types.FunctionType)):
            break
        inner = getattr(value, "__wrapped__", None)
        if inner is None:
            break
        value = inner
    return value


def _captured(name: str, value: Any, ids: ObjectIds) -> CapturedValue:
    return CapturedValue(name, *describe(value, ids, by_code=True))


@dataclass(frozen=True, slots=True)
class CellIdentity:
    """The part that the runs of one cell share, and what may change between them."""

    owner: Any
    """One object for all runs: the programs of the cell, or the function that a script called."""
    text: str
    constants: Sequence[Constant]
    """All that may decide the program beside its arguments."""
    called: Any = None
    """The function of a program that is one call of it; its code counts, not the text."""
    reads: tuple[tuple[str, int], ...] = ()
    """See `reads_of`."""
    paths: tuple[str, ...] = ()
    """The user's names of the flat arguments, which are packed in dictionaries."""

    def of(self, program: JittedFunction, ids: ObjectIds) -> JittedFunction:
        """The program as the cell's."""
        owner = {"cell_id": ids.of(self.owner), "captured": described(self.constants, ids)}
        if self.called is not None:
            called = function(self.called, ids)
            reusable = self.owner is not self.called
            owner |= {"called": called.name, "reusable": reusable}
            return replace(program, **owner, code_hash=called.transformed_hash, reads=called.reads)
        lines = [line.rstrip() for line in self.text.splitlines()]  # without comments and blanks
        code = tuple([s for s in lines if s and not s.lstrip().startswith(("#", "%%"))])
        return replace(program, **owner, code_hash=hash(code), reads=self.reads)


_CURRENT: ContextVar[CellIdentity | None] = ContextVar("jaxscope_cell_identity", default=None)
_STAGED: ContextVar[_jax.JaxCall | None] = ContextVar("jaxscope_staged_call", default=None)


@contextmanager
def program_of_cell(identity: CellIdentity | None, call: _jax.JaxCall | None) -> Generator[None]:
    """Whatever is staged inside this block is the program of that cell, and of this call."""
    token, other = _CURRENT.set(identity), _STAGED.set(call)
    try:
        yield
    finally:
        _CURRENT.reset(token)
        _STAGED.reset(other)


def staged() -> _jax.JaxCall | None:
    """The call that jaxscope stages, if any: JAX shows none where it had traced it before."""
    return _STAGED.get()


def current() -> CellIdentity | None:
    """The cell whose program is being staged, if any."""
    return _CURRENT.get()
