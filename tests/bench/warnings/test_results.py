"""Results against a reference, on arrays made by hand."""

from __future__ import annotations

import math
import re

import jax.numpy as jnp
import numpy as np
import pytest

from jaxscope.bench.warnings import results as checks
from jaxscope.bench.warnings.results import (
    check,
    difference,
    dtypes_differ,
    limit_of,
    nothing_finite,
)
from jaxscope.model.comparison import ComparisonRow
from tests.bench.side_by_side import measured, normal, row


def rows(dtypes):
    return [ComparisonRow(label, label, dtype=dtype) for label, dtype in dtypes.items()]


def single(*values):
    return np.array(values, np.float32)


def test_the_limit_grows_with_the_root_of_the_terms_and_the_precision_of_the_result():
    assert limit_of(single(1), 100) == pytest.approx(640 * np.finfo(np.float32).eps)
    assert limit_of(np.ones(1), 100) == pytest.approx(640 * np.finfo(np.float64).eps)
    assert limit_of(np.asarray(jnp.ones(1, jnp.bfloat16)), 1) == 64 * 2.0**-7
    assert limit_of(np.ones(1, np.int32), 10**6) == 0.0
    assert limit_of(np.ones(1, np.complex64), 1) == pytest.approx(64 * np.finfo(np.float32).eps)


def test_a_number_of_python_is_no_more_precise_than_the_inputs_it_was_made_of():
    inputs = (np.ones(4, np.float32), np.ones(4, np.int64))
    coarsest = checks.expected([1.5], inputs)
    assert coarsest == np.finfo(np.float32).eps
    assert checks.expected([np.ones(4)], inputs) == coarsest
    assert checks.expected([np.ones(4, np.float32)], inputs) == 0.0
    assert checks.expected([np.ones(4)], [np.ones(4)]) == np.finfo(np.float64).eps
    assert checks.expected([1.5], [np.ones(4, np.int64)]) == 0.0
    result, wanted = [np.asarray(1 + 1e-6)], [np.asarray(1.0)]
    assert checks.check(result, wanted, 4, coarsest=coarsest).warnings == ()
    assert checks.check(result, wanted, 4).warnings[0].code == "J201"


def test_the_difference_is_relative_to_the_largest_value():
    assert difference(np.array([1.0, 100.5]), np.array([1.0, 100.0])) == pytest.approx(0.005)
    assert difference(np.array([0.5]), np.array([0.0])) == 0.5
    assert difference(np.zeros((0, 3)), np.zeros((0, 3))) == 0.0
    assert difference(np.array(2.0), np.array(2.0)) == 0.0


def test_infinities_and_nan_agree_with_their_like_only():
    inf = np.array([np.inf, 1.0])
    assert difference(inf, inf) == 0.0
    assert difference(np.array([1e30, 1.0]), inf) == math.inf
    assert difference(np.array([-np.inf, 1.0]), inf) == math.inf
    nan = np.array([np.nan, 1.0])
    assert difference(nan, nan) == 0.0
    assert difference(nan, np.array([1.0, 1.0])) == math.inf


def test_results_that_agree_have_no_warning():
    found = check([single(1, 2)], [np.array([1.0, 2.0])], 2)
    assert found.error == 0.0
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ([single(np.nan, np.nan)], "Every number of the result is NaN, so "),
        ([single(np.nan, np.inf)], "No number of the result is finite, so "),
        ([single(np.nan), np.array([1, 2])], "Every number of the result is NaN, so "),
        ([single(np.nan, 1)], ""),
        ([single(np.nan), single(1)], ""),
        ([np.array([1, 2])], ""),
        ([single()], ""),
        ([], ""),
    ],
)
def test_results_without_a_finite_number_are_reported(results, says):
    found = nothing_finite(results)
    assert (found is None) == (says == "")
    assert found is None or (found.code == "J203" and found.text.startswith(says))


def test_integers_and_bools_are_exact_and_an_overflow_is_a_hint():
    assert check([np.array([True])], [np.array([True])], 1).warnings == ()
    narrow = np.array([-2147483648], np.int32)
    (warning,) = check([narrow], [np.array([2147483648])], 1).warnings
    assert warning.text.endswith("Integers have no tolerance; 32 bits may have overflowed.")


def test_equal_integers_beside_floats_that_differ_are_not_blamed():
    step = np.array([3], np.int32)
    (warning,) = check([single(15.0), step], [single(1.0), step], 1).warnings
    assert "by 14 times the largest value (tolerance" in warning.text
    assert warning.text.endswith(").")


def test_64_bits_are_not_reported_to_have_overflowed():
    (warning,) = check([np.array([1])], [np.array([2])], 1).warnings
    assert warning.text.endswith("(tolerance 0). Integers have no tolerance.")


