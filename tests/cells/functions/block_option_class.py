# `--block` with a class.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --block
class Scale:
    factor = 2

    def __call__(self, v):
        return v * self.factor

scale = Scale()
y = scale(x)

# %% change
x = x + 1

# %% after
z = scale(x)
