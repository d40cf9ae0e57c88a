"""The package, built once for all tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("built")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=800,
    )
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    (file,) = built.glob("*.whl")
    return file
