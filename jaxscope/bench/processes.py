"""A comparison in several fresh processes: what one process shows need not hold in the next.

Memory is laid out anew in each, thread pools start anew, and so does the order of the rounds.
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
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jaxscope.bench.measure import compare
from jaxscope.bench.plan import Limits, Plan, PlanError, Progress, validate
from jaxscope.capture.program import describe
from jaxscope.model import from_json, to_json
from jaxscope.model.comparison import ComparisonRecord, Row

_POLL_S = 0.1
_GRACE_S = 60.0
"""Starting Python and importing the libraries, beyond the plan's own limit."""


def compare_in_sessions(plan: Plan) -> ComparisonRecord:
    """The plan in as many processes, one after the other; the rounds of all are kept.

    An interrupt ends the process that runs and keeps the sessions before it. Raises PlanError when
    the plan cannot be sent to another process, and when no session came to an end.
    """
    validate(plan)
    began = time.perf_counter()
    records: list[ComparisonRecord] = []
    stopped = ""
    for number in range(plan.sessions):
        seeded = replace(
            plan, sessions=1, progress=None, seed=plan.seed + number, limits=_share(plan)
        )
        sent = packed(seeded)
        try:
            records.append(_session(plan, sent, number))
        except KeyboardInterrupt:
            stopped = f"interrupted in session {number + 1} of {plan.sessions}"
            break
        except SessionFailed as failed:
            stopped = f"session {number + 1} of {plan.sessions} failed: {failed}"
            break
        if records[-1].stopped:
            break
    if not records:
        raise PlanError(f"No session came to its end: {stopped}.")
    merged, wall_s = together(records), time.perf_counter() - began
    merged = replace(merged, stopped=stopped or merged.stopped, wall_s=wall_s)
    if stopped:  # nobody knows how long the process that was ended took to start
        return merged
    starting_s = wall_s - sum(record.wall_s or 0.0 for record in records)
    return replace(merged, notes=(*merged.notes, started(plan, len(records), starting_s)))


def started(plan: Plan, count: int, seconds: float) -> str:
    """A sentence on what the processes took beside their measuring."""
    what = "a fresh process" if count == 1 else f"{count} fresh processes"
    limit = "" if plan.limits.total_s is None else ", which the time limit does not count"
    return f"Starting {what} took {max(seconds, 0.0):.1f} s in all{limit}."


class SessionFailed(Exception):
    """A fresh process ended without a record."""


def packed(plan: Plan) -> bytes:
    """The plan for another process. Raises PlanError when it holds what cannot travel.

    Functions of a notebook need cloudpickle, which sends their code; plain pickle sends names only.
    """
    try:
        import cloudpickle  # pyright: ignore[reportMissingImports]

        dumps: Any = cloudpickle.dumps
    except ImportError:
        dumps = pickle.dumps
    try:
        sent = dumps(plan)
    except Exception as error:
        cure = "" if dumps is not pickle.dumps else " `pip install cloudpickle` may help."
        raise PlanError(
            f"Sessions run in fresh processes, and this cannot be sent to one: {error}.{cure}"
        ) from error
    if dumps is pickle.dumps and b"__main__" in sent:
        raise PlanError(
            "Sessions run in fresh processes, and functions of a notebook can be sent there only "
            "with cloudpickle: `pip install cloudpickle`."
        )
    return sent


def together(records: Sequence[ComparisonRecord]) -> ComparisonRecord:
    """The first record with the rounds and the warnings of all."""
    first = records[0]
    rows = tuple([_joined([_same(record, row) for record in records]) for row in first.rows])
    doubts = dict.fromkeys({d.code: d for record in records for d in record.warnings}.values())
    notes = dict.fromkeys(note for record in records for note in record.notes)
    stopped = next((record.stopped for record in records if record.stopped), "")
    return replace(first, rows=rows, warnings=tuple(doubts), notes=tuple(notes), stopped=stopped)


