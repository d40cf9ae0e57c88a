"""The process in which XLA compiles a program once more to write a dump.

An abort of XLA ends that process, and not the user's. It is kept for the next dump. Only programs
on a CPU go there: another process cannot have the same TPU, and on a GPU it would lack the memory
and the measurements by which XLA chose its kernels.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jaxscope import words
from jaxscope.capture import _jax
from jaxscope.capture.targets import workers
from jaxscope.capture.targets.workers import WorkerLost

LOG = "log"
LIMIT_S = 1800.0
"""Seconds for one dump; an interrupt ends it earlier."""
_AFTER_HLO = "after_optimizations-buffer-assignment.txt"
_DEVICES = re.compile(r"--xla_force_host_platform_device_count=\S+")


class DumpError(Exception):
    """XLA raised an error, of this type in the other process."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def prepare(lowered: Any) -> None:
    """Start the process, so that it is ready once a dump is requested. Never raises."""
    with suppress(Exception):
        devices = _jax.cpu_devices(lowered)
        if devices is not None:
            workers.started(*_command(devices))


def write_dump(
    asked: _jax.PortableCompile,
    folder: Path,
    options: Mapping[str, Any],
    newer: Mapping[str, Any],
    log: Sequence[str] = (),
    *,
    hlo_only: bool = False,
) -> None:
    """Compile with these options; `newer` are left out where XLA does not know one of them.

    `log` are files of XLA, by name, whose log is written to the file `LOG`. With `hlo_only` the
    process is ended where XLA still generates code once its HLO is written, and a new one starts.

    Raises DumpError for an error of XLA, and WorkerLost where the process ended or took too long.
    """
    (folder / "program.mlir").write_bytes(asked.program)
    (folder / "options").write_bytes(asked.options)
    request = {"dump": dict(options), "newer": dict(newer), "log": list(log)}
    (folder / "request.json").write_text(json.dumps(request))
    command = _command(asked.devices)
    enough = functools.partial(_has_hlo, folder) if hlo_only else lambda: False
    with workers.worker(*command) as running:
        written = running.ask(folder, LIMIT_S, enough)
    if log:
        (folder / LOG).write_bytes(written)
    if not running.alive:
        workers.started(*command)
        return
    error = json.loads((folder / "answer.json").read_text()).get("error")
    if error is not None:
        raise DumpError(*error)


def compiling_since(folder: Path) -> float | None:
    """The time since which the process compiles; None before."""
    with suppress(OSError):
        return (folder / "began").stat().st_mtime
    return None


def _has_hlo(folder: Path) -> bool:
    """Whether XLA's last program is whole: its buffers are written after it."""
    return any(folder.glob(f"*{_AFTER_HLO}"))


def sentence(lost: WorkerLost) -> str:
    """The reason why there is no dump."""
    if lost.late:
        return f"XLA had not written the dump after {words.seconds(LIMIT_S)} and was ended"
    said = f": {lost.said}" if lost.said else ""
    if lost.aborted:
        return f"XLA aborted while it wrote the dump ({lost.signal}{said}); the report is unchanged"
    how = f"was ended by {lost.signal}" if lost.signal else f"ended with status {lost.code}"
    return f"the process that wrote the dump {how}{said}; the report is unchanged"


def _command(devices: int) -> tuple[list[str], dict[str, str]]:
    """The command line and the environment variables of the process."""
    flags = _DEVICES.sub("", os.environ.get("XLA_FLAGS", ""))
    given = workers.environment_variables(
        JAX_PLATFORMS="cpu",
        TF_CPP_MIN_LOG_LEVEL="3",
        XLA_FLAGS=f"{flags} --xla_force_host_platform_device_count={devices}".strip(),
    )
    given.pop("JAX_NUM_CPU_DEVICES", None)
    return workers.own_command(), given
