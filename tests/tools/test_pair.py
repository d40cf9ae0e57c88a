"""`tools/pair`: pages that failed, or few other tests, get a second run, and nothing else does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

FAILS_ONCE = """
import pathlib, pytest

@pytest.mark.{mark}
def test_slow_page():
    ran = pathlib.Path("ran")
    before = ran.exists()
    ran.touch()
    assert before
"""
FAILS = """
def test_wrong():
    assert False
"""
INI = "[pytest]\nmarkers =\n    browser\n    notebook\n    page\n"


def pair(folder: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").write_text(INI)
    for number, text in enumerate(tests):
        (folder / f"test_{number}.py").write_text(text)
    own = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    own["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # half of the time of such a small run
    return subprocess.run(
        [ROOT / "tools" / "pair", sys.prefix, "-q"],
        cwd=folder,
        env=own,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.mark.parametrize("mark", ["browser", "notebook"])
def test_a_page_that_was_late_once_passes(tmp_path: Path, mark: str) -> None:
    done = pair(tmp_path, FAILS_ONCE.format(mark=mark), "def test_right(): pass\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "runs once more, one at a time" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert done.stdout.strip().splitlines()[-1].startswith("== Tests on Python 3")


def test_a_page_that_fails_twice_has_failed(tmp_path: Path) -> None:
    done = pair(
        tmp_path, FAILS_ONCE.format(mark="browser").replace("assert before", "assert False")
    )
    assert done.returncode == 1
    assert "FAILED after" in done.stdout.strip().splitlines()[-1]


def test_few_others_run_again_and_what_fails_twice_has_failed(tmp_path: Path) -> None:
    done = pair(tmp_path, FAILS_ONCE.format(mark="page"), "def test_right(): pass\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "runs once more, one at a time" in done.stdout
    again = pair(tmp_path, FAILS)
    assert again.returncode == 1
    assert "runs once more, one at a time" in again.stdout


def test_where_much_failed_nothing_runs_again(tmp_path: Path) -> None:
    done = pair(tmp_path, FAILS_ONCE.format(mark="browser"), FAILS, FAILS, FAILS)
    assert done.returncode == 1
    assert "runs once more" not in done.stdout
