# The result of a computation in a different library is not a constant of a program.
# silent: non_jax_constant

# %% setup
import numpy as np
m = np.ma.masked_array([1.0, 2.0, 300.0], mask=[False, False, True])

# %% cell
y = m.sum() * 2
