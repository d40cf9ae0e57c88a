"""Events of a trace in Chrome's format."""

from __future__ import annotations

from jaxscope.capture.profile.export import chrome_events
from tests.capture.profile.xspace import xspace


def test_an_event_has_its_times_in_microseconds_and_its_public_statistics() -> None:
    trace = xspace(
        {
            "/host:CPU": {
                "main": [
                    ("sine.1", 2_000.0, 5_000.0, {"hlo_op": "sine.1", "_pt": 1, "run_id": 7}),
                    ("end: sine.1", 5_000.0, 5_001.0, {}),
                ],
            }
        }
    )
    process, thread, event = chrome_events(trace)
    assert process["args"] == {"name": "jaxscope"}
    assert thread["tid"] == event["tid"]
    assert (event["name"], event["ts"], event["dur"]) == ("sine.1", 2.0, 3.0)
    assert event["args"] == {"hlo_op": "sine.1", "run_id": 7}
