# One name cannot be static and traced.
# expect: refused "n"

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)
n = 3

# %% cell -s n -t n
y = x * n

# %% after
w = x * 2
