# An `if` on a traced float: the error says to make it static.
# expect: refused "-s rate"
# line: 3

# %% setup
import jax.numpy as jnp
rate = 0.5
x = jnp.arange(3.0)

# %% cell
y = x * rate
if rate > 0.1:
    y = y + 1

# %% after
z = rate * 2
