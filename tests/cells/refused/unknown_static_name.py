# `-s` with a name that the cell does not read.
# expect: refused "nothing_like_it"

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell -s nothing_like_it
y = x * 2

# %% after
w = x * 2
