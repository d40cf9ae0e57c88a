# A string picks the function.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)
name = "sin"

# %% cell
y = getattr(jnp, name)(x)

# %% change
name = "cos"
