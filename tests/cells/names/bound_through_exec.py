# A name bound by `exec` holds a result afterwards, not a tracer.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
exec("y = x * 2")
z = x + 1

# %% change
x = x + 1

# %% after
w = y + z
