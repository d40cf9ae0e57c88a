# A semicolon inside the last string is no semicolon.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
"a; # b;"

# %% change
x = x + 1
