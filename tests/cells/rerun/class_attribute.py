# A class attribute is changed between the runs.
# compiles: 1 1

# %% setup
import jax.numpy as jnp

class Settings:
    power = 2

x = jnp.arange(3.0)

# %% cell
y = x ** Settings.power

# %% change
Settings.power = 3
