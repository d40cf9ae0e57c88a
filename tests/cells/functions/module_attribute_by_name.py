# An attribute of the user's module that is read by `getattr` or from its `__dict__` has its new value.

# %% setup
import types
import jax.numpy as jnp
x = jnp.arange(3.0)
settings = types.ModuleType("settings")
settings.rate = 2.0

# %% cell
def by_name(v):
    return v * getattr(settings, "rate")

def by_dict(v):
    return v * settings.__dict__["rate"]

a = by_name(x), by_dict(x)
settings.rate = 5.0
b = by_name(x), by_dict(x)
settings.rate = 2.0
