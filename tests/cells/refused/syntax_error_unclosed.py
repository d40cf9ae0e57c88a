# A bracket that is never closed.
# expect: raises SyntaxError

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = (x * 2
z = y

# %% after
w = x * 2
