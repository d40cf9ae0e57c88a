# `float()` of a traced array.
# expect: refused "Concretization|trac"
# line: 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = x * 2
loss = float(y.sum())

# %% after
z = x + 1
