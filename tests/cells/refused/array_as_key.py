# An array is no key in plain Python either, so no `-s` is proposed.
# expect: refused "cannot be a key or in a set: use a Python number or a string.$"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
table = {x.sum(): 1}

# %% after
table = {float(x.sum()): 1}
