# A line magic in the cell is refused before anything runs.
# expect: refused "%"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.ones(2)

# %% cell
y = x * 2
%time z = y + 1
