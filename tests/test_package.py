"""What users get from `import jaxscope`: names, docstrings, version, types."""

import ast
import importlib.metadata
import inspect
import json
import subprocess
import sys
import tomllib
from typing import Any

import pytest

import jaxscope
import jaxscope.model
from tests.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PUBLIC = [
    "Comparison",
    "CompileLog",
    "CompilesError",
    "ModeComparison",
    "Report",
    "ReportDiff",
    "TargetTable",
    "compare",
    "compare_modes",
    "compare_targets",
    "diff",
    "expect_compiles",
    "inspect",
    "last",
    "load",
    "options",
    "profile",
    "watch",
]
LINE_MAGICS = (
    "jaxbench",
    "jaxcluster",
    "jaxcompose",
    "jaxdevices",
    "jaxdiff",
    "jaxflags",
    "jaxgrad",
    "jaxjit",
    "jaxlog",
    "jaxpmap",
    "jaxprof",
    "jaxscope",
    "jaxtargets",
    "jaxtry",
    "jaxvmap",
    "jaxwatch",
)
CELL_MAGICS = (
    "jaxbench",
    "jaxcluster",
    "jaxcompose",
    "jaxgrad",
    "jaxjit",
    "jaxpmap",
    "jaxprof",
    "jaxvmap",
    "jaxwatch",
)


def test_the_public_names_are_these():
    assert jaxscope.__all__ == PUBLIC
    assert {name for name in dir(jaxscope) if name in PUBLIC} == set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
def test_each_public_name_is_there(name: str):
    assert getattr(jaxscope, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'jaxscope' has no attribute 'profil'"):
        _ = jaxscope.profil


def without_docstring(thing: Any, path: str) -> list[str]:
    """The public functions, methods and properties that say nothing."""
    bare = [] if inspect.getdoc(thing) else [path]
    if inspect.isclass(thing):
        for name, member in vars(thing).items():
            if not name.startswith("_") and (callable(member) or isinstance(member, property)):
                bare += without_docstring(member, f"{path}.{name}")
    return bare


@pytest.mark.parametrize("name", PUBLIC)
def test_everything_public_says_what_it_is(name: str):
    assert without_docstring(getattr(jaxscope, name), name) == []


def test_a_missing_docstring_is_noticed():
    class Silent:
        """Has a method that says nothing."""

        def speak(self) -> None: ...

    assert without_docstring(Silent, "Silent") == ["Silent.speak"]


def test_every_module_says_what_it_is():
    bare = [
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "jaxscope").rglob("*.py"))
        if ast.get_docstring(ast.parse(path.read_text("utf-8"))) is None
    ]
    assert bare == []


def test_the_version_is_one():
    assert PROJECT["dynamic"] == ["version", "readme", "urls"]
    assert jaxscope.__version__ == importlib.metadata.version("jaxscope")
    assert f"## {jaxscope.__version__}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_type_checkers_are_told_that_there_are_types():
    assert (ROOT / "jaxscope" / "py.typed").is_file()


def test_the_extras_name_what_the_code_imports_and_nothing_is_required_beyond_jax_and_ipython():
    names = [requirement.partition(">")[0] for requirement in PROJECT["dependencies"]]
    assert names == ["jax", "ipython"]
    assert set(PROJECT["optional-dependencies"]) == {
        "widget",
        "plots",
        "tables",
        "bench",
        "xprof",
        "asm",
        "cluster",
        "dask",
        "torch",
        "docs",
        "all",
        "demos",
    }


def test_the_extension_can_be_loaded_twice_and_unloaded():
    code = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
kinds = shell.magics_manager.magics
before = {kind: set(names) for kind, names in kinds.items()}
for name in ("load_ext", "reload_ext", "load_ext"):
    shell.run_line_magic(name, "jaxscope")
added = {kind: sorted(set(names) - before[kind]) for kind, names in kinds.items()}
shell.run_line_magic("unload_ext", "jaxscope")
import json
print(json.dumps([added, {kind: set(names) for kind, names in kinds.items()} == before]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    added, gone = json.loads(done.stdout.splitlines()[-1])
    assert gone
    assert added == {"line": sorted(LINE_MAGICS), "cell": sorted(CELL_MAGICS)}
