"""The program that XLA receives, as its links need it; all of it is there before XLA compiles."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Any

from jaxscope.analysis.hlo import HloModule, parse_module, too_long
from jaxscope.analysis.links.line_links import equations_of_line
from jaxscope.analysis.links.locator import Candidates
from jaxscope.analysis.links.program_input import InputFlow, ProgramInput, flow_of_jaxpr
from jaxscope.capture import _jax
from jaxscope.capture.jaxpr.dataflow import RegionReader
from jaxscope.capture.jaxpr.tags import Tagged

_MOST = 60_000
"""Equations up to which the dataflow is read: some tenths of a second."""


class InputReader:
    """Reads the equations of a program and the flow between them."""

    def __init__(self, tagged: Tagged, lowered: Any, regions: RegionReader | None = None) -> None:
        self.regions = regions or RegionReader()
        self._tagged = tagged
        self._lowered = lowered
        self._ahead: InputFlow | None = None

    @functools.cached_property
    def candidates(self) -> Candidates:
        return Candidates(self._tagged.equations)

    @property
    def program(self) -> ProgramInput:
        """The program that XLA received, with its tags."""
        return ProgramInput(self._text, self._flow)

    def read_ahead(self) -> None:
        """Read both while XLA compiles; the flow is kept until it is asked for."""
        flow = self._ahead = self._read()
        with suppress(Exception):
            _ = flow and (flow.made, flow.products, flow.from_inputs), self.candidates
            equations_of_line(self._tagged.equations, 1)  # keeps the index of all lines

    def release(self) -> None:
        """Release the live objects."""
        self._lowered = self._ahead = None

    def _text(self) -> HloModule | None:
        if self._lowered is None:
            return None
        raw = self._lowered.as_text("hlo", debug_info=True)
        return None if too_long(raw) else parse_module(raw)

    def _flow(self, compiled: HloModule) -> InputFlow | None:
        flow, self._ahead = self._ahead or self._read(), None
        return flow if flow is not None and flow.is_of(compiled) else None

    def _read(self) -> InputFlow | None:
        tagged = self._tagged
        if self._lowered is None or tagged.body is None or len(tagged.equations) > _MOST:
            return None
        try:
            taken = _jax.kept_arguments(self._lowered)
            flow = self.regions.flow(tagged.body)
            if taken is None or flow.region.size != len(tagged.equations):
                return None
            return flow_of_jaxpr(flow, tagged.tag_paths, taken)
        except Exception:  # the text has it
            return None
