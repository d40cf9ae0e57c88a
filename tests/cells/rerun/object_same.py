# A plain object that did not change compiles nothing on the second run.
# compiles: 1 0

# %% setup
import jax.numpy as jnp

class Config:
    def __init__(self):
        self.k = 2
        self.w = jnp.ones(3)

cfg = Config()
x = jnp.arange(3.0)

# %% cell
y = x * cfg.k + cfg.w

# %% change
x = x + 1
