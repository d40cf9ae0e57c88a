"""Worker processes: one per environment, kept for the next program, ended with this process."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxscope import words
from jaxscope.analysis.targets.names import Target, gpu_config
from jaxscope.capture.targets import environment, worker
from jaxscope.capture.targets.environment import TargetError
from jaxscope.version import HOME

LIMIT_S = 600.0
"""Seconds in which a program must be compiled."""
_STEP_S = 0.2
_QUIET = {
    # A compiler for a device that is not there looks for neither it nor its neighbors.
    "JAX_PLATFORMS": "cpu",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_WORKER_HOSTNAMES": "localhost",
    # libtpu lets one process in, for the sake of the device; a compiler needs none.
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}
_NOT_PASSED = ("PYTHONPATH", "PYTHONHOME", "XLA_FLAGS", "LIBTPU_INIT_ARGS", "PYTHONSTARTUP")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a compiler."""

    facts: Mapping[str, Any]
    """See `worker.py`."""
    files: Mapping[str, bytes] = field(repr=False)
    """The texts of the dump by file, compressed."""
    compiler: str = ""
    """`libtpu 0.0.42.1`."""
    serialized: bytes = field(default=b"", repr=False)
    """The executable as JAX serializes it; empty for another platform than the CPU."""

    def read(self, file: str) -> str:
        """The text of a file."""
        return zlib.decompress(self.files[file]).decode("utf-8", "replace")

    def dumped(self, end: str) -> str:
        """The text of the dump whose file name ends so; empty where there is none."""
        return next((self.read(name) for name in self.files if name.endswith(end)), "")

    @property
    def error(self) -> tuple[str, str] | None:
        """Type and text of the compiler's error."""
        found = self.facts.get("error")
        return None if found is None else (str(found[0]), str(found[1]))


