# An array of strings, which is static, changed by the cell.
# expect: refused "in place|read-only"

# %% setup
import jax.numpy as jnp
import numpy as np
names = np.array(["a", "b"])
x = jnp.arange(2.0)

# %% cell
y = x * 2
names[0] = "z"

# %% after
z = names[0]
