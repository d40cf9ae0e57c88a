# Python's `sum`, `max`, `len`, `zip`, `enumerate`, `reversed` and `all` on known values and arrays.

# %% setup
import jax.numpy as jnp
x, ks = jnp.arange(6.0).reshape(3, 2), [3, 1, 2]

# %% cell
rows = [r * k for r, k in zip(x, ks, strict=True)]
total = sum(rows)
back = list(reversed(ks)), max(ks), min(ks, default=0), all(ks), any(k > 2 for k in ks)
table = {i: r for i, r in enumerate(reversed(rows), start=1)}
n = len(x) + len(rows)
first, *others = x

# %% change
ks = [0, 5, 5]
