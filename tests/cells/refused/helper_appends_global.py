# A helper that appends a traced value to a list which the cell never names.
# expect: refused "in place|trac"

# %% setup
import jax.numpy as jnp
log = []

def logged(v):
    log.append(v * 2)
    return v + 1

x = jnp.arange(3.0)

# %% cell
y = logged(x)

# %% after
n = len(log)
