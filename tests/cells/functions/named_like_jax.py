# Functions named like the modules that they hide.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def np(v): return v * 2
def jnp(v): return v + 1
y = jnp(np(x))
def jax(v): return v - 1
z = jax(y)

# %% after
z2 = jax(z)
del jax, jnp, np
