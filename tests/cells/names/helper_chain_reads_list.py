# A helper of a helper that reads a global list sees what was put in it between the runs.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
factors = [2.0]

def product(v):
    for f in factors:
        v = v * f
    return v

def outer(v):
    return product(v) + 1

# %% cell
y = outer(x)

# %% change
factors.append(10.0)
