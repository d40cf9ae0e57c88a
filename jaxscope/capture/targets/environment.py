"""Environments with the compilers of other devices: install, list, remove.

Each is a virtual environment in a cache directory with nothing but the compiler's packages. The
worker takes JAX from the user's own environment, so that the two versions are the same. Nothing
here imports JAX, and nothing of an environment is ever imported into the user's process.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from jaxscope import words
from jaxscope.capture.options.settings import SettingsError

_MB = 1_000_000
CACHE = "JAXSCOPE_CACHE"
"""The environment variable with the directory for jaxscope's files."""
INSTALL_S = 1800.0


class TargetError(SettingsError):
    """A target that cannot be used; the text is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class Compilers:
    """The packages of one environment."""

    name: str
    title: str
    packages: tuple[str, ...]
    """Names of the packages; versions follow from the installed JAX."""
    download: int
    """Bytes of the wheels, about; measured for jax 0.10.2."""
    disk: int
    """Bytes once installed, about."""


COMPILERS: Mapping[str, Compilers] = {
    "tpu": Compilers("tpu", "TPU compiler", ("libtpu",), 213 * _MB, 745 * _MB),
    "gpu": Compilers(
        "gpu",
        "NVIDIA GPU compiler",
        (
            "jax-cuda13-pjrt", "jax-cuda13-plugin", "nvidia-cuda-nvcc", "nvidia-nvvm",
            "nvidia-cuda-crt", "nvidia-cuda-nvdisasm",
        ),
        260 * _MB,
        785 * _MB,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TargetEnvironment:
    """An environment on disk."""

    compilers: Compilers
    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> Path:
        """The directory of its packages."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.folder / "lib" / version / "site-packages"

    @property
    def installed(self) -> bool:
        """Whether an installation was completed."""
        return self._mark.exists() and self.python.exists()

    @property
    def versions(self) -> tuple[str, ...]:
        """`libtpu 0.0.42.1` …"""
        found = metadata.distributions(path=[str(self.packages)])
        known = {d.metadata["Name"]: d.version for d in found}
        return tuple([f"{n} {known[n]}" for n in self.compilers.packages if n in known])

    @property
    def own(self) -> str:
        """`jax-cuda13-pjrt 0.11.2`, where the user's environment has this compiler for its own
        device; else empty."""
        name, version = self.compilers.packages[0], _jax_version()
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            return ""
        # Tried with NVIDIA's plug-in only: libtpu may keep its device to one process.
        return f"{name} {found}" if name.startswith("jax-") and found == version else ""

    @property
    def bytes(self) -> int:
        """Bytes on disk."""
        return _bytes(self.folder)

    @property
    def _mark(self) -> Path:
        return self.folder / ".complete"

    def complete(self) -> None:
        """Mark the installation as complete."""
        self._mark.touch()


def cache_folder() -> Path:
    """The directory of all environments: `JAXSCOPE_CACHE`, else the user's cache directory."""
    if given := os.environ.get(CACHE):
        return Path(given) / "targets"
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "jaxscope" / "targets"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "jaxscope" / "targets"


def environment(name: str) -> TargetEnvironment:
    """The environment of `tpu` or `gpu` for this Python and this JAX, installed or not.

    Raises TargetError for other names.
    """
    if name not in COMPILERS:
        known = words.listed([f"`{one}`" for one in COMPILERS], last="or")
        raise TargetError(f"There is no compiler `{name}` to install: choose {known}.")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return TargetEnvironment(
        COMPILERS[name], cache_folder() / f"{name}-jax{_jax_version()}-python{python}"
    )


def environments() -> tuple[TargetEnvironment, ...]:
    """Those for this Python and this JAX."""
    return tuple([environment(name) for name in COMPILERS])


def others() -> tuple[Path, ...]:
    """Folders of environments for other versions, and of interrupted installations."""
    mine = {one.folder for one in environments() if one.installed}
    with contextlib.suppress(OSError):
        return tuple(sorted(p for p in cache_folder().iterdir() if p.is_dir() and p not in mine))
    return ()


def requirements(name: str) -> tuple[str, ...]:
    """The packages of an environment with the versions that fit the installed JAX."""
    version = _jax_version()
    pinned = _pins(f"extra == '{name}'") if name == "tpu" else {}
    return tuple([
        pinned.get(package, f"{package}=={version}" if package.startswith("jax-") else package)
        for package in COMPILERS[name].packages
    ])  # fmt: skip


