"""The cost of a program: FLOPs, bytes and transcendentals by instruction, loops multiplied out.

The rules are those of XLA's HloCostAnalysis (xla/service/hlo_cost_analysis.cc), so that a figure
can be compared with `compiled.cost_analysis()`: the tests take the differences below back, and get
the same sums. As there, FLOPs count every elementwise operation, integer ones included; a
multiply-add is two; and sin, exp, tanh and the like are transcendentals instead.

`program_cost` differs from XLA where XLA's figure is not true:

- A loop body counts once per iteration. XLA counts it once.
- A conditional counts its most expensive branch, whole. XLA takes the maximum of each figure by
  itself, perhaps FLOPs of one branch and bytes of another.
- A custom call is estimated by a textbook formula if it is a known library routine, else it is
  unknown and not counted. XLA adds -1.
- An FFT is 5 n log2 n (half of it for real data). XLA multiplies the logarithms of the axes.
- A fusion reads at most the whole of a parameter, and of a table behind a gather only the rows it
  takes; bitcasts are free. XLA reads the whole table, and counts a parameter twice that is both
  sliced and used whole.
- A library fusion (`kind=kCustom`) that holds a gather or scatter counts everything in it. XLA
  counts the gather alone.
- A tuple costs nothing; its elements count where they are used. XLA counts its pointers.
- An asynchronous operation counts at its start. XLA counts its data again at its end.
"""

from jaxscope.analysis.cost.arithmetic import CostCounts
from jaxscope.analysis.cost.program import InstructionCost, ProgramCost, counted, program_cost

__all__ = ["CostCounts", "InstructionCost", "ProgramCost", "counted", "program_cost"]
