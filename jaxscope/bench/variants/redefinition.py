"""Functions of other cells and files, defined again with a change."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Generator, Iterator, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType
from typing import Any, cast

from jaxscope.analysis.variants.edits import parsed
from jaxscope.bench.variants.isolation import TrialRefused, isolated
from jaxscope.model import Source, SourceKind
from jaxscope.model.variants import Change

_DECORATORS = frozenset("jax jaxlib functools flax equinox jaxtyping numpy chex einops".split())  # noqa: SIM905
"""Packages whose decorators have no effects, so that applying one again changes nothing."""


@contextmanager
def redefined(
    namespace: MutableMapping[str, Any],
    sources: Sequence[Source],
    change: Change,
    names: Collection[str],
) -> Generator[None]:
    """The user's functions of these sources, defined again; one of them changed.

    All of them, because a jitted function holds the trace of the functions that it calls. Names of
    a notebook stay as they are made; a module's are restored. What a later cell defined again is
    left alone. Raises TrialRefused where the change is not in a function that can be defined again,
    and for one of `names`, which the program reaches, that was edited since.
    """
    with _modules(sources) as spaces:
        for number, source in enumerate(sources):
            changed = bool(change.text) and number == change.source
            space = spaces.get(number, namespace)
            if source.kind is SourceKind.MODULE and not changed:
                continue
            if source.kind is SourceKind.MODULE and number not in spaces:
                raise TrialRefused(
                    f"The line is in `{source.name}`, a file that is not imported as a module."
                )
            before = parsed(source.text)
            after = parsed(change.text) if changed else before
            edited = _edited(before, after, source) if changed else ()
            for node in after.body if changed else ():
                if isinstance(node, ast.Import):  # of what the change uses
                    _execute(node, source, space)
            for node in after.body:
                if isinstance(node, ast.FunctionDef):
                    changes = node.name in edited
                    file = _file_of(space.get(node.name), source)
                    stale = file != source.file
                    known = node.name not in names or file in [one.file for one in sources]
                    if changes or not (stale and known):
                        _define(node, source, space, namespace, changed=changes)
                elif _jits(node, space, source) or (changed and _added(node, before)):
                    _execute(node, source, space)
        yield


@contextmanager
def _modules(sources: Sequence[Source]) -> Generator[dict[int, MutableMapping[str, Any]]]:
    """Namespaces of the imported modules behind the sources, by index; restored afterwards."""
    wanted = {one.file for one in sources if one.kind is SourceKind.MODULE}
    spaces: dict[str, MutableMapping[str, Any]] = {}
    for module in list(sys.modules.values()) if wanted else ():
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file in wanted:
            spaces.setdefault(file, vars(module))
    with ExitStack() as restored:
        for space in spaces.values():
            restored.enter_context(isolated(space, ()))
        yield {
            number: spaces[source.file]
            for number, source in enumerate(sources)
            if source.kind is SourceKind.MODULE and source.file in spaces
        }


def _edited(before: ast.Module, after: ast.Module, source: Source) -> tuple[str, ...]:
    """Names of the functions that differ."""
    known = {ast.dump(node) for node in before.body}
    edited: list[str] = []
    for node in after.body:
        if ast.dump(node) in known:
            continue
        if isinstance(node, ast.Import) or _added(node, before):
            continue
        if not isinstance(node, ast.FunctionDef):
            what = "A line that the fix also changes" if edited else "The line"
            raise TrialRefused(f"{what} is not in a plain function of `{source.name}`.")
        edited.append(node.name)
    return tuple(edited)


def _file_of(known: Any, source: Source) -> str:
    """The file of a function as it is now; that of the source for anything else."""
    inner = getattr(known, "__wrapped__", known)
    return inner.__code__.co_filename if isinstance(inner, FunctionType) else source.file


def _define(
    node: ast.FunctionDef,
    source: Source,
    space: MutableMapping[str, Any],
    namespace: MutableMapping[str, Any],
    *,
    changed: bool,
) -> None:
    known = space.get(node.name)
    if known is None and changed:  # a function that the change brings
        if not any(_effectful(node, space)):
            _execute(node, source, space)
        return
    inner = getattr(known, "__wrapped__", known)
    if not isinstance(inner, FunctionType):
        if changed:
            raise TrialRefused(f"`{node.name}` is not a plain function.")
        return
    if inner.__code__.co_filename != source.file:
        raise TrialRefused(f"`{node.name}` was defined again since the run: run the call again.")
    unknown = next(_effectful(node, space), "")
    if unknown and changed:
        raise TrialRefused(f"The decorator `{unknown}` may have effects.")
    if unknown or (source.kind is SourceKind.MODULE and not changed):
        return
    _execute(node, source, space)
    made = space[node.name]
    for name in [name for name, value in namespace.items() if value is known]:
        namespace[name] = made


def _added(node: ast.stmt, before: ast.Module) -> bool:
    """Whether the change brings the statement `jitted = jax.jit(…)`."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
            return not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(before))
        case _:
            return False


def _jits(node: ast.stmt, space: MutableMapping[str, Any], source: Source) -> bool:
    """Whether the statement is `step = jax.jit(loss)`, which still holds."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=called, args=[made, *_])):
            known = space.get(name)
            if isinstance(made, ast.Lambda) and _file_of(known, source) != source.file:
                return False
            jitted = callable(known) and hasattr(known, "lower")
            return jitted and not any(_unknown(called, space))
        case _:
            return False


def _execute(node: ast.stmt, source: Source, space: MutableMapping[str, Any]) -> None:
    module = ast.Module([node], type_ignores=[])
    exec(compile(module, source.file, "exec", dont_inherit=True), cast("dict[str, Any]", space))


def _effectful(node: ast.FunctionDef, space: MutableMapping[str, Any]) -> Iterator[str]:
    """Decorators of packages that are not known."""
    for decorator in node.decorator_list:
        yield from _unknown(decorator, space)


def _unknown(called: ast.expr, space: MutableMapping[str, Any]) -> Iterator[str]:
    """The called function, where it is of a package that is not known."""
    root: ast.expr = called
    while isinstance(root, ast.Attribute | ast.Call):
        root = root.func if isinstance(root, ast.Call) else root.value
    value = space.get(root.id) if isinstance(root, ast.Name) else None
    name = value.__name__ if isinstance(value, ModuleType) else _module_of(value)
    if name.partition(".")[0] not in _DECORATORS:
        yield ast.unparse(called)


def _module_of(value: Any) -> str:
    found = getattr(value, "__module__", None)
    return found if isinstance(found, str) else ""
