"""Which files are the user's, and their columns."""

from __future__ import annotations

import json
import linecache
import os

import jax
import numpy as np
import pytest

import jaxscope.model
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.model import Source, SourceKind, Span

CELL = Source("cell", "/tmp/ipykernel_1/42.py", SourceKind.CELL, "%%jaxjit\ny = jnp.sin(é)\n")


def cached(monkeypatch, file, text):
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(True), file))


def test_the_cell_is_the_first_source_without_being_looked_up():
    sources = SourceFiles(CELL)
    assert sources.all() == (CELL,)
    assert sources.index(CELL.file) == 0


@pytest.mark.parametrize(
    "file",
    [
        json.__file__,
        jax.__file__,
        np.__file__,
        pytest.__file__,
        jaxscope.model.__file__,
        "<frozen importlib._bootstrap>",
        "<string>",
        "/no/such/file.py",
    ],
)
def test_libraries_and_missing_texts_are_no_sources(file):
    sources = SourceFiles(CELL)
    assert sources.index(file) is None
    assert sources.all() == (CELL,)


def test_a_users_module_is_kept_with_its_text(tmp_path):
    file = tmp_path / "helpers.py"
    file.write_text("def f(x):\n    return x\n")
    sources = SourceFiles(CELL)
    assert sources.index(str(file)) == 1
    assert sources.index(str(file)) == 1
    assert sources.all()[1] == Source(
        "helpers.py", str(file), SourceKind.MODULE, "def f(x):\n    return x\n"
    )


def test_a_module_that_was_edited_since_has_its_new_text(tmp_path):
    file = tmp_path / "helpers.py"
    file.write_text("def f(x):\n    return x\n")
    SourceFiles(CELL).index(str(file))
    file.write_text("def f(x):\n    return x * 3\n")
    sources = SourceFiles(CELL)
    sources.index(str(file))
    assert sources.all()[1].text == "def f(x):\n    return x * 3\n"


def test_code_of_a_file_that_was_edited_since_has_no_lines(tmp_path):
    file = tmp_path / "helpers.py"
    text = "def kept(x):\n    return x\n\n\ndef scaled(x):\n    return x * 2\n"
    loaded, later = {}, {}
    exec(compile(text, str(file), "exec"), loaded)
    file.write_text(text)
    sources = SourceFiles(CELL)
    assert sources.index_of(loaded["scaled"].__code__) == 1
    assert sources.notes() == ()
    file.write_text(text.replace("* 2", "* 3"))
    sources = SourceFiles(CELL)
    assert sources.index_of(loaded["scaled"].__code__) is None
    assert (
        "does not have the lines of `helpers.py` as it is now, so its lines" in sources.notes()[0]
    )
    assert sources.index_of(loaded["kept"].__code__) == 1
    exec(compile(file.read_text(), str(file), "exec"), later)
    assert sources.index_of(later["scaled"].__code__) == 1


def test_code_of_a_file_without_edits_is_not_compared(tmp_path):
    file = tmp_path / "helpers.py"
    loaded = {}
    exec(compile("def rewritten(x):\n    return x * 2\n", str(file), "exec"), loaded)
    file.write_text("def rewritten(x):\n    return x\n")
    os.utime(file, (1, 1))
    assert SourceFiles(CELL).index_of(loaded["rewritten"].__code__) == 1


def test_another_cell_has_the_name_that_the_notebook_gives_it(monkeypatch):
    file = "/tmp/ipykernel_1/7.py"
    cached(monkeypatch, file, "w = 1\n")
    sources = SourceFiles(CELL, {file: "In [3]"}.get)
    assert sources.index(file) == 1
    assert sources.all()[1] == Source("In [3]", file, SourceKind.OTHER_CELL, "w = 1\n")


@pytest.mark.parametrize(
    ("typed", "seen"),
    [
        ("%jaxprof -o r f(x);", "get_ipython().run_line_magic('jaxprof', '-o r f(x);')"),
        ("%jaxlog", "get_ipython().run_line_magic('jaxlog', '')"),
        ("    %timeit f(3)", "    get_ipython().run_line_magic('timeit', 'f(3)')"),
        ("y = %time f('a')", "y = get_ipython().run_line_magic('time', \"f('a')\")"),
        ("s = 'get_ipython()'", "s = 'get_ipython()'"),
        ("g(get_ipython().run_line_magic('time', a))",) * 2,
    ],
)
def test_a_line_magic_of_another_cell_reads_as_it_was_typed(typed, seen, monkeypatch):
    file = "/tmp/ipykernel_1/7.py"
    cached(monkeypatch, file, f"w = 1\n{seen}\nv = 2\n")
    sources = SourceFiles(CELL, {file: "In [3]"}.get)
    sources.index(file)
    assert sources.all()[1].text == f"w = 1\n{typed}\nv = 2\n"


def test_a_cell_of_plain_ipython_is_found_by_its_name_alone(monkeypatch):
    file = "<ipython-input-3-abc>"
    cached(monkeypatch, file, "w = 1\n")
    assert SourceFiles(CELL).index(file) is None
    assert SourceFiles(CELL, {file: "In [3]"}.get).index(file) == 1


def test_columns_count_characters_not_bytes():
    sources = SourceFiles(CELL)
    # In UTF-8 the é takes two bytes, so Python ends `jnp.sin(é)` at byte 15.
    frame = sources.frame(CELL.file, "<module>", (2, 2, 4, 15))
    assert frame is not None
    assert frame.span == Span(2, 4, 2, 14)
    assert CELL.lines[1][frame.span.column : frame.span.end_column] == "jnp.sin(é)"


def test_a_position_without_columns_is_the_start_of_its_line():
    assert SourceFiles(CELL).span(0, (2, None, None, None)) == Span(2, 0, 2, 0)
    assert SourceFiles(CELL).span(0, (None, None, None, None)) == Span(1, 0, 1, 0)
