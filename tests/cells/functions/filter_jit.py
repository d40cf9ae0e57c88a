# A function that Equinox jits.
# needs: equinox

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import equinox as eqx

# %% cell
@eqx.filter_jit
def f(v, name): return v * (2 if name == "a" else 3)

y, z = f(x, "a"), f(x, "b")

# %% change
x = x + 1
