"""Which lines of a cell belong to whom."""

from __future__ import annotations

import pytest

from jaxscope.bench.cell.sections import CellError, resolve, sections

KNOWN = ("numpy", "jax", "jax-eager", "torch", "c")


def found(body: str) -> list[tuple[str, str, int]]:
    return [(one.name, one.label, one.line) for one in sections(body, KNOWN)]


def test_a_cell_without_markers_is_one_source_for_all():
    (only,) = sections("# a remark\nxp.sum(x)", KNOWN)
    assert (only.name, only.line) == ("xp", 1)
    assert only.lines[2] == "xp.sum(x)"


def test_sections_begin_at_markers_and_keep_the_lines_of_the_cell():
    body = "import numpy as np\n# numpy\nnp.sin(x)\n\n# jax: by hand\njnp.sin(x)"
    setup, numpy, jax = sections(body, KNOWN)
    assert [(s.name, s.label, s.line) for s in (setup, numpy, jax)] == [
        ("setup", "", 1),
        ("numpy", "", 3),
        ("jax", "by hand", 6),
    ]
    assert setup.lines[1] == "import numpy as np"
    assert numpy.lines[3] == "np.sin(x)"
    assert jax.lines[6] == "jnp.sin(x)"


def test_case_and_dashes_do_not_matter():
    assert found("# NumPy\n1\n# jax eager\n2") == [("numpy", "", 2), ("jax-eager", "", 4)]
    assert resolve("JAX_eager", KNOWN) == "jax-eager"


def test_an_ordinary_comment_of_one_word_begins_nothing():
    assert found("# numpy\n# normalize\nx") == [("numpy", "", 2)]


def test_a_comment_that_is_indented_or_in_a_string_begins_nothing():
    body = '# numpy\nt = """\n# jax\n"""\nif x:\n    # torch\n    pass\nx'
    assert found(body) == [("numpy", "", 2)]


def test_a_section_in_c_may_hold_directives():
    body = "# numpy\nx\n# c\n#include <math.h>\n#endif\nlong f(long n) { return n; }"
    assert found(body) == [("numpy", "", 2), ("c", "", 4)]


@pytest.mark.parametrize(
    ("body", "line", "says"),
    [
        ("# jaxx\nx", 2, "Line 2 begins a section for `jaxx`"),
        ("# pytorch\nx", 2, "Did you mean `torch`?"),
        ("# numpy\nx\n# tensorflow\ny", 4, "which is not an implementation"),
        ("# numpy\n# jax\nx", 2, "`# numpy` on line 2 holds no code"),
        ("# numpy\nx\n# jax: fused\n  # later", 4, "`# jax: fused` on line 4 holds no code"),
        ("# numpy\nx\n# numpy\ny", 4, "second section `# numpy`; the first is on line 2"),
        ("# setup\nx = 1", None, "nothing to time"),
    ],
)
def test_errors_are_reported_with_their_line(body: str, line: int | None, says: str):
    with pytest.raises(CellError) as caught:
        sections(body, KNOWN)
    assert says in str(caught.value)
    assert caught.value.line == line


def test_similar_names_are_offered_for_an_unknown_one():
    with pytest.raises(
        CellError, match=r"There is no implementation `nunpy`\. Did you mean `numpy`"
    ):
        resolve("nunpy", KNOWN)
