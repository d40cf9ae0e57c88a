# IPython removes an indentation that the whole cell shares.
# expect: same or refused "indent"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
    y = x * 2
    if True:
        z = y + 1
    z
