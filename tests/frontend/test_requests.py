"""What a viewer is answered, without a kernel."""

from __future__ import annotations

import dataclasses
import gzip
import json
import threading
from typing import Any

import pytest

from jaxscope import model as m
from jaxscope.frontend.requests import MANY, Refused, answer
from jaxscope.results.report import Report
from tests.view.conftest import load, with_program


def asked(report: Report, **request: Any) -> Any:
    return json.loads(gzip.decompress(answer(report, request)))


def test_reasons_come_with_the_texts_that_tell_them() -> None:
    report = Report(load())
    for kind in ("jaxpr", "stablehlo", "optimized_hlo"):
        found = asked(report, op="stage", kind=kind)
        gone = {"equation": 39, "reason": "JAX lowered it to no operation"}
        assert gone in found["eliminated"] + found["merged"]
        assert found["merged"]
    assert "eliminated" not in asked(report, op="stage", kind="hlo")


def test_the_equations_of_a_large_program_come_with_each_text() -> None:
    record = load()
    assert "equations" not in asked(Report(record), op="stage", kind="jaxpr")
    one = record.programs[0].equations[0]
    many = tuple(dataclasses.replace(one, id=i) for i in range(MANY + 1))
    stage = m.Stage(m.StageKind.JAXPR, "let")
    large = with_program(record, equations=many, stages=(stage,))
    assert len(asked(Report(large), op="stage", kind="jaxpr")["equations"]) == MANY + 1


def test_a_text_that_was_not_saved_is_unavailable_with_the_reason() -> None:
    report = Report(with_program(load(), stages=()))
    found = asked(report, op="stage", kind="hlo")["stage"]
    assert "was not saved with the report" in found["unavailable"]["reason"]


@pytest.mark.parametrize("program", [-1, 1, "0", None, True])
def test_a_program_that_is_not_there_is_refused(program: Any) -> None:
    with pytest.raises(Refused, match="has 1 program"):
        answer(Report(load()), {"op": "stage", "kind": "hlo", "program": program})


@pytest.mark.jax
def test_a_pass_is_sent_as_a_stage_of_a_comparison() -> None:
    import jax.numpy as jnp

    import jaxscope

    with jaxscope.options(runs=0):
        report = jaxscope.inspect(lambda x: jnp.tanh(x) / 3.0, jnp.ones(8))
    passes = report.passes()
    found = asked(report, op="pass", number=1)
    data = passes.diff(1).data
    assert (found["before"], found["after"]) == (data.before, data.after)
    assert [group["caption"] for group in found["groups"]] == [g.caption for g in data.groups]
    assert found["title"].startswith(f"1 · {passes[0].name}")
    for number, words in ((99, "There is no pass 99"), ("1", "not '1'"), (None, "not None")):
        with pytest.raises(Refused, match=words):
            answer(report, {"op": "pass", "number": number})


def test_a_report_from_a_file_has_no_passes_to_compare() -> None:
    with pytest.raises(Refused, match="not saved with a report"):
        answer(Report(load()), {"op": "pass", "number": 1})


def test_the_price_of_a_stage_is_that_of_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report(load())
    asked: list[tuple[str, int]] = []

    def price(kind: str, program: int = 0) -> float:
        asked.append((kind, program))
        return 1.5

    monkeypatch.setattr(report, "price", price)
    packed = answer(report, {"op": "price", "kind": "passes", "program": 0})
    assert json.loads(gzip.decompress(packed)) == {"seconds": 1.5}
    assert asked == [("passes", 0)]
    with pytest.raises(Refused, match="There is no stage 'spirv'"):
        answer(report, {"op": "price", "kind": "spirv"})


class Slow:
    """Live handles whose texts are made while others ask."""

    def __init__(self, parties: int) -> None:
        self.barrier = threading.Barrier(parties)

    def text(self, kind: m.StageKind) -> m.Stage:
        self.barrier.wait(timeout=30)
        return m.Stage(kind, f"text of {kind}")


def test_threads_that_ask_at_once_lose_no_text_and_double_none() -> None:
    kinds = [*m.StageKind, *m.StageKind]
    report = Report(with_program(load(), stages=()), [Slow(len(kinds))])
    threads = [threading.Thread(target=report.stage, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert [stage.kind for stage in report.programs[0].stages] == list(m.StageKind)
