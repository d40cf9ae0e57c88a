# Running statistics are updated.
# needs: flax
# compiles: 1 1

# %% setup
import jax.numpy as jnp
from flax import nnx
norm = nnx.BatchNorm(2, momentum=0.5, rngs=nnx.Rngs(0))
x = jnp.arange(6.0).reshape(3, 2)

# %% cell
y = norm(x)

# %% change
norm.eval()
