"""What imports what: import-linter on the whole package, and what a fresh process has loaded."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

LIGHT = ("jax", "jaxlib", "numpy", "IPython", "ipywidgets", "plotly", "pandas")
"""What `model` and `analysis` must not load."""

LOADED = """
import sys
before = set(sys.modules)
{statement}
print(*sorted({{name.partition(".")[0] for name in set(sys.modules) - before}}))
"""


def loaded_by(statement: str, folder: Path = ROOT) -> set[str]:
    """Top-level names of the modules that the statement adds to a fresh process."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(statement=statement)],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
    )
    return set(done.stdout.split())


def foreign(names: set[str]) -> set[str]:
    """Those that are neither the standard library's nor ours."""
    return names - set(sys.stdlib_module_names) - {"jaxscope"}


def in_a_shell(lines: str) -> set[str]:
    """What has been loaded after these lines in a fresh IPython shell."""
    code = f"""
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
{lines}
print("loaded:", *sorted({{name.partition(".")[0] for name in sys.modules}}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(done.stdout.rpartition("loaded:")[2].split())


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and its contracts, free to be broken."""
    shutil.copytree(
        ROOT / "jaxscope", tmp_path / "jaxscope", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add_line(file: Path, line: str) -> None:
    """Below `from __future__`, or at the end of a file that has none."""
    text = file.read_text("utf-8")
    head = "from __future__ import annotations\n"
    file.write_text(text.replace(head, head + line, 1) if head in text else text + line, "utf-8")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("importlinter", reason="import-linter is in the group `check`")
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"},
    )


def test_imports_point_one_way():
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout
    assert re.search(r"Contracts: \d+ kept, 0 broken", done.stdout), done.stdout


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("model/record.py", "import jaxscope.view.report.document\n"),
        ("analysis/links/line_links.py", "import numpy\n"),
        ("view/report/document.py", "import jaxscope.results.report\n"),
        ("view/base/table.py", "import jaxscope.capture._jax\n"),
        ("capture/run/run.py", "import jaxscope.magics\n"),
    ],
)
def test_an_import_that_points_the_other_way_is_reported(copy: Path, file: str, line: str):
    add_line(copy / "jaxscope" / file, line)
    done = lint_imports(copy)
    assert done.returncode == 1, done.stdout
    assert "BROKEN" in done.stdout


def test_import_jaxscope_loads_the_standard_library_only():
    assert foreign(loaded_by("import jaxscope")) == set()


def test_an_import_beyond_the_standard_library_is_noticed(copy: Path):
    add_line(copy / "jaxscope" / "__init__.py", "import numpy\n")
    assert "numpy" in foreign(loaded_by("import jaxscope", copy))


def test_the_model_and_the_analysis_load_no_jax_and_no_front_end():
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for layer in ("model", "analysis")
        for path in sorted((ROOT / "jaxscope" / layer).rglob("*.py"))
    ]
    assert len(modules) > 20
    assert loaded_by(f"import {', '.join(modules)}").isdisjoint(LIGHT)


@pytest.mark.parametrize("name", ["numpy", "IPython"])
def test_an_analysis_that_loads_too_much_is_noticed(copy: Path, name: str):
    add_line(copy / "jaxscope" / "analysis" / "links" / "line_links.py", f"import {name}\n")
    assert name in loaded_by("import jaxscope.analysis.links.line_links", copy)


def test_loading_the_extension_leaves_jax_alone():
    loaded = in_a_shell('shell.run_line_magic("load_ext", "jaxscope")')
    assert "jaxscope" in loaded
    assert loaded.isdisjoint({"jax", "jaxlib", "numpy"})


def test_a_shell_that_has_jax_is_noticed():
    loaded = in_a_shell('shell.run_line_magic("load_ext", "jaxscope"); import jax')
    assert {"jax", "jaxlib", "numpy"} <= loaded


def private_jax(text: str) -> list[str]:
    """Mentions of JAX's private modules in Python text."""
    return re.findall(r"\bjax\._src\b|\bjaxlib\._\w+|\bjaxlib\.mlir\._\w+", text)


def test_private_modules_of_jax_are_named_in_one_folder_only():
    naming = {
        path.parent.relative_to(ROOT).as_posix()
        for path in (ROOT / "jaxscope").rglob("*.py")
        if private_jax(path.read_text("utf-8"))
    }
    assert naming == {"jaxscope/capture/_jax"}
