# The loop names of comprehensions do not leak and do not shadow what was there.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
k = "kept"
v = jnp.ones(2)

# %% cell
table = {k: x * v for k, v in enumerate([1.0, 2.0, 3.0])}
nested = [[x[a] * b for a in range(3)] for b in range(2)]
total = sum(u.sum() for u in table.values())

# %% change
x = x * 2
