"""Which errors propagate."""

import pytest

from jaxscope.capture.options.divergence import Divergence
from jaxscope.capture.options.error_origin import is_ours
from jaxscope.capture.options.refusals import RefusedError
from jaxscope.model.cluster import DivergenceKind, ProgramDifference
from jaxscope.version import HOME

MISSING = ProgramDifference(DivergenceKind.MISSING, "1 of 2 processes reached it.")


@pytest.mark.parametrize(
    ("error", "ours"),
    [(KeyError("k"), True), (RefusedError("no"), False), (Divergence(MISSING), False)],
)
def test_what_jaxscope_raises_on_purpose_is_no_failure_of_jaxscope(
    error: Exception, ours: bool
) -> None:
    """After one that is, the cell runs as plain Python, and waits for the other processes."""
    raising = compile("raise error", f"{HOME}/guard.py", "exec")
    with pytest.raises(type(error)) as raised:
        exec(raising, {"error": error})
    assert is_ours(raised.value, "cell.py") is ours
