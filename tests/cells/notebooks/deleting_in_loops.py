# Temporary names are deleted in loops and handlers, and bound again later.

# %% setup
import jax.numpy as jnp
x, tmp = jnp.arange(3.0), "kept?"

# %% cell
for k in range(3):
    tmp = x * k
    if k == 2:
        y = tmp
    del tmp
try:
    tmp
except NameError:
    tmp = "gone"
del k

# %% change
tmp = 5
