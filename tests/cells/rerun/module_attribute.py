# An attribute of a module is changed between the runs.
# compiles: 1 1

# %% setup
import types
import jax.numpy as jnp
settings = types.ModuleType("settings")
settings.k = 2.0
x = jnp.arange(3.0)

# %% cell
y = x * settings.k

# %% change
settings.k = 3.0
