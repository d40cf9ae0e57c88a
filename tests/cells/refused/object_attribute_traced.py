# A traced value put on a plain object.
# expect: refused "in place"
# line: 3

# %% setup
import jax.numpy as jnp

class Model:
    pass

model = Model()
model.w = jnp.arange(3.0)

# %% cell
y = model.w * 2
model.w = model.w - 0.1 * y

# %% after
z = model.w + 1
