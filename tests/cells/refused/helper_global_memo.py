# A helper that keeps traced values in a global dictionary.
# expect: refused "in place|trac"

# %% setup
import jax.numpy as jnp
memo = {}

def table(n):
    if n not in memo:
        memo[n] = jnp.arange(n) * 2.0
    return memo[n]

x = jnp.arange(3.0)

# %% cell
y = x * table(3)

# %% after
z = table(3) + 1
