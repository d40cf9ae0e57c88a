"""A cell of the notebook on one engine; these functions run there."""

from __future__ import annotations

import contextlib
import socket
import traceback
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxscope.analysis.cluster.divergence import program_hash
from jaxscope.analysis.cluster.exchange_order import call_orders, exchange_orders
from jaxscope.analysis.cluster.runs import MergedRuns, merged
from jaxscope.analysis.cluster.schedule import module_name
from jaxscope.analysis.trace.operations import Op, operations
from jaxscope.capture.cluster.gather import gathered_here
from jaxscope.capture.cluster.process import ClusterError, collective_groups
from jaxscope.capture.source.cell_names import cell_name, current_shell, running_number
from jaxscope.model import StageKind, to_json
from jaxscope.model.cluster import (
    CollectiveRun,
    ExchangeOrder,
    MeshCalls,
    ProcessProgram,
    ProcessRun,
)
from jaxscope.results.report import Report

if TYPE_CHECKING:
    from jaxscope.capture.profile.profiler import Recording
    from jaxscope.capture.program.call_order import Called
    from jaxscope.capture.program.request import CachedProgram

RESULT = "_jaxscope_engine_result"
"""The variable of the engine to which a magic binds its result."""
_MOST_PRINTED = 10_000
_OUR_NOTE = "jaxscope: "
_last: list[Report] = []


class EngineCell(NamedTuple):
    """A cell for the engines."""

    text: str
    number: int = 0
    """That of the notebook, by which its lines are named on every engine; 0 outside of one."""

    @classmethod
    def of(cls, text: str) -> EngineCell:
        """The cell with the number of the one that runs here."""
        shell = current_shell()
        return cls(text, 0 if shell is None else running_number(shell))


def run_cell(process: int, cell: EngineCell, gather: str = "") -> ProcessRun | MergedRuns | None:
    """Run a `%%jaxjit` or `%%jaxprof` cell; its report stays here until `last_record` sends it.

    With a name to gather under, the last process answers for all, and the others with None.
    """
    run = _run(process, cell)
    runs = gathered_here(gather, run) if gather else None
    if runs is None:
        return run
    return merged(runs) if runs else None


def _run(process: int, cell: EngineCell) -> ProcessRun:
    from jaxscope.capture.profile import profiler  # it imports jax
    from jaxscope.capture.program.call_order import kept_calls

    with profiler.kept() as sessions, kept_calls() as called:
        found, printed, error = executed(cell)
    _last[:] = [found] if isinstance(found, Report) else []
    host = socket.gethostname()
    if not isinstance(found, Report):
        return ProcessRun(process, host, printed=printed, error=error)
    return ProcessRun(
        process,
        host,
        _programs(found),
        wall_s=_seconds(found),
        reported=True,
        lines=_lines(found),
        exchanges=_exchanges(sessions) or _called(called),
        printed=printed,
        error=error,
    )


def executed(cell: EngineCell, before: Callable[[], None] | None = None) -> tuple[Any, str, str]:
    """The value that a cell binds to `RESULT`, its output, and its error as one sentence.

    `before` is called when all is ready for the cell.
    """
    shell = current_shell()
    if shell is None:
        raise ClusterError("This engine runs no IPython, so it cannot run a cell.")
    from IPython.utils.capture import capture_output

    shell.user_ns.pop(RESULT, None)
    with capture_output() as captured:
        if "jaxscope" not in shell.extension_manager.loaded:
            shell.run_line_magic("load_ext", "jaxscope")
        # IPython prints the traceback of an error; its sentence goes to the notebook.
        shell.showtraceback = _ignore
        try:
            if before is not None:
                before()
            result = _numbered(shell, cell)
        finally:
            del shell.showtraceback
    error = result.error_before_exec or result.error_in_exec
    found = shell.user_ns.pop(RESULT, None)
    shown = "" if found is not None else _out(shell, result.result, cell.number)
    printed = (captured.stdout + shown + captured.stderr)[-_MOST_PRINTED:]
    return found, printed, "" if error is None else _sentence(error)


def _out(shell: Any, value: Any, number: int) -> str:
    """The value of a cell as a terminal shows it: of a kernel, which has sent it elsewhere."""
    if value is None or not hasattr(shell, "kernel"):
        return ""
    text = shell.display_formatter.format(value)[0].get("text/plain", "")
    return f"Out[{number}]: {text}\n"


def _numbered(shell: Any, cell: EngineCell) -> Any:
    """Run the cell as `In [number]`; a number that was taken is not stored again."""
    own = shell.execution_count
    new = take_number(cell.number)
    if not new:
        shell.execution_count = cell.number
    try:
        return shell.run_cell(cell.text, store_history=new)
    finally:
        if not new:
            shell.execution_count = own


def take_number(number: int) -> bool:
    """Give the next cell of this engine that number; False where an earlier one has it."""
    shell = current_shell()
    if shell is None or 0 < number < shell.execution_count:
        return False
    shell.execution_count = number or shell.execution_count
    history = shell.history_manager
    for stored in (history.input_hist_parsed, history.input_hist_raw):
        stored += [""] * (number - len(stored))
    return True


def _ignore(*_: Any, **__: Any) -> None: ...


