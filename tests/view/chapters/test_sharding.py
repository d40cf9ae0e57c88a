"""The chapter of a program on several devices, its tables and its pictures."""

from __future__ import annotations

import dataclasses
import re
import xml.etree.ElementTree as ET

import pytest

from jaxscope import model as m
from jaxscope.view.base.chapter import Chapter
from jaxscope.view.chapters import layouts
from jaxscope.view.chapters.sharding import devices
from jaxscope.view.report.document import static_html
from tests.view.conftest import load, markdown, tabs_html, text, with_program

MESH = m.Mesh(("data", "model"), (4, 2), tuple(range(8)), ("auto", "auto"))
CUT = m.Layout("P('data', 'model')", 0, (4, 2), tuple((i,) for i in range(8)))
ROWS = m.Layout("P('data', None)", 0, (4, 1), ((0, 1), (2, 3), (4, 5), (6, 7)))
WHOLE = m.Layout("P()", 0, (1, 1), (tuple(range(8)),))
NASTY = 'x["<script>alert(1)</script>"]'

PLACEMENTS = (
    m.Placement(NASTY, "input", "float32[64,32]", (64, 32), (16, 16), 8192, 1024, 0),
    m.Placement("w", "input", "float32[64,32]", (64, 32), (64, 32), 8192, 8192, 2),
    m.Placement("y", "output", "float32[63,32]", (63, 32), (16, 32), 8064, 2048, 1),
)
GROUPS = (
    m.Group(((0, 2, 4, 6), (1, 3, 5, 7)), ("data",)),
    m.Group(tuple((i, (i + 2) % 8) for i in range(8)), ("data",)),
)
WRITTEN = m.Collective(
    m.CollectiveKind.ALL_REDUCE,
    "psum.7",
    7,
    m.Origin.WRITTEN,
    "psum_invariant",
    0,
    1024,
    1024,
    1536.0,
    3.0,
    equation=0,
    combines="add",
    shapes=("f32[16,16]",),
)
MOVED = m.Collective(
    m.CollectiveKind.COLLECTIVE_PERMUTE,
    "collective-permute",
    9,
    m.Origin.MOVED,
    "",
    1,
    1024,
    1024,
    1024.0,
    1.0,
    equation=1,
    exact=False,
    value="w",
    need=m.Need.OPERANDS,
    wanted_by="add",
    beside=("y",),
)
KNOWN = m.Partition(
    8, 16, (MESH,), (CUT, ROWS, WHOLE), PLACEMENTS, GROUPS, (WRITTEN, MOVED),
    balance=m.Balance(1e6, 2.5e5),
)  # fmt: skip


def record(known: m.Partition | None = KNOWN) -> m.Record:
    names = tuple(f"cpu:{i}" for i in range(known.devices if known else 1))
    return with_program(load(), partition=known, devices=names)


def chapter(known: m.Partition = KNOWN) -> Chapter:
    one = record(known)
    written = devices(one, one.programs[0])
    assert written is not None
    return written


def table(known: m.Partition, caption: str) -> list[dict[str, str]]:
    part = next(part for part in chapter(known).parts if part.caption == caption)
    assert part.table is not None
    heads = [head or f"{i or ''}" for i, head in enumerate(part.table.heads)]
    return [dict(zip(heads, row, strict=True)) for row in part.table.rows]


def test_a_program_on_one_device_has_no_such_chapter() -> None:
    plain = record(None)
    assert devices(plain, plain.programs[0]) is None
    assert "Devices" not in text(plain, 100, full=True)
    assert 'id="tab-devices"' not in tabs_html(plain)


def test_the_lead_says_who_holds_what_and_what_is_sent() -> None:
    who, holds, work, talk, kinds = chapter().lead
    assert who == "Runs on 8 of 16 devices, cpu:0 … cpu:7: mesh data=4 × model=2."
    assert "every device has its own copy of 8.19 kB" in holds
    assert "every matrix product is done 2 times over" in work
    assert "Padded, as a dimension does not divide: y." in work
    # 3 × 1536 + 1024 bytes.
    assert talk == (
        "2 collectives (1 written in the code, 1 inserted by XLA to move data); "
        "in a run each device sends 5.63 kB."
    )
    assert kinds == (
        "They are all-reduce (add) along data, devices {0,2,4,6} {1,3,5,7}; "
        "collective-permute along data, 0→2 1→3 2→4 3→5 and 4 more."
    )


