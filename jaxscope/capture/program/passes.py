"""XLA's passes over a program, from one more compilation that writes them to a directory."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxscope.analysis.machine_code.llvm import LlvmModules, llvm_modules
from jaxscope.analysis.passes.snapshots import Snapshots, snapshots
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import own_work
from jaxscope.model import Unavailable

# Without `xla_dump_to`, all of it would be printed.
OPTIONS: dict[str, str | bool] = {"xla_dump_hlo_as_text": True, "xla_dump_hlo_pass_re": ".*"}
# Of jaxlib 0.12, which writes `%x#1` for elements of tuples, but not in the texts of programs, and
# LLVM IR on request only. No emitter but `llvm`: on the others jaxlib 0.10.2 aborts the process.
NEWER_OPTIONS: dict[str, str | bool] = {
    "xla_dump_compact_gte": False,
    "xla_dump_emitter_re": "^llvm",
}


@dataclass(frozen=True, slots=True)
class Dump:
    """All that is kept of one dump."""

    passes: Snapshots
    llvm: LlvmModules


def dump(lowered: Any, compiled: Any) -> Dump | Unavailable:
    """The program after each pass that changed it, and its LLVM IR; takes as long as its
    compilation.

    The compilation is in no cache and in no compile log, and its executable is dropped.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="jaxscope_") as folder, own_work():
            began = time.perf_counter()
            _compile(lowered, {"xla_dump_to": folder, **OPTIONS})
            seconds = time.perf_counter() - began
            here = Path(folder)
            files = [path.name for path in here.iterdir()]

            def read(name: str) -> str:
                return (here / name).read_text("utf-8", "replace")

            passes = snapshots(files, read, seconds, compiled.as_text())
            return Dump(passes, llvm_modules(files, read))
    except Exception as error:
        why = str(error).partition("\n")[0]
        known = type(error) is ValueError
        return Unavailable(why if known else f"this JAX gave none ({type(error).__name__}: {why})")


def _compile(lowered: Any, options: Mapping[str, str | bool]) -> None:
    try:
        _jax.compile_apart(lowered, {**options, **NEWER_OPTIONS})
    except Exception as error:
        # JAX rejects an unknown option before it compiles.
        if "No such compile option" not in str(error):
            raise
        _jax.compile_apart(lowered, options)
