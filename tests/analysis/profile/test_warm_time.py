"""Whether the next run of a profiled cell is without its compilations."""

from __future__ import annotations

import pytest

from jaxscope.analysis.profile.warm_time import warm_time
from jaxscope.model import Cause, CauseKind, Compile, CompileKind, Frame, Span

AGAIN = "run the cell again for its warm time"


def made(name: str, seconds: float, kind: CauseKind, defined: int | None = 1) -> Compile:
    place = None if defined is None else Frame(defined, "file", name, Span(1, 0, 1, 0))
    return Compile(
        name,
        CompileKind.JIT,
        None,
        trace_s=0.0,
        lower_s=0.0,
        compile_s=seconds,
        causes=(Cause(kind, "", "", "", "", fix=""),),
        defined=place,
    )


@pytest.mark.parametrize(
    ("compiles", "said"),
    [
        ([made("step", 2.0, CauseKind.FIRST_CALL)], AGAIN),
        ([made("scan", 2.0, CauseKind.EAGER_BODY, None)], ""),
        (
            [
                made("scan", 1.0, CauseKind.EAGER_BODY, None),
                made("step", 2.0, CauseKind.FIRST_CALL),
            ],
            AGAIN,
        ),
        (
            [made("step", 2.0, CauseKind.FIRST_CALL, 0)],
            "each run compiles `step` again, because the cell defines it",
        ),
        (
            [made("f", 2.0, CauseKind.REDEFINED, 0), made("g", 2.0, CauseKind.FIRST_CALL, 0)],
            "each run compiles 2 functions again, because the cell defines them",
        ),
    ],
)
def test_the_next_run_is_warm_unless_the_functions_are_new(
    compiles: list[Compile], said: str
) -> None:
    assert warm_time(compiles) == said
