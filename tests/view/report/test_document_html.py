"""The notebook's static HTML: no script, every link arrives, everything escaped."""

import base64
import dataclasses
import re
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from jaxscope import model as m
from jaxscope.analysis.profile.stacks import Node
from jaxscope.model.profile import Profile
from jaxscope.view.base.html import Html, join
from jaxscope.view.base.svg import images, svg
from jaxscope.view.profile import icicle
from jaxscope.view.report.chapters import samples
from jaxscope.view.report.document import static_html
from tests.view.conftest import load, plain, tabs_html, text_of, with_program
from tests.view.profile.test_chapter import PROFILE, with_profile

VOID = {"meta", "br", "img", "input", "hr", "link", "circle", "rect", "line", "path"}
SHAPES = {"svg", "style", "title", "g", "rect", "circle", "line", "text", "path"}
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&\x1b[31m\u202e\ud800</pre></style>"


class Document(HTMLParser):
    """Tags, ids, links and text of a document; its tags must nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(found["id"] or "")
        if tag == "a":
            self.targets.append(found["href"] or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def evil() -> m.Record:
    """Foreign text in every field that holds text."""
    record = load()
    stage = m.Stage(
        m.StageKind.OPTIMIZED_HLO,
        f"HloModule {EVIL}\n{EVIL}",
        anchors=(m.Anchor(1, (0,)), m.Anchor(2, (0, 34), exact=False, why=EVIL)),
    )
    source = dataclasses.replace(
        record.sources[0], name=EVIL, text="\n".join([EVIL, EVIL, f"h = '{EVIL}' # {EVIL}"])
    )
    finding = m.Finding(m.FindingKind.EAGER, 3, f"`{EVIL}`", EVIL, EVIL)
    value = m.Value(EVIL, m.ValueKind.STATIC, EVIL, None, EVIL, reason=EVIL)
    cause = m.Cause(m.CauseKind.SHAPE, EVIL, EVIL, EVIL, EVIL, fix=EVIL)
    compile = dataclasses.replace(
        record.compiles[0], fun_name=EVIL, signature=(EVIL,), causes=(cause,)
    )
    environment = dataclasses.replace(record.environment, jax=EVIL, flags=((EVIL, EVIL),))
    timing = m.Timing(EVIL, EVIL, (1.0, 2.0), note=EVIL)
    return with_program(
        dataclasses.replace(
            record,
            title=EVIL,
            sources=(source, dataclasses.replace(record.sources[1], name=EVIL)),
            findings=(finding,),
            compiles=(compile,),
            notes=(EVIL,),
            environment=environment,
        ),
        name=EVIL,
        devices=(EVIL,),
        stages=(stage,),
        inputs=(value,),
        timings=(timing,),
        cost=m.Unavailable(EVIL),
        memory=m.Unavailable(EVIL),
        roofline=m.Roofline(EVIL, 1.0, 1.0, EVIL, EVIL),
    )


RECORDS = {
    "golden": load(),
    "evil": evil(),
    "plain": plain(load()),
    "no sources": dataclasses.replace(plain(load()), sources=()),
    "no stages": with_program(load(), stages=()),
    "untagged": with_program(load(), exact=False, inexact_why="lowered elsewhere"),
    "two programs": dataclasses.replace(load(), programs=load().programs * 2),
    "not run": with_program(load(), timings=(), compiles=(), cost=m.Unavailable("none")),
}


@pytest.mark.parametrize("name", RECORDS)
def test_there_is_no_script_and_nothing_is_fetched(name: str) -> None:
    document = Document(static_html(RECORDS[name]))
    assert not {"script", "link", "iframe", "object", "form"} & set(document.tags)
    assert not [key for key, _ in document.attributes if key.startswith("on")]
    sources = [value or "" for key, value in document.attributes if key == "src"]
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert not re.search(r"url\(|@import|http", static_html(load()))


def test_pictures_with_letters_are_images_that_speak() -> None:
    """Of an inline SVG a notebook that is not trusted leaves the letters in a row."""
    timing = m.Timing("call", "call", (1e-3, 2e-3, 3e-3, 4e-3))
    stacks = (icicle.svg(Node(name, 1.0)) for name in ("f", EVIL))
    html = images(join(svg(samples(timing)), *stacks))
    assert "<text" not in html
    found = re.findall(r'<img width="(\d+)" height="(\d+)" alt="([^"]+)" src="([^"]+)">', html)
    assert [words.partition(",")[0] for _, _, words, _ in found[:2]] == [
        "4 rounds from 1 ms to 4 ms",
        "call stacks of f",
    ]
    for width, height, _, source in found:
        root = ElementTree.fromstring(base64.b64decode(source.partition(",")[2]))
        assert (root.attrib["width"], root.attrib["height"]) == (width, height)
        assert {tag.tag.partition("}")[2] for tag in root.iter()} <= SHAPES
    assert len(found) == 3


def test_the_time_by_line_stands_open_above_the_source_and_once() -> None:
    html = static_html(with_profile(load(), PROFILE))
    above, _, below = html.partition('<div class="pair">')
    assert "<h4>Profile</h4><p>Line 4 takes" in above
    assert '<table class="lines">' in above
    assert "Line 4 takes" not in below
    assert "<details><summary>Profile: more</summary><h4>" in below
    assert "Profile" not in static_html(load())


def test_a_profile_without_a_measurement_has_nothing_more() -> None:
    none = Profile("cpu:0", (), 0, (), (), unreliable="The trace contains no instruction.")
    html = static_html(with_profile(load(), none))
    assert "The trace contains no instruction." in html
    assert "Profile: more" not in html


def test_bars_without_letters_stay_where_they_are() -> None:
    bar = Html('<td><svg viewBox="0 0 100 9"><rect width="9" height="9"/></svg></td>')
    assert images(bar) == bar
    assert "<img" in static_html(load())
    assert "<text" not in static_html(load())


@pytest.mark.parametrize("name", RECORDS)
def test_every_link_arrives_and_every_id_is_there_once(name: str) -> None:
    document = Document(static_html(RECORDS[name], uid="u7"))
    assert len(set(document.ids)) == len(document.ids)
    assert {target.removeprefix("#") for target in document.targets} <= set(document.ids)
    assert all(each == "u7" or each.startswith("u7-") for each in document.ids)


def test_a_source_line_leads_to_its_first_match_and_back() -> None:
    html = static_html(load(), uid="u")
    document = Document(html)
    rows = text_of(load().programs[0], "optimized_hlo").split("\n")
    # The entry computation is shown first, so its fusion is the first match.
    first = next(n for n, row in enumerate(rows, 1) if "%ynn_fusion.3 = " in row)
    assert {"u-s3", "u-o3", "u-j3", "u-s10", "u-o10"} <= set(document.ids)
    assert re.search(rf'<i id="u-o3"></i><a href="#u-s3">\s*{first}</a>', html)
    assert re.search(r'id="u-s3"[^>]*><th[^>]*><a href="#u-o3">3</a>', html)
    assert "#u:has(#u-s3:target,#u-o3:target,#u-j3:target) .l3{" in html


def test_the_words_are_there_without_any_style() -> None:
    text = Document(static_html(load())).text
    for words in (
        "412 µs ± 0.2 % per call (51 rounds)",
        "runs only while the cell is traced",
        "4.23 M · 81 %",
        "optimized HLO, 187 lines",
        "multiply_add_fusion",
        "int, so static; -t depth traces it",
        "387 kB",
        "The shape of x changed: f32[128,64] → f32[256,64] (axis 0).",
        "jaxlib 0.10.2",
    ):
        assert words in text, words


def test_two_displays_have_no_id_in_common() -> None:
    first, second = (Document(static_html(load(), uid=uid)) for uid in ("a1", "a2"))
    assert not set(first.ids) & set(second.ids)
    other = dataclasses.replace(load(), created="2026-11-22T00:00:00Z")
    assert not set(Document(static_html(load())).ids) & set(Document(static_html(other)).ids)


def test_an_uid_cannot_break_out_of_its_attribute() -> None:
    assert 'id="ab"' in static_html(load(), uid='a">b')


@pytest.mark.parametrize("draw", [static_html, tabs_html])
def test_foreign_text_stays_text(draw: Callable[[m.Record], str]) -> None:
    html = draw(evil())
    document = Document(html)
    shown = EVIL.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    shown = shown.replace("\ud800", "\\ud800")
    assert document.text.count(shown) >= 10
    body = re.sub(r'<script type="application/json".*?</script>', "", html, flags=re.DOTALL)
    body = re.sub(r'<img width="\d+" height="\d+" alt="[^"<>]*" src="data:[^"]+">', "", body)
    assert "<img" not in body
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html)


def test_a_small_report_is_small() -> None:
    assert len(static_html(load()).encode()) < 80_000


def big(lines: int, width: int = 80) -> m.Stage:
    text = "HloModule m\n" + "\n".join("x" * width for _ in range(lines))
    return m.Stage(
        m.StageKind.OPTIMIZED_HLO,
        text,
        anchors=tuple(m.Anchor(n, (0, 4, 34)) for n in range(2, lines)),
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"stages": (big(100_000),)},
        {"stages": (big(3, 1_000_000),)},
        {"inputs": load().programs[0].inputs * 3000},
        {"inputs": (m.Value("x", m.ValueKind.STATIC, "y" * 1_000_000, None),)},
        {"name": "f" * 1_000_000},
        {"timings": (m.Timing("call", "cpu:0", tuple(map(float, range(50_000)))),)},
    ],
)
def test_however_large_the_program_the_output_has_a_cap(changes: dict) -> None:
    html = static_html(with_program(load(), **changes))
    assert len(html.encode()) <= 200_000
    Document(html)


def test_however_large_the_cell_the_output_has_a_cap() -> None:
    record = load()
    long = dataclasses.replace(record.sources[0], text="x = 1\n" * 1_000_000)
    wide = dataclasses.replace(record.sources[0], text="x" * 5_000_000)
    many = dataclasses.replace(record, findings=record.findings * 2000)
    for each in (
        dataclasses.replace(record, sources=(long,)),
        dataclasses.replace(record, sources=(wide,)),
        dataclasses.replace(record, notes=("n" * 300_000,) * 5),
        many,
    ):
        assert len(static_html(each).encode()) <= 200_000


def test_what_is_left_out_is_said_with_the_way_to_it() -> None:
    text = Document(static_html(with_program(load(), stages=(big(100_000),)))).text
    assert "more lines left out to keep the notebook small" in text
    assert 'report.stage("optimized_hlo").text gives the whole text' in text
    many = static_html(dataclasses.replace(load(), findings=load().findings * 2000))
    assert "9800 more findings left out here." in Document(many).text
    shortened = static_html(dataclasses.replace(load(), notes=("n" * 5000,) * 150))
    assert "Shortened to keep the notebook small" in Document(shortened).text
    assert "Shortened" not in static_html(load())


def test_a_long_program_begins_with_its_entry_and_ends_with_what_costs_least() -> None:
    cheap = [
        f"%cheap.{k} (p.{k}: f32[2]) -> f32[2] {{\n  %p.{k} = f32[2]{{0}} parameter(0)\n"
        f"  ROOT %n.{k} = f32[2]{{0}} negate(%p.{k})\n}}\n"
        for k in range(2000)
    ]
    calls = [
        f"  %c.{k} = f32[2]{{0}} fusion(%x), kind=kLoop, calls=%cheap.{k}\n" for k in range(2000)
    ]
    text = (
        "HloModule jit_f, entry_computation_layout={(f32[64,64])->f32[64,64]}\n\n"
        + "\n".join(cheap)
        + "\n%costly (q: f32[64,64]) -> f32[64,64] {\n  %q = f32[64,64]{1,0} parameter(0)\n"
        "  ROOT %product = f32[64,64]{1,0} dot(%q, %q), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}\n}\n\nENTRY %main (a: f32[64,64], x: f32[2]) -> f32[64,64] {\n"
        "  %a = f32[64,64]{1,0} parameter(0)\n  %x = f32[2]{0} parameter(1)\n"
        + "".join(calls)
        + "  ROOT %r = f32[64,64]{1,0} fusion(%a), kind=kOutput, calls=%costly\n}\n"
    )
    stage = m.Stage(m.StageKind.OPTIMIZED_HLO, text)
    shown = Document(static_html(with_program(load(), stages=(stage,)))).text
    first, last = shown.index("ENTRY %main"), shown.index("%r = f32")
    assert first < last
    assert "%c.0 = " in shown
    assert "%c.1999 = " not in shown


def test_states_are_told_in_words() -> None:
    gone = m.Stage(m.StageKind.OPTIMIZED_HLO, unavailable=m.Unavailable("released; re-run it"))
    assert "There is no text: released; re-run it." in static_html(
        with_program(load(), stages=(gone,))
    )
    assert "This text was not fetched" in static_html(RECORDS["no stages"])
    assert "ran as plain Python" in static_html(RECORDS["plain"])
    assert "The program was not run, so there are no timings." in static_html(RECORDS["not run"])
    assert "0 compiles" in static_html(plain(load(), compiles=()))
    assert "Other programs" in static_html(RECORDS["two programs"])
