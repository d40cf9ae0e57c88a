"""The process that compiles for a target, or writes a dump. Run as a file, in the target's
environment.

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
    with contextlib.suppress(Exception):  # before the first request; the answer to it has the error
        importlib.import_module("jax")
    while line := _next_line():
        folder = Path(line.strip())
        try:
            request = json.loads((folder / "request.json").read_text())
            answer = (_dump if "dump" in request else _answer)(folder, request)
        except Exception as error:
            answer = {"error": [type(error).__name__, str(error)]}
        (folder / "answer.json").write_text(json.dumps(answer))
        out.write(f"{folder}\n")
        out.flush()


def _next_line() -> str:
    """The next line of stdin; empty at its end, and after a long silence."""
    if os.name == "posix":  # elsewhere a pipe cannot be waited for
        with selectors.DefaultSelector() as waiting:
            waiting.register(sys.stdin, selectors.EVENT_READ)
            if not waiting.select(IDLE_S):
                return ""
    return sys.stdin.readline()


def _dump(folder: Path, request: dict[str, Any]) -> dict[str, Any]:
    from jaxscope.capture._jax import dumps

    (folder / "began").touch()  # the process may just have started
    program, options = ((folder / name).read_bytes() for name in ("program.mlir", "options"))
    with dumps.logged(request["log"]):
        dumps.compile_portable(program, options, request["dump"], request["newer"])
    return {}


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
