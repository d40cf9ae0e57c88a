# jax.vmap of a function of the cell, with axes and names.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def f(a, b): return a * b + jax.lax.axis_index("i")

m = jnp.stack([x, x + 1])
rows = jax.vmap(f, in_axes=(0, None), axis_name="i")(m, x)
columns = jax.vmap(f, in_axes=(1, 0), out_axes=1, axis_name="i")(m, x)

# %% change
x = x + 1
