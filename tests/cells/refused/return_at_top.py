# `return` outside a function.
# expect: refused "return"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
return y

# %% after
w = x * 2
