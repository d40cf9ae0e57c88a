# A function of a module with a number that decides, called again with other numbers.
# needs: equinox

# %% setup
import equinox as eqx
import jax
import jax.numpy as jnp

class Leaky(eqx.Module):
    slope: float
    bias: jax.Array

    def __call__(self, v):
        v = v + self.bias
        return jnp.maximum(v, self.slope * v) if self.slope > 0 else v

x = jnp.arange(-3.0, 3.0)

# %% cell
def apply(model, x):
    return model(x)

def apply_all(models, x):
    return sum(model(x) for model in models["layers"])

found = []
for slope in (0.1, 0.1, 0.0, 0.2, 0.1):
    model = Leaky(slope, jnp.ones(6))
    found.append((apply(model, x), apply_all({"layers": [model, model]}, x)))
