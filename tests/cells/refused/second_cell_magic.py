# A second cell magic below the first.
# expect: refused "%%"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
%%time
y = x * 2

# %% after
w = x * 2
