# A trailing semicolon silences `Out` even before a comment.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
y + 1;  # not shown
# and nothing more

# %% change
x = x + 1
