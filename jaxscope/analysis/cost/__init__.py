"""What a program costs: FLOPs, bytes and transcendentals, by instruction, loops multiplied out.

The rules are those of XLA's HloCostAnalysis (xla/service/hlo_cost_analysis.cc), so that a figure
here can be held against `compiled.cost_analysis()`: `xla_cost(module)` gives the same sums, and
the tests compare them. As there, FLOPs count every elementwise operation, integer ones included; a
multiply-add is two; and sin, exp, tanh and their like are transcendentals instead.

`program_cost` differs from XLA on purpose, each where XLA's figure is not true:

- A loop counts as often as it runs. XLA counts its body once.
- A conditional counts its most expensive branch, whole. XLA takes the maximum of each figure by
  itself, perhaps FLOPs of one branch and bytes of another.
- A custom call is estimated by a textbook formula if it is a known library routine, else unknown
  and left out. XLA adds -1.
- An FFT is 5 n log2 n (half of it for real data). XLA multiplies the logarithms of the axes.
- A fusion reads at most the whole of a parameter, and of a table behind a gather only the rows it
  takes; views (bitcast) are looked through. XLA reads the whole table, and a parameter twice that
  is both sliced and used whole.
- A library fusion (`kind=kCustom`) that holds a gather or scatter counts everything in it. XLA
  counts the gather alone.
- A tuple costs nothing, what it points to is counted where it is used. XLA counts its pointers.
- An asynchronous operation counts where it starts. XLA counts its data again where it ends.
"""

from jaxscope.analysis.cost.counter import xla_cost
from jaxscope.analysis.cost.figures import Cost
from jaxscope.analysis.cost.program import InstructionCost, ProgramCost, program_cost

__all__ = ["Cost", "InstructionCost", "ProgramCost", "program_cost", "xla_cost"]
