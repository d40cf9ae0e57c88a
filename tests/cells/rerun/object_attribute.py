# An attribute of a plain object is changed between the runs.

# %% setup
import jax.numpy as jnp

class Config:
    pass

cfg = Config()
cfg.k = 2
cfg.w = jnp.ones(3)
x = jnp.arange(3.0)

# %% cell
y = x * cfg.k + cfg.w

# %% change
cfg.k = 5
cfg.w = jnp.arange(3.0)
