"""Activity of a device's streams."""

from __future__ import annotations

import pytest

from jaxscope.analysis.trace.activity import device_activity
from jaxscope.analysis.trace.event import TraceEvent

STREAM = "/device:GPU:0 Stream #7(Compute)"


@pytest.mark.parametrize(
    ("spans", "busy"),
    [
        ([(0, 100), (10, 20), (50, 120)], 120),
        ([(0, 10), (10, 20)], 20),
        ([(0, 10), (5, 8), (6, 9), (9, 12), (20, 30)], 22),
    ],
)
def test_a_stream_is_busy_once_however_many_of_its_events_overlap(
    spans: list[tuple[int, int]], busy: int
) -> None:
    events = [TraceEvent(STREAM, f"kernel{n}", start, end) for n, (start, end) in enumerate(spans)]
    call = TraceEvent("/host:CPU main", "call", 0, 1000)
    found = device_activity([call, *events], "call")
    assert found is not None
    assert found.streams[0].busy_s == pytest.approx(busy * 1e-9)
