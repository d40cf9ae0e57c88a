"""A trace as a file: for Perfetto and chrome://tracing, or a log directory for XProf."""

from __future__ import annotations

import gzip
import json
import platform
import re
from pathlib import Path
from typing import Any

from jaxscope.capture.profile.profiler import Recording

_SESSION = "jaxscope"


def save(xspace: bytes, path: str | Path) -> Path:
    """Write a trace; returns the file, or the log directory.

    A path that ends in `.json` or `.json.gz` gets the events in Chrome's format, which Perfetto
    reads too. Any other is a directory: `plugins/profile/jaxscope/HOST.xplane.pb` is put into it,
    which XProf and TensorBoard open. Source of the format: "Trace Event Format", Google.
    """
    path = Path(path)
    if path.name.endswith((".json", ".json.gz")):
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps({"traceEvents": chrome_events(xspace)}).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path
    session = path / "plugins" / "profile" / _SESSION
    session.mkdir(parents=True, exist_ok=True)
    # XProf takes the host's name from the file's.
    host = re.sub(r"[^\w.-]", "_", platform.node()) or "host"
    (session / f"{host}.xplane.pb").write_bytes(xspace)
    return path


def chrome_events(xspace: bytes) -> list[dict[str, Any]]:
    """One complete event each, in µs, with its instruction and module; threads by name."""
    recording = Recording(lambda: xspace)
    recording.close()
    threads: dict[str, int] = {}
    found: list[dict[str, Any]] = []
    for event in recording.events():
        if event.name.startswith(("end: ", "ThreadpoolListener::")):
            continue
        thread = threads.setdefault(event.thread, len(threads) + 1)
        arguments = {
            key: value
            for key, value in event.stats.items()
            if not key.startswith("_") and isinstance(value, (int, float, str))
        }
        found.append(
            {
                "ph": "X",
                "name": event.name,
                "pid": 1,
                "tid": thread,
                "ts": event.start / 1e3,
                "dur": (event.end - event.start) / 1e3,
                "args": arguments,
            }
        )
    names = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": {"name": name}}
        for name, number in threads.items()
    ]
    process = {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "jaxscope"}}
    return [process, *names, *found]
