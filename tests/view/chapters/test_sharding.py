"""The chapter of a program on several devices, its tables and its pictures."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ET

import pytest

from jaxscope import model as m
from jaxscope.view.base.document import Chapter
from jaxscope.view.chapters import sharding as sharding_chapter
from jaxscope.view.chapters import sharding_grid
from jaxscope.view.report.document import static_html
from tests.view.conftest import load, markdown, tabs_html, text, with_program

MESH = m.Mesh(("data", "model"), (4, 2), tuple(range(8)), ("auto", "auto"))
CUT = m.Sharding("P('data', 'model')", 0, (4, 2), tuple((i,) for i in range(8)))
ROWS = m.Sharding("P('data', None)", 0, (4, 1), ((0, 1), (2, 3), (4, 5), (6, 7)))
WHOLE = m.Sharding("P()", 0, (1, 1), (tuple(range(8)),))
NASTY = 'x["<script>alert(1)</script>"]'

VALUES = (
    m.ShardedValue(
        NASTY,
        "input",
        "float32[64,32]",
        (64, 32),
        (16, 16),
        bytes=8192,
        shard_bytes=1024,
        sharding=0,
    ),
    m.ShardedValue(
        "w", "input", "float32[64,32]", (64, 32), (64, 32), bytes=8192, shard_bytes=8192, sharding=2
    ),
    m.ShardedValue(
        "y",
        "output",
        "float32[63,32]",
        (63, 32),
        (16, 32),
        bytes=8064,
        shard_bytes=2048,
        sharding=1,
    ),
)
GROUPS = (
    m.DeviceGroups(((0, 2, 4, 6), (1, 3, 5, 7)), ("data",)),
    m.DeviceGroups(tuple((i, (i + 2) % 8) for i in range(8)), ("data",)),
)
EXPLICIT = m.Collective(
    m.CollectiveKind.ALL_REDUCE,
    "psum.7",
    7,
    m.CollectiveOrigin.EXPLICIT,
    "psum_invariant",
    device_groups=0,
    operand_bytes=1024,
    result_bytes=1024,
    wire_bytes=1536.0,
    times=3.0,
    equation=0,
    reduction="add",
    shapes=("f32[16,16]",),
)
RESHARDED = m.Collective(
    m.CollectiveKind.COLLECTIVE_PERMUTE,
    "collective-permute",
    9,
    m.CollectiveOrigin.RESHARDING,
    "",
    device_groups=1,
    operand_bytes=1024,
    result_bytes=1024,
    wire_bytes=1024.0,
    times=1.0,
    equation=1,
    exact=False,
    value="w",
    reason=m.ReshardingReason.OPERANDS,
    consumer="add",
    other_operands=("y",),
)
KNOWN = m.ProgramSharding(
    8, 16, (MESH,), (CUT, ROWS, WHOLE), VALUES, device_groups=GROUPS,
    collectives=(EXPLICIT, RESHARDED),
    matmul_flops=m.MatmulFlops(1e6, 2.5e5),
)  # fmt: skip


def record(known: m.ProgramSharding | None = KNOWN) -> m.Record:
    names = tuple(f"cpu:{i}" for i in range(known.devices if known else 1))
    return with_program(load(), sharding=known, devices=names)


def chapter(known: m.ProgramSharding = KNOWN) -> Chapter:
    one = record(known)
    written = sharding_chapter.chapter(one, one.programs[0])
    assert written is not None
    return written


def table(known: m.ProgramSharding, caption: str) -> list[dict[str, str]]:
    part = next(part for part in chapter(known).parts if part.caption == caption)
    assert part.table is not None
    heads = [head or f"{i or ''}" for i, head in enumerate(part.table.heads)]
    return [dict(zip(heads, row, strict=True)) for row in part.table.rows]


def test_a_program_on_one_device_has_no_such_chapter() -> None:
    plain = record(None)
    assert sharding_chapter.chapter(plain, plain.programs[0]) is None
    assert "Devices" not in text(plain, 100, full=True)
    assert 'id="tab-devices"' not in tabs_html(plain)


def test_the_lead_says_memory_work_and_bytes_sent_per_device() -> None:
    devices, memory, work, collectives, kinds = chapter().lead
    assert devices == "Runs on 8 of 16 devices, cpu:0 … cpu:7: mesh data=4 × model=2."
    assert memory.endswith(" The inputs total 16.4 kB, 8.19 kB of it replicated.")
    assert "; every matrix product is computed 2 times. " in work
    assert work.endswith("Padded, because a dimension does not divide: y.")
    # 3 × 1536 + 1024 bytes.
    assert collectives == (
        "2 collectives (1 explicit in the code, 1 inserted by XLA for resharding); "
        "each device sends 5.63 kB per call."
    )
    assert kinds == (
        "Kinds: all-reduce (add) over data, devices {0,2,4,6} {1,3,5,7}; "
        "collective-permute over data, 0→2 1→3 2→4 3→5 and 4 more."
    )


def test_the_short_text_names_the_kind_the_axis_and_the_devices_of_collectives() -> None:
    words = " ".join(text(record(), 100).split())
    assert "Kinds: all-reduce (add) over data, devices {0,2,4,6} {1,3,5,7};" in words


def test_collectives_that_are_alike_are_listed_once() -> None:
    twice = dataclasses.replace(KNOWN, collectives=(EXPLICIT, RESHARDED, EXPLICIT))
    assert chapter(twice).lead[-1].startswith("Kinds: 2 × all-reduce (add) over data, devices")
    one = dataclasses.replace(KNOWN, collectives=(EXPLICIT,))
    assert chapter(one).lead[-1] == (
        "Kinds: all-reduce (add) over data, devices {0,2,4,6} {1,3,5,7}."
    )
    unknown = dataclasses.replace(one, device_groups=(m.DeviceGroups(()),))
    assert chapter(unknown).lead[-1] == "Kinds: all-reduce (add)."
    kinds = [k for k in m.CollectiveKind if k is not EXPLICIT.kind][:4]
    others = [dataclasses.replace(EXPLICIT, kind=kind) for kind in kinds]
    many = dataclasses.replace(KNOWN, collectives=(EXPLICIT, *others))
    assert chapter(many).lead[-1].endswith("; 1 other kind.")


def test_a_mesh_says_what_is_not_usual() -> None:
    mesh = dataclasses.replace(MESH, axis_types=("auto", "explicit"))
    pair = dataclasses.replace(KNOWN, devices=2, meshes=(mesh,))
    one = record(pair)
    written = sharding_chapter.chapter(one, one.programs[0])
    assert written is not None
    assert written.lead[0] == (
        "Runs on 2 of 16 devices, cpu:0 and cpu:1: mesh data=4 × model=2 (explicit)."
    )


def test_unknown_collectives_are_reported_as_unknown() -> None:
    unread = dataclasses.replace(KNOWN, device_groups=(), collectives=(), unread="the text is new")
    assert chapter(unread).lead[-1] == "The collectives are unknown: the text is new."
    silent = dataclasses.replace(KNOWN, device_groups=(), collectives=())
    assert chapter(silent).lead[-1] == "There are no collectives: the devices do not communicate."


def test_each_value_has_a_row() -> None:
    rows = {row["name"]: row for row in table(KNOWN, "Shardings")}
    assert (rows["w"]["shards"], rows["w"]["replicas"]) == ("1", "all 8")
    assert (rows["y"]["shard"], rows["y"]["shards"]) == ("16×32", "4")
    assert rows["y"]["padding"] == "1 more in dimension 0"
    assert (rows[NASTY]["shards"], rows[NASTY]["replicas"]) == ("8", "1")


def test_a_terminal_does_not_cut_the_sharding_of_a_value() -> None:
    one = m.ShardedValue(
        "Out[0]",
        "output",
        "float32[64,32]",
        (64, 32),
        (16, 32),
        bytes=8192,
        shard_bytes=2048,
        sharding=1,
    )
    found = text(record(dataclasses.replace(KNOWN, values=(one,))), 100, full=True)
    row = next(line for line in found.splitlines() if line.startswith("  Out[0]  output  "))
    assert "P('data', None)  16×32" in row
    assert "…" not in row


def test_collectives_of_one_origin_are_counted_once() -> None:
    one = dataclasses.replace(KNOWN, collectives=(EXPLICIT,))
    assert (
        chapter(one).lead[3].startswith("1 collective (explicit in the code); each device sends ")
    )


def test_each_collective_has_its_bytes_and_device_groups() -> None:
    explicit, resharded = table(KNOWN, "Collectives")
    assert (explicit["collective"], explicit["over"]) == ("all-reduce (add)", "data")
    assert (explicit["operand"], explicit["sent"]) == ("1.02 kB", "1.54 kB")
    assert (explicit["times"], explicit["sent per call"]) == ("3", "4.61 kB")
    assert explicit["device groups"] == "{0,2,4,6} {1,3,5,7}"
    assert resharded["device groups"].startswith("0→2 1→3")
    assert resharded["line"].startswith("≈")


def test_each_collective_has_its_reason() -> None:
    explicit, resharded = table(KNOWN, "Origins of the collectives")
    assert explicit["by"] == "psum"
    assert explicit["reason"].startswith("The code calls `psum` over `data`")
    assert resharded["by"] == "XLA, for add"
    assert resharded["reason"] == (
        "`add` combines `w` with `y`, sharded differently. `w` is sharded `P()`."
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"origin": m.CollectiveOrigin.SHARDING_CONSTRAINT, "primitive": "reshard"},
            "The code requests a different sharding (`reshard`).",
        ),
        (
            {"origin": m.CollectiveOrigin.PARTIAL_SUM, "primitive": "dot_general"},
            "`dot_general` sums over a sharded dimension, so XLA adds up",
        ),
        (
            {"origin": m.CollectiveOrigin.PARTIAL_SUM, "primitive": ""},
            "XLA adds up the partial sums of the devices over `data`.",
        ),
        (
            {
                "kind": m.CollectiveKind.ALL_GATHER,
                "reason": m.ReshardingReason.DIMENSION,
                "consumer": "sort",
            },
            "`sort` works along a dimension sharded over `data`, so XLA reshards `w`.",
        ),
        (
            {"reason": m.ReshardingReason.DIMENSION, "consumer": "concatenate"},
            "along a dimension sharded over `data`, so the devices exchange parts of `w`.",
        ),
        (
            {"reason": m.ReshardingReason.PRODUCT, "consumer": "dot_general"},
            "`dot_general` needs more of `w` than a device holds, so XLA",
        ),
        (
            {"reason": m.ReshardingReason.MANUAL},
            "`shard_map` takes `w` in a different sharding than it has.",
        ),
        (
            {"reason": m.ReshardingReason.RESULT, "value": "y"},
            "The result `y` is needed in a different sharding.",
        ),
        (
            {"reason": m.ReshardingReason.UNKNOWN, "value": "", "consumer": ""},
            "XLA reshards a value.",
        ),
    ],
)
def test_every_reason_has_its_sentence(changes: dict[str, object], words: str) -> None:
    one = dataclasses.replace(RESHARDED, **changes)
    (row,) = table(dataclasses.replace(KNOWN, collectives=(one,)), "Origins of the collectives")
    assert words in row["reason"]


def test_bytes_and_work_are_for_one_device_and_for_all() -> None:
    rows = {row[""]: row for row in table(KNOWN, "Memory and work per device")}
    assert rows["matrix products"]["per device"] == "250 kFLOP"
    assert rows["matrix products"]["all 8"] == "2 MFLOP"
    assert rows["sent"]["all 8"] == "45.1 kB"


# Pictures.


def svg(sharding: m.Sharding, value: m.ShardedValue, number: int = 8) -> ET.Element:
    drawn = sharding_grid.picture(sharding, value, number, value.name)
    return ET.fromstring(drawn.replace("<br>", "<br/>"))


def test_a_picture_has_a_cell_for_each_shard_with_its_devices() -> None:
    figure = svg(CUT, VALUES[0])
    cells = figure.findall(".//g")
    assert len(cells) == 8
    assert cells[3].findtext("title") == "[16:32, 16:32] on {3}"
    assert cells[3].findtext("text") == "3"
    colors = {cell.get("class") for cell in cells}
    assert len(colors) == 8


def test_a_replicated_value_is_one_cell_with_all_devices() -> None:
    (cell,) = svg(WHOLE, VALUES[1]).findall(".//g")
    assert cell.findtext("text") == "0…7"


def test_names_in_pictures_are_escaped() -> None:
    drawn = sharding_grid.picture(CUT, VALUES[0], 8, NASTY)
    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn


def test_pictures_need_neither_script_nor_inline_style() -> None:
    drawn = sharding_grid.picture(CUT, VALUES[0], 8, "x")
    assert not re.search(r"<script|style=|on\w+=|javascript:|href", drawn)


def test_a_drawing_in_text_shows_the_same_grid() -> None:
    assert sharding_grid.drawing(ROWS, VALUES[2], "y") == (
        "y  P('data', None)",
        "float32[63,32] in 4 shards of 16 × 32, each on 2 devices",
        "      ┌─────┐",
        " 0:16 │ 0,1 │",
        "16:32 │ 2,3 │",
        "32:48 │ 4,5 │",
        "48:63 │ 6,7 │",
        "      └─────┘",
    )


def test_a_large_mesh_is_shown_compactly() -> None:
    number = 512
    held = tuple((i,) for i in range(number))
    sharding = m.Sharding("P('a', 'b')", None, (32, 16), held)
    value = m.ShardedValue(
        "w", "input", "f32[3200,1600]", (3200, 1600), (100, 100), bytes=1, shard_bytes=1, sharding=0
    )
    figure = svg(sharding, value, number)
    # Of 32 rows and 16 columns the first six, a gap, and the last.
    assert len(figure.findall(".//g")) == 7 * 7
    assert [cell.findtext("text") for cell in figure.findall(".//g")][-1] == "511"
    drawn = sharding_grid.drawing(sharding, value, "w")
    assert len(drawn) < 24
    assert max(map(len, drawn)) < 80
    many = m.Sharding("P()", None, (1,), (tuple(range(number)),))
    line = m.ShardedValue("b", "input", "f32[8]", (8,), (8,), bytes=32, shard_bytes=32, sharding=0)
    assert svg(many, line, number).findall(".//g")[0].findtext("text") == "0…511"


def test_three_dimensions_go_down_and_across() -> None:
    sharding = m.Sharding(
        "P('a', None, ('b', 'c'))", None, (2, 1, 4), tuple((i,) for i in range(8))
    )
    value = m.ShardedValue(
        "k", "input", "f32[4,3,8]", (4, 3, 8), (2, 3, 2), bytes=1, shard_bytes=1, sharding=0
    )
    titles = [cell.findtext("title") for cell in svg(sharding, value).findall(".//g")]
    assert titles[0] == "[0:2, 0:3, 0:2] on {0}"
    assert titles[5] == "[2:4, 0:3, 2:4] on {5}"


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        ((0,), "{0}"),
        ((0, 2, 4, 6), "{0,2,4,6}"),
        (tuple(range(8)), "{0…7}"),
        (tuple(range(0, 64, 2)), "{0,2…62}"),
        ((0, 1, 2, 5, 9), "{0,1,2 … 5 devices}"),
    ],
)
def test_sets_of_devices_are_written_short(devices: tuple[int, ...], words: str) -> None:
    assert sharding_grid.numbers(devices) == words


# Every view.


def test_every_view_shows_the_chapter() -> None:
    one = record()
    assert "mesh data=4 × model=2" in text(one, 100)
    full = text(one, 100, full=True)
    assert "┌─────┐" in full
    assert "all-reduce (add)" in full
    assert "### Devices" in markdown(one)
    assert "┌─────┐" in markdown(one)
    for written in (static_html(one), static_html(one, inline=True), tabs_html(one)):
        assert "Shardings" in written
        assert ('<svg class="grid"' in written) != ("<img" in written)
        assert "<script>alert" not in written


def test_the_line_of_a_collective_is_a_link_where_the_view_has_the_source() -> None:
    one = record()
    line = one.programs[0].equations[0].span
    assert line is not None
    written = tabs_html(one).partition("<h4>Collectives</h4>")[2]
    assert f'<a href="#" data-source="0" data-line="{line.line}">{line.line}</a>' in written
    static = static_html(one, "u").partition("<h4>Collectives</h4>")[2]
    (target,) = set(re.findall(rf'<a href="#([\w-]+)">{line.line}</a>', static))
    assert f'id="{target}"' in static_html(one, "u")
    assert "≈" in static


def test_the_chapter_is_kept_in_json() -> None:
    one = record()
    assert m.from_json(m.Record, m.to_json(one)) == one
