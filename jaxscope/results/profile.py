"""The part of a report that is its profile: times, figures and the profiler's trace."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING

from jaxscope.model import Roofline, Unavailable
from jaxscope.model.profile import Profile
from jaxscope.results.compiler import CompilerRecord
from jaxscope.results.report_plots import Plot, figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from jaxscope.capture.profile.xprof import XProfServer

_NO_PROFILE = Unavailable("the program was not profiled; %jaxprof profiles it")


class ProfileRecord(CompilerRecord):
    """A record with the time inside its programs, where they were profiled."""

    @property
    def profile(self) -> Profile | Unavailable:
        """Time inside the program, from `jaxscope.profile` or `%%jaxprof`."""
        found = self.programs[0].profile if self.programs else self._no_program()
        return _NO_PROFILE if found is None else found

    @property
    def coverage(self) -> float:
        """Share of a profiled call inside instructions; NaN without a profile."""
        found = self.profile
        return math.nan if isinstance(found, Unavailable) else found.coverage

    def time_by_line(self, source: int = 0) -> dict[int, float]:
        """Seconds per call by line of a source, all directions together; empty without a profile.

        Lines that XLA fused together are estimates: `profile.lines` has their brackets. Also empty
        when the profile is unreliable; `profile.unreliable` has the reason.
        """
        found = self.profile
        if isinstance(found, Unavailable) or found.unreliable:
            return {}
        times: dict[int, float] = {}
        for row in found.lines:
            if row.place.source == source:
                times[row.place.line] = times.get(row.place.line, 0.0) + row.seconds
        return dict(sorted(times.items()))

    def time_by_op(self) -> dict[str, float]:
        """Seconds per call by HLO instruction, the longest first; empty without a profile."""
        found = self.profile
        if isinstance(found, Unavailable):
            return {}
        times: dict[str, float] = {}
        for row in found.ops:
            times[row.name] = times.get(row.name, 0.0) + row.seconds
        return times

    @property
    def roofline(self) -> Roofline | Unavailable:
        """The bound of the program on its device. Measures the peaks if needed (0.5 s)."""
        if not self.programs:
            return self._no_program()
        found, source = self.programs[0].roofline, self._texts[0]
        if isinstance(found, Unavailable) and source is not None:
            from jaxscope.capture.program.stages import Handles
            from jaxscope.capture.run.record import judged
            from jaxscope.capture.timing.peaks import PeakCache

            if isinstance(source, Handles) and source.compiled is not None:
                first = judged(self.programs[0], source, PeakCache(), ask=True)
                programs = (first, *self.programs[1:])
                self._record = dataclasses.replace(self._record, programs=programs)
        return self.programs[0].roofline

    def plot(self, kind: Plot = "stack") -> go.Figure:
        """A plotly figure of the profile: `stack` (call stacks as boxes), `roofline`, `memory`
        (over XLA's schedule) or `timeline` (threads over time). Needs plotly.

        Raises ValueError for another kind, LookupError when this report has no such data, and
        ModuleNotFoundError without plotly.
        """
        return figure(self, kind, self._trace)

    def save_trace(self, path: str | Path) -> Path:
        """Write the profiler's last session: `.json` or `.json.gz` for Perfetto and Chrome, any
        other path is a log directory for XProf and TensorBoard.

        Raises LookupError when this report has no trace.
        """
        from jaxscope.capture.profile import export

        return export.save(self._trace(), path)

    def xprof(self) -> XProfServer:
        """Open the trace in XProf: a server on this machine, stopped with the process.

        It listens on all network interfaces without a password. Raises LookupError when there is no
        trace, and ValueError when XProf is not installed or does not start.
        """
        from jaxscope.capture.profile.xprof import XProfServer

        return XProfServer(self._trace())
