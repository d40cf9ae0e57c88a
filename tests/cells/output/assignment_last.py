# A cell that ends in an assignment has no `Out`.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
x.sum()
y = x * 2

# %% change
x = x + 1
