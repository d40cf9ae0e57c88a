"""The text parser against XLA's own objects: the serialized proto, and jaxlib's HloModule."""

import base64
import json
import os
import re
import subprocess
import sys

import pytest

from jaxscope.analysis.hlo import HloModule, parse_module, trip_count
from jaxscope.analysis.hlo.attributes import parse_fields
from tests.analysis.hlo import hlo_programs
from tests.analysis.hlo.hlo_proto import ProtoModule, read_proto

pytestmark = pytest.mark.jax

# Where jaxlib's enum and the text name an opcode differently.
OPCODE_NAMES = {
    "exp": "exponential", "expm1": "exponential-minus-one", "log1p": "log-plus-one",
    "sin": "sine", "cos": "cosine", "clz": "count-leading-zeros",
    "popcnt": "popcnt", "population-count": "popcnt",
}  # fmt: skip

STAGES = ("before", "after")

COLLECTIVES = """
import base64, json, jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("i",))
def f(w, x):
    whole = lax.all_gather(w, "i", tiled=True)
    moved = lax.ppermute(x, "i", [(0, 1), (1, 2)])
    spread = lax.psum_scatter(x, "i", tiled=True)
    swapped = lax.all_to_all(x, "i", 1, 0, tiled=True)
    return lax.psum(jnp.tanh(x @ whole), "i"), moved, spread, swapped
g = jax.shard_map(f, mesh=mesh, in_specs=(P("i"), P("i")),
                  out_specs=(P(), P("i"), P("i"), P("i")), check_vma=False)
compiled = jax.jit(g).lower(jnp.ones((8, 16)), jnp.ones((16, 8))).compile()
module = compiled.runtime_executable().hlo_modules()[0]
proto = base64.b64encode(module.as_serialized_hlo_module_proto()).decode()
print(json.dumps({"text": compiled.as_text(), "proto": proto}))
"""


def check_against_proto(module: HloModule, proto: ProtoModule) -> None:
    assert module.unread == ()
    assert module.entry == proto.entry
    assert {c.name for c in module.computations} == set(proto.computations)
    assert len(module.computations) == len(proto.computations)
    has_tables = bool(module.stack_frames.by_id)
    for computation in module.computations:
        truth = {i.name: i for i in proto.computations[computation.name]}
        assert len(computation.instructions) == len(truth)
        for parsed in computation.instructions:
            true = truth[parsed.name]
            assert parsed.opcode == true.opcode
            assert parsed.operands == true.operands
            assert frozenset(parsed.called) == true.called
            assert parsed.op_name == true.op_name
            if has_tables:
                assert (parsed.frame or 0) == true.frame
            else:
                inline = parse_fields(parsed.attribute("metadata") or "")
                line = int(inline.get("source_line", "0"))
                assert (inline.get("source_file", ""), line) == true.source
            kind = parsed.attribute("kind") if parsed.opcode == "fusion" else ""
            assert kind == true.fusion_kind
            assert (parsed.custom_call_target or "") == true.target
            assert parsed.shape.dims == true.dims
            assert len(parsed.shape.parts) == true.parts


def check_frames(module: HloModule, proto: ProtoModule) -> int:
    """Walk every stack both ways; gives how many frames were compared."""
    compared = 0
    for instruction in module.instructions():
        expected = []
        number = instruction.frame or 0
        while number and module.stack_frames.by_id:
            expected.append(proto.frames[number])
            number = proto.parents[number]
            assert len(expected) <= len(proto.frames), "the parents go in a circle"
        if instruction.frame is None:
            continue
        found = [(f.file, f.function, f.line, f.column) for f in module.frames(instruction)]
        assert found == expected
        compared += len(found)
    return compared


def proto_of(name: str, stage: str) -> ProtoModule:
    if stage == "after":
        module = hlo_programs.compiled(name).runtime_executable().hlo_modules()[0]
    else:
        module = hlo_programs.lowered(name).compiler_ir("hlo").as_hlo_module()
    return read_proto(module.as_serialized_hlo_module_proto())


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", hlo_programs.PROGRAMS)
def test_every_instruction_agrees_with_the_proto(name: str, stage: str) -> None:
    check_against_proto(parse_module(hlo_programs.text(name, stage)), proto_of(name, stage))


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", ["scan", "attention_gradient", "random"])
def test_stacks_agree_with_the_proto_frame_by_frame(name: str, stage: str) -> None:
    module = parse_module(hlo_programs.text(name, stage))
    proto = proto_of(name, stage)
    compared = check_frames(module, proto)
    assert bool(compared) == bool(module.stack_frames.by_id)
    if not compared:
        # JAX before 0.9: the proto has the stack, the text one frame, inline.
        inline = [
            module.frames(i) for i in module.instructions() if "source_file" in i.attributes_text
        ]
        assert inline
        assert all(len(frames) == 1 for frames in inline)


