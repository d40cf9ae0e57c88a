# Operations of the same shape in a loop compile once.
# silent: eager

# %% setup
import jax, jax.numpy as jnp

# %% cell
def f(x):
    return x * 2

x = jnp.ones(11)
for k in range(12):
    x = f(x) - 1
