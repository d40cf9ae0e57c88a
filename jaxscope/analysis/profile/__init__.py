"""Time inside a compiled program, by instruction and by line of Python.

profile(module, [of_equations(program, stage, module, 0)], sessions, "cpu:0")
"""

from jaxscope.analysis.profile.attribute import profile
from jaxscope.analysis.profile.cell import ProgramRun, RunProgram, cell_profile, program_runs
from jaxscope.analysis.profile.folded import folded
from jaxscope.analysis.profile.origins import (
    Origin,
    Origins,
    frames_inside,
    of_equations,
    of_frames,
)
from jaxscope.analysis.profile.shares import LineShare, OpShare, cell_shares, line_shares, op_shares
from jaxscope.analysis.profile.traced_calls import TracedCall, TracedSession

__all__ = [
    "LineShare",
    "OpShare",
    "Origin",
    "Origins",
    "ProgramRun",
    "RunProgram",
    "TracedCall",
    "TracedSession",
    "cell_profile",
    "cell_shares",
    "folded",
    "frames_inside",
    "line_shares",
    "of_equations",
    "of_frames",
    "op_shares",
    "profile",
    "program_runs",
]
