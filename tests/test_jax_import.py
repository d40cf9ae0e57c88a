"""Being told of an import, on a package made for it."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxscope.jax_import import on_arrival

NAME = "package_that_arrives"


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = tmp_path / NAME
    home.mkdir()
    (home / "__init__.py").write_text("from package_that_arrives import part\nvalue = part.value\n")
    (home / "part.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.meta_path)
    yield home
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]
    assert sys.meta_path == before


def test_it_is_told_once_when_the_package_is_complete() -> None:
    heard: list[int] = []
    with on_arrival(lambda: heard.append(sys.modules[NAME].value), NAME):
        assert heard == []
        module = importlib.import_module(NAME)
        importlib.import_module(f"{NAME}.part")
        assert heard == [7]
    assert inspect.getsource(module).startswith("from package_that_arrives")
    assert "exec_module" not in vars(module.__loader__)


def test_nothing_is_told_after_the_block_or_of_what_is_there() -> None:
    heard: list[str] = []
    with on_arrival(lambda: heard.append("early"), NAME):
        pass
    importlib.import_module(NAME)
    with on_arrival(lambda: heard.append("late"), NAME):
        importlib.import_module(NAME)
    assert heard == []


def test_several_wait_for_one_package() -> None:
    heard: list[str] = []
    with on_arrival(lambda: heard.append("a"), NAME), on_arrival(lambda: heard.append("b"), NAME):
        importlib.import_module(NAME)
    assert sorted(heard) == ["a", "b"]


def test_what_it_raises_does_not_reach_the_import() -> None:
    with on_arrival(lambda: 1 / 0, NAME):
        assert importlib.import_module(NAME).value == 7


def test_an_import_that_fails_fails_as_ever_and_may_succeed_later(package: Path) -> None:
    heard: list[str] = []
    source = (package / "__init__.py").read_text()
    (package / "__init__.py").write_text("1 / 0\n")
    with on_arrival(lambda: heard.append("told"), NAME):
        with pytest.raises(ZeroDivisionError):
            importlib.import_module(NAME)
        assert heard == []
        (package / "__init__.py").write_text(source + "\n# mended\n")
        importlib.invalidate_caches()
        importlib.import_module(NAME)
        assert heard == ["told"]
    missing = on_arrival(lambda: heard.append("never"), "no_such_package")
    with missing, pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_package")
    assert heard == ["told"]
