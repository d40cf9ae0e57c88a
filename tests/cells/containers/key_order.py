# The order of a dictionary is its order of insertion, for inputs and for results.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
d = {"z": jnp.arange(3.0), "a": jnp.ones(3), "m": jnp.zeros(3)}

# %% cell
order = list(d)
first = next(iter(d.values())) * 10
out = {"second": d["a"] + 1, "first": d["z"] + 2}

# %% change
d["a"] = d["a"] + 1
