"""Interrupts at random moments of cells in a real kernel, and what was not right after them.

A signal arrives at a moment drawn evenly from the duration of the cell. Afterwards the names and
containers hold what they held before or what plain Python leaves: all of it, and for cells that run
as plain Python also a part of it, after some of the statements. No tracer is anywhere, the profiler
is free, listeners, hooks and settings are as before, and the cell works when it runs again.
"""

from __future__ import annotations

import collections
import json
import queue
import random
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

MOMENTS = 15
"""Per cell."""
_PATIENCE_S = 60.0


class Cell(NamedTuple):
    """A magic's line and the cell below it; `{i}` makes each program a new one."""

    magic: str
    body: str
    in_parts: bool
    """Whether plain Python's own state after some of the statements is right, too."""
    plain: str = ""
    """The statements that leave the same in plain Python, where they are others."""


CELLS = {
    "block form": Cell(
        "%%jaxjit -q -n 20",
        "y = x * {i} + w\nz = {{'a': y + 1, 'b': [y, x]}}\nlast = z['a'] + y",
        in_parts=False,
    ),
    "function form": Cell(
        "%%jaxjit -q -n 20",
        "def step(p, v):\n"
        "    g = jax.grad(lambda p: (p['w'] * v * {i}).sum())(p)\n"
        "    return jax.tree.map(lambda a, b: a - b, p, g)\n"
        "q = step(q, x)\nrows.append(q['w'])\nq = step(q, x)\nrows.append(q['w'])\n"
        "table['last'] = step(q, w)\nlast = 1",
        in_parts=True,
    ),
    "gradient": Cell(
        "%%jaxgrad -q -n 20 -w w",
        "y = x * w * {i}\nlast = (y * y).sum()",
        in_parts=False,
    ),
    "vmap": Cell(
        "%%jaxvmap -q -n 20 -i x=0",
        "y = x * {i} + 1\nlast = y * y",
        in_parts=False,
    ),
    "%%jaxprof": Cell(
        "%%jaxprof -q",
        "y = x * {i}\nstep = jax.jit(lambda v: v * {i} + 1)\n"
        "rows.append(step(y))\nlast = step(rows[0])",
        in_parts=True,
    ),
    "%%jaxwatch": Cell(
        "%%jaxwatch -q",
        "y = jax.jit(lambda v: v * {i} + 1)(x)\nrows.append(y)\n"
        "last = jax.jit(lambda v: v - {i})(y)",
        in_parts=True,
    ),
    "%%jaxbench": Cell(
        "%%jaxbench --time-limit 1",
        "# numpy\nnp.asarray(x) * {i}\n# jax\nx * {i}",
        in_parts=False,
        plain="pass",
    ),
}
SETUP = """
import ast, builtins, copy, gc, json, signal, sys, tempfile
import numpy as np, jax, jax.numpy as jnp, psutil
from jax._src import monitoring
from jax._src.interpreters import batching
x, w = jnp.arange(4.0), jnp.ones(4) * 2

class _Checks:
    names = ("y", "z", "q", "rows", "table", "step", "last", "x", "w")

    def fresh(self, names):
        for name in self.names[:-2]:
            names.pop(name, None)
        names.update(q={"w": x + 1}, rows=[], table={"first": x})

    def shown(self, value):
        if isinstance(value, jax.core.Tracer):
            return "tracer"
        if isinstance(value, (jax.Array, np.ndarray)):
            return [type(value).__name__ == "ndarray", str(value.dtype), np.asarray(value).tolist()]
        if isinstance(value, dict):
            return {key: self.shown(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.shown(one) for one in value]
        return "function" if callable(value) else repr(value)

    def state(self, names):
        return {name: self.shown(names[name]) for name in self.names if name in names}

    def plainly(self, text, names):
        scope = dict(names)
        self.fresh(scope)
        self.states = [self.state(scope)]
        for statement in ast.parse(text).body:
            exec(compile(ast.Module([statement], []), "plain", "exec"), scope)
            self.states.append(self.state(scope))

    def installed(self):
        found = {name: len(getattr(monitoring, name)) for name in dir(monitoring)
                 if name.endswith("_listeners") and isinstance(getattr(monitoring, name), list)}
        found.update({
            "print": repr(builtins.print), "open": repr(builtins.open),
            "isinstance": repr(builtins.isinstance), "import": repr(builtins.__import__),
            "batch": repr(batching.batch), "displayhook": repr(type(sys.displayhook)),
            "out": repr(sys.stdout), "err": repr(sys.stderr),
            "gc": (gc.isenabled(), gc.get_threshold(), len(gc.callbacks)),
            "switch": sys.getswitchinterval(), "signal": repr(signal.getsignal(signal.SIGINT)),
            "trace": repr(sys.gettrace()), "profile": repr(sys.getprofile()),
            "config": repr(sorted(jax.config.values.items(), key=str)),
            "recursion": sys.getrecursionlimit(),
            "children": len(psutil.Process().children()),
        })
        return found

    def wrong(self, names, in_parts):
        found = []
        now = self.state(names)
        right = self.states if in_parts else [self.states[0], self.states[-1]]
        place = next((i for i, one in enumerate(self.states) if one == now), None)
        if now not in right:
            found.append(f"names: {now}")
        kept = [n for n, v in names.items() if isinstance(v, jax.core.Tracer)]
        if kept or "tracer" in repr(now):
            found.append(f"tracers: {kept}")
        hooks = self.installed()
        found += [f"{k}: {v} was {self.before[k]}" for k, v in hooks.items() if v != self.before[k]]
        try:
            with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
                pass
        except Exception as error:
            found.append(f"profiler: {error}")
        last = len(self.states) - 1
        return {"wrong": found, "left": "as before" if place == 0 else
                "all of it" if place == last else "a part"}

_checks = _Checks()
"""


