"""HLO texts in folders, each with what must be read from it; a new folder is a new test.

`expected.json` may leave out whatever a case does not care about, but names nothing unknown. The
CPU, GPU (CUDA, H100) and TPU (v5e) texts are what JAX 0.8.1, 0.10.2 and 0.12.0 printed, the device
ones compiled ahead of time; `spellings` is written by hand.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from jaxscope.analysis.cost import program_cost
from jaxscope.analysis.hlo import (
    HloModule,
    Instruction,
    executed_times,
    parse_module,
    real_instructions,
    trip_count,
)
from tests.paths import TESTS

CASES = sorted((TESTS / "data" / "hlo").iterdir())


def read(case: Path) -> tuple[HloModule, dict[str, Any]]:
    module = parse_module((case / "module.txt").read_text())
    return module, json.loads((case / "expected.json").read_text())


def described(module: HloModule) -> dict[str, Any]:
    cost = program_cost(module)
    return {
        "name": module.name,
        "entry": module.entry,
        "computations": len(module.computations),
        "instructions": sum(1 for _ in module.instructions()),
        "real_instructions": len(real_instructions(module)),
        "fused": [c.name for c in module.computations if c.is_fused],
        "executed": {
            name: [runs.times, runs.known]
            for name, runs in executed_times(module).items()
            if runs.times != 1 or not runs.known
        },
        "cost": {
            "flops": pytest.approx(cost.flops),
            "transcendentals": cost.transcendentals,
            "bytes_accessed": cost.bytes_accessed,
            "unknown": list(cost.unknown),
            "estimated": list(cost.estimated),
        },
    }


def detail(module: HloModule, instruction: Instruction) -> dict[str, Any]:
    return {
        "opcode": instruction.opcode,
        "dtype": instruction.shape.dtype,
        "dims": list(instruction.shape.dims),
        "bytes": instruction.shape.bytes,
        "operands": list(instruction.operands),
        "called": list(instruction.called),
        "op_name": instruction.op_name,
        "line": instruction.line,
        "computation": instruction.computation,
        "is_root": instruction.is_root,
        "fusion_kind": instruction.attribute("kind") if instruction.opcode == "fusion" else None,
        "custom_call_target": instruction.custom_call_target,
        "trip_count": trip_count(module, instruction),
        "frames": [
            [frame.file.rpartition("/")[2], frame.function, frame.line, frame.column]
            for frame in module.frames(instruction)
        ],
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_module_is_read_as_expected(case: Path) -> None:
    module, expected = read(case)
    expected.pop("details")
    found = described(module)
    assert {name: found[name] for name in expected} == expected
    assert module.unread == ()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_instructions_are_read_as_expected(case: Path) -> None:
    module, expected = read(case)
    for name, wanted in expected["details"].items():
        instruction = module.instruction(name)
        assert instruction is not None, name
        found = detail(module, instruction)
        assert {key: found[key] for key in wanted} == wanted


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_name_leads_somewhere_and_every_line_back(case: Path) -> None:
    text = (case / "module.txt").read_text()
    module = parse_module(text)
    lines = text.splitlines()
    for computation in module.computations:
        assert computation.name in lines[computation.line - 1]
        assert lines[computation.end_line - 1].startswith("}")
    for instruction in module.instructions():
        assert f"{instruction.name} = " in lines[instruction.line - 1]
        assert module.at_line(instruction.line) is instruction
        assert all(module.instruction(name) for name in instruction.operands)
        assert all(module.computation(name) for name in instruction.called)


def test_there_are_cases_of_every_kind() -> None:
    names = {case.name for case in CASES}
    assert {name.split("_")[0] for name in names} == {"cpu", "gpu", "tpu", "spellings"}
