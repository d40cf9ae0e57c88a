# Arithmetic that XLA simplifies away is not folding: the result is the argument.
# silent: constant_folded

# %% setup
import jax.numpy as jnp
x = jnp.arange(6)

# %% cell
y = x + 0
