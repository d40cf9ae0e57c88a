# Two models share a layer; an update through one is seen by the other.
# needs: flax
# compiles: 1 0

# %% setup
import jax.numpy as jnp
from flax import nnx

class Half(nnx.Module):
    def __init__(self, shared):
        self.shared = shared

shared = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
left, right = Half(shared), Half(shared)
x = jnp.ones((1, 2))

# %% cell
left.shared.kernel.set_value(left.shared.kernel.get_value() * 2)
y = right.shared(x)
tied = left.shared is right.shared

# %% change
x = x + 1

# %% after
z = shared(x)
