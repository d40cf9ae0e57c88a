"""Numbers as people read them."""

import json
import math

import pytest

from jaxscope import words
from tests.paths import TESTS


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (12.3e-6, "12.3 µs"),
        (0.042, "42 ms"),
        (0.0423456, "42.3 ms"),
        (1.5, "1.5 s"),
        (999.96e-6, "1 ms"),
        (0.99996, "1 s"),
        (59.94, "59.9 s"),
        (599, "599 s"),
        (744, "12.4 min"),
        (7560, "2.1 h"),
        (3e-9, "3 ns"),
        (1e-10, "0.1 ns"),
        (None, "—"),
        (math.nan, "—"),
        (math.inf, "—"),
    ],
)
def test_seconds(value: float | None, text: str) -> None:
    assert words.seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (5, "5 B"),
        (512, "512 B"),
        (999.6, "1 kB"),
        (64_000, "64 kB"),
        (65_536, "65.5 kB"),
        (1_495_188, "1.5 MB"),
        (3.2e12, "3.2 TB"),
        (None, "—"),
    ],
)
def test_sizes_are_in_si_units(value: float | None, text: str) -> None:
    assert words.size(value) == text


def test_work_and_rates() -> None:
    assert words.flops(1.2e6) == "1.2 MFLOP"
    assert words.flops(0) == "0 FLOP"
    assert words.flops(7.5e21) == "7500 EFLOP"
    assert words.flop_rate(91.2e9) == "91.2 GFLOP/s"
    assert words.byte_rate(18.6e9) == "18.6 GB/s"
    assert words.intensity(19.0) == "19 FLOP/B"
    assert words.intensity(0.0833) == "0.0833 FLOP/B"
    assert words.intensity(4_002_000.0) == "4 MFLOP/B"
    assert words.intensity(None) == "—"
    assert words.short(1_048_576) == "1.05 M"
    assert words.short(7) == "7"


def test_the_parts_of_a_time_share_its_unit_and_its_decimals() -> None:
    assert words.parts(0.042, 0.003, 0.004, 0.035) == ("3", "4", "35")
    assert words.parts(1.25, 0.05, 0.2, 1.0) == ("0.05", "0.20", "1.00")
    assert words.parts(2.0, 0.21, 0.14, 1.65) == ("0.2", "0.1", "1.6")
    assert words.parts(0.0, 0.0) == ("0",)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.0004, "< 0.1 %"),
        (0.024, "2.4 %"),
        (0.02, "2 %"),
        (0.0996, "10 %"),
        (0.81, "81 %"),
        (1.0, "100 %"),
        (None, "—"),
    ],
)
def test_shares(share: float | None, text: str) -> None:
    assert words.percent(share) == text


def test_the_width_of_an_interval_is_empty_for_a_single_sample() -> None:
    assert words.spread(0.02) == "± 2 %"
    assert words.spread(0.0012) == "± 0.1 %"
    assert words.spread(math.nan) == ""
    assert words.spread(53.92) == "± over 100 %"


def test_nouns_have_their_article() -> None:
    assert [words.a(one) for one in ("list", "AutoNormal", "UserDict")] == [
        "a list",
        "an AutoNormal",
        "a UserDict",
    ]


def test_counts_have_their_noun() -> None:
    assert words.count(1, "line") == "1 line"
    assert words.count(0, "line") == "0 lines"
    assert words.count(12_345, "line") == "12 345 lines"
    assert [words.grouped(number) for number in (9_999, 11_770)] == ["9999", "11 770"]
    assert words.count(2, "match", "matches") == "2 matches"


GOLDEN = json.loads((TESTS / "data" / "words" / "words.json").read_text("utf-8"))


@pytest.mark.parametrize("name", GOLDEN)
def test_the_golden_cases_are_those_that_the_viewer_is_held_to(name: str) -> None:
    more = ("line",) if name == "count" else ()
    found = [[number, getattr(words, name)(number, *more)] for number, _ in GOLDEN[name]]
    assert found == GOLDEN[name]
