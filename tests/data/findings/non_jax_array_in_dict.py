# A non-JAX array in a container is captured as a constant, too.
# fires: non_jax_constant line 2

# %% setup
import numpy as np, jax.numpy as jnp
class Tensor:
    shape = (3,)
    def __array__(self, dtype=None, copy=None):
        return np.ones(3, np.float32)
Tensor.__module__ = "othertensors"
d = {"t": Tensor()}
x = jnp.arange(3.0)

# %% cell
y = x * jnp.asarray(d["t"])