def install(name: str, say: Callable[[str], None] = lambda line: None) -> TargetEnvironment:
    """Create the environment and download its packages; whoever calls has asked the user.

    Raises TargetError with a sentence, and leaves nothing behind then.
    """
    made = environment(name)
    if made.installed:
        return made
    compilers = made.compilers
    parent = made.folder.parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(parent).free
    except OSError as error:
        raise TargetError(_cannot_write(parent, error)) from None
    if free < compilers.disk + compilers.download:
        needed = words.size(compilers.disk + compilers.download)
        raise TargetError(
            f"The {compilers.title} needs {needed} while it is installed, but {parent} has "
            f"{words.size(free)} free. Free some, or set {CACHE} to another disk."
        )
    shutil.rmtree(made.folder, ignore_errors=True)
    uv = shutil.which("uv")
    python = str(made.python)
    wanted = requirements(name)
    # Without dependencies: JAX itself is the user's.
    if uv is None:
        create = [sys.executable, "-m", "venv", str(made.folder)]
        download = [python, "-m", "pip", "install", "--no-deps", "--no-input", *wanted]
    else:
        create = [uv, "venv", "--python", sys.executable, str(made.folder)]
        download = [uv, "pip", "install", "--python", python, "--no-deps", *wanted]
    try:
        say("creating the environment")
        _run(create, "create the environment")
        say(f"downloading {words.listed(wanted)}")
        _run(download, f"download {words.listed(wanted)}")
        made.complete()
    except BaseException:
        shutil.rmtree(made.folder, ignore_errors=True)
        raise
    return made


def remove(name: str) -> int:
    """Delete all environments of a compiler, of every version; the bytes that were freed."""
    environment(name)  # the name is known
    found = sorted(cache_folder().glob(f"{name}-jax*"))
    freed = sum(map(_bytes, found))
    for folder in found:
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise TargetError(f"{folder} could not be removed: {error.strerror}.") from None
    return freed


def _run(command: Sequence[str], what: str) -> None:
    """Raises TargetError with the last lines of a command that failed."""
    # The user's PYTHONPATH would put packages of theirs into the environment.
    given = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    try:
        ran = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=INSTALL_S,
            env=given,
            check=False,
        )
    except subprocess.TimeoutExpired:
        limit = words.seconds(INSTALL_S)
        raise TargetError(f"jaxscope could not {what} within {limit}.") from None
    except OSError as error:
        raise TargetError(f"jaxscope could not {what}: {error}.") from None
    if ran.returncode:
        raise TargetError(f"jaxscope could not {what}: {_reason(ran.stderr or ran.stdout)}")


_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|Temporary failure in name resolution|"
    r"Network is unreachable|Connection refused|dns error|error sending request|timed out",
    re.IGNORECASE,
)
_NO_SPACE = re.compile(r"No space left on device", re.IGNORECASE)


def _reason(output: str) -> str:
    """The reason of a failed command, from its last lines."""
    if _NO_SPACE.search(output):
        return f"the disk is full. Free some space, or set {CACHE} to another disk."
    if _NETWORK.search(output):
        return "the package index cannot be reached. Is there a network?"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")] or lines
    last = words.cut(errors[-1], 200) if errors else "it gave no reason"
    return last if last.endswith(".") else f"{last}."


def _pins(marker: str) -> dict[str, str]:
    """Requirements of the installed JAX under an extra, by package."""
    found: dict[str, str] = {}
    for line in metadata.requires("jax") or ():
        requirement, _, condition = line.partition(";")
        if marker in condition.replace('"', "'"):
            package = re.match(r"[\w.-]+", requirement.strip())
            if package is not None:
                found[package[0]] = requirement.strip()
    return found


def _jax_version() -> str:
    try:
        return metadata.version("jax")
    except metadata.PackageNotFoundError:
        raise TargetError("JAX is not installed: run `pip install jax`.") from None


def _bytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            found = path.lstat()
            total += found.st_blocks * 512 if hasattr(found, "st_blocks") else found.st_size
    return total


def _cannot_write(folder: Path, error: OSError) -> str:
    return f"{folder} cannot be written ({error.strerror}). Set {CACHE} to a directory of yours."
