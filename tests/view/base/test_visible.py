"""What cannot be seen is spelled out, and text is measured as a terminal draws it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxscope.view.base.visible import columns, fitted, split_lines, visible, wrapped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("h = x @ w", "h = x @ w"),
        ("größe = 3  # ≈ 漢字", "größe = 3  # ≈ 漢字"),
        ("\tx", "    x"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("a\x0cb\x00\x7f\x9b", "a\\x0cb\\x00\\x7f\\x9b"),
        ("a\u2028b", "a\\u2028b"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_hidden_characters_are_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(max_size=60))
def test_nothing_that_moves_text_is_left(text: str) -> None:
    shown = visible(text)
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert not any("\u202a" <= c <= "\u202e" or "\u2066" <= c <= "\u2069" for c in shown)


def test_lines_end_where_python_ends_them() -> None:
    assert split_lines("a\nb\r\nc\rd\n") == ["a", "b", "c", "d"]
    assert split_lines("a\x0cb\u2028c") == ["a\x0cb\u2028c"]
    assert split_lines("") == []
    assert split_lines("\n\n") == ["", ""]


def test_wide_characters_fill_two_cells_and_marks_none() -> None:
    assert columns("abc") == 3
    assert columns("漢字") == 4
    assert columns("e\u0301") == 1


@given(st.text(max_size=80), st.integers(2, 40))
def test_fitted_text_is_never_wider(text: str, width: int) -> None:
    assert columns(fitted(text, width)) <= width


def test_fitted_text_is_whole_where_it_fits_and_marked_where_not() -> None:
    assert fitted("漢字漢字", 8) == "漢字漢字"
    assert fitted("漢字漢字", 7) == "漢字漢…"
    assert fitted("abcdef", 4) == "abc…"


@given(st.text(alphabet="ab 漢", max_size=80), st.integers(2, 20))
def test_wrapping_loses_nothing_and_stays_within_the_width(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert all(columns(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_a_number_keeps_its_unit_and_a_cell_its_number() -> None:
    assert wrapped("slowest at In [3]:13, 192 ms", 14) == ["slowest at", "In [3]:13,", "192 ms"]
    assert wrapped("took 12 % of 4 kB", 8) == ["took", "12 % of", "4 kB"]
    assert wrapped("Begin [here] in 3 steps", 8) == ["Begin", "[here]", "in 3", "steps"]
