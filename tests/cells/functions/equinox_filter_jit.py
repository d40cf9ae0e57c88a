# Equinox: eqx.filter_jit with static fields and strings.
# needs: equinox

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import equinox as eqx

# %% cell
@eqx.filter_jit
def f(v, mode, n): return v * n if mode == "times" else v + n

rows = [f(x, "times", 2), f(x, "plus", 2.0), f(x, "times", jnp.array(3))]
del f

# %% change
x = x + 1
