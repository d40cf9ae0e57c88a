# A dataclass that is no pytree, made and read in functions.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
import dataclasses

@dataclasses.dataclass
class Config:
    rate: float = 0.1
    steps: int = 2

def train(v, config):
    for _ in range(config.steps):
        v = v - config.rate * v
    return v

y = train(x, Config())
z = train(x, Config(steps=3))
rate = Config().rate
del Config

# %% change
x = x + 1
