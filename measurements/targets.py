"""Programs for devices that are not there: compiled or not, memory verdicts, links, and the time.

Each part needs a compiler that `jaxscope targets install` downloads; where one is missing, its
targets are left out, and `skipped` says so. Ten whole programs are compiled for every target. Ten
programs at two sizes each, one that fits a TPU v5e and one that does not: the verdict is the
compiler's, the plan is the sum of its buffers, and the line is the one that makes the largest
array, which the program returns. Links are those of computing instructions, against the same
programs on the CPU.
"""

from __future__ import annotations

import collections
import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

import jaxscope
from jaxscope.analysis.targets.names import KINDS, read_target
from jaxscope.capture.targets import environment, workers
from jaxscope.capture.targets.environment import TargetError
from jaxscope.model import Program
from measurements import programs_plain
from measurements.whole_programs import judged

PLAIN = (
    "attention",
    "gradient_of_a_conv_net",
    "gradient_of_an_rnn",
    "mixture_of_experts",
    "fourier_filter",
    "robust_statistics",
    "conjugate_gradients",
    "scan_over_layers",
)
QUICKSTART = ("tpu:v5e", "tpu:v4", "gpu:h100", "gpu:a100")
LINKED = ("tpu:v5e", "gpu:h100")
LIMIT_S = 20.0
POINTS = 0.05
ROUNDS = 3

Made = tuple[Callable[..., Any], tuple[Any, ...]]


def measure() -> dict[str, Any]:
    """Every part for the compilers that are installed."""
    installed = {one.compilers.name for one in environment.environments() if one.installed}
    targets = [name for name in KINDS if read_target(name).environment in installed]
    found: dict[str, Any] = {
        "skipped": [
            f"the {compilers.title} is not installed"
            for name, compilers in environment.COMPILERS.items()
            if name not in installed
        ]
    }
    if not targets:
        return found
    try:
        found["quickstart"] = quickstart([name for name in QUICKSTART if name in targets])
        found["programs"] = programs(targets)
        if "tpu" in installed:
            found["memory"] = memory()
        found["links"] = links([name for name in LINKED if name in targets])
    finally:
        workers.end_all()
    return found


# The time.


def standardize(x):
    mean = x.mean(axis=0)
    std = x.std(axis=0)
    return (x - mean) / std


def quickstart(targets: list[str]) -> dict[str, Any]:
    """Seconds of a table over the targets in a process that starts with it, worst of a few."""
    x = jax.ShapeDtypeStruct((10_000, 10_000), jnp.float32)
    samples: list[float] = []
    for _ in range(ROUNDS):
        workers.end_all()
        began = time.perf_counter()
        jaxscope.compare_targets(standardize, x, targets=targets)
        samples.append(time.perf_counter() - began)
    worst = max(samples)
    return {"targets": len(targets), "seconds": worst, "samples": samples, "ok": worst <= LIMIT_S}


# Whole programs.


def transformer_step(params, tokens):
    def block(x, layer):
        heads = jnp.einsum("btd,dhe->bthe", x, layer["q"])
        scores = jnp.einsum("bthe,bshe->bhts", heads, heads)
        mixed = jnp.einsum("bhts,bshe->bthe", jax.nn.softmax(scores), heads)
        x = x + mixed.reshape(x.shape)
        return x + jax.nn.gelu(x @ layer["up"]) @ layer["down"]

    def loss(params):
        x = params["table"][tokens]
        for layer in params["layers"]:
            x = block(x, layer)
        logp = jax.nn.log_softmax(x @ params["table"].T)
        return -jnp.take_along_axis(logp, tokens[..., None], axis=-1).mean()

    value, gradient = jax.value_and_grad(loss)(params)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)


def sharded_mlp(x, w1, w2):
    h = jnp.tanh(x @ w1)
    y = h @ w2
    return (y**2).mean()


def _transformer() -> Made:
    shape = jax.ShapeDtypeStruct
    layer = {
        "q": shape((64, 4, 16), jnp.float32),
        "up": shape((64, 256), jnp.float32),
        "down": shape((256, 64), jnp.float32),
    }
    params = {"table": shape((512, 64), jnp.float32), "layers": [layer, layer]}
    return transformer_step, (params, shape((4, 32), jnp.int32))


