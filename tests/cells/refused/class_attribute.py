# A traced value put on a class.
# expect: refused "in place|trac"

# %% setup
import jax.numpy as jnp

class Registry:
    best = None

x = jnp.arange(3.0)

# %% cell
Registry.best = x * 2

# %% after
z = Registry.best
