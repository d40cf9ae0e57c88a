# A function and its call in one cell: the call is compiled, the rest runs as usual.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(v):
    return v * 2 + 1

y = f(x)
y.sum()

# %% change
x = x + 1

# %% after
z = f(x)
