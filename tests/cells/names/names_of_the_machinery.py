# Names that a tracing program might use for itself are the user's.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as np
x = np.arange(3.0)
program = "mine"
cell = 2.0
inputs = {"x": x}
leaves = [1, 2]

# %% cell
traced = x * cell
outputs = [traced, inputs["x"]]
namespace = len(leaves)
code = program
result = traced + 1
jaxscope = "a name like any other"
result

# %% change
cell = 3.0
