"""The key of the persistent compilation cache."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import copy
import hashlib
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from jaxscope.capture._jax.frames import jax_locals


@dataclass(frozen=True, slots=True)
class CacheRequest:
    """A request to the persistent cache."""

    module: str
    key: str
    components: tuple[tuple[str, str], ...]
    """Parts of the key besides the program itself, by name, short: texts or hashes."""


def cache_request() -> CacheRequest | None:
    """The request to the persistent cache under way on this thread; None if unreadable.

    Locals of `compile_or_get_cached` (compiler.py), seen on jax 0.8.1, 0.10.2 and 0.12.0.1. The
    parts are those that JAX's cache_key.py hashes; the program is what is left when no other part
    differs, so it is not hashed a second time here.
    """
    values = jax_locals("compile_or_get_cached", "/compiler.py")
    key, module = values.get("cache_key"), values.get("module_name")
    if not key or not module:
        return None
    parts: dict[str, Callable[[], str]] = {
        "jaxlib version": lambda: metadata.version("jaxlib"),
        "backend version": lambda: str(values["backend"].platform_version),
        "XLA flags": _xla_flags,
        "compile options": lambda: _options_hash(values["compile_options"]),
        "devices": lambda: ", ".join(str(d.device_kind) for d in values["devices"].flatten()),
    }
    found: list[tuple[str, str]] = []
    for name, read in parts.items():
        try:
            found.append((name, read()))
        except Exception:  # a part that this JAX names in another way is left out
            continue
    return CacheRequest(str(module), str(key), tuple(found))


@contextmanager
def metadata_in_cache_key() -> Generator[None]:
    """The persistent cache finds, in the block, only programs with the same metadata.

    Tags are metadata, which JAX leaves out of the key: it would find the program without them. The
    setting `jax_compilation_cache_include_metadata_in_key`, for this thread, seen on jax 0.8.1,
    0.10.2 and 0.12.0.1. Without it: changes nothing.
    """
    try:
        from jax._src import config

        setting = config.compilation_cache_include_metadata_in_key(True)
    except (ImportError, AttributeError, TypeError):
        yield
        return
    with setting:
        yield


def _options_hash(options: Any) -> str:
    """A hash of `CompileOptions`, without the flags that it has for each argument and result."""
    own = copy.deepcopy(options)
    build = own.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = [False]
    build.allow_spmd_sharding_propagation_to_output = [False]
    return hashlib.sha256(own.SerializeAsString()).hexdigest()[:16]


def _xla_flags() -> str:
    """Flags that belong to the key; those that only dump are left out, as JAX does."""
    flags = os.environ.get("XLA_FLAGS", "").split()
    flags += os.environ.get("LIBTPU_INIT_ARGS", "").split()
    flags += [word for word in sys.argv if word.startswith("--xla")]
    return " ".join(sorted(flag for flag in flags if "dump" not in flag))
