"""Runs the examples of docs/causes.md and prints their causes as JSON.

In its own process: some examples need two devices.
"""

from __future__ import annotations

import json
import re
from typing import Any

from tests.paths import ROOT

PAGE = ROOT / "docs" / "causes.md"
SECTION = re.compile(r"^## `(\w+)`: .*$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAID = re.compile(r"^> (.*)$", re.MULTILINE)


def sections() -> dict[str, tuple[list[str], list[str]]]:
    """The Python blocks and the quoted lines of each kind's section."""
    parts = SECTION.split(PAGE.read_text("utf-8"))
    bodies = dict(zip(parts[1::2], [p.split("\n## ")[0] for p in parts[2::2]], strict=True))
    return {
        kind: (BLOCK.findall(body), [line for line in SAID.findall(body) if line])
        for kind, body in bodies.items()
    }


def others() -> list[str]:
    """The Python blocks outside the sections."""
    text = PAGE.read_text("utf-8")
    inside = {block for blocks, _ in sections().values() for block in blocks}
    return [block for block in BLOCK.findall(text) if block not in inside]


def run() -> dict[str, Any]:
    import jax

    import jaxscope

    space: dict[str, Any] = {"__name__": "__main__"}
    watching, imports, *rest = others()
    exec(compile(imports, "<ipython-input-1-page>", "exec"), space)
    found: dict[str, Any] = {"others": []}
    for block in (watching, *rest):
        exec(compile(block, "<ipython-input-1-page>", "exec"), space)
        found["others"].append(True)
    found["slow"] = len(space["log"].compiles) >= 1
    for kind, (blocks, _) in sections().items():
        found[kind] = []
        jax.clear_caches()
        for number, block in enumerate(blocks, 1):
            with jaxscope.watch() as log:
                exec(compile(block, f"<ipython-input-{number}-page>", "exec"), space)
            # The fixed program is compared with itself, not with the one before it.
            began = log.compiles[0].serial if number > 1 and log.compiles else 0
            own = [one for one in log.compiles if (one.nearest or began) >= began]
            found[kind].append([[(c.kind, c.text, c.fix) for c in one.causes] for one in own])
            assert log.notes == (), log.notes
    return found


if __name__ == "__main__":
    print(json.dumps(run()))