def _sharded() -> Made:
    mesh = jax.sharding.AbstractMesh((2, 2), ("data", "model"))

    def shape(dimensions: tuple[int, ...], *spec: str | None) -> Any:
        placed = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))
        return jax.ShapeDtypeStruct(dimensions, jnp.float32, sharding=placed)

    x = shape((256, 128), "data")
    return sharded_mlp, (x, shape((128, 512), None, "model"), shape((512, 128), "model"))


def ten() -> Mapping[str, Made]:
    """The programs with their arguments."""
    found: dict[str, Made] = {"transformer_step": _transformer(), "sharded_mlp": _sharded()}
    for name in PLAIN:
        function, shapes = programs_plain.PROGRAMS[name]
        found[name] = function, tuple(jax.ShapeDtypeStruct(s, jnp.float32) for s in shapes)
    return found


def for_target(target: str, made: Made) -> Program:
    """The program with all its texts; a mesh of four asks for four devices."""
    function, args = made
    many = function is sharded_mlp
    wide = {"tpu:v5e": ":2x2", "tpu:v6e": ":2x2", "gpu": ":4", "cpu": ":4"}
    end = wide.get(target, wide.get(target.partition(":")[0], "")) if many else ""
    with jaxscope.options(target=target + end):
        return jaxscope.inspect(function, *args).complete().programs[0]


def programs(targets: list[str]) -> dict[str, Any]:
    """Programs that each target's compiler compiled, and the reasons of the others."""
    compiled: collections.Counter[str] = collections.Counter()
    reasons: dict[str, str] = {}
    for name, made in ten().items():
        for target in targets:
            try:
                compiled[target] += for_target(target, made).target is not None
            except TargetError as error:
                reasons[f"{name} for {target}"] = str(error)
    total = len(ten()) * len(targets)
    return {
        "compiled": dict(compiled),
        "not compiled": reasons,
        "compiled or explained": compiled.total() + len(reasons),
        "of": total,
        "ok": compiled.total() + len(reasons) == total,
    }


# Memory.


def scores(n):
    q = jnp.ones((8, n, 64)) * jnp.float32(n)
    s = jnp.einsum("bid,bjd->bij", q, q)  # largest
    return s, s.max()


def one_hot(n):
    labels = jnp.arange(n) % 32768
    hot = jax.nn.one_hot(labels, 32768)  # largest
    return hot, hot.sum(0)


def distances(n):
    points = jnp.sin(jnp.arange(n * 16.0)).reshape(n, 16)
    apart = ((points[:, None] - points[None]) ** 2).sum(-1)  # largest
    return apart, apart.min(1)


def outer(n):
    v = jnp.sin(jnp.arange(float(n)))
    grid = v[:, None] * v[None]  # largest
    return grid, grid.sum(0)


def running_sum(n):
    x = jnp.sin(jnp.arange(n * 1024.0)).reshape(n, 1024)
    total = jnp.cumsum(x, axis=0)  # largest
    return total, total[-1] * 2


def product(n):
    a = jnp.sin(jnp.arange(n * 128.0)).reshape(n, 128)
    square = jnp.tanh(a @ a.T)  # largest
    return square, square.sum(0)


def padded(n):
    x = jnp.sin(jnp.arange(n * 2.0)).reshape(n, 2)
    narrow = jnp.exp(x) + 1  # largest
    return narrow, narrow.sum()


