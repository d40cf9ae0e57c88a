"""The file that `python -m jaxscope.watch` writes for each process: JSON, one line per event.

Each line is complete by itself, so that a process that hangs or is killed leaves what it knew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxscope import words
from jaxscope.analysis.cluster.runs import ranges
from jaxscope.model.cluster import ProcessProgram, ProcessRun

FORMAT = 1
_MARK = "jaxscope_journal"


@dataclass(frozen=True, slots=True)
class Journal:
    """One file: the run of its process, and a note on what it lacks."""

    run: ProcessRun | None
    """None for a file that cannot be read; `note` has the reason."""
    processes: int
    """Processes of the whole run."""
    job: str
    finished: bool
    note: str = ""


def head(process: int, processes: int, host: str, job: str, version: str) -> str:
    """The first line of a file."""
    facts = {"process": process, "processes": processes, "host": host, "job": job}
    return _line({_MARK: FORMAT, "jaxscope": version, **facts})


def compilation(program: ProcessProgram) -> str:
    """The line of a compilation."""
    return _line(
        {
            "program": program.name,
            "place": program.place,
            "fingerprint": program.fingerprint,
            "seconds": program.compile_s,
        }
    )


def end(seconds: float, error: str) -> str:
    """The last line of a file."""
    return _line({"end": seconds, "error": error})


def _line(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


def read_journal(name: str, text: str) -> Journal:
    """The journal in a file; a line that was not written to its end is left out."""
    lines = text.split("\n")
    note = ""
    if lines and lines[-1]:
        note = f"{name} ends inside a line: its process was killed, or still writes."
    try:
        first, *events = [json.loads(line) for line in lines[:-1] if line]
        form = first[_MARK]
    except (ValueError, KeyError, TypeError):
        return Journal(None, 0, "", False, f"{name} is not a file of `python -m jaxscope.watch`.")
    if form != FORMAT:
        return Journal(
            None,
            0,
            "",
            False,
            f"{name} has format {form} and this jaxscope reads {FORMAT}: load it with jaxscope "
            f"{first.get('jaxscope', words.UNKNOWN)}.",
        )
    try:
        last = next((event for event in events if "end" in event), None)
        run = ProcessRun(
            int(first["process"]),
            str(first["host"]),
            tuple(_program(event) for event in events if "program" in event),
            wall_s=None if last is None else float(last["end"]),
            error="" if last is None else str(last["error"]),
        )
        return Journal(run, int(first["processes"]), str(first["job"]), last is not None, note)
    except (ValueError, KeyError, TypeError):
        return Journal(None, 0, "", False, f"{name} is damaged: a line of it has no value.")


def _program(event: Mapping[str, Any]) -> ProcessProgram:
    return ProcessProgram(
        str(event["program"]),
        str(event["place"]),
        fingerprint=str(event["fingerprint"]),
        compile_s=float(event["seconds"]),
    )


def joined(journals: Sequence[Journal]) -> tuple[list[ProcessRun], list[str]]:
    """The runs of all processes, and sentences on what is missing."""
    good = [journal for journal in journals if journal.run is not None]
    notes = list(dict.fromkeys(journal.note for journal in journals if journal.note))
    runs: dict[int, ProcessRun] = {}
    for journal in good:
        assert journal.run is not None
        if journal.run.process in runs:
            notes.append(f"Two files are of process {journal.run.process}: the first one is shown.")
        runs.setdefault(journal.run.process, journal.run)
    if len({(journal.processes, journal.job) for journal in good}) > 1:
        notes.append("The files are of different runs: remove the older ones, and load again.")
    elif good and (lacking := sorted(set(range(good[0].processes)) - set(runs))):
        text = ranges(lacking)
        notes.append(f"{text[:1].upper()}{text[1:]} of {good[0].processes} left no file.")
    running = [j.run.process for j in good if j.run is not None and not j.finished]
    if running:
        text = ranges(running)
        notes.append(f"{text[:1].upper()}{text[1:]} did not finish, or still runs.")
    return [runs[process] for process in sorted(runs)], notes
