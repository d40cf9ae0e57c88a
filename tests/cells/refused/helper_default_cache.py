# A helper that keeps traced values in its mutable default.
# expect: refused "in place|trac"

# %% setup
import jax.numpy as jnp

def table(n, cache={}):
    if n not in cache:
        cache[n] = jnp.arange(n) * 2.0
    return cache[n]

x = jnp.arange(3.0)

# %% cell
y = x * table(3)

# %% after
z = table(3) + 1
