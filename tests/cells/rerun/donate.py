# A donated input that the cell binds anew is the new value.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
state = jnp.arange(8.0)

# %% cell -d state
state = state * 2 + 1