class _Worker:
    """A running process; requests are answered one after the other."""

    def __init__(self, command: list[str], given: Mapping[str, str]) -> None:
        self.lock = threading.Lock()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(given),
            text=True,
            # An interrupt of the terminal is meant for the kernel.
            start_new_session=True,
        )
        self._answered: dict[str, bool] = {}
        self._reader = threading.Thread(target=self._read, daemon=True, name="jaxscope-target")
        self._reader.start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, folder: Path, target: Target, limit_s: float) -> None:
        """Wait until the folder has an answer; raises TargetError, and ends the process, if not."""
        assert self._process.stdin is not None
        end = time.monotonic() + limit_s
        try:
            self._process.stdin.write(f"{folder}\n")
            self._process.stdin.flush()
            while str(folder) not in self._answered:
                if not self.alive:
                    raise TargetError(self._crash(target))
                if time.monotonic() > end:
                    limit = words.seconds(limit_s)
                    raise TargetError(
                        f"The compiler of {target.name} gave no answer within {limit} and was "
                        "ended. Compile a smaller program first."
                    )
                time.sleep(0.005 if limit_s - (end - time.monotonic()) < 1 else _STEP_S / 4)
        except OSError:  # its pipe is closed
            raise TargetError(self._crash(target)) from None
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """End the process at once."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(Exception):
            self._process.wait(5)
        self._reader.join(5)
        for file in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(Exception):  # what was written to a dead process
                file.close()  # pyright: ignore[reportOptionalMemberAccess]

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            for line in self._process.stdout:
                self._answered[line.strip()] = True

    def _crash(self, target: Target) -> str:
        code = self._process.wait(5)
        how = f"ended with status {code}"
        if code < 0:
            with contextlib.suppress(ValueError):
                how = f"crashed ({signal.Signals(-code).name})"
        self._errors.seek(0)
        lines = [
            x for x in self._errors.read().decode("utf-8", "replace").splitlines() if x.strip()
        ]
        last = f": {words.cut(lines[-1].strip(), 160)}" if lines and code > 0 else ""
        return f"The compiler of {target.name} {how} on this program{last}. The kernel is unharmed."


_WORKERS: dict[tuple[str, ...], _Worker] = {}
_LOCK = threading.Lock()


def ask(
    target: Target,
    program: bytes,
    request: Mapping[str, Any],
    *,
    limit_s: float | None = None,
    bundles: bool = False,
) -> Answer:
    """Compile a StableHLO module for a target in its worker.

    `bundles` dumps a TPU's machine code, which libtpu does for a whole process: it has a worker of
    its own. Raises TargetError for an environment that is not installed, and for a worker that
    crashes or does not answer. An error of the compiler is in the answer.
    """
    command, given, compiler = _command(target)
    config = gpu_config(target.kind) if target.platform == "cuda" else ""
    try:
        with tempfile.TemporaryDirectory(prefix="jaxscope_target_") as made:
            folder = Path(made)
            dump = folder / "dump"
            if bundles:
                dump.mkdir()
                flags = " ".join(_BUNDLES).format(dump)
                given["LIBTPU_INIT_ARGS"] = flags
            whole: dict[str, Any] = {
                "platform": target.platform,
                "topology": _topology(target),
                "config": config,
                **request,
            }
            whole["options"] = {
                "xla_dump_to": str(dump),
                "xla_dump_hlo_as_text": True,
                **request.get("options", {}),
            }
            (folder / "request.json").write_text(json.dumps(whole))
            (folder / "program.mlir").write_bytes(program)
            with (_worker_once if bundles else _worker)(command, given) as running:
                running.ask(folder, target, LIMIT_S if limit_s is None else limit_s)
            facts = json.loads((folder / "answer.json").read_text())
            made = folder / "executable"
            serialized = made.read_bytes() if made.exists() else b""
            texts = _texts(dump, _BUNDLE_FILES if bundles else _KEPT)
            return Answer(facts, texts, compiler or _own_compiler(), serialized)
    except OSError as error:
        raise TargetError(
            f"jaxscope could not hand the program to the compiler of {target.name}: "
            f"{error.strerror or error}."
        ) from None


def check_compilers(targets: Iterable[Target]) -> None:
    """Raise TargetError where the compiler of none of the targets is installed."""
    missing: list[TargetError] = []
    for target in targets:
        try:
            _command(target)
            return
        except TargetError as error:
            missing.append(error)
    if missing:
        raise missing[0]


def _topology(target: Target) -> str:
    """The topology as its compiler calls it: `v5e:2x2` of a TPU, `1x1x4` of four GPUs."""
    if target.platform == "tpu":
        return f"{target.kind.name}:{target.topology}"
    return f"1x1x{target.topology}"


def end_all() -> None:
    """End every worker."""
    with _LOCK:
        for one in _WORKERS.values():
            one.end()
        _WORKERS.clear()


atexit.register(end_all)


@contextlib.contextmanager
def _worker(command: list[str], given: Mapping[str, str]) -> Generator[_Worker]:
    """The worker of a command line, started if it is not there, for this thread alone."""
    key = (*command, given.get("XLA_FLAGS", ""))
    with _LOCK:
        found = _WORKERS.get(key)
        if found is not None and not found.alive:
            found.end()
        if found is None or not found.alive:
            found = _WORKERS[key] = _Worker(command, given)
    with found.lock:
        yield found


@contextlib.contextmanager
def _worker_once(command: list[str], given: Mapping[str, str]) -> Generator[_Worker]:
    """A worker for one request."""
    made = _Worker(command, given)
    try:
        yield made
    finally:
        made.end()


def _command(target: Target) -> tuple[list[str], dict[str, str], str]:
    """The command line of a target's worker, its environment variables, and its compiler."""
    given = {k: v for k, v in os.environ.items() if k not in _NOT_PASSED} | _QUIET
    if not target.environment:
        given["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={target.topology}"
        return [sys.executable, "-I", worker.__file__, *_homes()], given, ""
    found = environment.environment(target.environment)
    if not found.installed:
        name, size = found.compilers.name, words.size(found.compilers.download)
        raise TargetError(
            f"The {found.compilers.title} is not installed. `%jaxtargets install {name}` downloads "
            f"about {size} into an environment of its own."
        )
    command = [str(found.python), "-I", worker.__file__, *_homes()]
    return command, given, words.listed(found.versions[:1])


def _homes() -> list[str]:
    """The directories of jaxscope and of the user's JAX."""
    import jax

    return [str(Path(HOME).parent), str(Path(jax.__file__).parent.parent)]


def _own_compiler() -> str:
    from importlib import metadata

    return f"jaxlib {metadata.version('jaxlib')}"


_KEPT = (
    "after_optimizations.txt", "buffer-assignment.txt", "live-range.txt", ".ptx",
    "thunk_sequence.txt", "thunk_sequence_after_thunk_passes.txt", "thunk_metadata.txt",
    "ir-no-opt.ll", "ir-with-opt.ll",
)  # fmt: skip
# Found in libtpu 0.0.42 by their names; without the expression it writes every pass, 40 times as
# much.
_BUNDLES = (
    "--xla_jf_dump_to={}",
    "--xla_jf_dump_llo_text=true",
    "--xla_jf_dump_llo_pass_label_regex=(final_bundles|final_hlo-static)",
)
_BUNDLE_FILES = ("final_bundles.txt", "final_hlo-static-per-bundle-utilization.txt")


def _texts(folder: Path, ends: tuple[str, ...]) -> dict[str, bytes]:
    """The dumped texts that are read."""
    found: dict[str, bytes] = {}
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.name.endswith(ends) and path.is_file():
                found[path.name] = zlib.compress(path.read_bytes(), 1)
    return found