def test_a_parent_taken_without_the_offset_would_be_seen() -> None:
    module = parse_module(hlo_programs.text("scan", "after"))
    proto = proto_of("scan", "after")
    if not module.stack_frames.by_id:
        pytest.skip("JAX before 0.9 writes no table of frames")
    shifted = {number: parent + 1 for number, parent in proto.parents.items()}
    wrong = ProtoModule(proto.computations, proto.entry, proto.frames, shifted)
    with pytest.raises((AssertionError, KeyError)):
        check_frames(module, wrong)


def test_the_innermost_frame_of_a_user_operation_is_its_own_line() -> None:
    module = parse_module(hlo_programs.text("matmul_chain", "after"))
    tanh = next(i for i in module.instructions() if i.opcode == "tanh")
    frame = module.frames(tanh)[0]
    line = hlo_programs._matmul_chain.__code__.co_firstlineno + 1
    assert (frame.file, frame.line) == (hlo_programs.__file__, line)


@pytest.mark.parametrize("name", hlo_programs.PROGRAMS)
def test_every_instruction_agrees_with_jaxlib_objects(name: str) -> None:
    hlo = pytest.importorskip("jaxlib._hlo", reason="jaxlib before 0.10 has no HloInstruction")
    text = hlo_programs.text(name, "after")
    parsed = parse_module(text)
    for computation in hlo.hlo_module_from_text(text).computations():
        ours = parsed.computation(computation.name)
        assert ours is not None
        assert {i.name: (i.opcode, i.operands) for i in ours.instructions} == {
            i.name: (_opcode(i), tuple(o.name for o in i.operands()))
            for i in computation.instructions()
        }


def _opcode(instruction: object) -> str:
    kebab = re.sub(r"(?<!^)([A-Z])", r"-\1", instruction.opcode.name[1:]).lower()
    return OPCODE_NAMES.get(kebab, kebab)


def test_collectives_of_simulated_devices_agree_with_the_proto() -> None:
    flags = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
    run = subprocess.run(
        [sys.executable, "-c", COLLECTIVES],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(run.stdout)
    module = parse_module(answer["text"])
    check_against_proto(module, read_proto(base64.b64decode(answer["proto"])))
    opcodes = {i.opcode for i in module.instructions()}
    assert {"all-reduce", "all-gather", "collective-permute", "reduce-scatter"} <= opcodes


@pytest.mark.parametrize(
    ("name", "expected"),
    [("scan", [20]), ("nested_scan", [5, 7]), ("fori", [37]), ("dynamic_while", [None])],
)
def test_trip_counts_are_the_same_written_or_derived(name: str, expected: list[int]) -> None:
    for stage in STAGES:
        text = hlo_programs.text(name, stage)
        module = parse_module(text)
        loops = [i for i in module.instructions() if i.opcode == "while"]
        counts = [trip_count(module, loop) for loop in loops]
        assert sorted(counts, key=str) == expected
        hidden = parse_module(text.replace("known_trip_count", "hidden"))
        derived = [trip_count(hidden, i) for i in hidden.instructions() if i.opcode == "while"]
        assert derived == counts
        assert not any(i.trip_count for i in hidden.instructions())


def test_a_loop_is_written_down_only_after_optimization() -> None:
    before = parse_module(hlo_programs.text("scan", "before"))
    after = parse_module(hlo_programs.text("scan", "after"))
    assert [i.trip_count for i in before.instructions() if i.opcode == "while"] == [None]
    assert [i.trip_count for i in after.instructions() if i.opcode == "while"] == [20]


def test_donation_that_was_honored_is_an_alias() -> None:
    module = parse_module(hlo_programs.text("donated", "after"))
    alias = module.attributes["input_output_alias"]
    assert re.fullmatch(r"\{\s*\{[01]\}: \(0, \{\}, (may|must)-alias\)\s*\}", alias)
