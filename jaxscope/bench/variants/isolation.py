"""A namespace that is the same after a trial, and the refusal of code with effects."""

from __future__ import annotations

import ast
import copy
import dis
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
)
from contextlib import contextmanager
from types import CodeType, FunctionType, ModuleType
from typing import Any

import jax

from jaxscope.bench.variants.contents import Contents, is_code
from jaxscope.capture.inputs.pytrees import is_builtin
from jaxscope.capture.source.frames import is_user_file
from jaxscope.capture.timing.copies import copied

_EFFECTS = frozenset(
    "print input open exec eval globals setattr delattr display tqdm __import__".split()  # noqa: SIM905
)
_MODULES = frozenset(
    "os sys shutil subprocess pathlib socket requests urllib logging warnings time random "  # noqa: SIM905
    "matplotlib plt wandb pickle threading builtins".split()
)
_IN_PLACE = frozenset(
    "append extend insert update add remove pop clear setdefault write writelines flush close "  # noqa: SIM905
    "sleep save savez tofile to_csv seed shuffle debug info callback io_callback".split()
)
_CONTAINER = frozenset("append extend insert update add remove pop clear setdefault".split())  # noqa: SIM905
_GLOBAL = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_ABSENT = object()


class TrialRefused(Exception):
    """Nothing was tried: a program that must not run again, or a change that cannot be applied
    here. The text is a whole sentence."""


class TrialFailed(TrialRefused):
    """A change that was tried and stopped."""


def refuse_effects(
    tree: ast.AST,
    namespace: Mapping[str, Any],
    names: Collection[str],
    function: Callable[..., Any] | None = None,
    *,
    silenced: bool = False,
) -> None:
    """Raise TrialRefused for code whose effects a trial would repeat.

    `names` are those that the code reads: the user's functions behind them are searched, too, and
    `function`. Where it is `silenced`, as plain Python, a `print` is none, and each run has lists
    of its own to append to.
    """
    read = frozenset(names)
    if silenced:
        read -= grown(tree, namespace, names)
    for node in ast.walk(tree):
        what = ""
        match node:
            case ast.Call(func=ast.Name(id="print"), keywords=keywords) if silenced and not any(
                one.arg in ("file", None) for one in keywords
            ):
                continue
            case ast.Call(func=ast.Name(id=name)) if name in _EFFECTS:
                what = f"`{name}`"
            case ast.Call(func=ast.Attribute() as called) if _has_effects(called, namespace, read):
                what = f"`{ast.unparse(called)}`"
            case ast.Global() | ast.Nonlocal() | ast.Await() | ast.Yield():
                what = f"`{type(node).__name__.lower()}`"
            case _:
                continue
        if what:
            raise _refusal(what, getattr(node, "lineno", None))
    seen: set[int] = set()
    called = [(name, namespace.get(name)) for name in names]
    for name, value in [*called, ("the function", function)]:
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, FunctionType):
            silent = silenced and inner.__globals__ is namespace
            _search(inner.__code__, inner.__globals__, name, seen, silent=silent)


def grown(tree: ast.AST, namespace: Mapping[str, Any], names: Collection[str]) -> frozenset[str]:
    """Those of the names that hold Python's own containers, which the code appends to or empties:
    `losses.append(x)`, `history["loss"].append(x)`."""
    found: set[str] = set()
    others: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr, value=value)) if attr in _CONTAINER:
                root = value
                while isinstance(root, ast.Subscript):
                    root = root.value
                name = _root(value)
                own = isinstance(root, ast.Name) and _only_containers(namespace.get(name), attr)
                (found if own else others).add(name)
            case _:
                pass
    return frozenset(found & set(names) - others)


def _only_containers(value: Any, method: str) -> bool:
    """Whether only Python's own containers in it have the method."""
    if not _is_container(value):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return all(not hasattr(one, method) or _only_containers(one, method) for one in inside)


def _is_container(value: Any) -> bool:
    return is_builtin(value) or type(value) is set


