# A name bound through `globals()` holds a result afterwards, not a tracer.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
globals()["y"] = x * 2
z = x + 1

# %% change
x = x + 1

# %% after
w = y + z
