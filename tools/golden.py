"""Rebuild every file that is derived from code: `make golden`, or `python tools/golden.py`.

The schemas in `docs/`, the viewer's TypeScript, and the golden files of `tests/data/`: each folder
there that has a `build.py` with `files() -> dict[Path, str]`. Needs neither JAX, node nor network.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import typescript  # noqa: E402


def files() -> dict[Path, str]:
    """The texts as the code gives them now, by path."""
    found = typescript.files()
    for build in sorted((ROOT / "tests" / "data").glob("*/build.py")):
        found |= runpy.run_path(str(build))["files"]()
    return found


def stale(texts: Mapping[Path, str]) -> list[Path]:
    """The files that differ from these texts."""
    return [p for p, text in texts.items() if not p.is_file() or p.read_text("utf-8") != text]


def main() -> int:
    texts = files()
    changed = stale(texts)
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], "utf-8")
        print(path.relative_to(ROOT))
    print(f"make golden: {len(changed)} of {len(texts)} files were rebuilt.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
