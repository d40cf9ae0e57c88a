# A loop with many branches over known values and arrays of different shapes.

# %% setup
import jax.numpy as jnp
layers, x = [4, 3, 2], jnp.ones((2, 4))

# %% cell
shapes, h = [], x
for i, (n_in, n_out) in enumerate(zip(layers, layers[1:])):
    if n_in != h.shape[-1]:
        raise ValueError("shapes")
    w = jnp.full((n_in, n_out), 0.5)
    h = h @ w if i % 2 else jnp.maximum(h @ w, 0)
    shapes += [w.shape]
    if i > 5:
        break
else:
    finished = True
n_weights = sum(a * b for a, b in shapes)

# %% change
layers = [4, 2, 2, 1]
