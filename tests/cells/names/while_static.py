# A `while` loop over a Python int runs while tracing; the counter stays an int.
# compiles: 1 0

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
n = 3
while n > 0:
    x = x * 2
    n -= 1
x

# %% change
x = x + 1