def convolved(n):
    image = jnp.sin(jnp.arange(8.0 * n * n)).reshape(8, n, n, 1)
    kernel = jnp.ones((3, 3, 1, 64))
    maps = jax.lax.conv_general_dilated(  # largest
        image, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return maps, maps.max()


def repeated(n):
    row = jnp.sin(jnp.arange(4096.0))
    rows = jnp.repeat(row[None], n, axis=0) * jnp.arange(float(n))[:, None]  # largest
    return rows, rows.sum(0)


def stacked(n):
    x = jnp.sin(jnp.arange(1024.0 * 1024)).reshape(1024, 1024)
    _, every = jax.lax.scan(lambda c, i: (jnp.cos(c) + i, c), x, jnp.arange(float(n)))  # largest
    return every, every[0].sum()


SIZES: Mapping[Callable[..., Any], tuple[int, int]] = {
    scores: (1024, 32768),
    one_hot: (4096, 262144),
    distances: (4096, 90000),
    outer: (8192, 90000),
    running_sum: (65536, 4194304),
    product: (8192, 90000),
    padded: (65536, 134217728),
    convolved: (128, 4096),
    repeated: (8192, 2097152),
    stacked: (64, 8192),
}
"""A size that fits a TPU v5e, and one that does not."""


def memory(target: str = "tpu:v5e") -> dict[str, Any]:
    """Verdicts, sums of buffers, and lines, against the compiler and the text of the program."""
    counts: collections.Counter[str] = collections.Counter()
    differ: dict[str, str] = {}
    for function, sizes in SIZES.items():
        for size in sizes:
            name = f"{function.__name__} of {size}"
            with jaxscope.options(target=target, static=("n",)):
                report = jaxscope.inspect(function, size)
            found = report.programs[0].target
            assert found is not None
            assert found.needs is not None
            assert found.memory is not None
            counts["programs"] += 1
            refused = "Ran out of memory" in found.verdict
            counts["too large"] += refused
            counts["verdicts that are the compiler's"] += found.fits == (not refused)
            by_plan = found.needs <= found.memory
            counts["verdicts by the sum of the buffers alone"] += by_plan == found.fits
            if by_plan != found.fits:
                differ[name] = f"the buffers need {found.needs} of {found.memory}"
            if refused:
                line, largest = _largest(report), _marked(function, report)
                counts["lines that make the largest array"] += line == largest
                if line != largest:
                    differ[f"{name}, line"] = f"{line}, expected {largest}"
    right = counts["verdicts that are the compiler's"] == counts["programs"]
    return {
        **dict(counts),
        "differ": differ,
        "ok": right and counts["lines that make the largest array"] == counts["too large"],
    }


def _largest(report: jaxscope.Report) -> str:
    """The code of the line that holds most at the peak, as the report says it."""
    target = report.programs[0].target
    assert target is not None
    sizes: collections.Counter[tuple[int, int]] = collections.Counter()
    for one in target.held:
        if one.place is not None:
            sizes[one.place.source, one.place.line] += one.bytes
    if not sizes:
        return ""
    (source, line), _ = sizes.most_common(1)[0]
    return report.sources[source].lines[line - 1].strip()


def _marked(function: Callable[..., Any], report: jaxscope.Report) -> str:
    lines = [line.strip() for source in report.sources for line in source.lines]
    start = next(i for i, line in enumerate(lines) if line.startswith(f"def {function.__name__}("))
    return next(line for line in lines[start:] if "# largest" in line)


# Links.


def links(targets: list[str]) -> dict[str, Any]:
    """Shares of computing instructions by degree, and opcodes that left their only line."""
    rows = {target: _linked(target) for target in ("cpu", *targets)}
    exact = rows["cpu"]["exact"]
    for target in targets:
        row = rows[target]
        row["ok"] = row["exact"] >= exact - POINTS and not row["wrong"]
    return rows


def _linked(target: str) -> dict[str, Any]:
    counts: collections.Counter[str] = collections.Counter()
    lost: dict[str, Any] = {}
    for name, made in ten().items():
        row = judged(for_target(target, made))
        counts.update({key: value for key, value in row.items() if type(value) is int})
        if "lost" in row:
            lost[name] = row["lost"]
    total = counts["instructions"]
    return {
        "instructions": total,
        **{d: counts[d] / total for d in ("exact", "inferred", "one of several", "unlinked")},
        "opcodes of one line": counts["opcodes alone"],
        "wrong": counts["opcodes alone"] - counts["opcodes kept"],
        "left their line": lost,
    }


if __name__ == "__main__":
    parts: dict[str, Callable[[], Any]] = {"memory": memory, "links": lambda: links(list(LINKED))}
    chosen = parts.get(sys.argv[1], measure) if len(sys.argv) > 1 else measure
    jnp.zeros(1)
    json.dump(chosen(), sys.stdout, indent=1)
