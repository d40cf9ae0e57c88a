"""Lexical coloring of Python."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxscope.view.base.html import python, tag
from jaxscope.view.base.visible import visible


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("return x", '<span class="k">return</span> x'),
        ("returned = 1", "returned = 1"),
        ("x = 'a' # b", 'x = <span class="s">&#x27;a&#x27;</span> <span class="c"># b</span>'),
        ("%%jaxjit -n 3", '<span class="m">%%jaxjit</span> -n 3'),
        ("@jax.jit", '<span class="m">@jax.jit</span>'),
        ("a % b", "a % b"),
        ("f'{a!r}' < b", '<span class="s">f&#x27;{a!r}&#x27;</span> &lt; b'),
        ("'open # end", '<span class="s">&#x27;open # end</span>'),
        ("", ""),
    ],
)
def test_tokens(line: str, shown: str) -> None:
    assert python(line, 200) == shown


@given(st.text(st.characters(exclude_characters="\t"), max_size=80))
def test_coloring_changes_no_character(line: str) -> None:
    assert html.unescape(re.sub("<[^>]*>", "", python(line, 200))) == visible(line)


def test_a_long_line_is_cut_and_not_colored() -> None:
    assert python("return " + "x" * 1000, 20) == "return xxxxxxxxxxxxx … 987 more characters"


def test_a_drawing_is_whole_and_a_text_is_cut() -> None:
    path = "M0 0h1" * 1000
    assert path in tag("path", d=path)
    assert "more characters" in tag("p", title=path)
