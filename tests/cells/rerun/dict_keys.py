# Another key, another program.

# %% setup
import jax.numpy as jnp
params = {"w": jnp.arange(3.0)}

# %% cell
y = sum(v.sum() for v in params.values())
keys = list(params)

# %% change
params["b"] = jnp.ones(2)
