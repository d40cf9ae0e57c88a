"""One process of a cluster: its setup, joining, and the state of its watch.

These functions run inside the process; ipyparallel or Dask carries their results.
"""

from __future__ import annotations

import ast
import atexit
import inspect
import os
import platform
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from typing import Any, NamedTuple

from jaxscope.analysis.cluster.preflight import SetupFact, setup_facts
from jaxscope.analysis.cluster.status import StateGroup, state_groups
from jaxscope.capture import _jax
from jaxscope.capture._jax import distributed
from jaxscope.capture.cluster.gather import collected_here, gathered_here, stored_here
from jaxscope.capture.cluster.gloo import GlooSilence
from jaxscope.capture.cluster.heartbeat import WAITING, activity, doing_in
from jaxscope.capture.cluster.watch import GUARD_S, ClusterWatch
from jaxscope.capture.source.cell_names import current_shell
from jaxscope.model.cluster import ProcessSetup

HEARTBEAT_S = 30
"""JAX's default is 100 s, for which a process whose peer died goes on hanging."""
_PACKAGES = ("jax", "jaxlib", "jaxscope", "numpy")
_ENVIRONMENT = ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "JAX_PLATFORMS", "PYTHONHASHSEED")
_watch: list[ClusterWatch] = []
_silence = GlooSilence()
_offered: list[socket.socket] = []
POISONED = (
    "A collective was interrupted, so later ones may give wrong values or hang: "
    "%jaxcluster restart, then %jaxcluster init."
)


class ClusterError(RuntimeError):
    """A cluster that cannot be used, as one sentence with the fix."""


def offer(host: str) -> str:
    """`host:port` that answers until `join`, so that every process can try to reach it.

    A process of JAX that cannot reach the coordinator, or waits for one that cannot, is aborted.
    """
    found = socket.create_server(("", 0), backlog=1024)
    _offered.append(found)
    return f"{host}:{found.getsockname()[1]}"


def reach(address: str, seconds: float) -> str:
    """The reason why this process does not reach that address; empty where it does."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), seconds).close()
    except OSError as error:
        return str(error)
    return ""


class BeforeInit(NamedTuple):
    """The facts of a process on which `init` depends."""

    versions: str
    """Of JAX."""
    started: bool
    """Whether JAX has started a backend, which is too late for `join`."""
    host: str


def before_init() -> BeforeInit:
    """These facts of this process, without an import of JAX."""
    versions = f"{_version('jax')} with jaxlib {_version('jaxlib')}"
    return BeforeInit(versions, _jax.backends_started(), socket.gethostname())


def join(
    address: str,
    processes: int,
    process: int,
    devices: int | None,
    timeout_s: int,
    gather: str = "",
) -> ProcessSetup | tuple[SetupFact, ...]:
    """Make this process number `process` of the cluster, and watch it.

    With a name to gather under, the last process answers for all, and the others with nothing.
    """
    import jax

    while _offered:
        _offered.pop().close()
    _silence.start()
    if devices is not None:
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", devices)
    initialize: Any = jax.distributed.initialize
    known = inspect.signature(initialize).parameters
    options = {
        "heartbeat_timeout_seconds": HEARTBEAT_S,
        "initialization_timeout": timeout_s,
    }
    initialize(
        address,
        processes,
        process,
        **{name: value for name, value in options.items() if name in known},
    )
    watch()
    return setup_or_facts(setup(), gather)


def setup_or_facts(mine: ProcessSetup, gather: str) -> ProcessSetup | tuple[SetupFact, ...]:
    """The setup of this process; to gather, the facts of all on the last one, else nothing."""
    setups = gathered_here(gather, mine) if gather else None
    return mine if setups is None else setup_facts(setups)


def watch(*, guard: str = "warn", wait_s: float = GUARD_S) -> None:
    """Compare this process's compilations with those of the others, from now on.

    For a script in which `jax.distributed.initialize` was called; every process calls it alike.

    Raises ClusterError before that call.
    """
    watch_texts(guard, wait_s, distributed.plain_text)


def watch_texts(guard: str, wait_s: float, text_of: Callable[[Any], str]) -> None:
    """`watch` for a caller that has the text of each module already, which takes long to write."""
    if _watch:
        _watch[0].set_guard(guard, wait_s, _watch[0].epoch)
        return
    service = distributed.coordination_service()
    if service is None:
        raise ClusterError(
            "This process is not part of a cluster: call jax.distributed.initialize first."
        )
    shell = current_shell()
    made = ClusterWatch(service, _Printer(shell, service.process), text_of)
    made.mode, made.guard_s = guard, wait_s
    made.start()
    _watch.append(made)
    atexit.register(made.settle)  # runs before JAX leaves the service, as it is registered later
    if shell is not None:
        shell.events.register("post_run_cell", _after_cell)
        shell.ast_transformers.append(_Refusal())


class _Printer:
    """Prints a line of this process, also from a thread while the user's thread hangs."""

    def __init__(self, shell: Any, process: int) -> None:
        self._kernel = getattr(shell, "kernel", None)
        self._tell = getattr(shell, "tell", None)
        self._process = process

    def __call__(self, text: str) -> None:
        line = f"jaxscope, process {self._process}: {text}\n"
        if self._tell is not None:
            self._tell(line)
            return
        if self._kernel is None:
            print(line, end="", file=sys.stderr, flush=True)  # noqa: T201
            return
        # A message of its own: `sys.stderr` is flushed by the main thread.
        kernel = self._kernel
        kernel.session.send(
            kernel.iopub_socket,
            "stream",
            {"name": "stderr", "text": line},
            parent=kernel.get_parent("shell"),
            ident=kernel._topic("stream"),
        )


