"""The files of a dump, read into the programs before and after each pass."""

from __future__ import annotations

import pytest

from jaxscope.analysis.passes import snapshots as module
from jaxscope.analysis.passes.snapshots import SnapshotReader, Snapshots, snapshots

_HEAD = "HloModule jit_f, entry_computation_layout={(f32[4]{0})->f32[4]{0}}\n"
_TABLES = 'FileNames\n1 "cell.py"\n\nFunctionNames\n1 "f"\n\n'


def text(*lines: str, head: str = _HEAD) -> str:
    body = "".join(f"  {line}\n" for line in ("%x = f32[4]{0} parameter(0)", *lines))
    return f"{head}\n{_TABLES}\nENTRY %main (x: f32[4]) -> f32[4] {{\n{body}}}\n"


FIRST = text(
    "%three = f32[4]{0} constant({3, 3, 3, 3})",
    'ROOT %div = f32[4]{0} divide(%x, %three), metadata={op_name="jit(f)/eqn_0_01234567/div"}',
)
MIDDLE = text(
    "%third = f32[4]{0} constant({.3, .3, .3, .3})",
    'ROOT %multiply = f32[4]{0} multiply(%x, %third), metadata={op_name="jit(f)/div"}',
)
LAST = text(
    "%third = f32[4]{0} constant({.3, .3, .3, .3})",
    "ROOT %multiply = f32[4]{0} multiply(%x, %third), sharding={replicated}",
    head=_HEAD.replace("jit_f", "jit_f, is_scheduled=true"),
)
FILES = {
    "module_0012.jit_f.0000.simplification.after_pipeline-start.before_algsimp.txt": FIRST,
    "module_0012.jit_f.0001.simplification.after_algsimp.before_dce.txt": MIDDLE,
    "module_0012.jit_f.0002.simplification.after_dce.before_pipeline-end.txt": MIDDLE,
    "module_0012.jit_f.0003.scheduling.after_pipeline-start.before_copy-insertion.txt": LAST,
    "module_0012.jit_f.before_optimizations.txt": FIRST,
    "module_0012.jit_f.cpu_after_optimizations.txt": LAST,
    "module_0012.jit_f.cpu_after_optimizations-buffer-assignment.txt": "BufferAssignment:",
    "module_0012.jit_f.multiply_module.ir-no-opt.ll": "; ModuleID",
    "module_0012.jit_f.debug_options": "",
}


def read(files: dict[str, str] = FILES, compiled: str = LAST) -> Snapshots:
    return snapshots(files, files.__getitem__, 0.5, compiled)


def test_only_passes_that_changed_the_program_are_kept() -> None:
    found = read()
    assert [(p.number, p.pipeline, p.name) for p in found.passes] == [
        (1, "simplification", "algsimp"),
        (2, "scheduling", "between pipelines"),
    ]
    assert [(p.added, p.removed, p.altered) for p in found.passes] == [(2, 2, 0), (0, 0, 2)]
    assert (found.files, found.seconds) == (4, 0.5)


def test_texts_are_shown_without_tags_and_tables() -> None:
    found = read()
    assert 'divide(%x, %three), metadata={op_name="jit(f)/div"}' in found.text(0)
    assert "multiply(%x, %third)" in found.text(1)
    assert "sharding" in found.text(2)
    assert not any("FileNames" in found.raw(n) or "cell.py" in found.raw(n) for n in range(3))


def test_json_in_any_order_is_the_same_program() -> None:
    config = ', backend_config={"a":1,"b":2}\n'
    last = LAST.replace(", sharding={replicated}\n", config)
    files = {**FILES, "module_0012.jit_f.cpu_after_optimizations.txt": last}
    assert read(files, last.replace('"a":1,"b":2', '"b":2,"a":1')).passes


def test_a_number_flushed_to_zero_is_the_same_program() -> None:
    assert read(compiled=LAST.replace("{.3,", "{1.4013e-45,")).passes


@pytest.mark.parametrize(
    ("files", "compiled", "why"),
    [
        ({}, LAST, "XLA wrote no program of its passes"),
        (FILES, MIDDLE, "XLA made a different program of it this time"),
        (FILES, LAST.replace("multiply(", "add("), "XLA made a different program of it this time"),
    ],
)
def test_a_dump_of_something_else_is_refused(
    files: dict[str, str], compiled: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        read(files, compiled)


def test_texts_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", sum(map(len, read().packed[0])) + 1)
    found = read()
    assert len(found.passes) == 2
    assert "divide" in found.text(0)
    with pytest.raises(LookupError, match="The text after pass 1 was not kept"):
        found.text(1)


def test_a_line_of_several_texts_is_kept_once() -> None:
    first, second, third = read().texts()
    assert "\n".join(first) == read().raw(0)
    shared = "  %x = f32[4]{0} parameter(0)"
    assert len({id(text[text.index(shared)]) for text in (first, second, third)}) == 1


def test_a_dump_is_read_while_it_is_written() -> None:
    passes = sorted(name for name in FILES if ".after_" in name)
    first = "module_0012.jit_f.before_optimizations.txt"
    read_now: list[str] = []

    def read_file(name: str) -> str:
        read_now.append(name)
        return FILES[name]

    reader = SnapshotReader(read_file)
    written = [first]
    for name in passes:
        written.append(name)
        reader.follow(written)
        # The last may be incomplete.
        assert name not in read_now
    assert read_now == [first, *passes[:-1]]
    assert reader.finish(FILES, 0.5, LAST) == read()
    assert len(read_now) == len({*read_now}) + 1  # the last program is compared, too
