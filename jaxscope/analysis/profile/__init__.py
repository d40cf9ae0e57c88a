"""Time inside a compiled program, by instruction and by line of Python.

profile(module, [of_equations(program, stage, module, 0)], sessions, "cpu:0")
"""

from jaxscope.analysis.profile.attribute import profile
from jaxscope.analysis.profile.cell import (
    ExecutedProgram,
    ProgramExecution,
    cell_profile,
    program_runs,
)
from jaxscope.analysis.profile.line_owners import (
    LineOwner,
    LineOwners,
    frames_inside,
    of_equations,
    of_frames,
)
from jaxscope.analysis.profile.merged_lines import merged_lines
from jaxscope.analysis.profile.profiled_calls import ProfiledCall, ProfiledSession
from jaxscope.analysis.profile.shares import LineShare, OpShare, cell_shares, line_shares, op_shares

__all__ = [
    "ExecutedProgram",
    "LineOwner",
    "LineOwners",
    "LineShare",
    "OpShare",
    "ProfiledCall",
    "ProfiledSession",
    "ProgramExecution",
    "cell_profile",
    "cell_shares",
    "frames_inside",
    "line_shares",
    "merged_lines",
    "of_equations",
    "of_frames",
    "op_shares",
    "profile",
    "program_runs",
]
