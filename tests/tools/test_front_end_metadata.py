"""What a package index shows: links, URLs, classifiers, and nothing stray in the packages."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from jaxscope.version import __version__
from tests.paths import ROOT

pytest.importorskip("hatchling", reason="the package is built in the main environment")

import hatch_build

HOME = "https://github.com/owner/name"
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT, BUILD = CONFIGURATION["project"], CONFIGURATION["build-system"]


@pytest.mark.parametrize(
    ("remote", "page"),
    [
        ("git@github.com:owner/name.git", HOME),
        ("https://github.com/owner/name", HOME),
        ("https://github.com/owner/name.git/", HOME),
        ("https://token@github.com/owner/name.git", HOME),
        ("ssh://git@github.com/owner/name.git", HOME),
        ("https://gitlab.com/owner/name.js", "https://gitlab.com/owner/name.js"),
        ("/home/me/name.git", ""),
        ("https://github.com.evil.example/owner/name", ""),
        ("", ""),
    ],
)
def test_the_page_of_a_remote(remote: str, page: str) -> None:
    assert hatch_build.page_of(remote) == page


def test_no_link_of_the_long_description_is_relative() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    found = hatch_build.long_description(text, HOME)
    links = re.findall(r'\]\(([^)]+)\)|src="([^"]+)"', found)
    targets = ["".join(pair) for pair in links]
    assert len(targets) > 30
    assert [one for one in targets if not one.startswith(("https://", "#"))] == []
    assert f"{HOME}/blob/HEAD/docs/guide.md#what-did-the-change-do" in targets
    assert f"{HOME}/raw/HEAD/docs/images/tour.png" in targets
    assert "<picture>" not in found
    assert "<source" not in found
    for one in targets:
        if one.startswith(HOME):
            path = one.removeprefix(HOME).split("/HEAD/")[1].partition("#")[0]
            assert (ROOT / path).exists(), one


def test_the_repository_is_that_of_the_clone_or_of_the_sdist(tmp_path: Path) -> None:
    assert hatch_build.repository(tmp_path) == ""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert hatch_build.repository(tmp_path) == ""
    add = ["git", "-C", str(tmp_path), "remote", "add", "origin", "git@github.com:owner/name.git"]
    subprocess.run(add, check=True)
    assert hatch_build.repository(tmp_path) == HOME
    (tmp_path / "PKG-INFO").write_text("Name: x\nProject-URL: Source, https://a.example/b\n")
    assert hatch_build.repository(tmp_path) == "https://a.example/b"


def test_jupyterlabs_extension_manager_finds_the_package() -> None:
    lab = "Framework :: Jupyter :: JupyterLab"
    wanted = {lab, f"{lab} :: 4", f"{lab} :: Extensions", f"{lab} :: Extensions :: Prebuilt"}
    assert wanted <= set(PROJECT["classifiers"])


@pytest.mark.package
def test_wheel_and_sdist_hold_what_they_need_and_nothing_stray(
    built: Path, wheel: Path, tmp_path: Path
) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as packed:
        inside = packed.namelist()
    with tarfile.open(sdist) as packed:
        # Python 3.11.4 is the first of its line that has filters.
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(tmp_path / "sdist")
    (unpacked,) = (tmp_path / "sdist").iterdir()
    source = [path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")]
    stray = re.compile(r"\.orig$|\.pyc$|__pycache__|node_modules|\.ipynb_checkpoints|(^|/)\.DS_")
    assert [name for name in (*inside, *source) if stray.search(name)] == []
    assert {name.partition("/")[0] for name in inside if ".data" not in name} == {
        "jaxscope",
        f"jaxscope-{__version__}.dist-info",
    }
    shared = f"jaxscope-{__version__}.data/data/share/jupyter/labextensions/@jaxscope/lab"
    assert {f"{shared}/install.json", f"{shared}/package.json"} <= set(inside)
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not any_value"]
    chosen = ["tests/model", "tests/test_package.py"]
    done = subprocess.run([*tests, *chosen], cwd=unpacked, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()


def test_every_classifier_is_one_of_the_index() -> None:
    known = pytest.importorskip("trove_classifiers").classifiers
    assert [name for name in PROJECT["classifiers"] if name not in known] == []
    versions = {f"Programming Language :: Python :: {minor}" for minor in ("3.11", "3.12", "3.13")}
    assert versions <= set(PROJECT["classifiers"])


def test_the_release_has_one_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    recipe = (ROOT / "recipe" / "meta.yaml").read_text("utf-8")
    assert f"\nversion: {__version__}\n" in citation
    assert f'set version = "{__version__}"' in recipe


def rendered() -> dict[str, Any]:
    """The recipe as conda-build reads it: Jinja, then YAML."""
    jinja2, yaml = pytest.importorskip("jinja2"), pytest.importorskip("yaml")
    text = (ROOT / "recipe" / "meta.yaml").read_text("utf-8")
    template = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text)
    return yaml.safe_load(template.render(PYTHON="python"))


def test_the_recipe_needs_what_the_package_needs() -> None:
    recipe = rendered()
    wanted = {f"python {PROJECT['requires-python']}"}
    wanted |= {re.sub(r"(?=>=)", " ", name) for name in PROJECT["dependencies"]}
    assert set(recipe["requirements"]["run"]) == wanted
    # conda-forge builds and tests a package without compiled code on its oldest Python alone.
    oldest = f"python {PROJECT['requires-python'].removeprefix('>=')}.*"
    assert oldest in recipe["requirements"]["host"]
    assert oldest in recipe["test"]["requires"]
    (builder,) = BUILD["requires"]
    assert re.sub(r"(?=>=)", " ", builder) in recipe["requirements"]["host"]


def test_the_recipe_installs_the_command_and_every_licence() -> None:
    recipe = rendered()
    assert recipe["package"]["version"] == __version__
    assert recipe["build"]["entry_points"] == [
        f"{name} = {target}" for name, target in PROJECT["scripts"].items()
    ]
    assert set(recipe["about"]["license_file"]) >= set(PROJECT["license-files"])
    assert recipe["about"]["license"] == PROJECT["license"]
    constrained = {name.replace(" ", "") for name in recipe["requirements"]["run_constrained"]}
    extras = PROJECT["optional-dependencies"]
    assert constrained == {name for one in ("widget", "plots", "tables") for name in extras[one]}
    assert set(recipe["extra"]) == {"recipe-maintainers"}


def test_the_release_publishes_only_what_was_tried_and_only_on_a_tag() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    publish = text.partition("\n  publish:\n")[2]
    assert "needs: wheel" in publish
    assert "if: startsWith(github.ref, 'refs/tags/v')" in publish
    assert "secrets." not in text
    named = set(re.findall(r"\btools/\w+|jaxscope/[\w.]+", text))
    assert {"tools/try_wheel", "jaxscope/version.py"} == named
    assert [path for path in named if not (ROOT / path).exists()] == []
