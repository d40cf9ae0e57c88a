# Of two expressions on one line the last is shown.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2; x + 1; x + 2

# %% change
x = x + 1