def test_the_less_precise_of_the_two_dtypes_decides_the_tolerance():
    rounded = single(16777216.0)
    found = check([np.array([16777217])], [rounded], 1, against="torch")
    assert found.limit == pytest.approx(64 * np.finfo(np.float32).eps)
    assert found.warnings == ()
    assert check([np.ones(1)], [single(1)], 1).limit == found.limit
    (warning,) = check([np.array([3])], [single(3.75)], 1, against="torch").warnings
    assert warning.text.endswith("). The result is int64, but that of torch is float32.")


def test_a_difference_of_values_alone_is_not_called_different_work():
    (warning,) = check([single(1.01)], [single(1.0)], 1).warnings
    assert warning.code == "J201"
    assert "different work" not in warning.text


def test_a_different_number_of_results_is_different_work():
    (warning,) = check([single(1)], [single(1), single(2)], 1).warnings
    assert warning.text == (
        "It returns 1 array, but float64 NumPy returns 2 arrays: they do different work."
    )


def test_the_result_of_a_different_shape_is_named():
    (warning,) = check([single(1), single(1)], [single(1), single(1, 2)], 1).warnings
    assert warning.text.startswith(
        "The shape of result 1 is (1,), but that of float64 NumPy is (2,)"
    )


def test_a_conjugate_is_only_called_so_when_it_is_one():
    z = np.array([1 + 2j, 3 - 1j], np.complex64)
    (conjugate,) = check([z.conj()], [z], 2).warnings
    assert "complex conjugate" in conjugate.text
    (other,) = check([z * 2], [z], 2).warnings
    assert "complex conjugate" not in other.text


def test_dtypes_that_differ_are_listed_with_their_implementations():
    assert dtypes_differ(rows({"a": "float32", "b": "float32", "c": ""}), False) is None
    warning = dtypes_differ(rows({"a": "float32", "b": "float64"}), False)
    assert warning is not None
    assert "jax_enable_x64" in warning.text
    integers = dtypes_differ(rows({"a": "int32", "b": "int64"}), False)
    assert integers is not None
    assert integers.text.endswith("use `--x64`.")
    with_x64 = dtypes_differ(rows({"a": "float32", "b": "float64"}), True)
    assert with_x64 is not None
    assert "jax_enable_x64" not in with_x64.text
    halves = dtypes_differ(rows({"a": "float16", "b": "bfloat16"}), False)
    assert halves is not None
    assert "jax_enable_x64" not in halves.text


def test_sixteen_bits_are_checked_at_their_own_precision():
    half = np.asarray(jnp.asarray(normal(50), jnp.bfloat16))
    record = measured(
        ("numpy", "numpy", lambda x: x.astype(np.float64).sum()),
        ("jax", "jax", lambda x: x.sum()),
        inputs={"x": half},
    )
    assert row(record, "jax").agrees
    assert row(record, "jax").dtype == "bfloat16"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"grad": (3,)}, "There is no input 3 to differentiate for, only 1."),
        ({"vmap": (None,)}, "vmap needs a batch axis or None for each input"),
        ({"vmap": (0, 0)}, "vmap needs a batch axis or None for each input"),
        ({"vmap": (3,)}, "`x` has 1 dimension, so there is no axis 3 to batch over."),
    ],
)
def test_transforms_that_fit_no_input_are_a_reason(settings, reason):
    record = measured(("jax", "jax", lambda x: x.sum()), check=False, **settings)
    assert row(record, "jax").failure.startswith(reason)


def test_batches_of_different_lengths_are_a_reason():
    record = measured(
        ("jax", "jax", lambda x, y: x.sum() + y.sum()),
        inputs={"x": normal(2, 3), "y": normal(3, 2)},
        vmap=(0, 0),
        check=False,
    )
    text = "vmap needs batches of the same length, but there are 2 of `x`, 3 of `y`."
    assert row(record, "jax").failure.startswith(text)


def test_a_gradient_with_respect_to_an_integer_is_refused():
    record = measured(
        ("jax", "jax", lambda n, x: x.sum() * n),
        inputs={"n": 3, "x": normal(2)},
        grad=(0,),
        check=False,
    )
    assert row(record, "jax").failure.startswith("`n` is not an array or a float")


@pytest.mark.parametrize("given", [None, 1e-3])
def test_up_to_the_tolerance_is_equal_just_over_it_a_note_and_beyond_wrong(given):
    wanted = np.ones(4)
    limit = limit_of(wanted, 4) if given is None else given
    for factor, code in ((0.9, ""), (1.03, "J207"), (1.2, "J201")):
        found = check([np.array([1, 1, 1, 1 + limit * factor])], [wanted], 4, given)
        assert found.limit == limit
        assert "".join(one.code for one in found.warnings) == code
        row = ComparisonRow("jax", "jax", error=found.error, error_limit=found.limit)
        assert row.agrees == found.agrees == (code != "J201")
    (note,) = check([np.array([1, 1, 1, 1 + limit * 1.03])], [wanted], 4, given).warnings
    assert re.search(r", (3|3\.1) % over the tolerance of ", note.text)
