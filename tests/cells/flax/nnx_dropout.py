# A stream of random numbers inside a model moves on with every run.
# needs: flax
# compiles: 1 0

# %% setup
import jax.numpy as jnp
from flax import nnx
drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
x = jnp.ones(8)

# %% cell
y = drop(x)

# %% after
z = drop(x)
