"""Which call of a cell can be made again as it was written."""

from __future__ import annotations

import pytest

from jaxscope.analysis.python.plain_call import plain_call


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("%%jaxjit\ndef f(x):\n    return x\ny = f(x)", "f(x)"),
        (
            "for i in range(3):\n    w, s = f(w, x[0], scale=-2 * rate)",
            "f(w, x[0], scale=-2 * rate)",
        ),
        (
            "f(a.b, {'w': w}, [1, (2, 3)])\nprint(f(a.b, {'w': w}, [1, (2, 3)]))",
            "f(a.b, {'w': w}, [1, (2, 3)])",
        ),
        # Another value each time, another function, a name of an inner scope, no Python at all.
        ("f(next(batches))", ""),
        ("f(x)\nf(y)", ""),
        ("def g(v):\n    return f(v)\ng(x)", ""),
        ("[f(v) for v in x]", ""),
        ("model.f(x)", ""),
        ("f(x", ""),
        ("", ""),
    ],
)
def test_the_call_that_means_the_same_a_second_time(text: str, call: str) -> None:
    assert plain_call(text, "f") == call