def test_the_short_text_names_the_kind_the_axis_and_the_devices_of_collectives() -> None:
    words = " ".join(text(record(), 100).split())
    assert "They are all-reduce (add) along data, devices {0,2,4,6} {1,3,5,7};" in words


def test_collectives_that_are_alike_are_listed_once() -> None:
    twice = dataclasses.replace(KNOWN, collectives=(WRITTEN, MOVED, WRITTEN))
    assert chapter(twice).lead[-1].startswith("They are 2 × all-reduce (add) along data, devices")
    one = dataclasses.replace(KNOWN, collectives=(WRITTEN,))
    assert chapter(one).lead[-1] == (
        "It is all-reduce (add) along data, devices {0,2,4,6} {1,3,5,7}."
    )
    unknown = dataclasses.replace(one, groups=(m.Group(()),))
    assert chapter(unknown).lead[-1] == "It is all-reduce (add)."
    kinds = [k for k in m.CollectiveKind if k is not WRITTEN.kind][:4]
    others = [dataclasses.replace(WRITTEN, kind=kind) for kind in kinds]
    many = dataclasses.replace(KNOWN, collectives=(WRITTEN, *others))
    assert chapter(many).lead[-1].endswith("; 1 other kind.")


def test_a_mesh_says_what_is_not_usual() -> None:
    mesh = dataclasses.replace(MESH, kinds=("auto", "explicit"))
    pair = dataclasses.replace(KNOWN, devices=2, meshes=(mesh,))
    one = record(pair)
    written = devices(one, one.programs[0])
    assert written is not None
    assert written.lead[0] == (
        "Runs on 2 of 16 devices, cpu:0 and cpu:1: mesh data=4 × model=2 (explicit)."
    )


def test_what_is_not_known_is_said() -> None:
    unread = dataclasses.replace(KNOWN, groups=(), collectives=(), unread="the text is new")
    assert chapter(unread).lead[-1] == "The collectives are not known: the text is new."
    silent = dataclasses.replace(KNOWN, groups=(), collectives=())
    assert chapter(silent).lead[-1].startswith("The devices do not talk to each other")


def test_each_value_has_a_row() -> None:
    rows = {row["name"]: row for row in table(KNOWN, "Where the values lie")}
    assert (rows["w"]["pieces"], rows["w"]["copies"]) == ("1", "all 8")
    assert (rows["y"]["piece"], rows["y"]["pieces"]) == ("16×32", "4")
    assert rows["y"]["padding"] == "1 more in dimension 0"
    assert (rows[NASTY]["pieces"], rows[NASTY]["copies"]) == ("8", "1")


def test_the_layout_of_a_value_is_whole_in_a_terminal() -> None:
    one = m.Placement("Out[0]", "output", "float32[64,32]", (64, 32), (16, 32), 8192, 2048, 1)
    found = text(record(dataclasses.replace(KNOWN, placements=(one,))), 100, full=True)
    row = next(line for line in found.splitlines() if line.startswith("  Out[0]  output  "))
    assert "P('data', None)  16×32" in row
    assert "…" not in row


def test_collectives_of_one_origin_are_counted_once() -> None:
    one = dataclasses.replace(KNOWN, collectives=(WRITTEN,))
    assert chapter(one).lead[3].startswith("1 collective, written in the code; in a run each ")


def test_each_collective_has_its_bytes_and_sets() -> None:
    written, moved = table(KNOWN, "Collectives")
    assert (written["what"], written["along"]) == ("all-reduce (add)", "data")
    assert (written["puts in"], written["sends"]) == ("1.02 kB", "1.54 kB")
    assert (written["times"], written["sends a run"]) == ("3", "4.61 kB")
    assert written["sets of devices"] == "{0,2,4,6} {1,3,5,7}"
    assert moved["sets of devices"].startswith("0→2 1→3")
    assert moved["line"].startswith("≈")


