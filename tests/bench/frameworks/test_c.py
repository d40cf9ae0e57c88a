"""C as an implementation: compiled by the machine's compiler, its pointers bound beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from jaxscope.bench.frameworks import c
from jaxscope.model.comparison import Phases
from tests.bench.side_by_side import codes, measured, normal, row

pytestmark = pytest.mark.skipif(c.compiler() is None, reason="there is no C compiler here")

DOUBLED = """
void run(const float *x, float *y, long n) {
    for (long i = 0; i < n; i++) y[i] = 2 * x[i];
}
"""
TOTAL = "double total(const float *x, long n) { double s = 0; while (n--) s += *x++; return s; }"


def doubled(**options):
    options = {"results": (normal(100),), "sizes": (100,), **options}
    return ("c", "c", DOUBLED, options)


def test_a_section_in_c_is_compiled_and_agrees():
    record = measured(("numpy", "numpy", lambda x: 2 * x), doubled())
    found = row(record, "c")
    assert found.failure == ""
    assert found.agrees
    assert isinstance(found.compile, Phases)
    assert found.compile.compile_s > 0
    assert found.compile.trace_s == 0
    assert dict(record.versions)["c"]
    assert len(found.samples) == 8


def test_a_function_may_return_its_one_number():
    options = {"symbol": "total", "results": "double", "sizes": (100,)}
    record = measured(("numpy", "numpy", np.sum), ("c", "c", TOTAL, options), tolerance=1e-5)
    assert row(record, "c").failure == ""
    assert row(record, "c").agrees


def test_one_that_writes_into_its_input_is_noticed():
    text = "void run(float *x, float *y) { y[0] = x[0] += 1; }"
    record = measured(("c", "c", text, {"results": (np.zeros(1, np.float32),)}), check=False)
    assert [d.text for d in row(record, "c").warnings if d.code == "J112"] == [
        "It changes `x` in place. Every call computes with different data."
    ]
    assert "J112" not in codes(row(measured(doubled(), check=False), "c"))


def test_what_the_compiler_says_is_the_reason():
    text = row(measured(("c", "c", "\nvoid run( {", {})), "c").failure
    assert text.startswith("The C compiler rejected line 2: expected ")
    assert "/tmp" not in text
    assert "\n" not in text


def test_a_name_that_is_not_defined_is_reported():
    text = row(measured(("c", "c", "void walk(void); void run(float *x) { walk(); }", {})), "c")
    assert text.failure == "The C code calls `walk`, which is not defined."


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (
            "a/section.c:3:5: error: one\nsection.c:4: fatal error: two.\n",
            "The C compiler rejected line 3: one (the first of 2 errors).",
        ),
        (
            (
                "/usr/bin/ld: x.o: in function `run':\nsection.c:(.text+0x1): undefined "
                "reference to `walk'\ncollect2: error: ld returned 1 exit status"
            ),
            "The C code calls `walk`, which is not defined.",
        ),
        ("\ncc: no space left\nmore", "The C compiler rejected the source: cc: no space left."),
        ("", "The C compiler rejected the source: it printed nothing."),
    ],
)
def test_the_first_error_of_a_compiler_counts(output, sentence):
    assert c._rejection(output) == sentence


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (("c", "c", np.sum), "`c` compiles C source text, and was given a Python function."),
        (("c", "c", DOUBLED, {"symbol": "walk"}), "The C source defines no function `walk`"),
        (
            ("c", "c", TOTAL, {"symbol": "total", "results": "quad"}),
            "`quad` is not a type of a C result",
        ),
    ],
)
def test_what_cannot_be_called_is_a_reason(entry, reason):
    assert reason in row(measured(entry, check=False), "c").failure


def test_there_are_no_gradients_and_no_vmap():
    record = measured(doubled(), grad=(0,))
    assert row(record, "c").failure.startswith("C has no gradients")


def test_without_a_compiler_it_is_missing(monkeypatch):
    monkeypatch.setattr(c, "compiler", lambda: None)
    text = row(measured(doubled()), "c").failure
    assert text.startswith("No C compiler was found: neither $CC nor ")


def test_an_endless_loop_is_abandoned(monkeypatch):
    from jaxscope.bench import Limits

    # It ends after a while, so that this process can.
    text = """
    #include <time.h>
    void run(const float *x) { struct timespec t = {1, 0}; nanosleep(&t, 0); }
    """
    limits = Limits(min_rounds=8, max_rounds=8, call_s=0.05, seconds=1000)
    found = row(measured(("c", "c", text, {}), limits=limits, check=False), "c")
    assert "c: the first call took longer than 0.05 s" in found.failure
