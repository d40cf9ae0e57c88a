# Twelve layers of a network in a loop.
# silent: unrolled_loop

# %% setup
import jax.numpy as jnp
layers = [(jnp.eye(4) * k, jnp.zeros(4)) for k in range(12)]
x = jnp.ones(4)

# %% cell
h = x
for w, b in layers:
    h = jnp.tanh(h @ w + b)
    h = h / jnp.sqrt((h * h).sum() + 1)
h
