"""Execute a demo notebook in a real kernel and save it with its outputs, ready to be read.

    python tools/build_notebook.py demos/01_quickstart.ipynb

The kernel starts in the repository root, so that `out/` is where `make demo` leaves its reports.
What changes with every run and tells the reader nothing (times of execution, versions of the
front end) is left out, so that a new run differs in its figures alone.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
_TIMEOUT_S = 300
_PROGRESS = re.compile(r"\A(?:[^\n|]*: )?\s*\d+%\|")
"""The bar that a library has drawn while it waited."""
_KERNEL_FILE = re.compile(r"/(?:tmp|var)/[^\s\"'<>]*?ipykernel_\d+/\d+\.py")


def execute(path: Path, folder: Path = ROOT) -> nbformat.NotebookNode:
    """The notebook after a run from top to bottom, with the kernel in `folder`.

    Raises nbclient's CellExecutionError when a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    client = NotebookClient(
        notebook,
        timeout=_TIMEOUT_S,
        startup_timeout=_TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
    )

    def tell(cell: nbformat.NotebookNode, cell_index: int) -> None:
        # As JupyterLab does; without it, cells that begin alike would be taken for one.
        assert client.kc is not None
        client.kc.session.metadata = {"cellId": cell.get("id", f"cell-{cell_index}")}

    client.on_cell_execute = tell
    client.execute()
    return notebook


def clean(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook without volatile metadata and without the kernel's temporary file names."""
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        for output in cell.get("outputs", ()):
            if "metadata" in output:
                output["metadata"] = nbformat.from_dict({})
            if "text" in output:
                output["text"] = _named(output["text"])
            for kind, data in output.get("data", {}).items():
                if isinstance(data, str):
                    output["data"][kind] = _named(data)
        if "outputs" in cell:
            cell.outputs = [one for one in cell.outputs if not _is_passing(one)]
    return notebook


def _named(text: str) -> str:
    return _KERNEL_FILE.sub("cell", text)


def _is_passing(output: nbformat.NotebookNode) -> bool:
    """Whether it told of the run alone: a progress bar, or what a cleared status line leaves."""
    data = output.get("data")
    if data is None:
        return False
    text = data.get("text/plain", "")
    return (not text and list(data) == ["text/plain"]) or _PROGRESS.match(text) is not None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="+", type=Path)
    for path in parser.parse_args(arguments).notebooks:
        notebook = clean(execute(path))
        nbformat.write(notebook, path)
        print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
