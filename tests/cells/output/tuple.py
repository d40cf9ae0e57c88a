# A last expression that is a tuple with static parts.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
x * 2, x.shape, "label", None, 3

# %% change
x = x + 1
