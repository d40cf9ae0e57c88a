"""What all results share: files that are hostile or broken, and packages that are missing."""

from __future__ import annotations

import copy
import gzip
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import jaxscope
from jaxscope import files
from jaxscope.model import SchemaError
from tests.paths import ROOT
from tests.results import comparisons

DATA = ROOT / "tests" / "data"
GOLDEN = {"report": DATA / "report" / "report.json", "log": DATA / "log" / "log.json"}


def golden(name: str) -> Any:
    return json.loads(GOLDEN[name].read_text("utf-8"))


def numbers(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each number in JSON data."""
    if isinstance(data, (dict, list)):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from numbers(value, (*at, key))
    elif isinstance(data, (int, float)) and not isinstance(data, bool):
        yield at


def put(data: Any, at: tuple[Any, ...], value: Any) -> Any:
    data = copy.deepcopy(data)
    inner = data
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return data


def draw(result: Any) -> None:
    """Everything that reads the record."""
    result.to_text(full=True)
    result.to_markdown()
    result.static_html()
    result.to_json()
    if isinstance(result, jaxscope.Report):
        result.payload()


@pytest.mark.parametrize("name", list(GOLDEN))
def test_no_number_of_a_file_breaks_what_reads_it(name: str, tmp_path: Path) -> None:
    data, path = golden(name), tmp_path / "file.json"
    fields = {tuple(k for k in at if isinstance(k, str)): at for at in numbers(data)}
    assert len(fields) > 20
    refused: set[str] = set()
    for at in fields.values():
        for value in (-5, 10**6, 10**30):
            path.write_text(json.dumps(put(data, at, value)))
            try:
                result = jaxscope.load(path)
            except SchemaError as error:
                refused.add(str(error).split()[0])
            else:
                draw(result)
    assert refused


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (("programs", 0, "equations", 9, "parent"), 999, r"equations\[9\]\.parent is 999, but"),
        (("programs", 0, "equations", 4, "id"), 5, r"equations\[4\]\.id is 5, not 4"),
        (("programs", 0, "compiles", 0), -1, r"programs\[0\]\.compiles is -1, but there are"),
        (("findings", 0, "source"), 2, r"findings\[0\]\.source is 2, but there are 2 sources"),
        (("compiles", 0, "site", "source"), -1, r"compiles\[0\]\.site\.source is -1, but"),
        (("findings", 0, "line"), -1, r"findings\[0\]\.line is -1, and lines begin at 1"),
        (("programs", 0, "inputs", 0, "bytes"), 1 << 63, "more than 64 bits hold"),
    ],
)
def test_an_index_that_points_nowhere_is_named(
    at: tuple[Any, ...], value: int, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(put(golden("report"), at, value)))
    with pytest.raises(SchemaError, match=says):
        jaxscope.load(path)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_display_holds_plain_strings(name: str) -> None:
    """marimo raises on a subclass of str."""
    assert {type(text) for text in of(name)._repr_mimebundle_().values()} == {str}


@pytest.mark.parametrize("schema", ["-1", "0", "true", "1.0", '"1"', "null"])
def test_a_schema_that_was_never_written_is_refused(schema: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**golden("report"), "schema": json.loads(schema)}))
    with pytest.raises(SchemaError, match="it names no schema"):
        jaxscope.load(path)


def test_a_file_that_is_nested_deeply_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text('{"schema": 1, "programs": ' + "[" * 200_000 + "]" * 200_000 + "}")
    with pytest.raises(SchemaError, match="it is nested too deeply"):
        jaxscope.load(path)


def test_a_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files.read, "__defaults__", (1 << 20,))
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * (2 << 20)))
    with pytest.raises(SchemaError, match="it has more than 1 MiB"):
        jaxscope.load(path)


def of(name: str) -> Any:
    return jaxscope.load(GOLDEN[name])


@pytest.mark.parametrize(
    ("make", "package", "extra"),
    [
        (lambda: of("report").to_dataframe(), "pandas", "tables"),
        (lambda: of("log").to_dataframe(), "pandas", "tables"),
        (lambda: of("log").plot(), "plotly", "plots"),
        (lambda: of("report").widget(), "anywidget", "widget"),
        (lambda: jaxscope.Comparison(comparisons.pair()).to_dataframe(), "pandas", "tables"),
    ],
)
def test_what_needs_a_package_names_the_extra(
    make: Callable[[], Any], package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "jaxscope.frontend.widget", raising=False)
    monkeypatch.delitem(sys.modules, "jaxscope.view.base.interactive", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"{package}.*`pip install jaxscope\[{extra}\]`"):
        make()


@pytest.mark.parametrize("ending", ["json", "json.gz", "html"])
def test_a_save_that_fails_keeps_the_older_file(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, path = of("report"), tmp_path / f"report.{ending}"
    save = result.to_html if ending == "html" else result.save
    save(path)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
