# A structured array is static.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
import numpy as np
table = np.array([(1, 2.0), (3, 4.0)], dtype=[("n", "i4"), ("v", "f4")])
x = jnp.arange(2.0)

# %% cell
y = x * jnp.asarray(table["v"])
n = int(table["n"].sum())

# %% change
table["v"][0] = 10
