"""docs/devices.md: what stands there runs, on simulated devices, and prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.paths import ROOT

PAGE = ROOT / "docs/devices.md"
BLOCK = re.compile(r"^```(\w+)( notest)?\n(.*?)^```$", re.M | re.S)


def blocks(page: str) -> list[tuple[str, str]]:
    """(language, text) in order, without those that only show a pattern."""
    return [(kind, text) for kind, skipped, text in BLOCK.findall(page) if not skipped]


@pytest.mark.page
def test_the_examples_print_what_the_page_says() -> None:
    found = blocks(PAGE.read_text(encoding="utf-8"))
    code = "\n".join(text for kind, text in found if kind == "python")
    code += "\nprint(report.to_text(full=True, width=120))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said = "\n".join(line.strip() for line in done.stdout.splitlines())
    expected = [text for kind, text in found if kind == "text"]
    assert len(expected) >= 4
    for text in expected:
        assert "\n".join(line.strip() for line in text.splitlines()) in said
