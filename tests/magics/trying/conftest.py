"""A notebook whose trials are not timed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jaxscope.bench.variants import rounds
from jaxscope.model.comparison import Ratio, RatioVerdict
from tests.magics.notebook import Notebook, open_notebook

SETUP = "import jax, jax.numpy as jnp, numpy as np\nm, b = 3 * jnp.eye(64), jnp.ones(64)"


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    """A shell whose trials are not timed: every one is twice as fast."""
    ratio = Ratio(0.5, 0.45, 0.55, RatioVerdict.FASTER)
    monkeypatch.setattr(rounds, "ratio", lambda *_: ratio)
    with open_notebook() as found:
        found.must(SETUP)
        yield found
