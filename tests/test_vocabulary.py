"""The project's words: a docstring begins with a noun or an imperative, retired terms stay retired.

A word that is not the field's own costs each reader a guess. Its replacement is beside it here;
`docs/glossary.md` explains the words in use.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

HEADLESS = re.compile(r"(What|Which|Whose|Who|Whom|How|Why)\b(?!.*\?$)", re.MULTILINE)
"""A clause without the noun that it describes; a question is a sentence."""

RETIRED = {
    "cure[sd]?": "fix",
    r"witness\w*": "recorder",
    r"photograph\w*": "snapshot",
    "ledgers?": "history",
    "lead-?ins?": "warm-up",
    "contestants?": "implementation",
    "likeness": "approximate match",
    "no known line": "unattributed",
    "nobody|somebody": "the passive: not requested, unknown",
    "(hand|hands|handed|handing) on": "pass; residual",
    "(stands?|stood|standing) in": "placeholder",
    "heard": "observed",
    "baked": "captured constant",
    "trace-only": "at trace time",
    "foreign constants?": "non-JAX constant",
    "batched loops?": "sequential vmap",
    "dispatch[- ]bound": "host-bound (a call), overhead-bound (an instruction)",
    "line[- ]mode": "isolated lines",
    "untraced": "unprofiled",
    "(is|are|was|were|be) (said|told)": "reported",
    "made anew": "rebuilt",
    "told apart": "distinguished",
    "put together": "gathered, merged",
    "brought round": "carried",
    "vanish(ed|es|ing)?": "eliminated",
    r"\w*(optimi|initiali|normali|seriali|summari|recogni|organi|reali|materiali|speciali|paralleli"
    r"|vectori|finali|minimi|maximi|synchroni|visuali|generali|factori|regulari|quanti|customi"
    r"|categori|utili|standardi|memori|prioriti|locali|equali)s(e[sd]?|ers?|ing|ations?)": "…ize",
    "analys(e|ed|ing)": "analyze",
    r"\w*(colour|behaviour|neighbour|favour|honour)\w*": "…or",
    "grey|centre[sd]?|catalogues?|artefacts?": "gray, center, catalog, artifact",
    "(model|label|travel|cancel)l(ed|ing)": "one l",
}
"""Whole words as regular expressions, each with the word to write."""
_ANY = re.compile("|".join(rf"\b(?:{term})\b" for term in RETIRED), re.IGNORECASE)

PAGES = (
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    ROOT / "labextension" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
)
Found = tuple[int, str]
"""Line and text."""
Words = Callable[[str], Iterator[Found]]


def docstrings(tree: ast.AST) -> Iterator[Found]:
    """Docstrings of modules, classes and functions, and those below a name."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                value = statement.value.value
                if isinstance(value, str):
                    yield statement.lineno, value.strip()


def headless(text: str) -> list[Found]:
    """Docstrings that begin with a headless clause, by line."""
    return [(n, doc) for n, doc in docstrings(ast.parse(text)) if HEADLESS.match(doc)]


def spoken(identifier: str) -> str:
    """An identifier as words: `CachedProgram` and `cached_program` as `cached program`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", identifier)


def python_words(text: str) -> Iterator[Found]:
    """Strings and identifiers of Python."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        for field in ("name", "id", "attr", "arg"):
            if isinstance(name := getattr(node, field, None), str):
                yield getattr(node, "lineno", 0), spoken(name)


_TYPESCRIPT = re.compile(
    r"//[^\n]*|/\*.*?\*/|(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)",
    re.DOTALL,
)


def typescript_words(text: str) -> Iterator[Found]:
    """Strings of TypeScript, without comments."""
    for match in _TYPESCRIPT.finditer(text):
        if (string := match["text"]) is not None:
            yield text.count("\n", 0, match.start()) + 1, string


def page_words(text: str) -> Iterator[Found]:
    yield from enumerate(text.splitlines(), 1)


def notebook_words(text: str) -> Iterator[Found]:
    """The Markdown cells of a notebook, by the number of the cell, without names of its code."""
    for number, cell in enumerate(json.loads(text)["cells"], 1):
        if cell["cell_type"] == "markdown":
            yield number, re.sub("`[^`]*`", "", "".join(cell["source"]))


def retired(words: Iterator[Found]) -> list[str]:
    """Retired terms, each with its line and the word to write."""
    found: list[str] = []
    for line, text in words:
        for match in _ANY.finditer(text):
            write = next(w for term, w in RETIRED.items() if re.fullmatch(term, match[0], re.I))
            found.append(f"line {line}: {match[0]!r} is retired; write: {write}")
    return found


def by_file(paths: list[Path], words: Words) -> dict[str, list[str]]:
    found = {p.relative_to(ROOT).as_posix(): retired(words(p.read_text("utf-8"))) for p in paths}
    return {file: problems for file, problems in found.items() if problems}


def python_files() -> list[Path]:
    folders = ("jaxscope", "measurements", "tools")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def test_docstrings_begin_with_a_noun_or_an_imperative() -> None:
    found = {p.relative_to(ROOT).as_posix(): headless(p.read_text("utf-8")) for p in python_files()}
    assert {file: problems for file, problems in found.items() if problems} == {}


def test_a_headless_docstring_is_noticed() -> None:
    text = '''"""Why a thing is."""
class A:
    """A noun."""
    x: int = 0
    """Which of them.

    More."""
    def f(self):
        """Whatever begins with a noun."""
        return "What is no docstring"
'''
    assert headless(text) == [(1, "Why a thing is."), (5, "Which of them.\n\n    More.")]
    assert headless('"""Which thread called?"""') == []


def test_the_code_uses_no_retired_term() -> None:
    assert len(python_files()) > 300
    assert by_file(python_files(), python_words) == {}


def test_the_viewer_shows_no_retired_term() -> None:
    files = sorted((ROOT / "labextension" / "src").rglob("*.ts"))
    assert len(files) > 80
    assert by_file(files, typescript_words) == {}


def test_the_pages_use_no_retired_term() -> None:
    assert by_file(list(PAGES), page_words) == {}


def test_the_texts_of_the_notebooks_use_no_retired_term() -> None:
    assert by_file(sorted((ROOT / "demos").glob("*.ipynb")), notebook_words) == {}


@pytest.mark.parametrize(
    ("words", "text", "line"),
    [
        (python_words, 'x = 1\nsay(f"the cure of {x}")', 2),
        (python_words, "class CureOfAll:\n    pass", 1),
        (python_words, "def f():\n    return the.cure_of", 2),
        (python_words, "def f(*, the_cure):\n    pass", 1),
        (typescript_words, "const a = 1; // a cure\nshow(`the ${a} cure`);", 2),
        (page_words, "# A page\n\nThe cures are here.", 3),
    ],
)
def test_a_retired_term_is_noticed(words: Words, text: str, line: int) -> None:
    (found,) = retired(words(text))
    assert found.startswith(f"line {line}: ")
    assert found.endswith("is retired; write: fix")


@pytest.mark.parametrize(
    "text",
    [
        "secure, obscured, procure",
        "the noise is precise; otherwise it raises, rises and promises",
        "aria-labelledby",
        "analyses and their analysis",
        "elementwise realistic generality",
    ],
)
def test_words_that_only_look_alike_are_left_alone(text: str) -> None:
    assert retired(page_words(text)) == []
