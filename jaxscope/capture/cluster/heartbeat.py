"""A thread that notices when the user's thread makes no progress, while it hangs."""

from __future__ import annotations

import threading
import time
import traceback
import types
from collections.abc import Callable, Sequence
from contextlib import suppress

from jaxscope.analysis.cluster.divergence import stalled
from jaxscope.capture import _jax
from jaxscope.capture.cluster.exchange import Store, encoded, process_state
from jaxscope.capture.cluster.place import place_of, user_thread
from jaxscope.capture.source.frames import frame_of
from jaxscope.model.cluster import CodePlace, ProcessState
from jaxscope.version import HOME

COMPILING = "compiling"
PYTHON = "running Python"
WAITING = "waiting in JAX"
_BUILDING = ("/compiler.py", "/mlir.py", "/partial_eval.py")
"""Files of JAX that trace, lower and compile, on jax 0.8.1 to 0.12.0.1. With other names, an
interrupt there poisons the cluster too."""
STALL_S = 3.0
"""A banner is shown after this time without progress."""
_IDLE_CPU_S = 1e-3
"""CPU time between two looks, below which the main thread waits: a hang takes 0.1 to 0.2 ms in
half a second (jax 0.10.2), a loop of short calls more."""
_MANY = 64
"""With more processes the thread looks less often, for the sake of the coordinator."""


class Heartbeat:
    """Publishes the activity of the user's thread when it changes, and reports a stall once."""

    def __init__(
        self,
        store: Store,
        process: int,
        processes: int,
        say: Callable[[str], None],
        stall_s: float = STALL_S,
    ) -> None:
        self._store, self._process, self._say = store, process, say
        self._stall_s = stall_s
        self._every = 0.5 if processes <= _MANY else 5.0
        self._last: ProcessState | None = None
        self._since = time.monotonic()
        self._cpu = 0.0
        self._claimed = False
        self._said = False
        self.state = ProcessState(process, "idle", CodePlace(""))
        """The latest activity."""
        self._thread = threading.Thread(target=self._run, name="jaxscope-heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        while True:
            time.sleep(self._every)
            try:
                self._beat()
            except Exception:
                # The coordinator is gone: JAX itself ends the process, and says so.
                return

    def _beat(self) -> None:
        now = time.monotonic()
        doing, place = activity()
        busy = _cpu_seconds() - self._cpu > _IDLE_CPU_S
        self._cpu = _cpu_seconds()
        if busy or (doing, place) != (self.state.doing, self.state.place):
            self._since, self._said = now, False
            if self._claimed:
                self._claimed = False
                self._store.remove("jaxscope/stalled")
        waits = doing in (WAITING, COMPILING)
        stuck = waits and now - self._since >= self._stall_s
        self.state = ProcessState(self._process, doing, place, stuck)
        if self.state != self._last:
            self._store.put(f"jaxscope/at/{self._process}", encoded(self.state))
            self._last = self.state
        if stuck and not self._said:
            self._said = True
            self._claimed = self._store.add("jaxscope/stalled", str(self._process))
            if self._claimed:
                self._say(stalled(self.states(), now - self._since))

    def states(self) -> Sequence[ProcessState]:
        """The latest activity of every process that published one."""
        found = [process_state(value) for value in self._store.folder("jaxscope/at/")]
        return sorted([state for state in found if state is not None], key=lambda s: s.process)


def activity() -> tuple[str, CodePlace]:
    """The present activity of the user's thread, and the user's line."""
    frame = frame_of(user_thread())
    if frame is None:
        return "idle", CodePlace("")
    place = place_of(frame)
    if not place.where:
        return "idle", place
    doing = doing_in([found for found, _ in traceback.walk_stack(frame)])
    if doing == PYTHON and "block_until_ready" in place.text:  # the method has no frame of its own
        doing = WAITING
    return doing, place


def doing_in(stack: Sequence[types.FrameType]) -> str:
    """The activity of a thread with these frames, the innermost first."""
    files = [frame.f_code.co_filename for frame in stack]
    file = files[0]
    with suppress(Exception):  # jax is not imported yet
        home = _jax.jax_directory()
        if file.startswith(home):
            building = any(f.startswith(home) and f.endswith(_BUILDING) for f in files)
            return COMPILING if building else WAITING
    return "waiting for the other processes" if file.startswith(HOME) else PYTHON


def _cpu_seconds() -> float:
    """CPU time of the user's thread; 0 where the platform does not tell it."""
    clock = getattr(time, "pthread_getcpuclockid", None)
    return 0.0 if clock is None else time.clock_gettime(clock(user_thread()))
