# Only the order of the keys is new.

# %% setup
import jax.numpy as jnp
params = {"a": jnp.arange(3.0), "b": jnp.ones(3)}

# %% cell
first = next(iter(params))
y = params[first] * 10
keys = list(params)

# %% change
params = {"b": jnp.ones(3), "a": jnp.arange(3.0)}
