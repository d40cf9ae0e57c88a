# A line magic in the cell.
# expect: refused "%"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
%who

# %% after
w = x * 2
