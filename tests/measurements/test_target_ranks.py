"""The order of predicted and measured times: the parts that need no GPU."""

from __future__ import annotations

import jax
import pytest

import jaxscope
from measurements import target_ranks
from measurements.__main__ import ON_A_GPU
from measurements.budget import within


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0], 1.0),
        ([1.0, 10.0, 100.0, 1e6], 1.0),
        ([4.0, 3.0, 2.0, 1.0], -1.0),
        ([2.0, 1.0, 4.0, 3.0], 0.6),
        ([1.0, 2.0, 2.0, 3.0], 0.9486832980505138),
    ],
)
def test_the_correlation_is_spearmans(measured: list[float], expected: float) -> None:
    assert target_ranks.rank_correlation([1, 2, 3, 4], measured) == pytest.approx(expected)


def test_without_an_order_there_is_no_correlation() -> None:
    with pytest.raises(ValueError, match="no order to compare"):
        target_ranks.rank_correlation([1, 1, 1], [1, 2, 3])


def test_a_wrong_order_is_over_its_budget() -> None:
    rows = {str(i): {"predicted_s": i, "measured_s": i * i} for i in range(1, 6)}
    assert within(target_ranks.correlated("gpu:h100", rows))
    rows["1"]["measured_s"] = 99.0
    found = target_ranks.correlated("gpu:h100", rows)
    assert not within(found)
    assert found["order"]["variants"] == 5


def test_there_are_ten_variants_and_only_gpus_that_are_targets() -> None:
    assert len({name for name, _, _ in target_ranks.variants()}) == 10
    assert target_ranks.target_of("NVIDIA H100 80GB HBM3") == "gpu:h100"
    assert target_ranks.target_of("NVIDIA A100-SXM4-80GB") == "gpu:a100"
    assert target_ranks.target_of("cpu") == ""
    assert "target_ranks" in ON_A_GPU


@pytest.mark.jax
def test_without_such_a_gpu_nothing_is_measured() -> None:
    assert target_ranks.measure() == {"skipped": ["cpu is not a target of jaxscope"]}
    samples = target_ranks._measured(lambda x: x + 1, [jax.ShapeDtypeStruct((4,), "float32")])
    assert samples > 0


@pytest.mark.jax
def test_a_program_without_a_data_sheet_has_no_bound() -> None:
    x = jax.ShapeDtypeStruct((8, 8), "float32")
    with jaxscope.options(target="cpu"):
        assert target_ranks.bound_s(jaxscope.inspect(lambda x: x @ x, x).programs[0]) is None
