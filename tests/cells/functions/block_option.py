# `--block` compiles a cell with a function as a whole; the function stays plain.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --block
def f(v):
    return v * 2 + 1

y = f(x)
y.sum()

# %% change
x = x + 1

# %% after
z = f(x)
