# The patterns of `match` bind names from shapes and dictionaries.
# compiles: 1 1

# %% setup
import jax.numpy as jnp
batch = {"image": jnp.arange(4.0), "label": 3, "extra": "e"}

# %% cell
match batch:
    case {"image": img, "label": int(label), **rest} if label > 2:
        y = img * label
    case {"image": img}:
        y = -img
match img.shape:
    case (n,):
        size = n
    case (rows, cols):
        size = rows * cols

# %% change
batch = {"image": jnp.ones((2, 2)), "label": 1}
