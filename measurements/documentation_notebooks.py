"""Cells of other projects' documentation notebooks, in plain Python and under each magic.

Run by hand, since the notebooks are not part of this project:

    python -m measurements.documentation_notebooks FOLDER

`FOLDER` has a folder for each project with its notebooks. Each notebook runs in a process of its
own, once plainly and once for each mode; after every cell the errors, `Out` and the values of all
names are compared with those of plain Python, floating-point numbers with a tolerance. A cell that
is refused runs again plainly, so that later cells find its names. Cells without code of their own
and cells under a magic of their own run as they are.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MODES = {"jaxjit": "%%jaxjit -q", "jaxprof": "%%jaxprof -q", "jaxwatch": "%%jaxwatch -q", "on": ""}
"""The line before each cell; `on` is `%jaxwatch on`, which needs none."""
CELL_S, NOTEBOOK_S = 60, 900
LARGEST, DEEPEST = 4_000, 12
"""Numbers of an array, and levels of containers, that are compared."""
_INSTALLS = re.compile(r"(?m)^(\s*)[!%]\s*(?:pip|uv|conda)\b.*$")
_HISTORY = re.compile(r"_.*|In|Out|exit|quit|get_ipython|open")
_NUMBERS = (bool, int, float, complex)


def frozen(value: Any, depth: int = 0) -> Any:
    """The value as nested tuples that can be pickled and compared."""
    import jax
    import numpy as np
    from jax import numpy as jnp
    from jax.core import Tracer

    below = depth + 1
    if isinstance(value, Tracer):
        return ("tracer",)
    if isinstance(value, jax.Array) and value.is_deleted():
        return ("deleted",)
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    if isinstance(value, (*_NUMBERS, jax.Array, np.ndarray, np.generic)):
        array = np.asarray(value)
        if array.dtype.kind == "V":  # bfloat16 and other types of ml_dtypes
            array = array.astype(np.float32)
        if array.dtype.kind not in "biufc":
            return ("array", array.shape, str(array.ravel()[:50].tolist()))
        flat = array.ravel()
        return ("number", array.shape, flat[:: max(1, flat.size // LARGEST)].astype(complex))
    if value is None or isinstance(value, (str, bytes)):
        return ("text", value)
    if isinstance(value, (type, types.ModuleType)) or depth > DEEPEST:
        return ("name", type(value).__name__)
    if isinstance(value, dict):
        pairs = [(re.sub("0x[0-9a-f]+", "", repr(k)), frozen(v, below)) for k, v in value.items()]
        return ("dict", sorted(pairs, key=lambda pair: pair[0]))
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [frozen(item, below) for item in value])
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        return ("function", value.__name__, [frozen(item, below) for item in cells])
    if type(value).__module__.partition(".")[0] in ("matplotlib", "IPython", "jaxscope"):
        return ("name", type(value).__name__)
    fields = {k: v for k, v in getattr(value, "__dict__", {}).items() if not k.startswith("__")}
    return (type(value).__name__, frozen(fields, below) if fields else None)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def same(one: Any, other: Any) -> bool:
    """Whether two frozen values agree."""
    import numpy as np

    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        scale = np.abs(one[np.isfinite(one)]).max(initial=0.0)
        tolerance = 2e-4 + 1e-4 * scale
        return one.shape == other.shape and np.allclose(one, other, 2e-3, tolerance, True)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def is_computational(text: str) -> bool:
    """Whether a cell has code other than imports and magics, and no magic of its own."""
    if not text.strip() or text.lstrip().startswith(("%%", "!")):
        return False
    try:
        body = ast.parse(re.sub(r"(?m)^(\s*)[!%].*$", r"\1pass", text)).body
    except SyntaxError:
        return True
    return not all(isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)) for node in body)


def play(notebook: Path, mode: str, expected: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Run a notebook in this process; a record after each cell."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import CapturingDisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type

    class Hook(DisplayHook):
        def write_format_data(self, *args: Any) -> None: ...

    class Shell(InteractiveShell):
        displayhook_class = Type(Hook)
        display_pub_class = Type(CapturingDisplayPublisher)

        def showtraceback(self, *args: Any, **kwargs: Any) -> None: ...
        def enable_gui(self, gui: Any = None) -> None: ...

        # Nothing but the notebook's own code runs.
        def system(self, cmd: Any) -> None: ...

    shell = Shell.instance()
    sys.modules["__main__"] = shell.user_module
    if mode:
        shell.run_line_magic("load_ext", "jaxscope")
    if mode == "on":
        shell.run_line_magic("jaxwatch", "on")

    def run(text: str) -> Any:
        signal.alarm(CELL_S if not mode else 3 * CELL_S)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                return shell.run_cell(text, store_history=True)
        finally:
            signal.alarm(0)

    signal.signal(signal.SIGALRM, signal.default_int_handler)
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for number, text in enumerate(_INSTALLS.sub(r"\1pass", text) for text in texts):
        counted = is_computational(text)
        ours = counted and bool(MODES.get(mode))
        before = _names(shell) if ours else {}
        ran = run(f"{MODES[mode]}\n{text}" if ours else text)
        error = ran.error_before_exec or ran.error_in_exec
        record: dict[str, Any] = {"counted": counted, "error": error and type(error).__name__}
        record["out"] = frozen(ran.result)
        fails = number < len(expected) and bool(expected[number]["error"])
        if ours and error is not None and not fails:
            record["changed"] = not same(before, _names(shell))
            notes = getattr(error, "__notes__", ())
            record["fix"] = bool(notes) or type(error).__name__ in ("RefusedError", "UsageError")
            record["out"] = frozen(run(text).result)
        yield {**record, "names": _names(shell)}


def _names(shell: Any) -> dict[str, Any]:
    names = {n: v for n, v in shell.user_ns.items() if not _HISTORY.fullmatch(n)}
    return {name: frozen(value) for name, value in names.items()}


def count(plain: list[dict[str, Any]], ours: list[dict[str, Any]]) -> collections.Counter[str]:
    """The outcomes of one notebook in one mode."""
    found: collections.Counter[str] = collections.Counter()
    for one, other in zip(plain, ours, strict=False):
        if not one["counted"]:
            continue
        found["cells"] += 1
        if one["error"]:
            found["failed in plain Python"] += 1
        elif other["error"]:
            found["refused with a fix" if other.get("fix") else "failed"] += 1
            found["refused after a change"] += bool(other.get("changed"))
        else:
            found["ran"] += 1
            agrees = same(one["out"], other["out"]) and same(one["names"], other["names"])
            found["values differ"] += not agrees
    found["kernel lost"] += len(ours) < len(plain)
    return found


def records(notebook: Path, mode: str, plain: Path | None) -> list[dict[str, Any]]:
    """The records of a notebook, played in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "records"
        command = [sys.executable, "-m", __spec__.name, str(notebook), mode, str(out)]
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "MPLBACKEND": "Agg"}
        with contextlib.suppress(subprocess.TimeoutExpired):
            command += [] if plain is None else [str(plain)]
            subprocess.run(command, env=environment, timeout=NOTEBOOK_S, capture_output=True)
        return _read(out)


