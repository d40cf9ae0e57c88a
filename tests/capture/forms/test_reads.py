"""What the code of a cell or call reaches."""

from __future__ import annotations

import pytest

from jaxscope.capture.forms import reads
from jaxscope.capture.forms.reads import Reads


@pytest.mark.parametrize(("values", "truncated"), [(9, False), (10, True)])
def test_more_values_than_the_limit_are_not_followed(
    values: int, truncated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "MOST_VALUES", 10)  # with the list itself
    assert Reads().from_values({"rows": [[] for _ in range(values)]}).truncated is truncated
