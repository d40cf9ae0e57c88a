# Two names change places on every run.

# %% setup
import jax.numpy as jnp
a = jnp.arange(3.0)
b = jnp.ones((2, 2))

# %% cell
a, b = b, a
