"""Every experiment that people come with is shown in a saved demo: the row, the cell, what it says.

A row is what somebody reads about JAX and wants to see.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import nbformat
import pytest

from tests.paths import ROOT


@dataclass(frozen=True, slots=True)
class Sight:
    """A cell of a demo, and expressions that its saved output has, line breaks being spaces."""

    demo: int
    cell: str
    """A part of the cell's code that no other cell of the demo has."""
    seen: tuple[str, ...]


def at(demo: int, cell: str, *seen: str) -> Sight:
    return Sight(demo, cell, seen)


COMPILATION = {
    "every rung of the ladder under a SELU, linked line to line": (
        at(1, "found = selu.stage_lines(kind, 2)", *(f"──── {kind}: \\d+ of \\d+ lines, exact"
           for kind in ("jaxpr", "stablehlo", "hlo", "optimized_hlo"))),
        at(7, 'climb("llvm_optimized", 2, most=8)', "llvm: [1-9]", "llvm_optimized: [1-9]"),
        at(7, 'report.stage("asm").text', " push "),
    ),
    "the equations of a SELU's gradient, forward and backward": (
        at(4, "for phase in (", r"forward: 9 equations.* exp", r"backward: 10 equations"),
    ),
    "a jitted function that prints at its first call only": (
        at(4, "shouting = jax.jit(shout)", "tracing", "1 compile in", "first call with x"),
        at(4, "%%jaxjit --decorate\ndef shout", "line 3 `print` runs only while `shout` is traced"),
    ),
    "a method with a static self that counts 0, 1, 1": (
        at(4, "other = Counter()", "^0 1 1 ", "1 recompile", "self is a different object", "→ "),
    ),
    "when XLA recompiles, and what a dictionary of shapes leaves out": (
        at(4, "-o reasons", "The shape of x", "The dtype of x", "weakly", "static argument n",
           "pytree structure", "committed", "default_matmul_precision", "15 compiles"),
        at(4, "n=[1, 2]", "Non-hashable static arguments", "Nothing was compiled"),
    ),
    "value-dependent Python cannot be compiled: the line and the fix": (
        at(4, "def attempt(cell", "Line 2: `limit` is traced", "jnp.where", "size=",
           "-s count", "NonConcreteBooleanIndexError"),
    ),
    "a Python loop traced many times: equations by line, compile time by length": (
        at(4, "def unrolled(x, n)", r"unrolled \d+ \d+ \d{3}"),
        at(4, "passes = 100\ny = ones\nfor _ in range(passes):\n    y = jnp.sin(y) * 1.01",
           "unrolled into 100 copies"),
    ),
    "the sum of a range, by everyone, and what the compilers make of the loop": (
        at(5, "-o sums", "a Python loop", "the formula", "JAX eager", "TorchScript|torchscript",
           r"C cpu:0 int64 [\d.]+ ns", "clang version", "J102"),
        at(5, "beside(sums", "610.00", "89.40", "29.60", "0.17", "31.20", "36.20"),
        at(5, 'split("ENTRY")', r"constant\(1249975000\)"),
        at(5, "def of_xla", r"define .* i64 @total\(i64", "lshr", "while.0.body"),
    ),
}  # fmt: skip

SPEED = {
    "(x − mean) / std: one precision, temporaries, fusions": (
        at(1, '"reported elsewhere', "410 ms", "218 ms"),
        at(5, "-o standardized", "NumPy", "float32", "JAX jit", "peak memory"),
        at(5, "whole = [e for e", "with jit: [1-9] fusions, 0.0 MB"),
    ),
    "TensorFlow, eager and under tf.function, and torch.compile": (
        at(5, "-o standardized", *(rf"{name} cpu:0 float32 [\d.]+ ms"
           for name in ("TensorFlow", r"tf\.function"))),
        at(5, "-o compiled", *(rf"{name} cpu:0 float32 [\d.]+ [mµ]s"
           for name in ("JAX jit", r"tf\.function", r"torch\.compile"))),
        at(5, "-o radii", *(rf"{name} cpu:0 float32 [\d.]+ [mµ]s"
           for name in ("TensorFlow", r"tf\.function"))),
    ),
    "100 × 100 normal random numbers: dispatch and device time": (
        at(5, "-o numbers", "JAX eager", "PyTorch", "dispatch device time"),
        at(5, "beside(numbers", "205.4", "155.2", "120.6", "50.2"),
    ),
    "spectral radii of 128 matrices: loops and maps": (
        at(5, "-o radii", "JAX eager: loop", "JAX jit: vmap", "TorchScript", "pays off after"),
        at(5, '"vmap": len(jax.make_jaxpr', "loop 641 vmap 3"),
    ),
    "compute-bound or memory-bound, transfers, the bottleneck by line": (
        at(1, "step.roofline.verdict", "GFLOP/s is", "(?:FLOP|GB)/"),
        at(6, "%jaxprof -o before", r"Line 5 takes .* of a .* call", "→ Use `jax.lax.top_k"),
        at(5, "-o softmax", "transfer"),
    ),
}  # fmt: skip

