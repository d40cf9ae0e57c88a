"""The kind and the words of a difference between two processes."""

import pytest

from jaxscope.analysis.cluster.divergence import (
    difference,
    missing,
    print_of,
    stalled,
)
from jaxscope.analysis.cluster.preflight import setup_facts
from jaxscope.analysis.cluster.schedule import collectives, schedule_difference
from jaxscope.model.cluster import (
    CodePlace,
    CompiledPrint,
    DivergenceKind,
    ProcessSetup,
    ProcessState,
)

PROGRAM = """module @jit_f attributes {mhlo.num_partitions = 4 : i32} {
  func.func public @main(%arg0: tensor<8x8xf32>) -> (tensor<f32>) {
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<8x8xf32>
    %0 = stablehlo.multiply %arg0, %cst : tensor<8x8xf32>
    return %0
  }
}"""


def of(text: str, process: int, flags: str = ""):
    return print_of(text, process, CodePlace(f"train.py:{process + 1}", "f(x)"), flags)


@pytest.mark.parametrize(
    ("text", "flags", "kind", "words"),
    [
        (PROGRAM.replace("8x8", "16x8"), "", DivergenceKind.SHAPES, "(f32[16,8]) on 1"),
        (
            PROGRAM.replace("<f32>)", "<f32> {sdy.sharding = #sdy.sharding<@m, [{}]>})"),
            "",
            DivergenceKind.SHAPES,
            "for different shardings of the results",
        ),
        (
            PROGRAM.replace("f32>)", "f32> {sdy.sharding = #sdy.sharding<@m, [{}]>})", 1),
            "",
            DivergenceKind.SHAPES,
            "for different shardings of (f32[8,8])",
        ),
        (
            PROGRAM.replace("8xf32>)", "8xf32> {jax.buffer_donor = true})"),
            "",
            DivergenceKind.BRANCH,
            "with different donations of its arguments",
        ),
        (PROGRAM.replace("2.0", "3.0"), "", DivergenceKind.CONSTANTS, "different constants"),
        (PROGRAM.replace("multiply", "add"), "", DivergenceKind.BRANCH, "`stablehlo.add` on 0, 1"),
        (PROGRAM, "--fast", DivergenceKind.FLAGS, "`--fast` on 1"),
        (PROGRAM.replace("jit_f", "jit_g").replace("8x8", "4"), "", DivergenceKind.ORDER, "`g`"),
    ],
)
def test_a_difference_is_named_with_both_lines(text, flags, kind, words) -> None:
    found = difference(of(PROGRAM, 0), of(text, 1, flags))
    assert found is not None
    assert difference(of(text, 1, flags), of(PROGRAM, 0)) == found
    assert found.kind is kind
    assert words in found.message
    assert "process 0 at train.py:1 `f(x)`\n  process 1 at train.py:2 `f(x)`" in found.message


def test_equal_programs_do_not_differ_whatever_they_are_called() -> None:
    assert difference(of(PROGRAM, 0), of(PROGRAM.replace("jit_f", "jit_g"), 1)) is None


HLO = """ENTRY main {
  %ar = f32[8]{0} all-reduce(%p), replica_groups={{0,1,2,3}}, to_apply=%add
  %ag = f32[32]{0} all-gather(%ar), replica_groups=[1,4]<=[4], dimensions={0}
}"""


def test_the_first_collective_that_differs_is_named() -> None:
    found = collectives(HLO)
    assert [one.opcode for one in found] == ["all-reduce", "all-gather"]
    here, there = (CompiledPrint(p, CodePlace("a.py:1"), "", found[: 2 - p]) for p in (0, 1))
    assert schedule_difference("f", here, here) is None
    differs = schedule_difference("f", here, there)
    assert differs is not None
    assert differs.kind is DivergenceKind.COLLECTIVES
    assert "collective 2 is `all-gather f32[32]` on 0 and absent on 1" in differs.message


def test_a_missing_process_is_named_with_its_last_line() -> None:
    other = ProcessState(1, "running Python", CodePlace("In [7]:1", "load_batch()"))
    found = missing("f", 1, 2, CodePlace("In [7]:3"), [other])
    assert found.kind is DivergenceKind.MISSING
    assert "1 of 2 processes reached the compilation of `f`" in found.message
    assert "process 1 is running Python at In [7]:1 `load_batch()`" in found.message


def test_a_banner_groups_a_thousand_processes() -> None:
    place = CodePlace("In [7]:3", "block(y)")
    states = [ProcessState(i, "waiting in JAX", place) for i in range(1000) if i != 617]
    odd_one = ProcessState(617, "running Python", CodePlace("In [7]:1", "load_batch()"))
    lines = stalled([*states, odd_one], 4.2).splitlines()
    assert lines[0] == "At the same line for 4 s, maybe a hang:"
    assert lines[1] == "  process 617: running Python at In [7]:1 `load_batch()`"
    assert lines[2].endswith("and 991 more: waiting in JAX at In [7]:3 `block(y)`")
    assert len(lines) == 3


def test_the_preflight_table_shows_settings_only_where_they_differ() -> None:
    setups = [
        ProcessSetup(
            i, (("jax", "0.10.2"),), (("a", "1"), ("jax_enable_x64", str(i == 1))), (("host", "h"),)
        )
        for i in range(3)
    ]
    facts = setup_facts(setups)
    assert [(fact.name, fact.differs) for fact in facts] == [
        ("host", False),
        ("jax", False),
        ("jax_enable_x64", True),
    ]
    assert facts[-1].odd == {1}
    assert facts[0].odd == frozenset()
    assert setup_facts([setups[0], setups[1]])[-1].odd == {0, 1}
