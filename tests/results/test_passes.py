"""`report.passes()`: the passes of XLA, and lines followed through them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jaxscope
from jaxscope.analysis.passes.snapshots import plain
from jaxscope.model import Unavailable
from jaxscope.model.compiler.passes import CompilerPass, PassEffect
from jaxscope.results.passes import Passes
from tests.magics.notebook import open_notebook

pytestmark = pytest.mark.jax


def planted(x: Any, w: Any) -> Any:
    third = jnp.sin(x) / 3.0  # division by a constant
    flat = x.T.reshape(-1) * 2.0 + jnp.arange(256.0)  # reshape of a transpose
    cosine = jnp.cos(x)  # common subexpression
    again = jnp.cos(x) * cosine
    vector = w @ x[0]  # matrix times vector
    total = jnp.cumsum(x.reshape(-1))  # reduce-window
    product = x.T @ w.T  # dot of transposes
    same = jnp.tanh(jnp.negative(-w))  # double negative
    power = lax.pow(x, jnp.full((16, 16), 2.0))  # power of two
    root = 1.0 / jnp.sqrt(w)  # reciprocal square root
    half = x.astype(jnp.bfloat16) + w.astype(jnp.bfloat16)  # narrow float
    loop = lax.fori_loop(0, 50, lambda i, c: c * 1.5 + jnp.exp(w), x)  # loop invariant
    once = lax.fori_loop(0, 1, lambda i, c: c * 1.5 + w, x)  # single iteration
    image = lax.conv(x[None, None], w[None, None, :3, :3], (1, 1), "SAME")  # convolution
    rows = x[jnp.array([3, 1])]  # gather
    whole = jnp.concatenate([w[:8], w[8:]]) * 5.0  # slices of all
    spread = jnp.broadcast_to(x[0, 0], (16, 16)).sum()  # constant sum
    soft = jax.nn.softplus(w)  # inlined call
    bits = lax.rng_bit_generator(jnp.zeros(4, jnp.uint32), (4,))[1]  # random bits
    plain_w = lax.log(lax.exp(w)) + 7.25  # logarithm of an exponential
    sigmoid = lax.logistic(x) * 7.75  # fusion of a line
    return (third, flat, again, vector, total, product, same, power, root, half, loop, once,
            image, rows, whole, spread, soft, bits, plain_w, sigmoid)  # fmt: skip


LINES = {
    line.rpartition("# ")[2]: number
    for number, line in enumerate(Path(__file__).read_text("utf-8").split("\n"), 1)
    if "  # " in line and re.match(r"    \w+ = ", line)
}

REWRITES = {
    "division by a constant": ("algsimp", "rewritten", {"divide"}, {"multiply"}),
    "reshape of a transpose": ("reshape-mover", "rewritten", {"reshape"}, {"reshape"}),
    "common subexpression": ("cse", "merged", {"cosine"}, {"cosine"}),
    "matrix times vector": ("gemv-rewriter", "rewritten", {"dot"}, {"reshape", "dot"}),
    "reduce-window": ("reduce-window-rewriter", "rewritten", {"reduce-window"}, {"slice"}),
    "dot of transposes": ("algsimp", "rewritten", {"transpose", "dot"}, {"dot"}),
    "double negative": ("algsimp", "merged", {"negate"}, {"parameter"}),
    "power of two": ("algsimp", "rewritten", {"power"}, {"multiply"}),
    "reciprocal square root": ("algsimp", "rewritten", {"sqrt", "divide"}, {"rsqrt"}),
    "narrow float": ("float-normalization-bf16", "created", set(), {"convert"}),
    "loop invariant": ("while-loop-invariant-code-motion", "moved", {"exponential"}, {"add"}),
    "single iteration": ("simplify-while-loops", "created moved", set(), {"multiply", "add"}),
    "convolution": ("convolution-canonicalization", "rewritten", {"convolution"}, {"transpose"}),
    "gather": ("gather_simplifier", "rewritten", {"gather"}, {"reshape"}),
    "slices of all": ("algsimp", "merged", {"slice", "concatenate"}, {"parameter"}),
    "constant sum": ("algsimp", "rewritten", {"broadcast", "reduce"}, {"multiply"}),
    "random bits": ("rng-bit-generator-expander", "merged", {"rng-bit-generator"}, {"call"}),
    "logarithm of an exponential": ("algsimp", "merged", {"log", "exponential"}, {"parameter"}),
    "fusion of a line": ("fusion", "moved", {"negate", "divide"}, {"negate", "divide"}),
    "inlined call": ("call-inliner", "moved", {"log-plus-one"}, {"log-plus-one"}),
}


@pytest.fixture(scope="module")
def report() -> jaxscope.Report:
    x, w = (jax.random.uniform(jax.random.key(seed), (16, 16)) for seed in (1, 2))
    with jaxscope.options(runs=0):
        return jaxscope.inspect(planted, x, w)


@pytest.fixture(scope="module")
def passes(report: jaxscope.Report) -> Passes:
    found = report.passes()
    assert isinstance(found, Passes), found
    return found


def opcodes(lines: tuple[str, ...]) -> set[str]:
    found = (re.search(r" = (?:\(.*?\)|\S+) ([\w-]+)\(", line) for line in lines)
    return {match[1] for match in found if match}


@pytest.mark.parametrize("subject", REWRITES)
def test_a_planted_rewrite_is_followed_to_its_pass(passes: Passes, subject: str) -> None:
    name, kind, before, after = REWRITES[subject]
    if name not in {p.name for p in passes}:
        assert (name, jax.__version_info__ < (0, 9)) == ("gemv-rewriter", True)
        pytest.skip("this XLA keeps products of a matrix and a vector")
    if subject == "logarithm of an exponential" and jax.__version_info__ >= (0, 11):
        pytest.skip("this XLA keeps log(exp(x))")
    steps = passes.follow(LINES[subject]).data.steps
    assert any(
        change.kind in kind.split()
        and opcodes(change.before) >= before
        and opcodes(change.after) >= after
        for step in steps
        if step.compiler_pass.name == name
        for change in step.changes
    ), [(s.compiler_pass.name, c) for s in steps for c in s.changes]


def test_the_passes_are_in_order_and_each_changed_the_text(passes: Passes) -> None:
    assert [p.number for p in passes] == list(range(1, len(passes) + 1))
    assert len(passes) > 10
    for one in passes:
        before, after = passes.before(one.number), passes.after(one.number)
        assert [plain(x) for x in before.split("\n")] != [plain(x) for x in after.split("\n")]
        assert not re.search(r'op_name="[^"]*eqn_', before)
    assert "divide(" in passes.before(1)
    assert passes.after(3) == passes.before(4)
    for number in (0, len(passes) + 1):
        with pytest.raises(IndexError, match=f"There is no pass {number}"):
            passes.before(number)


def test_the_price_is_named(passes: Passes) -> None:
    assert passes.seconds > 0
    pattern = r"jit\(planted\) · \d+ passes changed the program · compiled once more: .*s \(first: "
    assert re.match(pattern, passes.summary())


def test_one_compilation_serves_all_calls(
    report: jaxscope.Report, passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jaxscope.capture.program import compiled_again

    monkeypatch.setattr(compiled_again, "pass_dump", None)
    again = report.passes()
    assert isinstance(again, Passes)
    assert [*again] == [*passes]


def test_an_instruction_is_followed_back_and_forth(passes: Passes) -> None:
    found = passes.follow(LINES["dot of transposes"]).data
    name = next(line.split()[0] for line in found.first if " dot(" in line)
    way = passes.follow(name).data
    assert way.subject == name
    assert opcodes(way.first) == {"dot"} == opcodes(way.last)
    assert way.steps[0].compiler_pass.name == "algsimp"
    back = passes.follow(way.last[0].split()[0]).data
    assert opcodes(back.first) == {"transpose", "dot"}


def test_a_fusion_is_followed_back_to_what_it_holds(passes: Passes) -> None:
    fusion = re.search(r"%([\w.-]+) = \S+ fusion\(", passes.after(len(passes)))
    assert fusion is not None
    found = passes.follow(fusion[1]).data
    assert found.first
    kinds = {change.kind for step in found.steps for change in step.changes}
    assert PassEffect.MOVED in kinds


def test_all_formats_show_the_same(passes: Passes) -> None:
    found = passes.follow(LINES["division by a constant"])
    assert re.match(r"line \d+ · 3 instructions → \d instructions · \d pass", found.summary())
    for text in (found.to_text(width=200), found.to_markdown(), found.static_html()):
        assert "algsimp (simplification)" in text
        assert "rewritten" in text
        assert re.search(r"- %div\S* = f32\[16,16\]\{1,0\} divide\(", text)
        assert re.search(r"\+ %multiply\S* = f32\[16,16\]\{1,0\} multiply\(", text)
    for text in (passes.to_text(), passes.to_markdown(), passes.static_html()):
        assert "algsimp" in text


def test_what_cannot_be_followed_is_said(passes: Passes) -> None:
    with pytest.raises(LookupError, match="Line 1 has no equation of this program"):
        passes.follow(1)
    with pytest.raises(LookupError, match="No pass has an instruction %nowhere"):
        passes.follow("nowhere")


def test_a_report_without_its_program_says_why(report: jaxscope.Report, tmp_path: Path) -> None:
    report.save(tmp_path / "report.json")
    loaded = jaxscope.load(tmp_path / "report.json")
    assert isinstance(loaded, jaxscope.Report)
    assert loaded.passes() == Unavailable("passes are not saved with a report; run it again")
    x = jnp.ones(4)
    compiled = jaxscope.inspect(jax.jit(jnp.sin).lower(x).compile(), x)
    assert compiled.passes() == Unavailable(
        "the program was compiled before jaxscope saw it, so its passes are unknown"
    )


def test_the_reports_of_magics_have_passes_on_every_run() -> None:
    with open_notebook() as notebook:
        notebook.must("import jax, jax.numpy as jnp\nx = jnp.arange(8.0)")
        for _ in range(2):  # the second run reuses the program
            notebook.must("%%jaxjit -q -n 1 -o r\ny = jnp.sin(x) / 3.0")
            found = notebook.names["r"].passes()
            assert isinstance(found[0], CompilerPass)
            last = found.follow(2).data
            assert opcodes(last.last) >= {"sine", "multiply"}
            assert last.exact
        notebook.must("def f(v):\n    return jnp.cos(v) / 5.0")
        notebook.must("%jaxjit -q -n 1 -o s f(x)")
        assert opcodes(notebook.names["s"].passes().follow(2).data.last) >= {"cosine", "multiply"}


def test_changes_alike_are_shown_once_with_their_number() -> None:
    def unrolled(x: Any) -> Any:
        for i in range(12):
            x = jnp.sin(x @ x) * (x + i)
        return x

    line = unrolled.__code__.co_firstlineno + 2
    with jaxscope.options(runs=0):
        passes = jaxscope.inspect(unrolled, jnp.ones((16, 16))).passes()
    assert isinstance(passes, Passes)
    followed = passes.follow(line)
    assert max(len(step.changes) for step in followed.data.steps) >= 12
    text = followed.to_text()
    assert "others alike" in text
    assert f"… {len(followed.data.first) - 24} more" in text
    assert text.count("\n") < sum(len(step.changes) for step in followed.data.steps) + 80