DIFFERENTIATION = {
    "f′(1) = 4, three orders, two arguments, value, aux, and the growth of the jaxpr": (
        at(2, "t**3 + 2 * t**2", r"Array\(4\."),
        at(2, "-o ladder", "4.0 4 7", "12.0 12 14", "24.0 24 24"),
        at(2, "%%jaxgrad -q -w t,s", "2.7725887", r"Array\(4\."),
        at(2, "--value --has-aux", "cube"),
    ),
    "jvp, vjp, hessian, and which mode is cheaper for the shape": (
        at(2, "--mode jvp", r"Array\(4\."),
        at(2, "--mode vjp", r"\[4., 1.\]"),
        at(2, "--mode hessian", r"\[4., 2.\]"),
        at(2, "((8, 2000), (2000, 8))", "jacfwd", "jacrev", "FLOPs"),
    ),
    "the gradient of a spectral radius, the conjugate of PyTorch's": (
        at(2, "--x64 -w mixed", "the conjugate of PyTorch's"),
        at(5, "-o gradients", "differ by complex conjugation", r"torch\.func cpu:0 complex64",
           "TensorFlow cpu:0 complex64"),
        at(5, "for row in gradients.rows", *(f"{name} The result is the complex conjugate"
           for name in ("torch", "torch-func", "tensorflow"))),
    ),
    "√2 in float32 and in float64": (
        at(2, "root = jnp.sqrt(two)", "1.41421354 float32", "1.41421356 float64"),
        at(5, "--dtype keep", "float64", "float32", "J202"),
    ),
    "per-example gradients: axes, batched equations, FLOPs against the loop": (
        at(2, "-o each", r"jit\(vmap\(value_and_grad\(cell\)\)\)", "Batching"),
        at(2, "one = %jaxgrad", "64 calls", "one call under vmap", "FLOPs"),
    ),
}  # fmt: skip

PARALLEL = {
    "a matrix product from dot products: vdot, vmap, vmap, pmap": (
        at(3, "%%jaxvmap -i b=0", r"jit\(vmap\(cell\)\)"),
        at(3, "-o batched vmap", r"jit\(vmap\(vmap\(cell\)\)\)"),
        at(3, "-o spread pmap", r"pmap\(vmap\(cell\)\) · 8 devices"),
    ),
    "psum over devices": (
        at(3, "-o summed", r"8\., 8\."),
        at(3, "summed.to_dataframe", "all-reduce", r"\(i,\)", r"\(0, 1, 2, 3, 4, 5, 6, 7\)"),
    ),
    "psum over 32 devices of 4 hosts": (
        at(3, "-o everywhere", r"4 of 4 same", "32 devices", r"over i, devices \{0…31\}"),
        at(3, "jax.process_count()", r"32 devices of 4 processes: \[32\.0, 32\.0"),
        at(3, "everywhere.report", "all-reduce", r"\(i,\)", r"\(0, 1, 2"),
    ),
    "an MLP, four by two: shardings, inserted collectives, bytes on each device": (
        at(3, "-d w1,b1,w2,b2 -o sharded", "8 devices"),
        at(3, "sharded.to_dataframe", "partial_sum", r"\(model,\)", r"\(data,\)"),
        at(3, "def per_device", "inputs, per device"),
    ),
    "an MLP learns the spectral radius on one device and on two": (
        at(3, "def result(report", "7.87 s", "7.31 s", r"compiles of the step 1 1"),
        at(3, "--profile -o by_line", "on line 2"),
        at(3, "talk = two_devices", "all-reduce", "psum"),
    ),
    "several processes: each one's programs, and whether they are the same": (
        at(8, "%%jaxjit --engines all", "Cluster · 2 processes · programs: 2 of 2 same"),
        at(8, "%%jaxcluster profile", "process 1 made the others wait"),
    ),
}

