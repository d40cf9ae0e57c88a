"""docs/findings.md: every kind has a section, and its cell has the finding that the page prints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jaxscope.model import FindingKind
from tests.docs.findings_page import BLOCK, PRINTED, sections
from tests.paths import ROOT

KINDS = tuple(FindingKind)
DEPEND_ON_TIME = (FindingKind.HOST_BOUND,)
"""May be silent on a busy machine."""


@pytest.fixture(scope="module")
def found() -> dict[str, list[list[str] | None]]:
    """The findings of every example, from one process that has eight devices."""
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(ROOT),
    }
    script = Path(__file__).with_name("findings_page.py")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=800
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def plain(text: str) -> str:
    """Without figures and line breaks."""
    return re.sub(r"\d[\d.]*( [numµ]?s)?", "0", " ".join(text.split()))


def test_the_page_has_a_section_for_every_kind_in_their_order() -> None:
    head, *kinds = sections()
    order = "docs/findings.md needs a row and a section for each FindingKind, in their order."
    assert tuple(kinds) == KINDS, order
    rows = re.findall(r"^\| \[`(\w+)`\]\(#(\w+)\) \|", sections()[head], re.MULTILINE)
    assert rows == [(kind, kind) for kind in KINDS], order


@pytest.mark.parametrize("kind", KINDS)
def test_a_section_asks_shows_a_cell_its_finding_a_fix_and_a_near_miss(kind: str) -> None:
    body = sections().get(kind, "")
    assert body, f"docs/findings.md has no section `## {kind}`."
    assert re.match(r"\n\n\*\*[A-Z].*\?\*\*\n\n```python\n", body)
    (finding,) = PRINTED.findall(body)
    assert "→" in finding
    after = body.partition("```text\n")[2]
    assert len(BLOCK.findall(after)) >= 2
    assert "ilent" in after.partition("```python\n")[2]


@pytest.mark.page
@pytest.mark.parametrize("kind", KINDS)
def test_the_cell_has_the_finding_of_the_page_and_the_others_do_not(
    kind: str, found: dict[str, list[list[str] | None]]
) -> None:
    first, *others = [entries for entries in found[kind] if entries is not None]
    assert others
    assert all(entries == [] for entries in others), others
    (expected,) = PRINTED.findall(sections()[kind])
    if first or kind not in DEPEND_ON_TIME:
        assert plain(expected) in [plain(entry) for entry in first]
