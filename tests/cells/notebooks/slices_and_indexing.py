# Slices, `...`, `None`, negative steps, slice objects and `at` with all of them.

# %% setup
import jax.numpy as jnp
x, i, window = jnp.arange(24.0).reshape(2, 3, 4), 1, slice(0, 2)

# %% cell
a, b, c = x[..., 0], x[:, None, i], x[0, ::-1, window]
d = x.at[:, 0, -1].set(-1).at[..., window].add(i)
e = x[jnp.array([0, 1, 1])]
(first, *_), last = x, x[-1]
f = x.T[i][:, -1]

# %% change
i, window = 2, slice(None, None, 2)
