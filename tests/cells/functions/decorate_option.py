# `--decorate` binds a function jitted.
# differs: f entry-point-becomes-jitted

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --decorate
def f(v):
    return v * 2

y = f(x)

# %% change
x = x + 1
