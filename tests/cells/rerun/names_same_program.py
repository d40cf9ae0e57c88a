# Another name is bound by a program that is the same.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
first = True

# %% cell
if first:
    a = x * 2
else:
    b = x * 2

# %% change
first = False
