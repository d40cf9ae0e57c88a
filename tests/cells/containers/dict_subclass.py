# A subclass of dict that JAX does not know is static; its arrays are constants of this run.

# %% setup
import jax.numpy as jnp

class Config(dict):
    def __getattr__(self, name):
        return self[name]

cfg = Config(w=jnp.arange(3.0), k=2)
x = jnp.ones(3)

# %% cell
y = cfg.w * cfg.k + x

# %% change
cfg["w"] = jnp.ones(3) * 9
