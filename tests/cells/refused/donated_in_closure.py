# A donated array that a function closes over.
# expect: refused "would delete `scaled` too"

# %% setup
import jax.numpy as jnp
def scale_by(w):
    return lambda v: v * w

x = jnp.arange(3.0)
scaled = scale_by(x)

# %% cell -d x
x = x * 2

# %% after
z = scaled(x)
