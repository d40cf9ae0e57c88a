# A traced value put into an input dictionary.
# expect: refused "in place"
# line: 3

# %% setup
import jax.numpy as jnp
d = {"w": jnp.arange(3.0)}
alias = d

# %% cell
y = d["w"] + 1
d["w"] = y * 2

# %% after
z = d["w"] + 1
