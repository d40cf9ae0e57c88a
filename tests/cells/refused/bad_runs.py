# A number of runs that is none.
# expect: refused "many|runs|-n"

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell -n many
y = x * 2

# %% after
w = x * 2
