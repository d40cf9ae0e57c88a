"""Play a case in a real `InteractiveShell` and keep what every step left behind."""

from __future__ import annotations

import contextlib
import io
import traceback
import unittest.mock
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from jaxscope.results.report import Report, latest
from tests.magics.cells.cell_case import Case
from tests.magics.cells.cell_snapshot import HISTORY, Freezer, Node

COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"
MISSING = object()


class SilentHook(DisplayHook):
    """Keeps `Out` as IPython does and prints nothing, so that stdout is what the cell printed."""

    def start_displayhook(self) -> None: ...
    def write_output_prompt(self) -> None: ...
    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None: ...
    def finish_displayhook(self) -> None: ...

    def flush(self) -> None:
        """As IPython's, without its full garbage collection: it would take most of our time."""
        with unittest.mock.patch("gc.collect"):
            super().flush()


class CellShell(InteractiveShell):
    displayhook_class = Type(SilentHook)
    display_pub_class = Type(CapturingDisplayPublisher)

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """The error is read from the result; a traceback would mix with the cell's prints."""

    showsyntaxerror = showindentationerror = showtraceback


@dataclass(frozen=True, slots=True)
class Step:
    """What one executed section left behind."""

    label: str
    names: dict[str, Node]
    out: Node
    stdout: str
    error: str = ""
    """The exception's type, text and notes; empty if there was none."""
    error_type: str = ""
    lines: tuple[int | None, ...] = ()
    """Lines of the cell in the error's traceback."""
    changed: tuple[str, ...] = ()
    """Names that this step bound, deleted or bound to another object."""
    compiles: tuple[str, ...] = ()
    shown: str = ""
    """The plain text of what was displayed, reports among it."""
    report: Report | None = None
    """Of this step's cell."""


@dataclass(slots=True)
class Compiles:
    """An independent count of XLA compiles; it hears JAX itself and knows nothing of jaxscope."""

    heard: list[str] = field(default_factory=list)

    def __call__(self, event: str, seconds: float, **details: Any) -> None:
        if event == COMPILE_EVENT:
            self.heard.append(str(details.get("fun_name", "?")))


@contextlib.contextmanager
def open_shell() -> Iterator[CellShell]:
    """A shell of our own in place of any other; extensions are the caller's to load."""
    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    shell = CellShell.instance(config=config)
    # No test reads what IPython would keep of a traceback: it looks through all modules for each.
    shell.InteractiveTB.set_mode("Minimal")
    try:
        yield shell
    finally:
        shell.reset(new_session=False)
        shell.history_manager.end_session()
        CellShell.clear_instance()


@contextlib.contextmanager
def fresh_session(shell: CellShell) -> Iterator[None]:
    """An empty namespace; what a cell may have set outside it is put back afterwards."""
    x64 = jax.config.jax_enable_x64
    shell.reset()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        shell.reset()
        # `from __future__ import annotations` in one cell holds for all later ones.
        shell.compile.reset_compiler_flags()
        jax.config.update("jax_enable_x64", x64)


def play(
    shell: CellShell, case: Case, magic: str = "", skip: tuple[bool, bool] = (False, False)
) -> tuple[Step, ...]:
    """Set-up, cell, change, cell, after: one `Step` each.

    ``magic`` is the first line put before the cell, nothing for plain Python. ``skip`` leaves
    runs of the cell out: the session in which a cell that was refused never ran.
    """
    compiles = Compiles()
    jax.monitoring.register_event_duration_secs_listener(compiles)
    try:
        with fresh_session(shell):
            freezer = Freezer(shell.user_ns)
            cell = f"{magic}\n{case.cell}" if magic else case.cell
            sources = (
                ("setup", case.setup, False),
                ("run 1", cell, skip[0]),
                ("change", case.change, False),
                ("run 2", cell, skip[1]),
                ("after", case.after, False),
            )
            return tuple(
                run(shell, freezer, compiles, label, "" if skipped else source, case.name)
                for label, source, skipped in sources
            )
    finally:
        jax.monitoring.unregister_event_duration_listener(compiles)


def run(
    shell: CellShell, freezer: Freezer, compiles: Compiles, label: str, source: str, name: str
) -> Step:
    before = dict(shell.user_ns)
    heard = len(compiles.heard)
    earlier = latest()
    stdout = io.StringIO()
    out, error, kind, lines = None, "", "", ()
    shell.display_pub.outputs.clear()
    if source.strip():
        # Both runs carry the id of one notebook cell, as they do in a kernel.
        cell_id = f"{name}:{label.partition(' ')[0]}"
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(io.StringIO()):
            result = shell.run_cell(source, store_history=True, cell_id=cell_id)
            with contextlib.suppress(Exception):  # of a callback; the cell has shown it already
                jax.effects_barrier()
        exception = result.error_before_exec or result.error_in_exec
        out = result.result
        if exception is not None:
            kind = type(exception).__name__
            error = "\n".join([f"{kind}: {exception}", *getattr(exception, "__notes__", ())])
            frames = traceback.extract_tb(exception.__traceback__)
            lines = tuple(one.lineno for one in frames if one.name == "<module>")
    compiled = tuple(compiles.heard[heard:])
    hidden = {n for n in shell.user_ns_hidden if n != "__annotations__"}
    names = freezer.snapshot(hidden)
    changed = tuple(
        name
        for name in sorted(before.keys() | shell.user_ns.keys())
        if name not in hidden
        and not HISTORY.fullmatch(name)
        and before.get(name, MISSING) is not shell.user_ns.get(name, MISSING)
    )
    shown = "\n".join(str(o["data"].get("text/plain")) for o in shell.display_pub.outputs)
    return Step(
        label=label,
        names=names,
        out=freezer.freeze(out),
        stdout=stdout.getvalue(),
        error=error,
        error_type=kind,
        lines=lines,
        changed=changed,
        compiles=compiled,
        shown=shown,
        report=None if latest() is earlier else latest(),
    )
