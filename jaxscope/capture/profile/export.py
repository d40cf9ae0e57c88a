"""Save a trace for Perfetto and chrome://tracing, or as a log directory for XProf."""

from __future__ import annotations

import gzip
import json
import platform
import re
from pathlib import Path
from typing import Any

from jaxscope import files
from jaxscope.capture.profile.profiler import Recording

_SESSION = "jaxscope"


def save(xspace: bytes, path: str | Path) -> Path:
    """Write a trace; returns the file, or the log directory.

    A path that ends in `.json` or `.json.gz` gets the events in Chrome's format, which Perfetto
    opens, too. Any other path is a directory: `plugins/profile/jaxscope/HOST.xplane.pb` in it can
    be opened by XProf and TensorBoard. Source of the format: "Trace Event Format", Google.
    """
    path = Path(path)
    if path.name.endswith((".json", ".json.gz")):
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps({"traceEvents": chrome_events(xspace)}).encode()
        return files.write(path, gzip.compress(data) if path.suffix == ".gz" else data)
    session = path / "plugins" / "profile" / _SESSION
    session.mkdir(parents=True, exist_ok=True)
    # XProf takes the host name from the file name.
    host = re.sub(r"[^\w.-]", "_", platform.node()) or "host"
    files.write(session / f"{host}.xplane.pb", xspace)
    return path


def chrome_events(xspace: bytes) -> list[dict[str, Any]]:
    """Complete events in µs, with instruction and module, and the names of threads."""
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
