# A number of an Equinox module that changed between two runs makes a new program.
# needs: equinox
# compiles: 1 1

# %% setup
import equinox as eqx
import jax
import jax.numpy as jnp

class Leaky(eqx.Module):
    slope: float

    def __call__(self, v):
        return jnp.maximum(v, self.slope * v) if self.slope > 0 else v

layers = {"act": Leaky(0.1)}
x = jnp.arange(-3.0, 3.0)

# %% cell
y = layers["act"](x)

# %% change
layers = {"act": Leaky(0.0)}
