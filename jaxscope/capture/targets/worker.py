"""The process that compiles for a target. Run as a file, in the target's environment.

Its arguments are the directories of jaxscope and of the user's JAX.
Each line of stdin names a folder with `request.json` and `program.mlir`; the answer is written
there, and the name is printed. It ends with its stdin, and after ten minutes without a request.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import selectors
import sys
import time
from pathlib import Path
from typing import Any

IDLE_S = 600.0


def main() -> None:
    """Answer requests until stdin ends."""
    # Compilers write to stdout too, so the answers have a descriptor of their own.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    jaxscope_home, jax_home = sys.argv[1:]
    sys.path.insert(0, jaxscope_home)
    importlib.import_module("jaxscope")
    # The rest of that directory comes after the environment's own packages.
    sys.path[:1] = []
    sys.path.append(jax_home)
    waiting = selectors.DefaultSelector()
    waiting.register(sys.stdin, selectors.EVENT_READ)
    while waiting.select(IDLE_S) and (line := sys.stdin.readline()):
        folder = Path(line.strip())
        try:
            answer = _answer(folder, json.loads((folder / "request.json").read_text()))
        except Exception as error:
            answer = {"error": [type(error).__name__, str(error)]}
        (folder / "answer.json").write_text(json.dumps(answer))
        out.write(f"{folder}\n")
        out.flush()


def _answer(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    from jaxscope.capture._jax import topologies
    from jaxscope.capture._jax.dumps import serialized_executable

    devices = topologies.target_devices(request["platform"], request["topology"], request["config"])
    found: dict[str, Any] = {
        "device_kind": str(devices[0].device_kind),
        "devices": len(devices),
    }
    if request["partitions"] > len(devices):
        return found
    began = time.perf_counter()
    try:
        made = topologies.compile_for(
            devices[: request["partitions"]],
            (folder / "program.mlir").read_bytes(),
            request["options"],
            request["propagate"],
        )
    except Exception as error:
        return {**found, "error": [type(error).__name__, str(error)]}
    finally:
        found["seconds"] = time.perf_counter() - began
    if request["platform"] == "cpu":
        with contextlib.suppress(Exception):  # it has no machine code then
            (folder / "executable").write_bytes(serialized_executable(made))
    return {**found, **topologies.figures(made)}


if __name__ == "__main__":
    main()
