# `--only` chooses what is compiled.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --only inner
def inner(v):
    return v * 2

def outer(v):
    return inner(v) + 1

y = outer(x)

# %% change
x = x + 1