@dataclass
class Shell:
    """A kernel and its replies."""

    owner: Any
    client: Any

    def run(self, code: str) -> tuple[str, str]:
        """The name of the cell's error, and all that it shows as text.

        Raises queue.Empty for a kernel that does not say that it is idle again.
        """
        errors: list[str] = []
        shown: list[str] = []
        asked = self.client.execute(code, store_history=True, allow_stdin=False)
        while True:
            message = self.client.get_iopub_msg(timeout=_PATIENCE_S)
            if message["parent_header"].get("msg_id") != asked:
                continue
            content = message["content"]
            if content.get("execution_state") == "idle":
                return (errors[0] if errors else ""), "\n".join(shown)
            if message["msg_type"] == "error":
                errors.append(content["ename"])
                shown.extend(content["traceback"])
            shown.append(content.get("text", "") or content.get("data", {}).get("text/plain", ""))

    def must(self, code: str) -> str:
        """The text that the cell shows. Raises RuntimeError with its traceback."""
        error, shown = self.run(code)
        if error:
            raise RuntimeError(shown)
        return shown

    def interrupted(self, code: str, after_s: float) -> tuple[str, str]:
        timer = threading.Timer(after_s, self.owner.interrupt_kernel)
        timer.start()
        try:
            return self.run(code)
        finally:
            timer.cancel()
            timer.join()


@contextmanager
def kernel() -> Generator[Shell]:
    """A kernel with jaxscope loaded."""
    from jupyter_client.manager import start_new_kernel

    owner, client = start_new_kernel(kernel_name="python3", startup_timeout=120)
    try:
        made = Shell(owner, client)
        made.must("%load_ext jaxscope")
        made.must(SETUP)
        yield made
    finally:
        client.stop_channels()
        owner.shutdown_kernel(now=True)
        owner.cleanup_resources()


def trials(shell: Shell, name: str, moments: int, seed: int) -> dict[str, Any]:
    """One cell, interrupted at random moments: counts, and what was wrong with their moments."""
    cell = CELLS[name]
    draw = random.Random(f"{name} {seed}")
    found: collections.Counter[str] = collections.Counter()
    problems: list[str] = []
    number = 1

    def code() -> str:
        nonlocal number
        number += 1
        body = cell.body.format(i=number)
        shell.must(f"_checks.plainly({(cell.plain or body)!r}, globals())")
        shell.must("_checks.fresh(globals())")
        return f"{cell.magic}\n{body}"

    for _ in range(2):  # the first imports, and starts what stays
        text = code()
        began = time.perf_counter()
        shell.must(text)
        lasts = time.perf_counter() - began
    shell.must("_checks.before = _checks.installed()")
    for _ in range(moments):
        text, moment = code(), draw.uniform(0, lasts)
        try:
            error, shown = shell.interrupted(text, moment)
        except queue.Empty:  # the kernel was interrupted while it answered
            found["unanswered"] += 1
            error, shown = "", "interrupted"
        print(
            time.strftime("%X"),
            f"{name} at {moment:.3f} of {lasts:.3f} s: {error or 'no error'}",
            file=sys.stderr,
        )
        landed = bool(error) or "interrupted" in shown
        answer = shell.must(f"print(json.dumps(_checks.wrong(globals(), {cell.in_parts})))")
        checked = json.loads(answer.strip().splitlines()[-1])
        wrong = checked["wrong"]
        # XLA makes an error of its own of an exception in JAX's Python callbacks.
        if error not in ("", "KeyboardInterrupt") and "KeyboardInterrupt" not in shown:
            wrong.append(f"error: {shown[-500:]}")
        shell.must("_checks.fresh(globals())")
        again, shown = shell.run(text)
        if again:
            wrong.append(f"the cell again: {shown[-500:]}")
        end = shell.must("_checks.states[-1] == _checks.state(globals())")
        if "True" not in end:
            wrong.append("the cell again leaves something else")
        found["landed" if landed else "missed"] += 1
        found[checked["left"]] += 1
        problems += [f"at {moment:.3f} of {lasts:.3f} s: {one}" for one in wrong]
    return {"moments": moments, **found, "wrong": len(problems), "problems": problems}


def measure(moments: int = MOMENTS, seed: int = 0) -> dict[str, Any]:
    with kernel() as shell:
        cells = {name: trials(shell, name, moments, seed) for name in CELLS}
    wrong = sum(one["wrong"] for one in cells.values())
    return {
        "moments": sum(one["moments"] for one in cells.values()),
        "landed": sum(one.get("landed", 0) for one in cells.values()),
        "wrong": {"count": wrong, "ok": wrong == 0},
        "cells": cells,
    }


if __name__ == "__main__":
    json.dump(measure(*map(int, sys.argv[1:])), sys.stdout, indent=1)
