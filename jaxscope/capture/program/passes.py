"""XLA's passes over a program, from one more compilation that writes them to a directory."""

from __future__ import annotations

import functools
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from jaxscope.analysis.machine_code.llvm import LlvmModules, llvm_modules
from jaxscope.analysis.passes.remarks import LOGGED, FusionLog, read_log
from jaxscope.analysis.passes.snapshots import (
    OtherProgram,
    SnapshotReader,
    Snapshots,
    computes_the_same,
)
from jaxscope.capture import _jax
from jaxscope.capture.compiles.listener import own_work
from jaxscope.capture.program.dump_process import LOG, DumpError, compiling_since, write_dump
from jaxscope.capture.targets.workers import WorkerLost
from jaxscope.model import Unavailable

OPTIONS: dict[str, str | bool] = {"xla_dump_hlo_as_text": True, "xla_dump_hlo_pass_re": ".*"}
LLVM_OPTIONS: dict[str, str | bool] = {"xla_dump_hlo_as_text": True}
FUSION_OPTIONS: dict[str, str | bool] = {
    "xla_dump_hlo_as_text": True,
    "xla_dump_hlo_pass_re": "^fusion$",
}
QUICK: dict[str, str | bool | int] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
}
"""LLVM makes simple code of the kernels, in a fraction of its time: HLO is the same without. Each
dump is compared with the program that runs."""
# Of jaxlib 0.12, which writes `%x#1` for elements of tuples, but not in the texts of programs, and
# LLVM IR on request only. No emitter but `llvm`, and only together with the first, which jaxlib
# 0.10.2 rejects: on emitters it aborts the process.
NEWER_OPTIONS: dict[str, str | bool] = {"xla_dump_compact_gte": False}
NEWER_LLVM_OPTIONS: dict[str, str | bool] = {**NEWER_OPTIONS, "xla_dump_emitter_re": "^llvm"}


@dataclass(frozen=True, slots=True)
class FusionDump:
    """The program after the fusion pass, and the answers that the pass gave."""

    text: str
    log: FusionLog
    seconds: float


def pass_dump(lowered: Any, compiled: Any) -> Snapshots | Unavailable:
    """The program after each pass that changed it, from one more compilation.

    It is in no cache and in no compile log, and its executable is dropped.
    """

    running: list[_Reading] = []

    def begin(here: Path) -> _Reading:
        running[:] = [_Reading(here)]
        return running[0]

    def read_dump(here: Path, seconds: float) -> Snapshots:
        return running[0].reader.finish(_names(here), seconds, compiled.as_text())

    return _dumped(lowered, [{**OPTIONS, **QUICK}, OPTIONS], read_dump, meanwhile=begin)


class _Reading:
    """A thread that reads a dump while XLA writes it."""

    def __init__(self, here: Path) -> None:
        self._here = here
        self.reader = self._new()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="jaxscope dump", daemon=True)

    def _new(self) -> SnapshotReader:
        return SnapshotReader(functools.partial(_read, self._here))

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._over.wait(_EVERY_S):
            try:
                self.reader.follow(_names(self._here))
            except Exception:
                self.reader = self._new()
                return


def llvm_dump(lowered: Any, compiled: Any) -> LlvmModules | Unavailable:
    """The LLVM IR of the program's kernels, from one more compilation as for `pass_dump`."""

    def read_dump(here: Path, _: float) -> LlvmModules:
        _check(here, compiled)
        return llvm_modules(_names(here), functools.partial(_read, here))

    return _dumped(lowered, [LLVM_OPTIONS], read_dump, NEWER_LLVM_OPTIONS, hlo_only=False)


def fusion_dump(lowered: Any, compiled: Any) -> FusionDump | Unavailable:
    """The answers of the fusion pass, from one more compilation as for `pass_dump`."""

    def read_dump(here: Path, seconds: float) -> FusionDump:
        names = _names(here)
        text = next((name for name in names if ".after_fusion." in name), "")
        if LOG not in names:
            raise ValueError("only XLA's fusion pass for CPUs keeps a log of its answers")
        if not text:
            raise ValueError("XLA fused nothing")
        _check(here, compiled)
        return FusionDump(_read(here, text), read_log(_read(here, LOG).split("\n")), seconds)

    return _dumped(lowered, [{**FUSION_OPTIONS, **QUICK}, FUSION_OPTIONS], read_dump, log=LOGGED)


def _check(here: Path, compiled: Any) -> None:
    last = next((name for name in _names(here) if name.endswith("after_optimizations.txt")), "")
    if not last or not computes_the_same(_read(here, last), compiled.as_text()):
        raise OtherProgram


Options = Mapping[str, str | bool | int]
_EVERY_S = 0.1
"""Between two looks at the files of a dump."""
Read = TypeVar("Read")


def _dumped(
    lowered: Any,
    tries: Sequence[Options],
    read: Callable[[Path, float], Read],
    newer: Options = NEWER_OPTIONS,
    meanwhile: Callable[[Path], AbstractContextManager[None]] = lambda _: nullcontext(),
    *,
    log: Sequence[str] = (),
    hlo_only: bool = True,
) -> Read | Unavailable:
    """Compile with the first options that XLA knows, and whose program is the one that runs.

    Raises WorkerLost where the process that compiles ended or was too slow.

    `hlo_only`: `read` needs nothing that XLA writes after its HLO, so XLA is not waited for then,
    and a dump is read all the same where XLA failed later. A dump that is not whole is none of the
    program that runs.
    """
    spent = 0.0
    reason = ""
    for options in tries:
        try:
            with tempfile.TemporaryDirectory(prefix="jaxscope_") as folder, own_work():
                began = time.time()
                failed: Exception | None = None
                # Without `xla_dump_to`, all of it would be printed.
                with meanwhile(Path(folder)):
                    try:
                        _compile(lowered, Path(folder), options, newer, log, hlo_only=hlo_only)
                    except (DumpError, WorkerLost) as error:
                        failed = error
                spent += time.time() - (compiling_since(Path(folder)) or began)
                if failed is None:
                    return read(Path(folder), spent)
                if hlo_only:
                    with suppress(Exception):
                        return read(Path(folder), spent)
                raise failed
        except OtherProgram as error:
            reason = str(error)
        except WorkerLost as lost:
            if not lost.aborted or options is tries[-1]:
                raise
        except Exception as error:
            why = str(error).partition("\n")[0]
            kind = error.kind if isinstance(error, DumpError) else type(error).__name__
            known = type(error) is ValueError
            reason = why if known else f"this JAX gave none ({kind}: {why})"
            if not _jax.unknown_option(error):
                break
    return Unavailable(reason)


def _names(here: Path) -> list[str]:
    return [path.name for path in here.iterdir()]


def _read(here: Path, name: str) -> str:
    return (here / name).read_bytes().decode("utf-8", "replace")


def _compile(
    lowered: Any,
    here: Path,
    options: Options,
    newer: Options,
    log: Sequence[str],
    *,
    hlo_only: bool,
) -> None:
    options = {"xla_dump_to": str(here), **options}
    asked = _jax.portable_compile(lowered)
    if asked is not None:
        write_dump(asked, here, options, newer, log, hlo_only=hlo_only)
        return
    try:
        _jax.compile_apart(lowered, {**options, **newer})
    except Exception as error:
        if not _jax.unknown_option(error):
            raise
        _jax.compile_apart(lowered, options)