def _sentence(error: BaseException) -> str:
    """`ZeroDivisionError: division by zero (In [3]:4)`, and our notes of one line."""
    places = [
        f"{name}:{line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if (name := cell_name(frame.f_code.co_filename))
    ]
    from jaxscope.capture.run.error_notes import NOTHING_CHANGED  # it imports jax

    text = f"{type(error).__name__}: {error}".strip().rstrip(".")
    if places and places[-1] not in text:
        text += f" ({places[-1]})"
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(_OUR_NOTE)]
    short = [
        note.removeprefix(_OUR_NOTE)
        for note in notes
        if "\n" not in note and not note.endswith(NOTHING_CHANGED)
    ]
    return ". ".join([text, *[note.rstrip(".") for note in short]])


def last_record() -> Any:
    """The report of the last cell as JSON data, with the texts of its stages."""
    report = _last[0]
    with contextlib.suppress(Exception):  # of a program that is gone
        report.complete()
    return to_json(report.record)


def _programs(report: Report) -> tuple[ProcessProgram, ...]:
    compiles = report.record.compiles
    found: list[ProcessProgram] = []
    for index, program in enumerate(report.programs):
        took = [compiles[i].total_s for i in program.compiles if i < len(compiles)]
        found.append(
            ProcessProgram(
                program.title,
                fingerprint=_fingerprint(report, index),
                compile_s=sum(took) if took else None,
            )
        )
    return tuple(found)


def _fingerprint(report: Report, index: int) -> str:
    """Hash of the StableHLO; of the optimized HLO where only that is known, marked so."""
    with contextlib.suppress(Exception):
        for kind, mark in ((StageKind.STABLEHLO, ""), (StageKind.OPTIMIZED_HLO, "xla-")):
            stage = report.stage(kind, program=index)
            if stage.unavailable is None and stage.text:
                return mark + program_hash(stage.text)[:8]
    return ""


def shared_runs(
    ops: Iterable[Op], groups: Container[tuple[str, str]], base: float = 0.0
) -> tuple[CollectiveRun, ...]:
    """The executions of these collectives; their times count from `base`."""
    return tuple(
        CollectiveRun(op.module, op.name, op.device, base + op.start, base + op.end)
        for op in ops
        if (op.module, op.name) in groups
    )


def _exchanges(sessions: Sequence[Recording]) -> tuple[ExchangeOrder, ...]:
    """The order of collectives in the first session, which is that of the cell itself."""
    with contextlib.suppress(Exception):  # not connected, or a trace that cannot be read
        groups = collective_groups()
        if sessions and groups:
            import jax

            own = [device.id for device in jax.local_devices()]
            runs = shared_runs(operations(sessions[0].events()), groups)
            return exchange_orders(runs, groups, own)
    return ()


def _called(programs: Called) -> tuple[ExchangeOrder, ...]:
    """The order of the calls that function form compiled.

    None at all where one ran as plain Python: an order with a gap is a wrong one.
    """
    with contextlib.suppress(Exception):  # not connected, or a program without a text
        groups = collective_groups()
        compiled = [program for program in programs if program is not None]
        if groups and len(compiled) == len(programs):
            import jax

            own = [device.id for device in jax.local_devices()]
            distinct = {id(one): one for one in compiled}
            names = {key: _module_and_types(one) for key, one in distinct.items() if _spans(one)}
            calls = [names[id(one)] for one in compiled if id(one) in names]
            return call_orders(calls, groups, own)
    return ()


def _spans(program: CachedProgram) -> bool:
    """Whether its arguments or results are on devices of several processes."""
    import jax

    compiled = program.compiled
    shardings = jax.tree_util.tree_leaves((compiled.input_shardings, compiled.output_shardings))
    return not all(sharding.is_fully_addressable for sharding in shardings)


def _module_and_types(program: CachedProgram) -> tuple[str, str]:
    """`jit_f` and `f32[8,8]`."""
    import jax

    avals = jax.tree_util.tree_leaves(program.compiled.in_avals)
    return module_name(program.compiled.as_text()), ", ".join(map(str, avals))


def _seconds(report: Report) -> float | None:
    """Seconds of the profiled cell, or per call of the program."""
    cell = report.record.profile
    if cell is not None:
        return cell.wall_s
    call = report.programs[0].call if report.programs else None
    return None if call is None else call.median_s


def _lines(report: Report) -> tuple[tuple[int, float], ...]:
    cell = report.record.profile
    if cell is not None:
        return tuple((row.line, row.host_s) for row in cell.lines if row.source == 0)
    return tuple(sorted(report.time_by_line().items()))


def mesh_cell(process: int, cell: EngineCell, runs: int) -> MeshCalls:
    """Compile the code, and call it so often: every process makes the same calls."""
    body = cell.text.removeprefix("\n")  # its lines count from that of the magic
    text = f"%%jaxjit -n {runs} -q -o {RESULT}\n{body}"
    found, _, error = executed(EngineCell(text, cell.number))
    if error or not isinstance(found, Report) or not found.programs:
        return MeshCalls(process, (), error=error or "it has no program to time")
    call, program = found.programs[0].call, _programs(found)[0]
    return MeshCalls(
        process,
        () if call is None else call.samples,
        fingerprint=program.fingerprint,
        compile_s=program.compile_s,
    )


def norms_of(names: tuple[str, ...]) -> tuple[float, ...]:
    """Euclidean norm of each array below these names; all processes compute it together."""
    import jax

    shell = current_shell()
    space: dict[str, Any] = {} if shell is None else shell.user_ns
    leaves = jax.tree_util.tree_leaves([space.get(name) for name in names])
    arrays = [leaf for leaf in leaves if isinstance(leaf, jax.Array)]
    return tuple(float(jax.numpy.sqrt((abs(array) ** 2).sum())) for array in arrays)
