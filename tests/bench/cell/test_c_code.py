"""A section in C: parameters found by their names."""

from __future__ import annotations

import numpy as np
import pytest

from jaxscope.bench.cell.c_code import COptions, c_function
from jaxscope.bench.cell.sections import CellError, CellSection, sections


def section(text: str) -> CellSection:
    return sections(f"# c\n{text}", ("c",))[0]


TANH = """#include <math.h>
static float twice(float a) { return 2 * a; }
// y: like x
void run(long n, const float *restrict x, float *y) {
    for (long i = 0; i < n; i++) y[i] = tanhf(x[i]);
}"""


def test_inputs_results_and_sizes_are_distinguished():
    found = c_function(section(TANH), ("w", "x"), ("n",))
    assert [(p.name, p.type, p.pointer) for p in found.parameters] == [
        ("n", "long", False),
        ("x", "float", True),
        ("y", "float", True),
    ]
    text = found.text("", ("w", "x"))
    assert "void jaxscope_run(void *jaxscope_w, void *jaxscope_x, void *jaxscope_y, long" in text
    assert "run((long)jaxscope_n, (float *)jaxscope_x, (float *)jaxscope_y)" in text


def test_results_have_the_shape_that_the_comment_tells():
    found = c_function(section(TANH), ("x",), ("n",))
    told = COptions(found, lambda: {"x": np.ones(3, np.float32)}, lambda: {"n": 3})
    assert [array.shape for array in told["results"]] == [(3,)]
    assert (told["symbol"], told["sizes"]) == ("jaxscope_run", [3])
    shaped = c_function(section(TANH.replace("like x", "float64(n, 2)")), ("x",), ("n",))
    told = COptions(shaped, lambda: {"x": np.ones(3, np.float32)}, lambda: {"n": 3})
    assert [(a.shape, a.dtype) for a in told["results"]] == [((3, 2), np.float64)]


def test_a_function_that_returns_a_number_needs_no_result():
    found = c_function(section("double f(long n) { return n; }"), (), ("n",))
    told = COptions(found, dict, lambda: {"n": 5})
    assert [(array.shape, array.dtype) for array in told["results"]] == [((), np.float64)]
    assert found.text("", ()).strip() == (
        "void jaxscope_run(void *jaxscope__returned, long jaxscope_n) "
        "{ *(double *)jaxscope__returned = f((long)jaxscope_n); }"
    )


def test_a_parameter_of_a_different_type_than_the_array_is_refused():
    found = c_function(section(TANH), ("x",), ("n",))
    told = COptions(found, lambda: {"x": np.ones(3)}, lambda: {"n": 3})
    with pytest.raises(CellError, match=r"takes `float \*x`, but `x` is float64$"):
        _ = told["results"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("int a;", "defines no function"),
        ("void f(float *y) { }", "Line 3: `y` is not an input but a result, so it needs a shape."),
        (
            "double f(long m) { return m; }",
            "Line 3: the C function needs an integer `m`, which is not defined",
        ),
        ("void f(const float *x) { }", "the C function has no result. Return a number"),
        ("double f(double a) { return a; }", "neither a pointer nor an integer"),
        ("double f(float (*g)(float)) { return 1; }", "defines no function"),
    ],
)
def test_a_function_that_cannot_be_bound_is_reported(text: str, says: str):
    with pytest.raises(CellError) as caught:
        c_function(section(text), ("x",), ("n",))
    assert says in str(caught.value)
