# A list that the cell puts into itself.
# expect: same or refused "."

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
ring = [x * 2]
ring.append(ring)

# %% change
x = x + 1

# %% after
z = x + 1
