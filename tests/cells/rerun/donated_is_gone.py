# A donated input that the cell does not bind anew is used up.
# may differ: state donated-is-gone

# %% setup
import jax.numpy as jnp
state = jnp.arange(8.0)

# %% cell -d state
new = state * 2 + 1

# %% change
state = jnp.ones(8)