def own_containers(value: Any) -> Any:
    """The value with a copy of each of Python's own containers in it, which a run may change."""
    if not _is_container(value):
        return value
    made = copy.copy(value)
    if isinstance(made, set):
        return made
    for key, one in made.items() if isinstance(made, dict) else enumerate(made):
        made[key] = own_containers(one)
    return made


def _has_effects(
    called: ast.Attribute, namespace: Mapping[str, Any], read: Collection[str]
) -> bool:
    root = _root(called)
    module = namespace.get(root)
    package = module.__name__.partition(".")[0] if isinstance(module, ModuleType) else root
    if package in _MODULES:
        return True
    if root in ("np", "numpy"):  # its global generator
        return ".random." in ast.unparse(called)
    if called.attr in _CONTAINER and root and root not in read:
        return False  # a container of the code's own
    return called.attr in _IN_PLACE and not _functional(called)


def _functional(called: ast.Attribute) -> bool:
    """`x.at[i].add(1)` and `optimizer.update(...)` give a result and change nothing."""
    return any(isinstance(n, ast.Attribute) and n.attr == "at" for n in ast.walk(called)) or (
        called.attr == "update"
    )


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _search(
    code: CodeType, space: Mapping[str, Any], name: str, seen: set[int], *, silent: bool
) -> None:
    if id(code) in seen or not is_user_file(code.co_filename):
        return
    seen.add(id(code))
    found = set(code.co_names) & _EFFECTS
    # A name of the user's own is not the builtin.
    found = {one for one in found if one not in space and not (silent and one == "print")}
    stored = [i for i in dis.get_instructions(code) if i.opname in _GLOBAL]
    if found or stored:
        what = sorted(found)[0] if found else f"global {stored[0].argval}"
        raise _refusal(f"`{what}` in `{name}`", None)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _search(constant, space, name, seen, silent=silent)
    for one in code.co_names:
        value = space.get(one)
        inner = getattr(value, "__wrapped__", value)
        if isinstance(inner, FunctionType):
            same = silent and inner.__globals__ is space
            _search(inner.__code__, inner.__globals__, one, seen, silent=same)


def _refusal(what: str, line: int | None) -> TrialRefused:
    where = f" on line {line}" if line else ""
    return TrialRefused(f"{what}{where} has effects, and a trial would repeat them.")


def refuse_program_effects(traced: Any) -> None:
    """Raise TrialRefused for a traced program with effects, such as `jax.debug.print`."""
    effects = getattr(getattr(traced, "jaxpr", None), "effects", None)
    if effects:
        kinds = sorted({type(one).__name__.removesuffix("Effect").lower() for one in effects})
        raise TrialRefused(
            f"The program has effects ({', '.join(kinds)}), and a trial would repeat them."
        )


class _Nowhere:
    """A file that keeps nothing."""

    def write(self, text: str) -> int:
        return len(text)


def silent_print(*values: Any, sep: str = " ", end: str = "\n", flush: bool = False) -> None:
    """`print` that does its work and shows nothing."""
    print(*values, sep=sep, end=end, file=_Nowhere())


def missing(namespace: Mapping[str, Any], names: Collection[str]) -> None:
    """Raise TrialRefused for an input that was deleted since the run."""
    for name in names:
        if name not in namespace:
            continue
        for leaf in _leaves(namespace[name]):
            if isinstance(leaf, jax.Array) and leaf.is_deleted():
                raise _deleted(name)


def _deleted(name: str) -> TrialRefused:
    return TrialRefused(
        f"`{name}` was donated or deleted since the run: create it again, and run the cell again."
    )


