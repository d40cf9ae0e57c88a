"""What a line holds is repeated in errors, but never as something that a terminal obeys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.magics.notebook import Notebook, open_notebook

HIDDEN = "\x1b]0;evil\x07\x1b[2J\u202e"
LINES = (
    "%jaxjit --{}",
    "%jaxjit {}",
    "%jaxprof {}",
    "%jaxdiff {}",
    "%jaxlog {}",
    "%jaxlog --since {}",
    "%jaxwatch {}",
    "%jaxscope {}",
    "%jaxdevices {}",
    "%jaxbench x vs {}",
    "%%jaxjit --device {}\nx + 1",
    "%%jaxjit -o {}\nx + 1",
    "%%jaxjit -s {}\nx + 1",
    "%%jaxjit --view {}\nx + 1",
    "%%jaxjit --only {}\ndef f(x): return x",
    "%%jaxgrad -w {}\nx.sum()",
    "%%jaxvmap -i {}\nx",
    "%%jaxvmap -i x={}\nx",
    "%%jaxcompose {}\nx",
    "%%jaxcompose jit | {}\nx",
    "%%jaxprof {}\nx",
    "%%jaxwatch {}\nx",
    "%%jaxbench {}\nx",
    "%%jaxbench -n {}\nx",
    "%%jaxbench --vs {}\nx",
    "%%jaxbench --vmap {}\nx",
    "%%jaxbench --against {}\nx + 1",
)


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    with open_notebook() as opened:
        opened.must("import jax.numpy as jnp\nx = jnp.ones(3)")
        yield opened


@pytest.mark.parametrize("line", LINES)
def test_an_escape_sequence_on_a_line_is_spelled_out(line: str, notebook: Notebook) -> None:
    ran = notebook.run(line.format(HIDDEN))
    said = "\n".join([ran.printed, ran.text, ran.message if ran.error is not None else ""])
    assert said.strip()
    assert not {"\x1b", "\x07", "\u202e"} & set(said), said


@pytest.mark.parametrize("line", ["%jaxjit --{}", "%%jaxjit --device {}\nx + 1"])
def test_the_error_still_shows_what_was_typed(line: str, notebook: Notebook) -> None:
    ran = notebook.run(line.format(HIDDEN))
    assert type(ran.error).__name__ == "UsageError"
    assert r"\x1b]0;evil\x07\x1b[2J\u202e" in ran.message
