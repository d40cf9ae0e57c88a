# An Equinox module replaced by its update; static fields stay.
# needs: equinox
# compiles: 1 0

# %% setup
import equinox as eqx
import jax
import jax.numpy as jnp

class Model(eqx.Module):
    w: jax.Array
    name: str = eqx.field(static=True)
    scale: float

    def __call__(self, v):
        return self.w * v * self.scale

model = Model(jnp.arange(3.0), "m", 2.0)
x = jnp.ones(3)

# %% cell
grads = jax.grad(lambda m: (m(x) ** 2).sum())(model)
model = eqx.tree_at(lambda m: m.w, model, model.w - 0.1 * grads.w)
y = model(x)

# %% change
x = x * 2

# %% after
label = model.name
