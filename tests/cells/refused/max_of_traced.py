# Python's `max` compares.
# expect: refused "TracerBool"

# %% setup
import jax.numpy as jnp
lr = 0.5
x = jnp.arange(3.0)

# %% cell
y = x * max(lr, 0.1)

# %% after
z = lr * 2
