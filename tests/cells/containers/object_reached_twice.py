# Two plain objects that refer to each other.

# %% setup
import jax.numpy as jnp

class Node:
    pass

a, b = Node(), Node()
a.other, b.other = b, a
a.w, b.w = jnp.arange(3.0), jnp.ones(3)

# %% cell
y = a.w * b.other.w + a.other.w

# %% change
b.w = jnp.ones(3) * 5