def test_each_collective_has_its_reason() -> None:
    written, moved = table(KNOWN, "Why they are there")
    assert written["by"] == "psum"
    assert written["why"].startswith("The code calls `psum` over `data`")
    assert moved["by"] == "XLA, for add"
    assert moved["why"] == (
        "XLA moves `w`, which lies otherwise than `y` beside it in `add`. `w` lies `P()`."
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"origin": m.Origin.ASKED, "primitive": "reshard"}, "asks for another layout (`reshard`)"),
        ({"origin": m.Origin.SUMMED, "primitive": "dot_general"}, "`dot_general` sums over"),
        ({"origin": m.Origin.SUMMED, "primitive": ""}, "XLA adds up partial results of the"),
        ({"need": m.Need.DIMENSION, "wanted_by": "sort"}, "`sort` works along a dimension"),
        ({"need": m.Need.PRODUCT, "wanted_by": "dot_general"}, "needs more of `w` than a device"),
        ({"need": m.Need.MANUAL}, "`shard_map` takes `w` in another layout"),
        ({"need": m.Need.RESULT, "value": "y"}, "The result `y` is to lie otherwise"),
        ({"need": m.Need.UNKNOWN, "value": "", "wanted_by": ""}, "XLA moves a value to another"),
    ],
)
def test_every_reason_has_its_sentence(changes: dict[str, object], words: str) -> None:
    one = dataclasses.replace(MOVED, **changes)
    (row,) = table(dataclasses.replace(KNOWN, collectives=(one,)), "Why they are there")
    assert words in row["why"]


def test_bytes_and_work_are_for_one_device_and_for_all() -> None:
    rows = {row[""]: row for row in table(KNOWN, "Bytes and work of each device")}
    assert rows["matrix products"]["each device"] == "250 kFLOP"
    assert rows["matrix products"]["all 8"] == "2 MFLOP"
    assert rows["sent"]["all 8"] == "45.1 kB"


# Pictures.


def svg(layout: m.Layout, placement: m.Placement, number: int = 8) -> ET.Element:
    drawn = layouts.picture(layout, placement, number, placement.name)
    return ET.fromstring(drawn.replace("<br>", "<br/>"))


def test_a_picture_has_a_cell_for_each_piece_with_its_devices() -> None:
    figure = svg(CUT, PLACEMENTS[0])
    cells = figure.findall(".//g")
    assert len(cells) == 8
    assert cells[3].findtext("title") == "[16:32, 16:32] on {3}"
    assert cells[3].findtext("text") == "3"
    colors = {cell.get("class") for cell in cells}
    assert len(colors) == 8


def test_a_replicated_value_is_one_cell_with_all_devices() -> None:
    (cell,) = svg(WHOLE, PLACEMENTS[1]).findall(".//g")
    assert cell.findtext("text") == "0…7"


def test_names_in_pictures_are_escaped() -> None:
    drawn = layouts.picture(CUT, PLACEMENTS[0], 8, NASTY)
    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn


def test_pictures_need_neither_script_nor_inline_style() -> None:
    drawn = layouts.picture(CUT, PLACEMENTS[0], 8, "x")
    assert not re.search(r"<script|style=|on\w+=|javascript:|href", drawn)


def test_a_drawing_in_text_shows_the_same_grid() -> None:
    assert layouts.drawing(ROWS, PLACEMENTS[2], "y") == (
        "y  P('data', None)",
        "float32[63,32] in 4 pieces of 16 × 32, each on 2 devices",
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
    layout = m.Layout("P('a', 'b')", None, (32, 16), held)
    placement = m.Placement("w", "input", "f32[3200,1600]", (3200, 1600), (100, 100), 1, 1, 0)
    figure = svg(layout, placement, number)
    # Of 32 rows and 16 columns the first six, a gap, and the last.
    assert len(figure.findall(".//g")) == 7 * 7
    assert [cell.findtext("text") for cell in figure.findall(".//g")][-1] == "511"
    drawn = layouts.drawing(layout, placement, "w")
    assert len(drawn) < 24
    assert max(map(len, drawn)) < 80
    many = m.Layout("P()", None, (1,), (tuple(range(number)),))
    line = m.Placement("b", "input", "f32[8]", (8,), (8,), 32, 32, 0)
    assert svg(many, line, number).findall(".//g")[0].findtext("text") == "0…511"


def test_three_dimensions_go_down_and_across() -> None:
    layout = m.Layout("P('a', None, ('b', 'c'))", None, (2, 1, 4), tuple((i,) for i in range(8)))
    placement = m.Placement("k", "input", "f32[4,3,8]", (4, 3, 8), (2, 3, 2), 1, 1, 0)
    titles = [cell.findtext("title") for cell in svg(layout, placement).findall(".//g")]
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
    assert layouts.numbers(devices) == words


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
        assert "Where the values lie" in written
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
