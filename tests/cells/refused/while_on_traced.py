# A `while` on a traced array.
# expect: refused "TracerBool"
# line: 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
while x.sum() < 10:
    x = x * 2

# %% after
z = x + 1
