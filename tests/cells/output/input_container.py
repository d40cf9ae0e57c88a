# A last expression that is an input container is that container.

# %% setup
import jax.numpy as jnp
d = {"w": jnp.arange(3.0), "name": "layer"}

# %% cell
y = d["w"] * 2
d

# %% change
d["w"] = jnp.ones(3)

# %% after
_ is d
