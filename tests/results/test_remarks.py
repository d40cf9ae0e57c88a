"""`report.remarks()`: values that XLA did not fuse, in its own words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxscope
from jaxscope.analysis.passes.remarks import REASONS
from jaxscope.capture.program import fusions
from jaxscope.model import Unavailable
from jaxscope.model.compiler.remarks import FusionRemark
from jaxscope.model.profile import Profile
from jaxscope.results.remarks import Remarks
from jaxscope.view.profile.instructions import seconds_per_byte
from tests.capture.program.programs import PROGRAMS

pytestmark = pytest.mark.jax


def apart(x: Any) -> Any:
    ordered = jnp.sort(jnp.exp(x), axis=0)  # a kernel of its own
    scale = 1 / (1 + jnp.tanh(x[0]))  # expensive, read by every row
    return ordered, x * scale, ordered.sum()


def remarks_of(report: jaxscope.Report) -> Remarks:
    found = report.remarks()
    assert isinstance(found, Remarks), found
    return found


FIRST = apart.__code__.co_firstlineno


@pytest.fixture(scope="module")
def report() -> jaxscope.Report:
    with jaxscope.options(runs=0):
        return jaxscope.inspect(apart, jnp.ones((32, 16)))


@pytest.fixture(scope="module")
def remarks(report: jaxscope.Report) -> Remarks:
    return remarks_of(report)


@pytest.mark.parametrize("name", ["attention", "vmap of grad", "sort and scatter"])
def test_xla_has_a_reason_for_each_pair(name: str) -> None:
    function, args = PROGRAMS[name]()
    with jaxscope.options(runs=0):
        report = jaxscope.inspect(function, *args)
    found = remarks_of(report)
    assert len(found) > 1
    assert all(one.xla and one.reason for one in found)


def test_a_remark_is_at_its_lines(report: jaxscope.Report, remarks: Remarks) -> None:
    text = (report.record.sources[0].text).split("\n")
    line = next(n for n, row in enumerate(text, 1) if "jnp.sort" in row)
    ours = remarks.of_line(line)
    assert any(one.reason == "`sort` has a kernel or library call of its own" for one in ours)
    assert {one.xla for one in ours} <= REASONS.keys()
    assert not remarks.of_line(1)


def test_the_bytes_are_those_between_the_pair(remarks: Remarks) -> None:
    assert [one.bytes for one in remarks] == sorted((r.bytes for r in remarks), reverse=True)
    largest = remarks[0]
    assert largest.bytes == 32 * 16 * 4
    share = remarks.share(largest)
    assert share is not None
    assert 0.05 < share < 1
    assert not remarks.costly()  # a sort has a kernel of its own


def test_all_formats_show_the_same(remarks: Remarks) -> None:
    for text in (remarks.to_text(width=200), remarks.to_markdown(), remarks.static_html()):
        assert "has a kernel or library call of its own" in text
        assert "compiled once more" in text


def test_the_stage_is_linked_to_the_lines(report: jaxscope.Report, remarks: Remarks) -> None:
    stage = report.stage("remarks")
    lines = stage.text.split("\n")
    assert len([line for line in lines if "→" in line]) == len(remarks)
    text = (report.record.sources[0].text).split("\n")
    line = next(n for n, row in enumerate(text, 1) if "jnp.sort" in row)
    linked = [lines[n - 1] for n in report.stage_lines("remarks", line).lines]
    assert any("→ %sort" in one for one in linked)


def test_one_compilation_serves_all_calls(
    report: jaxscope.Report, remarks: Remarks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fusions, "fusion_dump", None)
    again = report.remarks()
    assert isinstance(again, Remarks)
    assert [*again] == [*remarks]


def test_xla_logs_its_answers_for_a_program_of_any_size() -> None:
    def many(x: Any) -> Any:
        for _ in range(150):
            x = jnp.sort(jnp.tanh(x) * 2, 0)
        return x

    with jaxscope.options(runs=0):
        report = jaxscope.inspect(many, jnp.ones((32, 16)))
    found = remarks_of(report)
    assert len(found) >= 150
    assert all(one.xla for one in found)


def two_readers(x: Any) -> Any:
    table = jnp.tanh(x)
    return table.sum(0), jnp.sort(table * 2, 0)


def in_one_loop(x: Any) -> Any:
    return jnp.tanh(jnp.sin(x) * 2), jnp.sort(x, 0)


def product(x: Any) -> Any:
    return jnp.tanh(x @ x)


@pytest.mark.parametrize(
    ("function", "size", "fires"),
    [
        (two_readers, 160, True),
        (two_readers, 64, False),
        (in_one_loop, 160, False),
        (product, 160, False),
    ],
)
def test_two_loops_apart_for_much_of_the_bytes_are_named(
    function: Any, size: int, fires: bool
) -> None:
    with jaxscope.options(runs=0):
        found = remarks_of(jaxscope.inspect(function, jnp.ones((size, size))))
    assert ("apart for more than 5 % of the bytes" in found.summary()) is fires
    assert bool(found.costly()) is fires
    for one in found.costly():
        assert one.bytes == size * size * 4
        first = two_readers.__code__.co_firstlineno
        assert (one.producer_lines, one.consumer_lines) == ((first + 1,), (first + 2,))
        assert "is expensive, and each of its consumers would compute it" in found.to_text(
            width=200
        )


def test_a_report_without_its_program_says_why(report: jaxscope.Report, tmp_path: Path) -> None:
    report.save(tmp_path / "report.json")
    loaded = jaxscope.load(tmp_path / "report.json")
    assert isinstance(loaded, jaxscope.Report)
    assert loaded.remarks() == Unavailable(
        "fusion remarks are of a program that is alive; run it again"
    )
    x = jnp.ones(4)
    compiled = jaxscope.inspect(jax.jit(jnp.sin).lower(x).compile(), x)
    assert "its fusions are unknown" in getattr(compiled.remarks(), "reason", "")


def remark(bytes: int, *, only_reader: bool = False, times: float | None = 1.0) -> FusionRemark:
    return FusionRemark(
        "tanh", "add", reason="", xla="", fusible=True, bytes=bytes, only_reader=only_reader,
        times=times,
    )  # fmt: skip


def test_a_memory_bound_loop_apart_for_much_of_the_time_is_named() -> None:
    shared, alone, unknown = (
        remark(100_000),
        remark(100_000, only_reader=True),
        remark(90_000, times=None),
    )
    rates = {"add": 1e-9, "tanh": 3e-9}
    found = Remarks("jit(f)", (shared, alone, unknown), 0.1, 1e9, rates, 1e-3)
    assert [found.time_share(one) for one in found] == [
        pytest.approx(0.1),
        pytest.approx(0.4),
        None,
    ]
    assert found.costly() == (shared, alone)
    assert "2 loops apart for more than 5 % of the bytes or the time" in found.summary()
    assert "at least 40 % of the time" in found.to_text(width=200)
    # A producer that computes is no reason to say that its bytes take time.
    computing = Remarks("jit(f)", (alone,), 0.1, 1e9, {}, 1e-3)
    assert computing.time_share(alone) is None
    assert not computing.costly()
    quick = Remarks("jit(f)", (shared,), 0.1, 1e9, rates, 1.0)
    assert not quick.costly()


def test_the_time_of_a_profile_is_beside_the_bytes() -> None:
    report = jaxscope.profile(two_readers, jnp.ones((1500, 1500)))
    (program,) = report.programs
    assert isinstance(program.profile, Profile)
    found = remarks_of(report)
    report.stage("optimized_hlo")
    rates = seconds_per_byte(report.programs[0], program.profile)
    for one in found:
        sides = {one.consumer, *([one.producer] if one.only_reader else [])}
        share = found.time_share(one)
        assert (share is None) is sides.isdisjoint(rates)
        if share is not None:
            assert 0 < share < 1


def test_values_alike_are_one_row_with_their_number() -> None:
    def unrolled(x: Any) -> Any:
        for _ in range(8):
            x = jnp.tanh(x @ x.T @ x) + jnp.sin(x)
        return x

    with jaxscope.options(runs=0):
        remarks = remarks_of(jaxscope.inspect(unrolled, jnp.ones((32, 32))))
    text = remarks.to_text(width=300)
    header, *rows = (line.split("  ") for line in text.split("\n")[2:])
    at = [cell.strip() for cell in header if cell.strip()].index("values")
    numbers = [int([cell.strip() for cell in row if cell.strip()][at]) for row in rows if any(row)]
    assert sum(numbers) == len(remarks) > 20
    assert len(numbers) < 8
