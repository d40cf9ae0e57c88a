"""Write down each compilation of this process, for `python -m jaxscope.watch`."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from jaxscope.analysis.cluster import journal
from jaxscope.analysis.cluster.divergence import program_hash
from jaxscope.capture._jax import distributed
from jaxscope.capture.cluster import process
from jaxscope.capture.cluster.place import place_of
from jaxscope.capture.cluster.watch import GUARD_S
from jaxscope.model.cluster import ProcessProgram
from jaxscope.version import __version__

_EVENT = "/jax/core/compile/backend_compile_duration"
_RANKS = (
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"),
    ("RANK", "WORLD_SIZE"),
    ("JOB_COMPLETION_INDEX", "JOB_COMPLETIONS"),
)
_JOBS = ("SLURM_JOB_ID", "PMIX_NAMESPACE", "JOB_NAME", "JAX_COORDINATOR_ADDRESS")


def rank() -> tuple[int, int]:
    """The number of this process and how many there are: as JAX knows it, else the launcher."""
    service = distributed.coordination_service()
    if service is not None:
        return service.process, service.processes
    for number, count in _RANKS:
        if os.environ.get(number, "").isdigit():
            processes = os.environ.get(count, "")
            here = int(os.environ[number])
            return here, int(processes) if processes.isdigit() else here + 1
    return 0, 1


class JournalRecorder:
    """Appends to the file of this process; a failure ends the writing, and nothing else."""

    def __init__(self, folder: Path, guard: str) -> None:
        self._folder, self._guard = folder, guard
        self._file: TextIO | None = None
        self._here = threading.local()
        self._lock = threading.Lock()
        self._failed = False
        self._compared = False
        self._began = time.perf_counter()

    def start(self) -> None:
        """Listen; called when the script has imported JAX."""
        from jax import monitoring

        monitoring.register_scalar_listener(self._on_start)
        monitoring.register_event_duration_secs_listener(self._on_end)

    def finish(self, error: str) -> None:
        """Write the last line."""
        self._write(journal.end(time.perf_counter() - self._began, error))
        if self._file is not None:
            self._file.close()

    def _on_start(self, event: str, value: float, **_: object) -> None:
        if event != _EVENT:
            return
        if not self._compared and distributed.coordination_service() is not None:
            self._compared = True
            with suppress(Exception):
                process.watch_texts(self._guard, GUARD_S, self._text_of)
        self._here.program = self._here.text = None
        with suppress(Exception):  # a JAX whose names differ: no fingerprint, so no line
            module = distributed.compiling_module()
            if module is None:
                return
            text = self._text_of(module)
            name = text.partition("module @")[2].partition(" ")[0].removeprefix("jit_")
            place = place_of(sys._getframe())  # pyright: ignore[reportPrivateUsage]
            self._here.program = name, str(place) if place.where else "", program_hash(text)[:8]

    def _text_of(self, module: object) -> str:
        """The text of the module, written once for the journal and the comparison."""
        found = getattr(self._here, "text", None)
        if found is None or found[0] is not module:
            found = self._here.text = module, distributed.plain_text(module)
        return found[1]

    def _on_end(self, event: str, duration_secs: float, **_: object) -> None:
        if event != _EVENT:
            return
        found = getattr(self._here, "program", None)
        self._here.program = self._here.text = None
        if found is not None:
            name, place, print_ = found
            program = ProcessProgram(name, place, fingerprint=print_, compile_s=duration_secs)
            self._write(journal.compilation(program))

    def _write(self, line: str) -> None:
        with self._lock:
            if self._failed:
                return
            try:
                if self._file is None:
                    self._file = self._opened()
                self._file.write(line)
                self._file.flush()
            except OSError as error:
                self._failed = True
                sys.stderr.write(f"jaxscope could not write its journal ({error}).\n")

    def _opened(self) -> TextIO:
        self._folder.mkdir(parents=True, exist_ok=True)
        number, processes = rank()
        file = (self._folder / f"process-{number}.jsonl").open("w", encoding="utf-8")
        job = next((os.environ[name] for name in _JOBS if os.environ.get(name)), "")
        file.write(journal.head(number, processes, socket.gethostname(), job, __version__))
        return file
