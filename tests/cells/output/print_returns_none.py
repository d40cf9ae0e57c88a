# A cell that ends in a print has no `Out`.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
print("done")

# %% change
x = x + 1
