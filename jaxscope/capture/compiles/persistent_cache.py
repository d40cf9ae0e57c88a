"""Reasons for a miss of the persistent compilation cache, or for a program that it did not store.

JAX stores a program under one hash of everything that it depends on, so a miss does not show what
changed. Beside the cache jaxscope stores the components of the key of each stored program; when no
other component differs, the program itself changed.
"""

from __future__ import annotations

import glob
import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

from jaxscope.capture._jax import CacheRequest
from jaxscope.model.compiles import Persistent

_FOLDER = "jaxscope"
_MOST = 32  # keys of one module


def directory() -> str:
    """The folder of the persistent cache; empty when there is none."""
    import jax

    return str(getattr(jax.config, "jax_compilation_cache_dir", None) or "")


def why(
    request: CacheRequest | None, status: Persistent, seconds: float, *, callbacks: bool
) -> str:
    """The reason of a miss, empty for a hit; stores the key's components of a stored program."""
    if status not in (Persistent.WRITTEN, Persistent.NOT_WRITTEN):
        return ""
    sentences = [] if status is Persistent.WRITTEN else [_not_written(seconds, callbacks=callbacks)]
    home = directory()
    if request is not None and home and "://" not in home:
        folder = Path(home) / _FOLDER
        known = _read(folder, request.module)
        # A program that compiles too fast to be stored misses each time, for that reason alone.
        if status is Persistent.WRITTEN or known:
            sentences.insert(0, _changed(request, known, Path(home)))
        if status is Persistent.WRITTEN:
            _note(folder, request, known)
    return " ".join(sentence for sentence in sentences if sentence)


def _not_written(seconds: float, *, callbacks: bool) -> str:
    import jax

    least = float(getattr(jax.config, "jax_persistent_cache_min_compile_time_secs", 0.0) or 0.0)
    size = int(getattr(jax.config, "jax_persistent_cache_min_entry_size_bytes", 0) or 0)
    if jax.process_index() != 0:
        return "Not stored: only process 0 writes to the persistent cache."
    if seconds < least:
        return (
            f"Not stored: compiling took {seconds:.2f} s, below "
            f"`jax_persistent_cache_min_compile_time_secs` ({least:.2f} s)."
        )
    if callbacks:
        return "Not stored: the program has callbacks into this Python process."
    if size > 0:
        return (
            "Not stored: the program is smaller than `jax_persistent_cache_min_entry_size_bytes` "
            f"({size} B)."
        )
    return "Not stored, and JAX reports no reason."


def _changed(request: CacheRequest, known: list[dict[str, Any]], home: Path) -> str:
    if not known:
        stored = home.glob(f"{glob.escape(request.module)}-*-cache")
        if any(request.key not in path.name for path in stored):
            return (
                "The persistent cache has a program of this name under a different key. The "
                "difference is unknown, because jaxscope did not observe how it was stored."
            )
        return ""
    if any(entry.get("key") == request.key for entry in known):
        return "The persistent cache no longer has this program."
    new = dict(request.components)
    best: list[str] | None = None
    nearest: dict[str, Any] = {}
    for entry in reversed(known):
        old = entry.get("components", {})
        apart = [name for name in new if name in old and old[name] != new[name]]
        if best is None or len(apart) < len(best):
            best, nearest = apart, old
    if not best:
        return (
            "The persistent cache has a program of this name under a different key. Only the "
            "program itself changed: its code, shapes, constants or jit options."
        )
    parts = {name: f" ({nearest[name] or 'none'} → {new[name] or 'none'})" for name in best}
    if "compile options" in parts:  # a hash
        parts["compile options"] = ""
    words = ", ".join(f"the {name}{change}" for name, change in parts.items())
    return (
        f"The persistent cache has a program of this name under a different key. Changed: {words}."
    )


def _file(folder: Path, module: str) -> Path:
    return folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', module)[:100]}.json"


def _read(folder: Path, module: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(_file(folder, module).read_text("utf-8"))
    except (OSError, ValueError):
        return []
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _note(folder: Path, request: CacheRequest, known: list[dict[str, Any]]) -> None:
    """Replace the whole file, since several processes may share the cache."""
    entries = [e for e in known if e.get("key") != request.key][-(_MOST - 1) :]
    entries.append({"key": request.key, "components": dict(request.components)})
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            json.dump(entries, file)
        os.replace(file.name, _file(folder, request.module))
    except OSError:  # a read-only cache stores nothing to explain
        return
