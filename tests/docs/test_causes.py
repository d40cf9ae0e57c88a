"""docs/causes.md: every kind of cause has an example with the texts that jaxscope shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jaxscope.model import CauseKind
from tests.docs.causes_page import PAGE, others, sections
from tests.paths import ROOT

KINDS = tuple(sections())
OLD_JAX = "This is the first compilation of `double` that jaxscope observed."
ROW = re.compile(r"^\| \[`(\w+)`\]", re.MULTILINE)
WAITS_FOR_ONE = ("first_call", "eager_op")


@pytest.fixture(scope="module")
def said():
    """The causes of every example, from one process with two devices."""
    environment = {
        **os.environ,
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(ROOT),
    }
    script = Path(__file__).with_name("causes_page.py")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=800
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def plain(text: str) -> str:
    """Without numbers of lines and compiles, and without JAX's own names of things."""
    return re.sub(r"\d+", "0", text)


def test_the_page_has_every_kind():
    """In the order in which the causes of one compilation are listed; the table on top too."""
    assert tuple(CauseKind) == KINDS
    assert tuple(ROW.findall(PAGE.read_text("utf-8"))) == KINDS


@pytest.mark.jax
def test_all_other_examples_run(said):
    assert len(said["others"]) == len(others()) - 1
    assert said["slow"]


@pytest.mark.jax
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "unknown"])
def test_the_example_compiles_for_the_reason_that_the_page_gives(kind, said):
    first = said[kind][0]
    causes = [cause for compile in first for cause in compile if cause[0] == kind]
    assert causes, f"{kind} was not among {first}"
    text, *fixes = sections()[kind][1]
    _, found, fix = causes[-1]
    if OLD_JAX in found:  # it cannot say what it has traced
        text = text.replace("`double` was compiled for the first time.", OLD_JAX)
    assert plain(found) == plain(text)
    assert [f"→ {fix}"] == fixes if fix else fixes == []


@pytest.mark.jax
@pytest.mark.parametrize("kind", [kind for kind in KINDS if len(sections()[kind][0]) > 1])
def test_the_fixed_example_compiles_for_no_such_reason(kind, said):
    fixed = said[kind][1]
    again = [cause for compile in fixed for cause in compile if cause[0] not in WAITS_FOR_ONE]
    assert again == []
