"""The stages below HLO: the thunks, the LLVM IR and the machine code of real programs."""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.capture.program import compiled_again, stages
from jaxscope.model import StageKind, Unavailable
from jaxscope.results.report import Report
from tests.capture.program.programs import rnn_scan
from tests.magics.notebook import open_notebook
from tests.private_names import break_private

pytestmark = pytest.mark.jax
BELOW = [k for k in StageKind if k.on_request and "cpu" in (k.platforms or ("cpu",))]


def loss(x: Any) -> Any:
    kept = jnp.where(x > 0, x, 1.7 * jnp.exp(x) - 1.7)
    return kept.sum()


@pytest.fixture(scope="module")
def report() -> Report:
    return jaxscope.inspect(jax.value_and_grad(loss), jnp.ones(1000))


@pytest.fixture(scope="module")
def scanned() -> Report:
    function, arguments = rnn_scan()
    return jaxscope.inspect(function, *arguments)


def plan(report: Report) -> list[Any]:
    (source,) = report._texts
    assert isinstance(source, stages.Handles)
    below = source.below()
    assert not isinstance(below, Unavailable), below
    return list(below.executable.thunks)


@pytest.mark.parametrize("kind", BELOW)
def test_each_stage_leads_to_its_line_and_back(report: Report, kind: StageKind) -> None:
    stage = report.stage(kind)
    assert stage.unavailable is None
    line = next(
        span.line
        for equation in report.equations
        if equation.primitive == "exp" and (span := equation.span)
    )
    found = report.stage_lines(kind, line)
    assert found.lines
    assert found.exact
    assert all(line in report.source_lines(kind, one).lines for one in found.lines[:20])


def test_the_kernels_are_those_of_the_plan_in_its_order(scanned: Report) -> None:
    thunks = plan(scanned)
    named = list(dict.fromkeys(thunk.kernel for thunk in thunks if thunk.kernel))
    asm = scanned.stage("asm").text.split("\n")
    assert [line.removesuffix(":") for line in asm if line.endswith(":")] == named
    for kind in (StageKind.LLVM, StageKind.LLVM_OPTIMIZED):
        text = scanned.stage(kind).text
        assert all(f"@{name}(" in text or f'@"{name}"(' in text for name in named), kind
    kernels = scanned.kernels()
    assert kernels
    users = {
        name: tuple(dict.fromkeys(t.instruction for t in thunks if t.kernel == name))
        for name in named
    }
    assert {kernel.name: kernel.instructions for kernel in kernels} == users
    # Instructions that are the same share one.
    assert any(len(several) > 1 for several in users.values())
    known = scanned.stage("optimized_hlo").text
    assert all(f"%{thunk.instruction} = " in known for thunk in thunks)
    lines = scanned.stage("thunks").text
    assert "\n  condition\n" in lines
    assert "\n  body\n" in lines


def test_kernels_have_their_figures(report: Report) -> None:
    kernels = report.kernels()
    assert kernels
    code = dict(_functions(report.stage("asm").text))
    for kernel in kernels:
        widest = {512: "zmm", 256: "ymm"}.get(kernel.vector_bits or 0)
        assert widest is None or widest in code[kernel.name]
        assert kernel.bytes > 0
        assert kernel.lines


def _functions(text: str) -> list[tuple[str, str]]:
    blocks = (block.partition(":\n") for block in text.split("\n\n"))
    return [(head.rpartition("\n")[2], body) for head, _, body in blocks]


def test_libraries_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    thunks = jaxscope.inspect(jnp.linalg.cholesky, jnp.eye(4)).stage("thunks").text
    assert "lapack_spotrf_ffi: runs in the LAPACK library, there is no IR" in thunks
    # Where there is no kernel, nothing is compiled to find that out.
    monkeypatch.setattr(compiled_again, "llvm_dump", None)
    called = jaxscope.inspect(jnp.fft.fft, jnp.ones(8, jnp.complex64))
    assert "runs in the DUCC library" in called.stage("thunks").text
    for kind in (StageKind.LLVM, StageKind.LLVM_OPTIMIZED, StageKind.ASM):
        assert called.stage(kind).unavailable == Unavailable(
            "the program has no kernel of its own: it runs in the DUCC library"
        )


