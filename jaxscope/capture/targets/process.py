"""Programs for a target, compiled in the worker process of its environment."""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxscope import words
from jaxscope.analysis.targets.names import Target, gpu_config
from jaxscope.capture.targets import environment, worker, workers
from jaxscope.capture.targets.environment import TargetError
from jaxscope.capture.targets.workers import WorkerLost

LIMIT_S = 600.0
"""Seconds in which a program must be compiled."""
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
    limit_s = LIMIT_S if limit_s is None else limit_s
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
            with (workers.worker_once if bundles else workers.worker)(command, given) as running:
                running.ask(folder, limit_s)
            facts = json.loads((folder / "answer.json").read_text())
            made = folder / "executable"
            serialized = made.read_bytes() if made.exists() else b""
            texts = _texts(dump, _BUNDLE_FILES if bundles else _KEPT)
            return Answer(facts, texts, compiler or _own_compiler(), serialized)
    except WorkerLost as lost:
        raise TargetError(_sentence(lost, target, limit_s)) from None
    except OSError as error:
        raise TargetError(
            f"jaxscope could not hand the program to the compiler of {target.name}: "
            f"{error.strerror or error}."
        ) from None


def _sentence(lost: WorkerLost, target: Target, limit_s: float) -> str:
    if lost.late:
        return (
            f"The compiler of {target.name} gave no answer within {words.seconds(limit_s)} and was "
            "ended. Compile a smaller program first."
        )
    how = f"crashed ({lost.signal})" if lost.signal else f"ended with status {lost.code}"
    said = f": {lost.said}" if lost.said else ""
    return f"The compiler of {target.name} {how} on this program{said}. The kernel is unharmed."


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


def _command(target: Target) -> tuple[list[str], dict[str, str], str]:
    """The command line of a target's worker, its environment variables, and its compiler."""
    given = workers.environment_variables(**_QUIET)
    if not target.environment:
        given["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={target.topology}"
        return workers.own_command(), given, ""
    found = environment.environment(target.environment)
    if not found.installed and found.own:
        return workers.own_command(), {**given, "CUDA_VISIBLE_DEVICES": ""}, found.own
    if not found.installed:
        name, size = found.compilers.name, words.size(found.compilers.download)
        raise TargetError(
            f"The {found.compilers.title} is not installed. `%jaxtargets install {name}` downloads "
            f"about {size} into an environment of its own."
        )
    command = [str(found.python), "-I", worker.__file__, *workers.homes()]
    return command, given, words.listed(found.versions[:1])


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
