# A string that reaches only static results changes them and compiles nothing.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)
name = "first"

# %% cell
y = {"value": x * 2, "name": name.upper()}

# %% change
name = "second"