def test_nothing_compiles_until_the_llvm_ir_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    mine = jaxscope.inspect(lambda x: jnp.sin(x) * 2, jnp.ones(8))
    real, dumped = compiled_again.llvm_dump, list[Any]()
    monkeypatch.setattr(compiled_again, "llvm_dump", lambda *few: dumped.append(few) or real(*few))
    mine.save(tmp_path / "before.json")
    assert mine.stage("thunks").text
    assert mine.stage("asm").text
    assert not dumped
    assert mine.stage("llvm").text
    assert mine.stage("llvm_optimized").text
    assert len(dumped) == 1
    mine.save(tmp_path / "after.json")
    before, after = (jaxscope.load(tmp_path / f"{n}.json") for n in ("before", "after"))
    assert "not saved" in before.stage("asm").unavailable.reason
    assert after.stage("asm").text == mine.stage("asm").text
    assert after.stage_lines("llvm", 1) == mine.stage_lines("llvm", 1)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = jaxscope.inspect(lambda x: jnp.cos(x) * 2, jnp.ones(8))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "capstone", None)
        stage = mine.stage("asm")
        assert stage.unavailable == Unavailable(
            "machine code needs capstone: `pip install jaxscope[asm]`"
        )
    with monkeypatch.context() as patch:
        mine = jaxscope.inspect(lambda x: jnp.cos(x) * 3, jnp.ones(8))
        break_private(patch, "serialized", lambda _: b"\x00nothing")
        stage = mine.stage("thunks")
        assert stage.unavailable is not None
        assert "a form that jaxscope does not know" in stage.unavailable.reason
        assert mine.stage("optimized_hlo").text


def test_the_pass_log_has_what_following_a_line_gives(report: Report) -> None:
    passes = report.passes()
    assert passes
    log = report.stage("passes").text.split("\n")
    headings = [line for line in log if line[:1].isdigit()]
    assert [line.split(" · ")[:2] for line in headings] == [[str(p.number), p.name] for p in passes]
    lines = {e.frame.span.line for e in report.equations if e.frame and e.primitive == "mul"}
    for line in lines:
        mine = {log[number - 1].strip() for number in report.stage_lines("passes", line).lines}
        followed = passes.follow(line).data
        told = [change for step in followed.steps for change in step.changes]
        # A rewrite also removes constants and shapes, which belong to no line.
        assert any(f"- {one}" in mine for change in told for one in change.before)
        assert any(f"+ {one}" in mine for change in told for one in change.after)


def test_a_program_with_a_sort_has_its_stages_after_it_ran() -> None:
    with open_notebook() as notebook:
        notebook.must("import jax.numpy as jnp\nx = jnp.ones((8, 8))")
        for _ in range(2):  # the second run has the program of the first
            notebook.must("%%jaxjit -n 2 -o r\ny = jnp.sort(jnp.sin(x), 0) * 2")
            report = notebook.names["r"]
            assert "sort" in report.stage("thunks").text
            assert report.stage("asm").text
            kernels = report.kernels()
            assert not isinstance(kernels, Unavailable)
            assert {line for one in kernels for line in one.lines} == {2}
            assert report.price("llvm") != 0


def test_a_program_with_a_sort_that_had_run_says_why_it_has_none() -> None:
    f = jax.jit(lambda x: jnp.sort(jnp.sin(x), 0) * 2)
    x = jnp.ones((8, 8))
    compiled = f.lower(x).compile()
    compiled(x)
    with jaxscope.options(runs=0):
        missing = jaxscope.inspect(compiled, x).stage("thunks").unavailable
    assert missing == Unavailable("XLA cannot store a program with a sort once it has run")
