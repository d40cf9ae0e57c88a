"""Situations of ordinary code that recompile, read from `tests/data/recompilation`, and played.

Each has two steps, of which the second compiles again, words of its first cause, and the same
steps with the fix applied as the message says, of which the second compiles nothing.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
import types
import warnings
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import jax
from IPython.core.interactiveshell import InteractiveShell

import jaxscope
from jaxscope import background
from jaxscope.model import Cause, CauseKind, Compile, CompileKind
from tests.magics.cells.cell_shell import open_shell
from tests.paths import ROOT

FOLDER = ROOT / "tests" / "data" / "recompilation"
_NAME = re.compile(r"^# ==== (.+)$", re.MULTILINE)
_STEP = re.compile(r"^# -- (.+)$", re.MULTILINE)
_NOTE = re.compile(r"^# (cause|script|fix|needs): (.+)\n", re.MULTILINE)
_PREAMBLE = """\
import functools
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax import lax

def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)
"""
_SETTINGS = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_default_device",
    "jax_default_prng_impl",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
)
Steps = tuple[str, str, str]
"""Code: the setup, and the two steps."""


@dataclass(frozen=True, slots=True)
class Words:
    """The kind of a cause, and words of its text."""

    kind: str
    says: str

    def are_of(self, cause: Cause | None) -> bool:
        return cause is not None and cause.kind == self.kind and self.says in cause.text


@dataclass(frozen=True, slots=True)
class Situation:
    """An entry of the table."""

    name: str
    topic: str
    cause: Words
    """Of the first cause in a notebook."""
    script: Words
    """Of that in a script, where JAX shows it: the objects that held earlier values are gone."""
    fix: str
    """Words of its fix; empty where there is none to apply."""
    needs: tuple[str, ...]
    """Packages, or `devices` for more than one."""
    steps: Steps
    fixed: Steps | None

    @property
    def can_run(self) -> bool:
        """Whether what it needs is there."""
        return all(
            len(jax.devices()) > 1 if one == "devices" else importlib.util.find_spec(one)
            for one in self.needs
        )


def situations() -> list[Situation]:
    """All of the table, in the order of the files."""
    return [one for path in sorted(FOLDER.glob("*.py")) for one in _read(path)]


def _read(path: Path) -> Iterator[Situation]:
    _, *parts = _NAME.split(path.read_text("utf-8"))
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        head, *rest = _STEP.split(text)
        notes = dict(_NOTE.findall(head))
        code = {"setup": _NOTE.sub("", head), **dict(zip(rest[::2], rest[1::2], strict=True))}
        steps = code["setup"], code["first"], code["second"]
        fixed = (
            code.get("fixed", steps[0]),
            code.get("fixed first", steps[1]),
            code.get("fixed second", steps[2]),
        )
        cause = Words(*notes["cause"].split(" | ", 1))
        script = Words(*notes["script"].split(" | ", 1)) if "script" in notes else cause
        needs = tuple(notes.get("needs", "").split())
        yield Situation(
            name,
            path.stem,
            cause,
            script,
            notes.get("fix", ""),
            needs,
            steps,
            fixed if fixed != steps else None,
        )


@dataclass(frozen=True, slots=True)
class Compiled:
    """What the second step compiled."""

    compiles: tuple[Compile, ...]

    @property
    def causes(self) -> list[Cause]:
        """Of all compilations."""
        return [cause for one in self.compiles for cause in one.causes]

    @property
    def first(self) -> Cause | None:
        """The first cause of the first compilation that is not an operation on the way."""
        jitted = [one for one in self.compiles if one.kind is not CompileKind.EAGER]
        made = (*jitted, *self.compiles)
        return made[0].causes[0] if made else None


def in_notebook(shell: InteractiveShell, steps: Steps) -> Compiled:
    """Play the steps as cells, with the extension loaded from the beginning."""
    shell.reset(new_session=False)
    shell.run_line_magic("load_ext", "jaxscope")
    try:
        with _quiet():
            for text in (_PREAMBLE, *steps[:2]):
                shell.run_cell(text, store_history=True).raise_error()
            with jaxscope.watch() as log:
                shell.run_cell(steps[2], store_history=True).raise_error()
        return Compiled(tuple(log.compiles))
    finally:
        shell.run_line_magic("unload_ext", "jaxscope")


def in_script(steps: Steps) -> Compiled:
    """Play the steps as a script that begins to watch after the first."""
    module = types.ModuleType("__main__")
    module.__file__ = "/home/user/train.py"
    main, sys.modules["__main__"] = sys.modules["__main__"], module
    line = 0

    def run(text: str) -> None:
        nonlocal line
        exec(compile("\n" * line + text, module.__file__ or "", "exec"), module.__dict__)
        line += text.count("\n")

    try:
        with _quiet():
            for text in (_PREAMBLE, *steps[:2]):
                run(text)
            with jaxscope.watch() as log:
                run(steps[2])
        return Compiled(tuple(log.compiles))
    finally:
        sys.modules["__main__"] = main


@contextlib.contextmanager
def playground() -> Generator[Callable[[Steps], Compiled]]:
    """A function that plays steps in a shell of our own."""
    with open_shell() as shell:
        yield lambda steps: in_notebook(shell, steps)


@contextlib.contextmanager
def unheard() -> Generator[None]:
    """Nothing listens in this block but what it begins itself."""
    was = background.listening()
    background.stop()
    try:
        yield
    finally:
        if was:
            background.start()


@contextlib.contextmanager
def _quiet() -> Generator[None]:
    """Take back what a step sets, and what it prints."""
    known = {name: getattr(jax.config, name) for name in _SETTINGS if hasattr(jax.config, name)}
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, value in known.items():
            jax.config.update(name, value)


def known_unknown(cause: Cause | None) -> bool:
    """Whether it says that it does not know, and nothing else of the time before listening."""
    if cause is None:
        return False
    if cause.kind in (CauseKind.FIRST_CALL, CauseKind.EAGER_OP):
        return bool(cause.since)
    return cause.kind is CauseKind.UNKNOWN
