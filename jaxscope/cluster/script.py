"""`python -m jaxscope.watch`: a script under any launcher, and the files of its processes."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from pathlib import Path

from jaxscope import jax_import
from jaxscope.analysis.cluster.journal import joined, read_journal
from jaxscope.capture.cluster.process import ClusterError
from jaxscope.capture.cluster.recorder import JournalRecorder
from jaxscope.capture.cluster.watch import GUARDS
from jaxscope.results.cluster_run import ClusterRun

_FOLDER = "jaxscope-run"


def main(arguments: list[str]) -> int:
    """Run the script, and write one file per process into the folder."""
    parser = argparse.ArgumentParser(
        prog="python -m jaxscope.watch",
        description="Run a script; each process writes down what it compiles. "
        "%%jaxcluster load FOLDER shows all of them as one.",
    )
    parser.add_argument("--out", type=Path, default=Path(_FOLDER), metavar="FOLDER")
    parser.add_argument("--guard", choices=GUARDS, default="warn", help="See %%jaxcluster guard.")
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module.")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    if not given.module and not Path(given.script).is_file():
        parser.error(f"there is no file {given.script}")
    recorder = JournalRecorder(given.out.absolute(), given.guard)
    if "jax" in sys.modules:
        recorder.start()
    sys.argv = [given.script, *given.arguments]
    sys.path[0] = os.getcwd() if given.module else str(Path(given.script).resolve().parent)
    error = ""
    try:
        with jax_import.on_arrival(recorder.start):
            if given.module:
                runpy.run_module(given.script, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(given.script, run_name="__main__")
    except SystemExit as stopped:
        error = "" if stopped.code in (None, 0) else f"SystemExit: {stopped.code}"
        raise
    except BaseException as raised:
        error = f"{type(raised).__name__}: {raised}"
        raise
    finally:
        recorder.finish(error)
    return 0


def load(folder: str | Path) -> ClusterRun:
    """The files of `python -m jaxscope.watch` in a folder as one result.

    A file that cannot be read is a note of the result. Raises ClusterError for a folder without
    any that can.
    """
    found = Path(folder).expanduser()
    files = sorted(found.glob("process-*.jsonl"), key=lambda file: (len(file.name), file.name))
    if not files:
        raise ClusterError(
            f"{found} has no files of `python -m jaxscope.watch`: name the folder of its --out."
        )
    journals = [read_journal(file.name, file.read_text("utf-8", "replace")) for file in files]
    runs, notes = joined(journals)
    if not runs:
        raise ClusterError(" ".join(notes[:3]))
    return ClusterRun(runs, notes=notes)
