# Strided, reversed, transposed, read-only and empty arrays, and views beside what they show.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
import numpy as np
base = np.arange(12.0, dtype=np.float32).reshape(3, 4).copy()
strided, backwards, columns = base[:, ::2], base[::-1], np.asfortranarray(base)
frozen = base.copy()
frozen.flags.writeable = False
empty = np.zeros((0, 4), np.float32)

# %% cell
y = jnp.asarray(strided).sum() + jnp.asarray(backwards)[0, 0] + jnp.sum(columns[1]) + base[1, 1]
z = jnp.concatenate([frozen, empty])

# %% change
base[0] = 100
