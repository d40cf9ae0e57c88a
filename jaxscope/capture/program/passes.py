"""XLA's passes over a program, from one more compilation that writes them to a directory."""

from __future__ import annotations

import functools
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from jaxscope.analysis.machine_code.llvm import LlvmModules, llvm_modules
from jaxscope.analysis.passes.remarks import FusionLog, read_log
from jaxscope.analysis.passes.snapshots import Snapshots, computes_the_same, snapshots
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import own_work
from jaxscope.model import Unavailable

OPTIONS: dict[str, str | bool] = {"xla_dump_hlo_as_text": True, "xla_dump_hlo_pass_re": ".*"}
# Of jaxlib 0.12, which writes `%x#1` for elements of tuples, but not in the texts of programs, and
# LLVM IR on request only. No emitter but `llvm`: on the others jaxlib 0.10.2 aborts the process.
NEWER_OPTIONS: dict[str, str | bool] = {
    "xla_dump_compact_gte": False,
    "xla_dump_emitter_re": "^llvm",
}


# The states of the fusion pass as a page per computation: XLA draws the program for each of them,
# which takes the square of its size.
FUSION_OPTIONS: dict[str, str | bool] = {
    "xla_dump_hlo_as_text": True,
    "xla_dump_hlo_pass_re": "^fusion$",
    "xla_dump_fusion_visualization": True,
}
MOST_FUSION_INSTRUCTIONS = 500
"""Instructions of the optimized program; 800 take 7 s more than the compilation."""


@dataclass(frozen=True, slots=True)
class FusionDump:
    """The program after the fusion pass, and the answers that the pass gave."""

    text: str
    log: FusionLog
    seconds: float


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

    def read_dump(here: Path, seconds: float) -> Dump:
        files = [path.name for path in here.iterdir()]
        read = functools.partial(_read, here)
        passes = snapshots(files, read, seconds, compiled.as_text())
        return Dump(passes, llvm_modules(files, read))

    return _dumped(lowered, OPTIONS, read_dump)


def fusion_dump(lowered: Any, compiled: Any) -> FusionDump | Unavailable:
    """The answers of the fusion pass, from one more compilation as for `dump`."""

    def read_dump(here: Path, seconds: float) -> FusionDump:
        files = [path.name for path in here.iterdir()]
        pages = [_read(here, name) for name in files if name.endswith("_fusion.html")]
        text = next((name for name in files if ".after_fusion." in name), "")
        last = next((name for name in files if name.endswith("after_optimizations.txt")), "")
        if not text or not pages:
            raise ValueError("XLA fused nothing, or its pass for this device keeps no log")
        if not last or not computes_the_same(_read(here, last), compiled.as_text()):
            raise ValueError("XLA made a different program of it this time")
        return FusionDump(_read(here, text), read_log(pages), seconds)

    return _dumped(lowered, FUSION_OPTIONS, read_dump)


Read = TypeVar("Read")


def _dumped(
    lowered: Any, options: Mapping[str, str | bool], read: Callable[[Path, float], Read]
) -> Read | Unavailable:
    try:
        with tempfile.TemporaryDirectory(prefix="jaxscope_") as folder, own_work():
            began = time.perf_counter()
            # Without `xla_dump_to`, all of it would be printed.
            _compile(lowered, {"xla_dump_to": folder, **options})
            return read(Path(folder), time.perf_counter() - began)
    except Exception as error:
        why = str(error).partition("\n")[0]
        known = type(error) is ValueError
        return Unavailable(why if known else f"this JAX gave none ({type(error).__name__}: {why})")


def _read(here: Path, name: str) -> str:
    return (here / name).read_text("utf-8", "replace")


def _compile(lowered: Any, options: Mapping[str, str | bool]) -> None:
    try:
        _jax.compile_apart(lowered, {**options, **NEWER_OPTIONS})
    except Exception as error:
        # JAX rejects an unknown option before it compiles.
        if "No such compile option" not in str(error):
            raise
        _jax.compile_apart(lowered, options)
