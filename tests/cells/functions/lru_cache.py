# A cached function stays cached.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import functools

@functools.lru_cache
def table(n): return jnp.arange(n) * 1.0

a, b = table(3), table(3)
same = a is b
hits = table.cache_info().hits

# %% change
x = x + 1
