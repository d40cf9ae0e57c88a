# An iterator over a list of traced values.
# expect: refused "trac"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
rows = iter([x, x * 2])

# %% after
z = x + 1
