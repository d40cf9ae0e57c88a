# A lambda of the cell reads the namespace when it is called, in the next cell.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
w = x * 2
f = lambda v: v * w

# %% change
x = x + 1

# %% after
first = f(3.0)
w = w + 100
second = f(3.0)
