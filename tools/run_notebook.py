"""Run notebooks from top to bottom, in a kernel of this environment: for `make demo`.

`python tools/run_notebook.py demos/01_quickstart.ipynb` runs each cell in turn, in the repository's
root, and fails with the cell's error at the first that fails. The notebook's file is left as it is;
`tools/build_notebook.py` writes it anew.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parents[1]


def run(path: Path, timeout: int = 600) -> nbformat.NotebookNode:
    """The notebook with the outputs of a fresh run. Raises CellExecutionError."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(ROOT)}}
    client = NotebookClient(
        notebook,
        timeout=timeout,
        startup_timeout=timeout,
        kernel_name="python3",
        resources=resources,
        record_timing=False,
        # Every run would begin with a warning that TCP is not encrypted, of a local kernel.
        extra_arguments=["--log-level=ERROR"],
    )
    return client.execute()


def main(arguments: list[str]) -> int:
    for name in arguments:
        began = time.perf_counter()
        try:
            notebook = run(Path(name))
        except CellExecutionError as error:
            print(f"{name}: a cell failed.\n{error}", file=sys.stderr)
            return 1
        cells = sum(cell.cell_type == "code" for cell in notebook.cells)
        print(f"{name}: {cells} cells ran in {time.perf_counter() - began:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
