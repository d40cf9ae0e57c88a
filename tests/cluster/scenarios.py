"""Differences between two processes, as cells on both, and what is to be said about each.

`p` is the number of the process and `x` an array over all four devices. The guard is on. Played by
`tests/cluster/test_cluster.py` and `measurements/cluster_scenarios.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from jaxscope.model.cluster import DivergenceKind
from tests.magics.notebook import Notebook

SETUP = """
import os, time, threading
watchdog = threading.Timer({life_s}, os._exit, (1,))
watchdog.daemon = True
watchdog.start()
import jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec
p = jax.process_index()
mesh = jax.make_mesh((4,), ("d",))
sharding = NamedSharding(mesh, PartitionSpec("d"))
def ones(n, m=8, dtype="f", sharding=sharding):
    fill = lambda i: np.ones((n, m), dtype)[i]
    return jax.make_array_from_callback((n, m), sharding, fill)
def devices():
    return [d for d in jax.devices() if d.id % 2048 == 0]
x = ones(8)
"""
WORDS = {
    DivergenceKind.SHAPES: "for different sha",
    DivergenceKind.CONSTANTS: "with different constants",
    DivergenceKind.BRANCH: "a Python branch differs",
    DivergenceKind.FLAGS: "with different flags",
    DivergenceKind.ORDER: "the order of calls differs",
    DivergenceKind.MISSING: "1 of 2 processes reached the compilation",
    DivergenceKind.COLLECTIVES: "exchanges data differently",
}
"""The part of a message that tells its kind."""


BOTH = (0, 1)
GUARD = "%jaxcluster guard on"
BRIEF = "%jaxcluster guard on --wait 3"
"""For a process that does not come at all."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One difference between processes."""

    code: str
    kind: DivergenceKind | None
    """None where both do the same."""
    lines: tuple[int, int] = (1, 1)
    """The line of the code on each process, counted from 1."""
    runs: tuple[int, ...] = ()
    """Processes on which the cell runs to its end."""
    words: str = ""
    """Said besides."""
    last_line: bool = True
    """Whether the line of process 1 is known: it is not where it runs no code."""


K = DivergenceKind
SCENARIOS = {
    "equal": Scenario("float(jax.jit(lambda x: (x * 2).sum())(x))", None, runs=BOTH),
    "x64 for a program of float32": Scenario(
        "with jax.enable_x64(bool(p)):\n    jax.jit(lambda x: -x)(x).block_until_ready()",
        None,
        runs=BOTH,
    ),
    "argument shape": Scenario(
        "y = ones(16 * (1 + p))\nfloat(jax.jit(lambda x: x.sum())(y))",
        K.SHAPES,
        (2, 2),
        words="(f32[16,8]) on 0, (f32[32,8]) on 1",
    ),
    "argument shape, collective of one size": Scenario(
        "float(jax.jit(lambda x: x.sum())(ones(8, 8 * (1 + p))))", K.SHAPES
    ),
    "argument type": Scenario(
        "jax.jit(lambda x: x + x)(ones(8, 8, 'fi'[p])).block_until_ready()", K.SHAPES
    ),
    "argument sharding": Scenario(
        "s = NamedSharding(mesh, PartitionSpec(*((None, 'd') if p else ('d',))))\n"
        "float(jax.jit(lambda x: x.sum())(ones(8, sharding=s)))",
        K.SHAPES,
        (2, 2),
        words="for different shardings of (f32[8,8])",
    ),
    "result sharding": Scenario(
        "s = NamedSharding(mesh, PartitionSpec() if p else PartitionSpec('d'))\n"
        "jax.jit(lambda x: x * 3, out_shardings=s)(x).block_until_ready()",
        K.SHAPES,
        (2, 2),
        words="for different shardings of the results",
    ),
    "shapes, compiled only": Scenario(
        "jax.jit(lambda x: x.sum()).lower(ones(8 * (1 + p))).compile()", K.SHAPES
    ),
    "mesh of some devices": Scenario(
        "few = jax.sharding.Mesh(np.array(devices()), ('d',))\n"
        "y = ones(8, sharding=NamedSharding(few, PartitionSpec('d')))\n"
        "float(jax.jit(lambda x: x.sum() * (2 + p))(y))",
        K.CONSTANTS,
        (3, 3),
    ),
    "constant by process": Scenario(
        "float(jax.jit(lambda x: x.sum() * (3 if p else 2))(x))", K.CONSTANTS
    ),
    "NumPy array without a seed": Scenario(
        "noise = np.random.default_rng().normal(size=(8, 8)).astype('f')\n"
        "float(jax.jit(lambda x: (x + noise).sum())(x))",
        K.CONSTANTS,
        (2, 2),
    ),
    "rate of a training step": Scenario(
        "rate = 0.1 if p else 0.5\n"
        "loss = lambda w, x: ((x @ w) ** 2).mean()\n"
        "def step(w, x):\n"
        "    return jax.tree.map(lambda w, g: w - rate * g, w, jax.grad(loss)(w, x))\n"
        "w = jax.device_put(np.ones((8, 1), 'f'), NamedSharding(mesh, PartitionSpec()))\n"
        "w = jax.jit(step)(w, x)",
        K.CONSTANTS,
        (6, 6),
    ),
    "psum or pmax": Scenario(
        "over = jax.lax.pmax if p else jax.lax.psum\n"
        "f = lambda x: over(x.sum(), 'd')\n"
        "whole = jax.shard_map(f, mesh=mesh, in_specs=PartitionSpec('d'), "
        "out_specs=PartitionSpec())\n"
        "float(jax.jit(whole)(x))",
        K.BRANCH,
        (4, 4),
    ),
    "one more collective": Scenario(
        "float(jax.jit(lambda x: x.sum() + (0 if p else x.max()))(x))", K.BRANCH
    ),
    "no collective": Scenario(
        "jax.jit(lambda x: x * 2 if p else x - x.sum())(x).block_until_ready()", K.BRANCH
    ),
    "static argument": Scenario(
        "def power(x, n):\n"
        "    for _ in range(n): x = x * x\n"
        "    return x.sum()\n"
        "float(jax.jit(power, static_argnums=1)(x, 2 + p))",
        K.BRANCH,
        (4, 4),
        words="`stablehlo.multiply`",
    ),
    "donated argument": Scenario(
        "jax.jit(lambda x: x * 2, donate_argnums=(0,) if p else ())(ones(8)).block_until_ready()",
        K.BRANCH,
        words="different donations of its arguments",
    ),
    "order of calls": Scenario(
        "def a(x): return x.sum() + 1\n"
        "def b(x): return x.max() + 1\n"
        "for h in (b, a) if p else (a, b): float(jax.jit(h)(x))",
        K.ORDER,
        (3, 3),
    ),
    "two lines, one for each process": Scenario(
        "if p:\n    float(jax.jit(lambda x: x.min())(x))\n"
        "else:\n    float(jax.jit(lambda x: x.max())(x))",
        K.BRANCH,
        (4, 2),
    ),
    "call on one process": Scenario(
        "if p == 0: float(jax.jit(lambda x: x.sum() + 11)(x))",
        K.MISSING,
        runs=(1,),
        last_line=False,
    ),
    "call on one process while the other works": Scenario(
        "if p == 0:\n    float(jax.jit(lambda x: x.sum() + 12)(x))\nelse:\n    time.sleep(5)",
        K.MISSING,
        (2, 4),
        words="running Python",
        runs=(1,),
    ),
    "error before the call": Scenario(
        "if p: raise ValueError('no data')\nfloat(jax.jit(lambda x: x.sum() + 13)(x))",
        K.MISSING,
        (2, 1),
        words="process 1: ValueError: no data",
        last_line=False,
    ),
    "error in the traced function": Scenario(
        "def f(x):\n    return x.sum() + 14 / (1 - p)\nfloat(jax.jit(f)(x))",
        K.MISSING,
        (3, 3),
        words="process 1: ZeroDivisionError",
        last_line=False,
    ),
    "flags": Scenario(
        "options = {'xla_cpu_enable_fast_math': True} if p else None\n"
        "float(jax.jit(lambda x: x.sum() + 15, compiler_options=options)(x))",
        K.FLAGS,
        (2, 2),
        runs=BOTH,
    ),
    "flags that change the collectives": Scenario(
        "options = {'xla_disable_hlo_passes': 'algsimp'} if p else None\n"
        "f = lambda x: jax.numpy.where(\n"
        "    jax.numpy.ones(()) > 0, jax.lax.psum(x.sum(), 'd'), jax.lax.psum(x.max(), 'd'))\n"
        "whole = jax.shard_map(f, mesh=mesh, in_specs=PartitionSpec('d'), "
        "out_specs=PartitionSpec())\n"
        "float(jax.jit(whole, compiler_options=options)(x))",
        K.COLLECTIVES,
        (5, 5),
    ),
}


