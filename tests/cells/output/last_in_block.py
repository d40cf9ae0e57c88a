# An expression that ends an `if` is not the cell's last expression.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
if True:
    y = x * 2
    y + 1

# %% change
x = x + 1
