# An entry removed from an input dictionary.
# expect: refused "in place"
# line: 2

# %% setup
import jax.numpy as jnp
d = {"w": jnp.arange(3.0), "b": jnp.ones(3), "c": 1}

# %% cell
del d["b"]
y = d.pop("w") * 2

# %% after
z = sum(d.values())
