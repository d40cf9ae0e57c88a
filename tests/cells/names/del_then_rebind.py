# A name deleted and bound again in one cell ends bound.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
y = "old"

# %% cell
del y
y = x * 3
y

# %% change
x = -x
