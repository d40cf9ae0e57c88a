# A name read through `globals()` has the value of this run.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = globals()["x"] * 2

# %% change
x = x + 1
