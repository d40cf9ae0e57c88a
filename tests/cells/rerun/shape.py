# A new shape compiles a new program.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = (x * 2).sum() / x.shape[0]

# %% change
x = jnp.arange(5.0)
