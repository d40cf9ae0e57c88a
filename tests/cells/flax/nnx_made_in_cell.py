# A model that the cell makes.
# needs: flax
# expect: same or refused "trac"

# %% setup
import jax
import jax.numpy as jnp
from flax import nnx
x = jnp.ones((1, 2))

# %% cell
model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
y = model(x)

# %% change
x = x + 1

# %% after
z = x + 1