_STEP = r" 1 \d+ \d+ [\d.]+ \d+ \S"
ECOSYSTEM = {
    **{
        f"a training step with {name}": (
            at(9, "table = {}", f"{row}{_STEP}"),
            *again,
        )
        for name, row, again in (
            ("Flax linen and Optax", "flax_linen", (at(9, "found = []", "flax_linen 2 .* shape"),)),
            ("Haiku", "haiku", (at(9, "found = []", "haiku 2 .* shape"),)),
            ("Equinox", "equinox", (at(9, "found = []", "equinox 2 .* shape"),)),
            ("stax and optimizers", "stax_and_optimizers", ()),
            ("Jraph", "jraph", ()),
            ("RLax", "rlax", (at(9, "found = []", "rlax 2 .* shape"),)),
        )
    },
    "a training step with Flax NNX": (
        at(9, "-o nnx_step", "model.first.kernel", "FLOPs +bwd"),
        at(9, "loss after three more steps", "0 compiles"),
    ),
    "Chex: at most one trace": (
        at(9, "chex.assert_max_traces", "traced > 1 times", "jaxscope: The shape of `x` changed"),
    ),
    "Orbax: restore, then step": (
        at(9, "StandardCheckpointer", "the same numbers: True", "1 recompile", "committed"),
    ),
    "the benchmark takes HIPS autograd, Numba, TensorFlow, CuPy and MLX, each when installed": (
        at(9, "-o gradients", "HIPS autograd cpu:0 float32", "MLX", "not run CuPy: CuPy is not"),
        at(9, "-o falls", "Numba cpu:0", "NumPy cpu:0"),
    ),
    "in-place update → .at[].set": (
        at(10, 'attempt("rows[0]', r"rows = rows.at\[0\].set\(10.0\)", "-1.0"),
        at(10, "-o in_place", "0 FLOP"),
    ),
    "state → carried value": (
        at(10, 'calls = {"n": 0}', "changes `calls` in place", "counted: 3"),
        at(10, "def counted(state, x)", r"jit\(counted\)"),
    ),
    "auxiliary outputs → returned": (
        at(10, "%%jaxjit --decorate\ndef layer", "`seen` is mutated only while", "has_aux=True"),
        at(10, "--value --has-aux", r"value_and_grad\(cell\)"),
    ),
    "np.random → keys": (
        at(10, "np.random.default_rng().normal", "every call uses the same numbers",
           "jax.random.normal"),
        at(10, "first, second = jax.random.split", r"jit\(noisy\)"),
        at(10, "biases = jax.random.normal(key", "This key was used before"),
    ),
}  # fmt: skip

ROWS = {**COMPILATION, **SPEED, **DIFFERENTIATION, **PARALLEL, **ECOSYSTEM}


@functools.cache
def cells(demo: int) -> tuple[tuple[str, str], ...]:
    """Code and output of a demo's cells, in one line."""
    (path,) = (ROOT / "demos").glob(f"{demo:02}_*.ipynb")
    return tuple(
        (cell.source, said(cell))
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code"
    )


def said(cell: nbformat.NotebookNode) -> str:
    texts = [
        output.get("text", output.get("data", {}).get("text/plain", "")) for output in cell.outputs
    ]
    return re.sub(r"\n?[\n ]+", " ", "\n".join(texts))


def unseen(sight: Sight) -> list[str]:
    """What is missing, in words."""
    found = [text for code, text in cells(sight.demo) if sight.cell in code]
    if len(found) != 1:
        return [f"{len(found)} cells of demo {sight.demo} have {sight.cell!r}"]
    return [
        f"demo {sight.demo}, {sight.cell!r} does not show {one!r}"
        for one in sight.seen
        if not re.search(one, found[0])
    ]


@pytest.mark.parametrize("row", ROWS)
def test_an_experiment_is_shown(row: str) -> None:
    assert ROWS[row]
    assert [missing for sight in ROWS[row] for missing in unseen(sight)] == []


def test_an_experiment_that_is_gone_is_noticed() -> None:
    assert unseen(at(4, "no such cell")) == ["0 cells of demo 4 have 'no such cell'"]
    assert unseen(at(4, "-o reasons", "no such reason")) == [
        "demo 4, '-o reasons' does not show 'no such reason'"
    ]
