"""The pages of `%jaxscope` and `%jaxdevices`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jaxscope.magics.options.parser import Parser, number, require_jax, usage_error
from jaxscope.version import __version__
from jaxscope.words import UNKNOWN, byte_rate, flop_rate, size

if TYPE_CHECKING:
    from jaxscope.magics.session.session import Session

_GUIDE = {
    ("cell", "jaxjit"): "compile the cell as one program, run it, show the report",
    ("line", "jaxjit"): "the same for one call: %jaxjit f(x, y)",
    ("cell", "jaxgrad"): "differentiate the cell's last value: -w w --mode jacrev",
    ("cell", "jaxvmap"): "write the cell for one example, run it for the batch: -i x=0",
    ("cell", "jaxpmap"): "write the cell for one device, run it on several",
    ("cell", "jaxcompose"): "compose transforms: jit | vmap -i x=0 | grad -w w",
    ("line", "jaxprof"): "profile a compiled function by line of Python",
    ("cell", "jaxprof"): "profile a cell as plain Python: the time that each line waits",
    ("cell", "jaxwatch"): "run the cell as usual, show its compilations and their causes",
    ("line", "jaxwatch"): "on or off: a line under each cell that compiles long, or again",
    ("line", "jaxlog"): "all compilations: --by function, --slowest N",
    ("cell", "jaxbench"): "compare NumPy, PyTorch, JAX and others over sizes",
    ("line", "jaxbench"): "the same for expressions: %jaxbench f(x) vs g(x)",
    ("line", "jaxdiff"): "compare a cell's last two runs, or two reports",
    ("line", "jaxtry"): "try the fixes of the last report or log, and measure the gain",
    ("line", "jaxflags"): "time a call under XLA options: %jaxflags f(x)",
    ("line", "jaxcluster"): "many processes: attach, init, guard on, load, status, restart",
    ("cell", "jaxcluster"): "profile a cell on all processes: who made the others wait",
    ("line", "jaxtargets"): "compilers of devices that are not here: install tpu, remove tpu",
    ("line", "jaxdevices"): "devices, memory, measured peaks; --cpu N simulates N devices",
    ("line", "jaxscope"): "this page",
}
_SIMULATED = "The CPU devices are simulated: they share the cores and the memory of this machine."
_SIMULATED_PEAKS = "The peaks are for all of them together."
_HEADINGS = ("device", "kind", "memory", "free", "peak FLOP/s", "peak bytes/s", "measured")


def overview(session: Session, shell: Any) -> None:
    """Show version, devices, state and magics, in a notebook with example cells above them.

    Imports no jax and starts no backend.
    """
    jax = "not imported yet"
    if sys.modules.get("jax") is not None:
        from importlib import metadata  # a tenth of the time to load the extension

        jax = f"{metadata.version('jax')} with jaxlib {metadata.version('jaxlib')}"
    listening = "not yet: starts when jax is imported"
    if session.listening_since is not None:
        listening = f"to compilations, since {session.listening_since:%H:%M:%S}"
    magics = shell.jaxscope_magics
    defaults = [f"{name}={getattr(magics, name)!r}" for name in magics.trait_names(config=True)]
    rows = [
        ("jaxscope", f"{__version__} on Python {sys.version.split()[0]}"),
        ("JAX", jax),
        ("devices", _device_text()),
        ("listening", listening),
        ("defaults", ", ".join(sorted(defaults))),
        ("reports kept", f"{len(session.reports)} of at most {session.reports.maxlen}"),
    ]
    registered = shell.magics_manager.magics
    guide = [
        (f"{'%%' if kind == 'cell' else '%'}{name}", text)
        for (kind, name), text in _GUIDE.items()
        if name in registered[kind]
    ]
    last = "%%jaxjit? lists its options, %config JaxScope the defaults."
    text = f"{_columns(rows)}\n\n{_columns(guide)}\n\n{last}"
    if getattr(shell, "kernel", None) is None:
        print(text)  # noqa: T201
        return
    from IPython.display import display

    from jaxscope.magics.first_steps import page

    display({"text/plain": text, "text/html": page(text)}, raw=True)


def devices(session: Session, line: str) -> None:
    """Print the devices as a table; measures unknown peaks, one device per kind."""
    given = DEVICES.parse_args(line.split())
    require_jax("jaxdevices")
    from jaxscope.capture.devices import devices as found
    from jaxscope.capture.devices import memory
    from jaxscope.capture.timing.peaks import peaks

    if given.cpu is not None:
        try:
            found.simulate_cpu(given.cpu)
        except found.DeviceError as error:
            raise usage_error(str(error)) from None
    rows: list[tuple[str, ...]] = [_HEADINGS]
    measured: set[str] = set()
    for device in found.devices():
        live = found.find(device.name)
        known = session.peaks.get(live)
        # Devices of one kind have the same peaks: each kind is measured once.
        again = given.measure is True and device.kind not in measured
        if again or (known is None and given.measure is not False):
            known = peaks(live, session.peaks, again=again)
            measured.add(device.kind)
        rows.append(
            (
                device.name,
                device.kind,
                size(device.memory),
                size(memory.free_bytes(live)),
                flop_rate(None if known is None else known.flops),
                byte_rate(None if known is None else known.bytes_per_s),
                UNKNOWN if known is None else known.when[:10],
            )
        )
    print(_columns(rows))  # noqa: T201
    if sum(row[1] == "cpu" for row in rows) > 1:
        measured_ones = any(row[1] == "cpu" and row[-1] != UNKNOWN for row in rows)
        print(f"{_SIMULATED} {_SIMULATED_PEAKS}" if measured_ones else _SIMULATED)  # noqa: T201


DEVICES = Parser(
    "jaxdevices",
    "Show the devices, their memory and their measured peaks.",
    ("%jaxdevices [options]",),
)
"""The options of `%jaxdevices`."""
DEVICES.add_argument(
    "--cpu",
    type=number(int, lambda n: n >= 1, "a number of devices, 1 or more"),
    metavar="N",
    help="Simulate N CPU devices; only before JAX starts.",
)
DEVICES.add_argument(
    "--measure",
    action=argparse.BooleanOptionalAction,
    default=None,
    help="Measure the peaks again, or not at all. Default: measure unknown peaks.",
)
DEVICE_EXAMPLES = """
    %jaxdevices                    the table; unknown peaks are measured
    %jaxdevices --no-measure       measure nothing
    %jaxdevices --cpu 8            in a fresh kernel: eight simulated devices
"""


def _device_text() -> str:
    from jaxscope.capture.devices import devices as found

    if sys.modules.get("jax") is None or not found.started():
        return "JAX has not started yet; %jaxdevices starts it and lists its devices"
    return ", ".join(f"{device.name} ({device.kind})" for device in found.devices())


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    """The rows with every column but the last padded to its widest entry."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
