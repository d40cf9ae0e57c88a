# A generator over a traced value.
# expect: refused "trac"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
g = (v * 2 for v in [x])

# %% after
z = x + 1
