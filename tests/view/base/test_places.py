"""Lines of the user's code in sentences and tables."""

import pytest

from jaxscope.view.base.places import code, label
from jaxscope.view.base.table import Place
from tests.view.conftest import load

RECORD = load()


@pytest.mark.parametrize(
    ("place", "text"),
    [(None, ""), ((0, 4), "line 4"), ((1, 6), "In [3]:6"), ((9, 6), "line 6")],
)
def test_a_line_has_the_name_of_its_source_unless_that_is_the_first(
    place: Place, text: str
) -> None:
    assert label(RECORD, place, "line ") == text


def test_code_is_empty_where_the_record_does_not_have_the_line() -> None:
    assert code(RECORD, (0, 3)) == "h = jnp.tanh(x @ w1 + b1)"
    assert code(RECORD, (0, 3), 9) == "h = jnp.…"
    assert [code(RECORD, place) for place in (None, (0, 0), (0, 999), (9, 1))] == [""] * 4
