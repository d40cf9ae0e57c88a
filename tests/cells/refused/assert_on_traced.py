# An assertion about a traced value.
# expect: refused "TracerBool"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
assert (y >= 0).all(), "negative"

# %% after
z = x + 1
