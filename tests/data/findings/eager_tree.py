# An update of many leaves compiles in the first iteration alone.
# fires: eager line 8

# %% setup
import jax, jax.numpy as jnp
params = [jnp.ones((n, 19)) for n in (5, 31, 7, 43, 11, 29, 3, 17)]

# %% cell
def scale(x):
    return x * 2

x = scale(jnp.arange(37.0))

for _ in range(3):
    params = [leaf * 0.5 + 1 for leaf in params]