def _after_cell(result: Any) -> None:
    if not _watch:
        return
    _watch[0].settle()
    if not isinstance(result.error_in_exec, KeyboardInterrupt):
        return
    frames = [frame for frame, _ in traceback.walk_tb(result.error_in_exec.__traceback__)]
    waiting = (state.doing == WAITING for state in _watch[0].heartbeat.states())
    if (frames and doing_in(frames[::-1]) == WAITING) or any(waiting):
        _watch[0].poison()


def poison_if_waiting() -> bool:
    """Whether the user's thread waits in JAX; an interrupt then poisons the cluster."""
    waits = bool(_watch) and activity()[0] == WAITING
    if waits:
        with suppress(Exception):  # the coordinator is gone
            _watch[0].poison()
    return waits


class _Refusal(ast.NodeTransformer):
    """Refuses every cell once a collective was interrupted on any process."""

    def visit(self, node: ast.AST) -> ast.AST:
        if _watch and _watch[0].poisoned():
            from IPython.core.error import InputRejected

            raise InputRejected(POISONED)
        return node


def setup() -> ProcessSetup:
    """The facts that should be equal on all processes; starts JAX's backend."""
    import jax

    local = jax.local_devices()
    facts = {"Python": platform.python_version()}
    facts |= {name: _version(name) for name in _PACKAGES}
    kinds = sorted({device.device_kind for device in local})
    facts["devices"] = f"{len(local)} × {', '.join(kinds)}, {jax.device_count()} in all"
    facts |= {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    settings = distributed.settings()
    facts["cache directory"] = settings.get("jax_compilation_cache_dir", "unknown")
    own = (("host", socket.gethostname()), ("process id", str(os.getpid())))
    return ProcessSetup(jax.process_index(), tuple(facts.items()), tuple(settings.items()), own)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def state(process: int, store: tuple[str, str] | None = None) -> dict[str, Any] | bool:
    """The watch of this process in numbers, for `status`.

    With a name to store it under, and the number of this request, True in its place.
    """
    mine = _state(process)
    if store is not None and mine["watching"]:
        name, request = store
        return stored_here(name, (request, mine)) or mine
    return mine


def states(store: tuple[str, str]) -> tuple[StateGroup, ...]:
    """The states that all processes stored for this request, merged."""
    name, request = store
    return state_groups([one for asked, one in collected_here(name) if asked == request])


def _state(process: int) -> dict[str, Any]:
    if not _watch:
        return {"watching": False, "process": process}
    found = _watch[0]
    found.settle()
    return {
        "watching": True,
        "process": found.process,
        "guard": found.mode,
        "compared": found.compared,
        "divergences": list(found.found),
        "most operations": found.most_operations,
        "seconds": found.seconds,
        "poisoned": found.poisoned(),
    }


def collective_groups() -> dict[tuple[str, str], tuple[tuple[int, ...], ...]]:
    """Devices of each collective compiled so far. Raises ClusterError before `init`.

    None at all while the text of a program has not been read: an order with a gap is a wrong one.
    """
    if not _watch:
        raise ClusterError("This process is not part of a cluster: run %jaxcluster init first.")
    return dict(_watch[0].groups) if _watch[0].settle(GUARD_S) else {}


def set_guard(mode: str, wait_s: float, epoch: str) -> None:
    if not _watch:
        raise ClusterError("This process is not part of a cluster: run %jaxcluster init first.")
    if _watch[0].poisoned():
        raise ClusterError(POISONED)
    _watch[0].set_guard(mode, wait_s, epoch)
