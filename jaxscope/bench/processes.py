"""A comparison in several fresh processes: the result of one process need not hold in the next.

Memory layout, thread pools and the order of the rounds are different in each.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxscope import words
from jaxscope.bench.plan import Plan, PlanError, Progress, validate
from jaxscope.capture.program import describe
from jaxscope.model import from_json
from jaxscope.model.comparison import ComparisonRecord, ComparisonRow

_POLL_S = 0.1
_GRACE_S = 60.0
"""Starting Python and importing the libraries, beyond the plan's own limit."""


class ProcessFailed(Exception):
    """A fresh process ended without a record."""


def compare_in_processes(plan: Plan) -> ComparisonRecord:
    """Measure the plan in fresh processes, one after the other; all rounds are kept.

    An interrupt ends the running process and keeps those before it. Raises PlanError when the plan
    cannot be sent to a process, and when no process completed.
    """
    validate(plan)
    began = time.perf_counter()
    records: list[ComparisonRecord] = []
    stopped = ""
    for number in range(plan.processes):
        limits = plan.limits
        if limits.total_s is not None:  # its share of the whole
            limits = replace(limits, total_s=limits.total_s / plan.processes)
        seeded = replace(plan, processes=1, progress=None, seed=plan.seed + number, limits=limits)
        sent = packed(seeded)
        which = f"process {number + 1} of {plan.processes}"
        try:
            records.append(_process(plan, sent, number))
        except KeyboardInterrupt:
            stopped = f"interrupted in {which}"
            break
        except ProcessFailed as failed:
            stopped = f"{which} failed: {failed}"
            break
        if records[-1].stopped:
            break
    if not records:
        raise PlanError(f"No process completed: {stopped}.")
    joined, wall_s = merged(records), time.perf_counter() - began
    joined = replace(joined, stopped=stopped or joined.stopped, wall_s=wall_s)
    if stopped:  # the start of the process that was ended is not known
        return joined
    starting_s = wall_s - sum(record.wall_s or 0.0 for record in records)
    return replace(joined, notes=(*joined.notes, started(plan, len(records), starting_s)))


def started(plan: Plan, count: int, seconds: float) -> str:
    """A sentence on the time of the processes outside their measurement."""
    what = words.count(count, "fresh process", "fresh processes")
    limit = "" if plan.limits.total_s is None else ", not counted by the time limit"
    return f"Starting {what} took {max(seconds, 0.0):.1f} s in total{limit}."


def packed(plan: Plan) -> bytes:
    """The plan for a fresh process. Raises PlanError when it cannot be pickled.

    Functions of a notebook need cloudpickle, which sends their code; plain pickle sends names only.
    """
    try:
        import cloudpickle  # pyright: ignore[reportMissingImports]

        dumps: Any = cloudpickle.dumps
    except (ImportError, AttributeError):  # absent, or a module of the user with its name
        dumps = pickle.dumps
    try:
        sent = dumps(plan)
    except Exception as error:
        fix = (
            ""
            if dumps is not pickle.dumps
            else " `pip install jaxscope[bench]` (cloudpickle) may help."
        )
        raise PlanError(f"The code cannot be sent to a fresh process: {error}.{fix}") from error
    if dumps is pickle.dumps and b"__main__" in sent:
        raise PlanError(
            "Functions of a notebook can be sent to a fresh process only with cloudpickle: "
            "`pip install jaxscope[bench]`."
        )
    return sent


def merged(records: Sequence[ComparisonRecord]) -> ComparisonRecord:
    """The first record with the rounds and the warnings of all."""
    first = records[0]
    warnings = dict.fromkeys({w.code: w for record in records for w in record.warnings}.values())
    notes = dict.fromkeys(note for record in records for note in record.notes)
    return replace(
        first,
        rows=tuple([_merged_row(records, row) for row in first.rows]),
        warnings=tuple(warnings),
        notes=tuple(notes),
        stopped=next((record.stopped for record in records if record.stopped), ""),
    )


def _merged_row(records: Sequence[ComparisonRecord], row: ComparisonRow) -> ComparisonRow:
    """The row of all processes. It has the first failure, and all rounds."""

    def key(one: ComparisonRow) -> tuple[Any, ...]:
        return one.label, one.device, one.size

    rows = [one for record in records for one in record.rows if key(one) == key(row)]
    warnings = {warning.code: warning for one in rows for warning in one.warnings}
    return replace(
        rows[0],
        processes=tuple([rounds for one in rows for rounds in one.processes]),
        # A process without load has no twin; then the number of twins shows that one is missing.
        twin=tuple([rounds for one in rows for rounds in one.twin]),
        failure=next((one.failure for one in rows if one.failure), ""),
        warnings=tuple(warnings.values()),
    )


def _process(plan: Plan, sent: bytes, number: int) -> ComparisonRecord:
    """Run one process. It is killed at an interrupt, when it hangs, or when its time is over."""
    limits = plan.limits
    end = time.monotonic() + _GRACE_S + (limits.total_s or float("inf"))
    silent_s = _GRACE_S + max(limits.call_s, limits.compile_s, limits.seconds)
    with tempfile.TemporaryDirectory(prefix="jaxscope-") as folder:
        where = Path(folder)
        (where / "plan").write_bytes(sent)
        (where / "settings").write_text(json.dumps(describe.settings()))
        with (where / "errors").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "jaxscope.bench.worker", str(where)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=_environment(),
            )
            try:
                follow(plan, process, number, end, silent_s)
            finally:
                process.kill()
                process.wait()
        result = where / "record"
        if not result.exists():
            lines = (where / "errors").read_text(errors="replace").strip().splitlines()
            raise ProcessFailed(lines[-1] if lines else f"exit status {process.returncode}")
        return from_json(ComparisonRecord, json.loads(result.read_text()))


def follow(
    plan: Plan, process: subprocess.Popen[str], number: int, end: float, silent_s: float
) -> None:
    """Forward the progress until the process ends. Raises ProcessFailed when it hangs: a call in
    native code cannot be stopped from inside, but its process can be killed."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        with process.stdout or contextlib.nullcontext() as out:
            for line in out or ():
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    latest, observed = "", time.monotonic()
    while True:
        with contextlib.suppress(queue.Empty):
            line = lines.get(timeout=_POLL_S)
            if line is None:
                process.wait()
                return
            latest, observed = _forward(plan, line, number) or latest, time.monotonic()
        now = time.monotonic()
        if now > end or now > observed + silent_s:
            at = f" at `{latest}`" if latest else ""
            raise ProcessFailed(f"it hung{at} and was ended")


def _forward(plan: Plan, line: str, number: int) -> str:
    """Notify of a line of progress, `0.25 text`; other output of the process is ignored."""
    done, _, text = line.rstrip("\n").partition(" ")
    try:
        share = (number + float(done)) / plan.processes
    except ValueError:
        return ""
    if plan.progress is not None:
        plan.progress(Progress(f"process {number + 1}: {text}", share))
    return text


def _environment() -> dict[str, str]:
    """The environment variables, with those of JAX as this process is configured."""
    import jax

    found = dict(os.environ)
    x64 = describe.environment().x64
    if x64 or "JAX_ENABLE_X64" in found:
        found["JAX_ENABLE_X64"] = "1" if x64 else "0"
    count = len(jax.local_devices(backend="cpu"))
    if count > 1 and "host_platform_device_count" not in found.get("XLA_FLAGS", ""):
        found["JAX_NUM_CPU_DEVICES"] = str(count)
    found["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return found
