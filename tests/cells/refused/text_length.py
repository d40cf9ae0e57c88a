# A number computed from the length of a traced array's text.
# expect: refused "uses the text of a traced value"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
width = len(str(y)) * 10
z = x * width

# %% after
w = x + 1
