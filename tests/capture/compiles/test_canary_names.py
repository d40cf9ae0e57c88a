"""A JAX in which one private name is another: less detail is told, never a different answer.

Renaming it in the sources of jaxscope's room for such names shows the same as renaming it in JAX,
which goes on working.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxscope
from jaxscope.capture import _jax
from jaxscope.capture.compiles import canary
from jaxscope.model import CauseKind

pytestmark = pytest.mark.jax

FILES = tuple(sorted(found.name for found in pkgutil.iter_modules(_jax.__path__)))
VAGUE = {CauseKind.UNKNOWN, CauseKind.FIRST_CALL}


@functools.cache
def source(name: str) -> str:
    return inspect.getsource(importlib.import_module(f"{_jax.__name__}.{name}"))


# fmt: off
OTHERS = {
    "AUTO", "False", "None", "EAGER", "PMAP", "TRANSFORMED", "CompileKind", "Enum",
    "LIBTPU_INIT_ARGS", "XLA_FLAGS", "abspath", "basename", "dirname", "cell_contents",
    "environ", "get_ident", "hexdigest", "lru_cache", "sha256", "wraps", "_jax", "__exit__",
    "__self__", "__wrapped__", "itemsize", "dump", "prod", "argnums", "jax_", "dtype",
    "tree_leaves", "tree_map", "tree_unflatten", "shard", "stablehlo", "operation", "compile",
    "bind", "flatten", "to_string", "device_kind", "backend", "inline", "mesh",
}
# fmt: on
"""Names of Python, of our own or public ones of JAX."""


def own_names(tree: ast.Module) -> set[str]:
    """Names that the room itself defines: its functions, classes, fields and parameters."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


def private_names() -> list[str]:
    """Identifiers of JAX's that the room reads: strings that name something, and attributes."""
    found: set[str] = set()
    own: set[str] = set()
    asked: set[str] = set()
    for name in FILES:
        tree = ast.parse(source(name))
        own |= own_names(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr":
                asked |= {one.value for one in node.args[1:2] if isinstance(one, ast.Constant)}
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("jax"):
                found.update(alias.name for alias in node.names)
    plain = {*dir(str), *dir(dict), *dir(list), *dir(set), *dir(inspect), *dir(types.CodeType)}
    plain |= {*dir(types.FrameType), *dir(types.FunctionType), *dir(sys), *dir(types), *dir(jax)}
    wanted = (found - own | asked) - plain - OTHERS
    return sorted(name for name in wanted if name.isidentifier() and len(name) > 3)


@functools.cache
def ours() -> set[str]:
    """The names that only strings stand for, because the room has some of its own called so."""
    return set().union(*(own_names(ast.parse(source(name))) for name in FILES))


NAMES = private_names()


class Renamed(ast.NodeTransformer):
    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(f"{node.value}_gone") if node.value == self.name else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr == self.name and self.name not in ours():
            node.attr = f"{self.name}_gone"
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if (node.module or "").startswith("jax"):
            for alias in node.names:
                if alias.name == self.name:
                    alias.asname = alias.asname or alias.name
                    alias.name = f"{self.name}_gone"
        return node


@contextmanager
def without(name: str) -> Iterator[None]:
    """The room as it is under a JAX that calls this something else."""
    rooms = [importlib.import_module(f"{_jax.__name__}.{file}") for file in FILES]
    spaces: list[dict[str, Any]] = []
    functions: dict[str, Any] = {}
    for room, file in zip(rooms, FILES, strict=True):
        if name not in source(file):
            continue
        tree = Renamed(name).visit(ast.parse(source(file)))
        code = compile(ast.fix_missing_locations(tree), str(room.__file__), "exec")
        space = dict(vars(room))
        exec(code, space)
        spaces.append(space)
        defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        functions |= {key: space[key] for key in defined}
    with pytest.MonkeyPatch.context() as patch:
        for room in (_jax, *rooms):
            for key in functions.keys() & vars(room).keys():
                patch.setattr(room, key, functions[key])
        for space in spaces:  # a function of one file that another one imports
            space |= {key: functions[key] for key in functions.keys() & space.keys()}
        canary.forget()
        try:
            yield
        finally:
            canary.forget()


def said() -> tuple[list[list[CauseKind]], tuple[str, ...], dict[str, str]]:
    """The causes of seven compilations, the notes, and a program's stages with their reasons."""
    jax.clear_caches()  # of the functions of the same code that were there before
    x = np.ones((3, 4), np.float32)

    def f(v: Any, k: int = 1) -> Any:
        return v * k

    step = jax.jit(f, static_argnames="k")
    with jaxscope.watch() as log:
        step(x)
        step(x, k=2)
        step(x[:2])
        jax.vmap(step)(x)
        jax.grad(lambda v: step(v).sum())(x)
        with jax.default_matmul_precision("highest"):
            step(x)
    causes = [[c.kind for c in one.causes] for one in log.compiles if one.fun_name == "f"]
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(lambda v: jnp.sin(v) @ v.T, x)
    kept = report.complete().record
    stages = {
        str(stage.kind): stage.unavailable.reason if stage.unavailable else ""
        for stage in kept.programs[0].stages
    }
    return causes, (*log.notes, *kept.notes), stages


@functools.cache
def expected() -> tuple[list[list[CauseKind]], tuple[str, ...], dict[str, str]]:
    return said()


def test_with_all_names_everything_is_told() -> None:
    causes, notes, stages = expected()
    assert len(causes) == 7
    assert all(kind is not CauseKind.UNKNOWN for kinds in causes for kind in kinds)
    assert notes == ()
    assert stages == dict.fromkeys(("jaxpr", "stablehlo", "hlo", "optimized_hlo"), "")


def test_the_names_are_those_of_the_room() -> None:
    assert {"jit_info", "vmap_f", "cache_miss", "name_stack", "trace_context"} <= set(NAMES)
    assert len(NAMES) > 60


@pytest.mark.parametrize("name", NAMES)
def test_without_a_name_less_is_told_and_nothing_else(name: str) -> None:
    full, _, _ = expected()
    with without(name):
        causes, notes, stages = said()
    if len(causes) < len(full):
        assert notes, "compilations are missing without a word"
    for before, now in zip(full, causes, strict=False):
        assert set(now) <= {*before, *VAGUE}, (before, now, notes)
    assert set(stages) == {"jaxpr", "stablehlo", "hlo", "optimized_hlo"}
