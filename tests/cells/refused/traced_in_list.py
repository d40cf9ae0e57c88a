# `in` on a list compares, and a traced comparison has no truth.
# expect: refused "TracerBool"

# %% setup
import jax.numpy as jnp
lr = 0.5
x = jnp.arange(3.0)

# %% cell
known = lr in [0.1, 0.25]
y = x * lr

# %% after
z = lr * 2
