# A JAX integer as the length of a loop: the error says to make it static.
# expect: refused "-s n"
# line: 3

# %% setup
import jax.numpy as jnp
n = jnp.asarray(3)
x = jnp.arange(3.0)

# %% cell
y = x
for i in range(n):
    y = y * 2

# %% after
z = n * 2
