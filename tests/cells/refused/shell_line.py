# A shell line in the cell.
# expect: refused "!"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
!echo hello
y = x * 2

# %% after
w = x * 2
