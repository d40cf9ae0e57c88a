"""Options of a magic line, and the text after them."""

from __future__ import annotations

from argparse import Namespace

import pytest
from IPython.core.error import UsageError

from jaxscope.magics.options import transforms

PARSER = transforms.parser("%%jaxjit", "For the tests.")


def parse(line: str) -> Namespace:
    return transforms.parse(line, PARSER)


@pytest.mark.parametrize(
    ("line", "tokens", "rest"),
    [
        ("", [], ""),
        ("f(x, -y)", [], "f(x, -y)"),
        ("-n 3 f(x)", ["-n", "3"], "f(x)"),
        ("-n3 f(x)", ["-n3"], "f(x)"),
        ("--runs=3 f(x)", ["--runs=3"], "f(x)"),
        ("-q --x64 f(x) -q", ["-q", "--x64"], "f(x) -q"),
        ("-s a,b -- -f(x)", ["-s", "a,b"], "-f(x)"),
        ("-- -q", [], "-q"),
        ("-f(x)", [], "-f(x)"),
        ("-1 * f(x)", [], "-1 * f(x)"),
        ("-q f('a  b',  2)", ["-q"], "f('a  b',  2)"),
        ("-o 'name' f(x)", ["-o", "name"], "f(x)"),
        ("-n -1", ["-n", "-1"], ""),
        ("   -q   ", ["-q"], ""),
        ("f(x) -- y", [], "f(x) -- y"),
    ],
)
def test_options_end_at_the_first_token_that_is_none(
    line: str, tokens: list[str], rest: str
) -> None:
    assert transforms.split(line, PARSER) == (tokens, rest)


def test_every_option() -> None:
    given = parse(
        "-s a,b --static c -t n -d w --device cpu:1 -n 4 --x64 -o rep -q --view text --only f,g"
    )
    assert vars(given) == vars(parse("")) | {
        "static": ("a", "b", "c"),
        "traced": ("n",),
        "donate": ("w",),
        "device": "cpu:1",
        "runs": 4,
        "x64": True,
        "report": "rep",
        "quiet": True,
        "view": "text",
        "block": False,
        "decorate": False,
        "only": ("f", "g"),
        "rest": "",
    }


def test_nothing_given() -> None:
    given = parse("")
    assert (given.static, given.runs, given.device, given.view) == ((), None, None, "auto")
    assert transforms.parse("", PARSER, "html").view == "html"
    assert transforms.parse("--view text", PARSER, "html").view == "text"


def test_one_parse_leaves_nothing_for_the_next() -> None:
    assert parse("-s a").static == ("a",)
    assert parse("-s b").static == ("b",)
    assert parse("").static == ()


def test_names_are_kept_once_in_their_order() -> None:
    assert transforms.names(["b, a", "b", "ж"]) == ("b", "a", "ж")


@pytest.mark.parametrize("bad", ["1a", "a b", "", "a.b", "lambda", "$x", "{w}"])
def test_what_is_no_name_is_said(bad: str) -> None:
    with pytest.raises(UsageError, match="is not a name; give names separated by commas"):
        transforms.names([bad])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--block --decorate", "exclude each other"),
        ("-n x", "'x' is not a number of runs"),
        ("--nothing", "There is no option --nothing"),
        ("--view film", "--view takes auto, widget, html or text, but got 'film'"),
        ("-s", "--static needs a value"),
    ],
)
def test_wrong_options(line: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse(line)