def _same(record: ComparisonRecord, row: Row) -> Row | None:
    key = (row.label, row.device, row.size)
    return next((r for r in record.rows if (r.label, r.device, r.size) == key), None)


def _joined(found: Sequence[Row | None]) -> Row:
    """One row of each session. It fails where it failed first, and keeps the rounds it has."""
    rows = [row for row in found if row is not None]
    doubts = {doubt.code: doubt for row in rows for doubt in row.warnings}
    return replace(
        rows[0],
        sessions=tuple([rounds for row in rows for rounds in row.sessions]),
        failure=next((row.failure for row in rows if row.failure), ""),
        warnings=tuple(doubts.values()),
    )


def _share(plan: Plan) -> Limits:
    """What one session may take of the whole."""
    total = plan.limits.total_s
    return plan.limits if total is None else replace(plan.limits, total_s=total / plan.sessions)


def _session(plan: Plan, sent: bytes, number: int) -> ComparisonRecord:
    """One process. It is ended when it is interrupted, hangs, or when its time is over."""
    limits = plan.limits
    end = time.monotonic() + _GRACE_S + (limits.total_s or float("inf"))
    silent_s = _GRACE_S + max(limits.call_s, limits.compile_s, limits.seconds)
    with tempfile.TemporaryDirectory(prefix="jaxscope-") as folder:
        where = Path(folder)
        (where / "plan").write_bytes(sent)
        (where / "settings").write_text(json.dumps(describe.settings()))
        with (where / "errors").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "jaxscope.bench.session", str(where)],
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
            raise SessionFailed(lines[-1] if lines else f"exit status {process.returncode}")
        return from_json(ComparisonRecord, json.loads(result.read_text()))


def follow(
    plan: Plan, process: subprocess.Popen[str], number: int, end: float, silent_s: float
) -> None:
    """Hands on the progress until the process ends. Raises SessionFailed when it hangs: a call in
    native code cannot be stopped from inside, but its process can."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        with process.stdout or contextlib.nullcontext() as out:
            for line in out or ():
                lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    latest, heard = "", time.monotonic()
    while True:
        with contextlib.suppress(queue.Empty):
            line = lines.get(timeout=_POLL_S)
            if line is None:
                process.wait()
                return
            latest, heard = _pass_on(plan, line, number) or latest, time.monotonic()
        now = time.monotonic()
        if now > end or now > heard + silent_s:
            at = f" at `{latest}`" if latest else ""
            raise SessionFailed(f"it hung{at} and was ended")


def _pass_on(plan: Plan, line: str, number: int) -> str:
    """A line of progress, `0.25 text`; whatever else user code prints is nothing to us."""
    done, _, text = line.rstrip("\n").partition(" ")
    try:
        share = (number + float(done)) / plan.sessions
    except ValueError:
        return ""
    if plan.progress is not None:
        plan.progress(Progress(f"session {number + 1}: {text}", share))
    return text


def _environment() -> dict[str, str]:
    """What this process was told about JAX by code, not by variables, told to the next one."""
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


def set_up(settings: Mapping[str, Any]) -> None:
    """Sets JAX as it is set where the session was asked for; no variable tells of some settings."""
    import jax

    own = describe.settings()
    for name, value in settings.items():
        if name in own and own[name] != value:
            # What cannot be set any more is JAX's default here.
            with contextlib.suppress(Exception):
                jax.config.update(name, value)


def run(folder: Path) -> None:
    """The other end: measures the plan in `folder`, and leaves the record there."""
    set_up(json.loads((folder / "settings").read_text()))
    plan: Plan = pickle.loads((folder / "plan").read_bytes())
    out = sys.stdout

    def progress(step: Progress) -> None:
        out.write(f"{step.done:.4f} {step.text}\n")
        out.flush()

    record = compare(replace(plan, progress=progress))
    temporary = folder / "record.part"
    temporary.write_text(json.dumps(to_json(record)))
    temporary.replace(folder / "record")
