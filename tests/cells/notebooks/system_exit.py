# `sys.exit` in a cell writes nothing.
# expect: raises SystemExit

# %% setup
import sys
import jax.numpy as jnp
x, y = jnp.ones(2), "old"

# %% cell
y = x + 1
sys.exit(3)
