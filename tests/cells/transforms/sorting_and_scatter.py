# Sorting, searching, scattering, segment sums.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
x = jnp.asarray([3.0, 1.0, 2.0])
ids = jnp.asarray([0, 1, 0])

# %% cell
order = jnp.argsort(x)
s = x[order]
found = jnp.searchsorted(s, 2.0)
sums = jax.ops.segment_sum(x, ids, num_segments=2)
top, index = jax.lax.top_k(x, 2)
largest = x.sort()[-1]

# %% change
ids = jnp.asarray([1, 1, 1])
