# A last expression that is None shows nothing.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
nothing = lambda v: None

# %% cell
y = x * 2
nothing(y)

# %% change
x = x + 1
