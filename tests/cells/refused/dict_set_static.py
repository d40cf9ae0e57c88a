# A static value put into an input dictionary.
# expect: refused "in place"
# line: 3

# %% setup
import jax.numpy as jnp
d = {"w": jnp.arange(3.0), "step": 0}

# %% cell
y = d["w"] * 2
d["step"] = d["step"] + 1

# %% after
d["step"] += 1
