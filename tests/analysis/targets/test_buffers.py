"""The dump of libtpu 0.0.42 for attention over 16384 keys, which does not fit a v5e."""

import pytest

from jaxscope.analysis.hlo import parse_module
from jaxscope.analysis.targets.buffers import (
    BufferValue,
    held_buffers,
    maker,
    read_buffers,
    schedule,
    timeline,
)
from jaxscope.analysis.targets.padding import padded_arrays
from jaxscope.model import Phase
from jaxscope.model.compiler.target import BufferRole
from jaxscope.model.profile import SourceLine
from tests.paths import ROOT

_DATA = ROOT / "tests" / "data" / "targets"
BUFFERS = read_buffers(
    (_DATA / "attention_v5e-buffer-assignment.txt").read_text(),
    (_DATA / "attention_v5e-live-range.txt").read_text(),
)
LINE = SourceLine(0, 2, Phase.PRIMAL)


def test_the_needed_bytes_are_those_of_the_compilers_verdict() -> None:
    # "Ran out of memory on HBM, the total memory required … (64.75G)".
    assert f"{BUFFERS.needs / 2**30:.2f}" == "64.75"
    assert BUFFERS.temp == 68719477248


def test_memory_on_the_chip_and_buffers_of_threads_do_not_count() -> None:
    names = {value.instruction for one in BUFFERS.allocations for value in one.values}
    assert "fusion.2" not in names  # color 1
    assert "reduce_max.5" not in names  # thread-local


def test_the_peak_is_where_the_compilers_own_report_has_it() -> None:
    found = schedule(BUFFERS)
    assert found is not None
    plan = timeline(BUFFERS, found, {"fusion.7": LINE}, {})
    assert plan.peak_temp == 68719477248
    assert plan.temp == 68719477248
    assert plan.steps[6].instruction == "fusion.2"
    assert plan.steps[6].live == 68719476736
    assert (plan.alive[0].instruction, plan.alive[0].place) == ("fusion.7", LINE)
    assert plan.static == 3 * 268435456 + 512


def test_the_largest_buffers_have_their_role_line_and_input() -> None:
    held = held_buffers(BUFFERS, schedule(BUFFERS), {"fusion.7": LINE}, {"q.1": "q"})
    assert [one.role for one in held[:4]] == [BufferRole.TEMPORARY, *[BufferRole.ARGUMENT] * 3]
    assert held[0].place == LINE
    assert [one.name for one in held if one.name] == ["q"]
    assert [one.instruction for one in held if one.role is BufferRole.RESULT] == [
        "bitcast_reduce_fusion"
    ]


_TWO_RESULTS = """HloModule two
%inside (p: f32[8]) -> (f32[8], f32[]) {
  %p = f32[8]{0} parameter(0)
  %exp.1 = f32[8]{0} exponential(%p)
  %sum.1 = f32[] custom-call(%p), custom_call_target="sum"
  ROOT %both = (f32[8]{0}, f32[]) tuple(%exp.1, %sum.1)
}

ENTRY %main (x: f32[8]) -> (f32[8], f32[]) {
  %x = f32[8]{0} parameter(0)
  ROOT %fusion.1 = (f32[8]{0}, f32[]) fusion(%x), kind=kLoop, calls=%inside
}
"""


def test_a_result_of_a_fusion_with_several_is_made_by_the_instruction_inside() -> None:
    module = parse_module(_TWO_RESULTS)

    def made(instruction: str, index: str) -> str:
        return maker(module, BufferValue(instruction, index, 32, 0, "f32[8]"))

    assert (made("fusion.1", "{0}"), made("fusion.1", "{1}")) == ("exp.1", "sum.1")
    assert made("fusion.1", "{2}") == made("fusion.1", "{}") == "fusion.1"
    assert made("x", "{}") == "x"


def test_values_that_overlap_in_one_place_count_once() -> None:
    assignment = (
        "allocation 0: size 4096, preallocated-temp:\n"
        " value: <1 a @0> (size=4096,offset=0): f32[1024]{0:T(1024)}\n"
        " value: <2 b @0> (size=4096,offset=0): f32[1024]{0:T(1024)}\n"
        "\n"
    )
    ranges = (
        "HloLiveRange (max 4):\n  InstructionSequence:\n    0:a\n    1:b\n    2:c\n"
        "  BufferLiveRange:\n    a{}:0-1\n    b{}:1-2\n  Live ranges at 1 (peak):\n"
    )
    found = schedule(read_buffers(assignment, ranges))
    assert found is not None
    assert [step.live for step in found.steps] == [4096, 4096, 4096]
    assert [value.instruction for value in found.alive] == ["a"]


def test_without_live_ranges_there_is_no_schedule() -> None:
    text = (_DATA / "attention_v5e-buffer-assignment.txt").read_text()
    assert schedule(read_buffers(text, "")) is None


def test_a_text_without_allocations_is_refused() -> None:
    with pytest.raises(ValueError, match="no buffer assignment"):
        read_buffers("", "")


def test_padding_is_the_compilers_size_less_the_data() -> None:
    assignment = (
        "allocation 0: size 4194304, parameter 0, shape |f32[4096,130]| at ShapeIndex {}:\n"
        " value: <1 x.1 @0> (size=4194304,offset=0): f32[4096,130]{1,0:T(8,128)}\n"
        "allocation 1: size 512, output shape is |f32[]|, maybe-live-out:\n"
        " value: <2 y @0> (size=512,offset=0): f32[]{:T(128)}\n"
        "\n"
    )
    [found] = padded_arrays(read_buffers(assignment, ""), {}, {"x.1": "x"})
    assert (found.name, found.bytes, found.padded) == ("x", 4096 * 130 * 4, 4096 * 256 * 4)
    assert found.waste == 4096 * 126 * 4
