# `_` of an earlier cell is an ordinary name in the cell.

# %% setup
import jax.numpy as jnp
x = jnp.ones(2)
_ = 5

# %% cell
first, _, *rest = [x * k for k in range(4)]
for _ in range(3):
    x = x + 1
x

# %% after
k = _
