# `_` as a loop variable belongs to the user.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
for _ in range(2):
    x = x + 1
first, _ = x, "second"
x
