# The same, hidden in a list in a dictionary.
# expect: refused "trac"

# %% setup
import jax.numpy as jnp

def make(w):
    def f(v):
        return v * w
    return f

x = jnp.arange(3.0)

# %% cell
kit = {"fs": [make(x * i) for i in range(2)]}

# %% after
z = x + 1
