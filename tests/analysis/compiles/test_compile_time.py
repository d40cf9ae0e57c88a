"""Compile time by line, from hand-built events and equations."""

from __future__ import annotations

import dataclasses

import pytest

from jaxscope.analysis.compiles.compile_events import LLVM, xla_parts
from jaxscope.analysis.compiles.compile_time import ClockedCompile, EquationGroup, compile_time
from jaxscope.analysis.compiles.growth import growth
from jaxscope.analysis.compiles.python_loops import loops_of
from jaxscope.analysis.trace.event import TraceEvent
from jaxscope.model.compiler.compile_time import CompilationPhase, CompileTime
from jaxscope.view.chapters.compile_time import chapter, headline, tree_of

TEXT = """%%jaxwatch
def f(x, layers):
    y = prepare(x)
    for w in layers:
        y = g(y @ w)
    return y
"""


def event(thread: str, name: str, start_ms: float, end_ms: float, **stats: str) -> TraceEvent:
    return TraceEvent(thread, name, start_ms * 1e6, end_ms * 1e6, stats)


EVENTS = (
    event("python", "backend_compile_and_load", 0, 100),
    event("compiler", "PjRtCpuClient::Compile", 2, 98),
    event("compiler", "HLO passes through layout assignment (jit_f)", 2, 30),
    event("compiler", "algsimp", 5, 25),
    event("compiler", "Codegen", 30, 98),
    event("xla-cpu-codegen/1", "FusionCompiler::Compile", 30, 60, module="sum_kernel_module"),
    event("xla-cpu-codegen/1", "CSEPass", 35, 40),
    event("xla-cpu-codegen/2", "TaskDispatcher::dispatch", 40, 98),
    event("tf_XLAEigen/3", "dot.1", 0, 100, hlo_op="dot.1"),
)


def test_nested_and_parallel_events_add_up_to_the_call_of_xla() -> None:
    parts = xla_parts(EVENTS, 0.1)
    seconds = {part.name: part.seconds for part in parts}
    assert sum(seconds.values()) == pytest.approx(0.1)
    assert seconds["algsimp"] == pytest.approx(0.020)
    # 10 ms alone, and half of the 20 ms beside LLVM.
    assert seconds["sum"] == pytest.approx(0.020)
    assert seconds[LLVM] == pytest.approx(0.048)
    assert {part.name for part in parts if part.kernel} == {"sum"}
    assert seconds[""] == pytest.approx(0.004)  # only JAX's own event was open


def test_an_event_of_an_unknown_name_keeps_it() -> None:
    (part,) = xla_parts([event("new", "Frobnicate::Run", 0, 10)], 0.010)
    assert (part.name, part.phase) == ("Frobnicate::Run", CompilationPhase.PASSES)


def test_without_events_the_call_of_xla_is_not_split() -> None:
    (part,) = xla_parts([], 0.5)
    assert (part.name, part.seconds, part.named) == ("", 0.5, False)


def test_the_loops_of_a_cell_with_a_magic() -> None:
    (loop,) = loops_of(TEXT)
    assert (loop.line, loop.first, loop.last, loop.over) == (4, 5, 5, "over `layers`")


def clocked(repeats: int, *, uniform: bool = True) -> CompileTime:
    compile = ClockedCompile(
        ("cell", 6),
        trace_s=0.2,
        lower_s=0.1,
        compile_s=0.1,
        groups=(
            EquationGroup((("cell", 5), ("cell", 9)), repeats, uniform),
            EquationGroup((("cell", 6),), 1, True),
        ),
        parts=xla_parts(EVENTS, 0.1),
    )
    return compile_time(
        [compile],
        {("cell", 3): 0.02, ("cell", 5): 0.06},
        lambda file: True,
        lambda file: TEXT.splitlines(),
        lambda file, line: f"In [1]:{line}",
    )


def test_the_parts_of_all_lines_add_up_to_the_total() -> None:
    found = clocked(9)
    assert found.total_s == pytest.approx(0.4)
    assert sum(part.seconds for part in found.parts) == pytest.approx(0.4)
    assert sum(map(found.line_s, (None, 0, 1, 2))) == pytest.approx(0.4)
    assert tree_of(found).seconds == pytest.approx(0.4)
    tracing = [p for p in found.parts if p.phase is CompilationPhase.TRACING]
    assert sum(p.seconds for p in tracing) == pytest.approx(0.2)
    assert not any(p.exact for p in tracing)


def test_the_sentence_names_the_loop_and_the_fix_where_it_applies() -> None:
    assert headline(clocked(9)) == (
        "Line 5 makes 9 of 10 equations and takes 82 % of the 400 ms: a Python loop over "
        "`layers`; `lax.scan` compiles one body."
    )
    assert "lax.scan" not in headline(clocked(9, uniform=False))
    assert "loop" not in headline(clocked(1))
    assert "unattributed" in [row[0] for row in chapter(clocked(9)).parts[0].table.rows]  # type: ignore[union-attr]


def test_growth_tells_linear_from_quadratic() -> None:
    small = clocked(9)
    assert growth(small, dataclasses.replace(small, equations=40), (8, 32)).order == "linear"
    assert growth(small, dataclasses.replace(small, equations=160), (8, 32)).order == "quadratic"
    with pytest.raises(ValueError, match="the smaller size, then the larger one"):
        growth(small, small, (32, 8))
