# `0.0` and `-0.0` are equal and yet not the same value.

# %% setup
import jax.numpy as jnp
x = jnp.asarray([1.0, -1.0])
s = (0.0, 1)

# %% cell
y = jnp.copysign(x, s[0])

# %% change
s = (-0.0, 1)
