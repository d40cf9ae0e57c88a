# A boolean mask, nonzero and unique, whose shapes follow the values.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def positive(v): return v[v > 0.5]
def where(v): return jnp.nonzero(v)[0]
def kinds(v): return jnp.unique(v)

rows = [positive(x), where(x), kinds(x)]

# %% change
x = x + 1
