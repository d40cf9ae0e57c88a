"""The patience of the tests in a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.view.conftest import PATIENCE


@pytest.fixture(autouse=True)
def _patient() -> Iterator[None]:
    """What is expected of a page may take long on a busy machine."""
    expect = pytest.importorskip("playwright.sync_api").expect
    expect.set_options(timeout=PATIENCE)
    yield
    expect.set_options(timeout=5000)
