"""What is said of the magics: `%jaxscope`, and the page of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from notebook import Notebook, open_notebook

from jaxscope.magics.parser import Parser
from jaxscope.magics.usage import PARSERS


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        yield opened


def ours(notebook: Notebook) -> list[str]:
    """All magics of jaxscope, with their signs."""
    return [
        f"{sign}{name}"
        for kind, sign in (("cell", "%%"), ("line", "%"))
        for name, function in notebook.shell.magics_manager.magics[kind].items()
        if getattr(function, "__module__", "").startswith("jaxscope.")
    ]


def test_the_overview_names_every_magic(notebook: Notebook) -> None:
    listed = [line.split()[0] for line in notebook.must("%jaxscope").printed.splitlines() if line]
    magics = ours(notebook)
    assert {"%%jaxjit", "%%jaxprof", "%jaxdevices"} <= set(magics)
    assert {name.lstrip("%") for name in magics} == {
        word.lstrip("%") for word in listed if word.startswith(("%jax", "%%jax"))
    } - {"jaxjit?"}
    for cell in [name for name in magics if name.startswith("%%")]:
        assert cell in listed


def test_every_magic_with_options_has_a_page(notebook: Notebook) -> None:
    for name in ours(notebook):
        page = str(notebook.shell.find_magic(name.lstrip("%"), "line").__doc__)
        if name != "%jaxscope":
            assert f"\n  {name} " in page
            assert "\noptions:\n" in page
            assert "\nexamples:\n" in page
            assert max(map(len, page.splitlines())) <= 100


def test_every_option_is_explained() -> None:
    for parser in PARSERS.values():
        assert all(action.help for action in parser._actions)


def test_a_misspelled_option_is_told_by_its_letters_and_not_its_dashes() -> None:
    parser = Parser("jaxtest", "Tests.")
    parser.add_argument("--view")
    assert "mean" not in parser.unknown("--device")
    assert "Did you mean --view?" in parser.unknown("-veiw")
    parser.add_argument("--devices")
    assert "Did you mean --devices?" in parser.unknown("--device=3")
