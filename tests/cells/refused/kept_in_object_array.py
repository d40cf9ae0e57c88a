# A traced value in an object array.
# expect: refused "keeps a traced value"

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
o = np.empty(2, object)
o[0] = x * 2

# %% change
x = x + 1

# %% after
z = x + 1