def _read(path: Path) -> list[dict[str, Any]]:
    """The records that a process has written before it ended."""
    found: list[dict[str, Any]] = []
    with contextlib.suppress(EOFError, FileNotFoundError), path.open("rb") as file:
        while True:
            found.append(pickle.load(file))
    return found


def measure(folder: Path) -> dict[str, Any]:
    """Outcomes by project and mode."""
    found: dict[str, Any] = {}
    for project in sorted(folder.iterdir()):
        notebooks = sorted(project.rglob("*.ipynb"))
        sums = {mode: collections.Counter[str]() for mode in MODES}
        for notebook in notebooks:
            with tempfile.NamedTemporaryFile() as file:
                plain = records(notebook, "", None)
                for record in plain:
                    pickle.dump({"error": record["error"]}, file)
                file.flush()
                for mode, total in sums.items():
                    total.update(count(plain, records(notebook, mode, Path(file.name))))
        found[project.name] = {mode: {**total} for mode, total in sums.items()}
    return found


def main(arguments: list[str]) -> int:
    if len(arguments) == 1:
        json.dump(measure(Path(arguments[0])), sys.stdout, indent=1)
        return 0
    notebook, mode, out, *plain = arguments
    with Path(out).open("wb") as file:
        for record in play(Path(notebook), mode, _read(Path(plain[0])) if plain else []):
            pickle.dump(record, file)
            file.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
