# A helper under lru_cache that would keep a traced value for later cells.
# expect: refused "in place|trac|cache"

# %% setup
import functools
import jax.numpy as jnp

@functools.lru_cache
def table(n):
    return jnp.arange(n) * 2.0

x = jnp.arange(3.0)

# %% cell
y = x * table(3)

# %% after
z = table(3) + 1
