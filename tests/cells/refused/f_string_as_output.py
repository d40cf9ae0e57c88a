# The same as the last expression.
# expect: refused "trac"

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
f"y is {y}"

# %% after
z = x + 1
