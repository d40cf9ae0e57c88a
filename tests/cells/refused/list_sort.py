# A static input list sorted in place.
# expect: refused "in place"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
order = [2, 0, 1]

# %% cell
order.sort()
y = x[order[0]]

# %% after
first = order[0]