def reached(namespace: Mapping[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    """These names, and those that the user's functions and classes behind them read.

    Raises TrialRefused for a function with an object in its closure that a call could change.
    """
    found = dict.fromkeys(names)
    queue = list(found)
    while queue:
        for function in _functions(namespace.get(queue.pop())):
            _refuse_closure(function)
            if function.__globals__ is not namespace:
                continue
            read = [n for n in names_in(function.__code__) if n in namespace and n not in found]
            found |= dict.fromkeys(read)
            queue += read
    return tuple(found)


def function_behind(value: Any) -> FunctionType | None:
    """The user's function that a call of the value runs; None for a library's."""
    inner = getattr(value, "func", value)
    inner = getattr(inner, "__wrapped__", inner)
    inner = getattr(inner, "__func__", inner)
    if not isinstance(inner, FunctionType) and not isinstance(inner, type):
        inner = getattr(type(inner), "__call__", None)  # noqa: B004
    if isinstance(inner, FunctionType) and is_user_file(inner.__code__.co_filename):
        return inner
    return None


def _functions(value: Any) -> Iterator[FunctionType]:
    """The user's functions that a call of the value may run."""
    inner = getattr(value, "func", value)
    inner = getattr(inner, "__wrapped__", inner)
    inner = getattr(inner, "__func__", inner)
    kind = inner if isinstance(inner, type) else type(inner)
    members = [inner, *vars(kind).values()]
    for one in members:
        if isinstance(one, FunctionType) and is_user_file(one.__code__.co_filename):
            yield one


def names_in(code: CodeType) -> Iterator[str]:
    """Names that the code and the functions in it look up."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def _refuse_closure(function: FunctionType) -> None:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            value = cell.cell_contents
        except ValueError:
            continue  # not bound yet
        own = hasattr(value, "__dict__") and not callable(value) and not hasattr(value, "dtype")
        if isinstance(value, list | dict | set) or (own and not isinstance(value, ModuleType)):
            raise TrialRefused(
                f"`{function.__name__}` keeps `{name}` in its closure, where a trial could change "
                "it."
            )


@contextmanager
def isolated(
    namespace: MutableMapping[str, Any], names: Iterable[str]
) -> Generator[MutableMapping[str, Any]]:
    """The user's namespace with copies of what these names hold; after the block it is as before.

    JAX's arrays are copied as well: the code, or what it calls, may donate them. The names stay in
    the namespace itself, because functions of other cells look them up there.
    """
    before = dict(namespace)
    memo: dict[int, Any] = {}
    # An annotated assignment changes it, though no code names it.
    wanted = dict.fromkeys([*names, "__annotations__"])
    copies = {name: _copied(name, before[name], memo) for name in wanted if name in before}
    namespace.update(copies)
    try:
        yield namespace
    finally:
        for name in [name for name in namespace if name not in before]:
            del namespace[name]
        for name, value in before.items():
            if namespace.get(name, _ABSENT) is not value:
                namespace[name] = value


def _copied(name: str, value: Any, memo: dict[int, Any]) -> Any:
    if is_code(value):
        return value
    missing({name: value}, (name,))
    for leaf in _leaves(value):
        if isinstance(leaf, jax.Array):
            memo[id(leaf)] = copied(leaf)
        elif callable(leaf):
            memo[id(leaf)] = _copied_callable(leaf, memo)
    try:
        return copy.deepcopy(value, memo)
    except Exception as error:
        if "deleted" in str(error):  # an array in an object of the user's
            raise _deleted(name) from None
        raise TrialRefused(f"`{name}` cannot be copied, so a trial could change it.") from None


def _copied_callable(value: Any, memo: dict[int, Any]) -> Any:
    """A copy of an object with a `__call__`; the object itself where it cannot be copied."""
    # JAX's own, such as a `custom_jvp`, hold functions.
    if is_code(value) or type(value).__module__.partition(".")[0] == "jax":
        return value
    try:
        # A copy of a jitted function would compile again.
        memo.update({id(one): one for one in Contents(value).code})
        return copy.deepcopy(value, memo)
    except Exception:
        return value


def copied_arguments(arguments: Any) -> Any:
    """Copies of the arguments of a call."""
    return _copied("an argument", arguments, {})


def _leaves(value: Any) -> list[Any]:
    try:
        return jax.tree_util.tree_leaves(value)
    except Exception:
        return []
