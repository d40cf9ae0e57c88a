# A static value added to an input set.
# expect: refused "in place"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
seen = {1}

# %% cell
y = x * 2
seen.add(x.shape[0])

# %% after
seen.add(7)
