# An unregistered dataclass is read as it is at the time of the run.

# %% setup
import dataclasses
import jax.numpy as jnp

@dataclasses.dataclass
class Config:
    w: object
    k: int = 2

cfg = Config(jnp.arange(3.0))
x = jnp.ones(3)

# %% cell
y = x * cfg.w + cfg.k

# %% change
cfg.k = 7
cfg.w = jnp.ones(3) * 3