@dataclass(frozen=True, slots=True)
class Played:
    """A scenario as it was seen."""

    text: str
    named: bool
    """Whether kind, both lines and the further words are as expected."""
    stopped: bool
    """Whether the cell ran exactly where it should."""
    goes_on: bool
    """Whether the next cell works on both."""

    @property
    def right(self) -> bool:
        return self.named and self.stopped and self.goes_on


def px(notebook: Notebook, code: str) -> str:
    """Everything that a cell on both engines prints, errors included."""
    ran = notebook.run(f"%%jaxcluster run\n{code}")
    return f"{ran.printed}\n{ran.message}" if ran.error is not None else ran.printed


def play(notebook: Notebook, scenario: Scenario) -> Played:
    """Run a scenario with the guard on, and a cell after it."""
    if scenario.kind is K.MISSING:
        notebook.must(BRIEF)
    text = px(notebook, f"{scenario.code}\nprint('to its end')")
    if scenario.kind is K.MISSING:
        notebook.must(GUARD)
    after = px(notebook, "print(float(jax.jit(lambda x: x.sum() + 8)(x)))")
    return Played(
        text,
        _named(text, scenario),
        _ran(text) == scenario.runs,
        after.strip() == "72.0",
    )


def _ran(text: str) -> tuple[int, ...]:
    found = re.search(r"(?:\[process (\d)\] )?to its end", text)
    return () if found is None else BOTH if found[1] is None else (int(found[1]),)


def _named(text: str, scenario: Scenario) -> bool:
    kinds = {kind for kind, words in WORDS.items() if words in text}
    if scenario.kind is None:
        return not kinds and "jaxscope" not in text
    expected = {scenario.kind, K.FLAGS} if scenario.kind is K.COLLECTIVES else {scenario.kind}
    if kinds != expected or scenario.words not in text:
        return False
    first, other = scenario.lines  # the line of the magic comes before the code
    here = rf"(?:process 0|called) at In \[\d+\]:{first + 1} "
    there = rf"process 1 (?:is [\w ]+ )?at In \[\d+\]:{other + 1} "
    return all(re.search(found, text) for found in (here, there)[: 1 + scenario.last_line])
