# A request for help in the cell.
# expect: refused "[?]|help|syntax"

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
jnp.sin?

# %% after
w = x * 2
