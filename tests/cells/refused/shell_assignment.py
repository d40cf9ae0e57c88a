# The output of a shell line assigned.
# expect: refused "!"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell
y = x * 2
files = !echo hello

# %% after
w = x * 2
