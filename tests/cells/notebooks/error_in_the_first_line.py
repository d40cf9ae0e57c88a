# A cell that fails at once writes nothing, not even what stands before the error.
# expect: raises ZeroDivisionError "division"
# line: 3

# %% setup
import jax.numpy as jnp
x, y = jnp.ones(2), "old"

# %% cell
y = x * 2
bad = 1 // 0
z = y
