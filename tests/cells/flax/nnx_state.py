# The state of a model as a value, and merged again.
# needs: flax
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
from flax import nnx
graphdef, state = nnx.split(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))
x = jnp.ones((1, 2))

# %% cell
y = nnx.merge(graphdef, state)(x)
total = sum(v.sum() for v in jax.tree.leaves(state))

# %% change
x = x + 1
